"""Photofinish: the site, and the client that talks to it over HTTP (`client`, `cli`, `wording`, `source`).

A wheel has the client alone, and there this package is called `photofinish`.
"""
