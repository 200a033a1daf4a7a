"""Queries that read standings for pages and API."""
