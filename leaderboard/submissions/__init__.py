"""Submissions: immutable, validated before they are stored."""
