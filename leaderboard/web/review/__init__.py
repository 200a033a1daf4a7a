"""Pages and forms for reviewers."""
