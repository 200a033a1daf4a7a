"""The runners' door and their pages."""
