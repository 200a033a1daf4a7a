"""Starts one untrusted program in a container and talks to it. Knows no users, queues or ranks."""
