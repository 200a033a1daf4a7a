"""What people with power did: an append-only record."""
