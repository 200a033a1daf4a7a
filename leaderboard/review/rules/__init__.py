"""Anti-cheat rules on stored reports, their thresholds and the similarity search."""
