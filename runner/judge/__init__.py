"""Trusted judge: it owns the clocks, the arenas, the schedule and the verdict, and runs no foreign code."""
