"""The site with slow submission pages: `uvicorn tests.web.slow_site:application`.

PHOTOFINISH_TEST_SLOW selects the kind of delay: `waits` sleeps with the request's thread and database connection held;
`computes` keeps the interpreter busy as well.
"""

import os
import time

from leaderboard.asgi import application
from leaderboard.web.submissions import pages

SLOW_S = 15.0
_opened = pages.view.Opened


def _slowly(*arguments, **named):
    opened = _opened(*arguments, **named)
    until = time.monotonic() + SLOW_S
    while time.monotonic() < until:
        if os.environ["PHOTOFINISH_TEST_SLOW"] == "waits":
            time.sleep(0.1)
        else:
            sum(range(1000))
    return opened


pages.view.Opened = _slowly
__all__ = ["application"]
