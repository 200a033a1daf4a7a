"""How it is judged: attempt, event, result, runner, and the acts that move them."""
