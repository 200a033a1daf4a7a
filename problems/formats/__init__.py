"""Readers of problem folders: each turns one public convention into `problems.spec.Problem`. They execute nothing."""
