"""A job from its claim to its report."""
