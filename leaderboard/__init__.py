"""Photofinish: the site, and the client that talks to it over HTTP (`client`, `cli`, `wording`, `source`).

A wheel has the client alone, and there this package is called `photofinish`.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Return `Client` or `AsyncClient` of the library, which is imported only for its users."""
    if name in ("Client", "AsyncClient"):
        return getattr(import_module(".client", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
