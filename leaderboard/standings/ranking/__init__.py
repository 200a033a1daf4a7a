"""Ranking of results."""
