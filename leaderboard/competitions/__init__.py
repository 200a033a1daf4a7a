"""Competitions: competition, problem, problem version, board."""
