"""The site without limits of rates, for programs that call it thousands of times a minute.

It also lends schemathesis its hooks: SCHEMATHESIS_HOOKS names tests/web/api/known_names.py.
"""

from leaderboard.asgi import application
from leaderboard.web import limits

__all__ = ["application"]

limits.take = lambda limit, key: None
limits.floods.take = lambda *tries: None
