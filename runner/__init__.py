"""The runner: a daemon on a host with accelerators. It uses neither Django nor a database."""

__version__ = "0.1.0"  # of site, runner and client: images hold this file, and no installed package
