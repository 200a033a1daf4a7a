"""How results rank."""
