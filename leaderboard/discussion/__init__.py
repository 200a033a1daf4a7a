"""Write-ups and comments under a board, once its contest is over."""
