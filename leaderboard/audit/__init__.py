"""Append-only record of acts by organisers, reviewers and administrators."""
