"""The runners' API."""
