"""`photofinish search` with a scripted model behind a real chat endpoint, on the real judge."""
