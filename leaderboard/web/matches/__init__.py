"""Matches of people against models: gallery, the page of a match, its forms, and its picture."""
