"""The `photofinish` command: it talks HTTP only and imports neither Django nor the server nor the runner."""
