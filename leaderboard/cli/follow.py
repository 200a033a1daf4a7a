"""Watch a submission until its verdict: by the stream of events, or by polling if no stream gets through.

A broken stream resumes after the last event seen: no event is shown twice or missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from .api import JSON, Api, ServerEvent, backoff_s
from .config import SiteProblem

FINAL: Final = ("done", "cancelled")
STREAM_FAILURES: Final = 3  # in a row and without news, before polling
POLL_S: Final = 2.0
PATIENCE_S: Final = 180.0  # maximum time without the site before watching ends


def follow(api: Api, submission_id: str, on_event: Callable[[ServerEvent], None]) -> JSON:
    """Return the finished submission.

    Raises SiteProblem if the site stays away, Refused without permission to watch.
    """
    last_seen, failures = "", 0
    while failures < STREAM_FAILURES:
        news = False
        try:
            for event in api.events(submission_id, last_seen):
                last_seen, news = event.id or last_seen, True
                if event.kind == "done":
                    return event.data
                on_event(event)
        except SiteProblem:
            pass
        failures = 0 if news else failures + 1  # a stream that merely ended is resumed as well
        time.sleep(backoff_s(failures))
    return _poll(api, submission_id, on_event)


def _poll(api: Api, submission_id: str, on_event: Callable[[ServerEvent], None]) -> JSON:
    give_up_at = time.monotonic() + PATIENCE_S
    shown = ""
    while True:
        try:
            submission = api.submission(submission_id)
            give_up_at = time.monotonic() + PATIENCE_S
        except SiteProblem:
            if time.monotonic() > give_up_at:
                raise
        else:
            status = str(submission.get("status", ""))
            if status in FINAL:
                return submission
            if status != shown:
                on_event(ServerEvent("", "state", {"state": status}))
                shown = status
        time.sleep(POLL_S)
