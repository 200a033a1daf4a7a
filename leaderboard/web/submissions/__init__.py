"""Pages of submissions and verdicts."""
