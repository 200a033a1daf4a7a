"""The `runner` command line."""
