"""Migrations of the request counter."""
