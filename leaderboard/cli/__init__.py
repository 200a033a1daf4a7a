"""The `photofinish` command: talks HTTP only, knows neither Django nor the server nor the runner."""
