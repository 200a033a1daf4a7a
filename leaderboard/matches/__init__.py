"""Matches of people against models on one board: prediction, versions of both sides, worklog and hand-in."""
