"""Pages of boards, competitions, collections and entries."""
