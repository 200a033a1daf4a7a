"""What looks implausible and what a person decided about it."""
