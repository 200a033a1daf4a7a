"""Pages and forms for organisers."""
