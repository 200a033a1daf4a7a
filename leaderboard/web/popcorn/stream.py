"""A submission sent and followed in one call: server-sent events `status`, then `result` or `error`.

The client sends its profiles this way; every mode is served. An error before the
submission is accepted is a plain answer. A client that goes away cancels nothing.
"""

import json
import time
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt

from leaderboard.accounts.models import User
from leaderboard.web import limits
from leaderboard.web.popcorn import shapes
from leaderboard.web.popcorn.views import Submit
from leaderboard.web.stream import PING_S, QUIET, Seat, hub, looks
from leaderboard.wording.outcomes import STATES

_send = sync_to_async(Submit.as_view())


@csrf_exempt  # no session counts here
async def send_and_follow(request: HttpRequest, **where: str) -> HttpResponseBase:
    answer: Any = await _send(request, **where)
    if answer.status_code != 202:
        return answer  # type: ignore[no-any-return]
    user, pk = answer.renderer_context["request"].user, answer.data["details"]["id"]
    is_flood = limits.floods.take((limits.STREAM_USER, str(user.pk))) is not None
    seat = None if is_flood else hub.reserve(pk, user.pk, limits.address(request))
    events = _alone(pk, "you have too many open streams") if seat is None else _follow(seat, user)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(events, content_type="text/event-stream", headers=headers)


async def _follow(seat: Seat, user: User) -> AsyncIterator[str]:
    began = sent = time.monotonic()
    pk, state = seat.submission_id, "queued"
    try:
        async for seen in looks(seat, user, 0, shapes.full_result):
            if seen.done is not None:
                yield _event("result" if seen.done["status"] == "success" else "error", seen.done)
                return
            before, state = state, seen.events[-1].state if seen.events else state
            if seen is not QUIET and state == before and time.monotonic() < sent + PING_S:
                continue
            sent = time.monotonic()
            elapsed_s = round(sent - began)
            message = f"Submission {pk}: {STATES.get(state, state)} ({elapsed_s} s)"
            yield _event("status", {"status": "processing", "elapsed_time": elapsed_s, "message": message})
        async for event in _alone(pk, "its stream has ended"):
            yield event
    finally:
        hub.leave(seat)


async def _alone(pk: int, why: str) -> AsyncIterator[str]:
    """Yield the error of a stream that ends before the verdict."""
    detail = f"Submission {pk} goes on, but {why}. `popcorn submissions show {pk}` shows its verdict."
    yield _event("error", {"status": "error", "detail": detail, "status_code": 503})


def _event(kind: str, data: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
