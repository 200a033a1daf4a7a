"""Judging: attempts, events, results, runners, and the acts that change them."""
