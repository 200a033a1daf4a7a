"""The runner: a daemon on a host with accelerators. It imports no Django and no database."""
