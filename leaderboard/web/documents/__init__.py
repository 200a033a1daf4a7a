"""The documentation of the site, rendered from the Markdown files of the checkout."""
