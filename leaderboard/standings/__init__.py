"""Published results: a single table with a single writer and a single order."""
