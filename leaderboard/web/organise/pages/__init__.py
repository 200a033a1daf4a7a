"""The organiser's pages of one competition."""
