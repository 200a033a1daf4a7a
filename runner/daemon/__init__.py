"""The runner's daemon and its connection to the site."""
