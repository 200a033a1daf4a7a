"""The wire contract of the existing `popcorn` client, below /popcorn. docs/popcorn.md is its guide."""
