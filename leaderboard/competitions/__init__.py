"""What is competed in: competition, problem, problem version, board."""
