"""Matches of people against models on a board: prediction, versions of both sides, worklog and hand-in."""
