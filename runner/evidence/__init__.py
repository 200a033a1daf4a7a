"""Measurements of a run and every conclusion drawn from them."""
