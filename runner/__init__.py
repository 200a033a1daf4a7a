"""The runner: a daemon on a host with accelerators. Knows no Django and no database."""
