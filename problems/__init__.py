"""What a problem is: its description, cases, tolerance and files, read from folders, carried as one JSON bundle.

The room at the bottom: it imports none of the others, runs no problem code and, but for `library/` (problem code that
only an oracle runs), needs neither torch nor Django.
"""
