"""Problems: description, cases, tolerance and files, read from folders, carried as one JSON bundle.

The package at the bottom: it imports no package above it, runs no problem code and, but for `library/` (problem code
that only an oracle runs), needs neither torch nor Django.
"""
