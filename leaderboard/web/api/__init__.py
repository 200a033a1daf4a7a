"""The JSON API for people and their tools, /api/v1. docs/http.md is its contract."""
