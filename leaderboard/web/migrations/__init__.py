"""Migrations of request counts and keyed answers."""
