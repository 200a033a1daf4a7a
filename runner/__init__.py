"""The runner: a daemon on a host with accelerators. It uses neither Django nor a database."""
