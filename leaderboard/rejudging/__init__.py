"""Sets of submissions that are judged again in the shadow and applied together."""
