"""Template filters of the site."""
