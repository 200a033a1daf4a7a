"""Classes: a competition with a roster, assignments whose work is a match, and grades."""
