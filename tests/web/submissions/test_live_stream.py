"""The event stream over a real server: replay, follow, resume, end; for the owner and the organisers."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from httpx_sse import ServerSentEvent, connect_sse

from runner.wire import Event
from tests.web.live_site import live_site


@pytest.fixture
def site(transactional_db: None) -> Iterator[str]:
    with live_site() as running:
        yield running.address


@pytest.fixture
def stage(transactional_db: None):
    from django.utils import timezone

    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    stage.now = timezone.now()
    return stage


def token_of(user) -> dict[str, str]:
    from django.utils import timezone

    from leaderboard.accounts.tokens import issue_token

    _, text = issue_token(owner=user, name="stream", scopes=("read",), now=timezone.now())
    return {"Authorization": f"Bearer {text}"}


def announce(stage, job, seq: int, **told: Any) -> None:
    from leaderboard.judging.report import announce as act

    event = Event(seq, **told)
    act(attempt_id=job.attempt_id, runner=stage.rex, token=job.token, announced=[event], now=stage.later(0.1))


def stream(site: str, pk: int, headers: dict[str, str], most: int = 100) -> list[ServerSentEvent]:
    """Return the events until the server ends the stream, or the first `most` events."""
    found: list[ServerSentEvent] = []
    with (
        httpx.Client(timeout=30, trust_env=False) as client,
        connect_sse(client, "GET", f"{site}/api/v1/submissions/{pk}/events", headers=headers) as source,
    ):
        for event in source.iter_sse():
            found.append(event)
            if len(found) == most:
                break
    return found


def test_follows_from_queued_to_the_verdict(stage, site) -> None:
    submission = stage.submit()
    headers, heard = token_of(stage.ada), []
    listener = threading.Thread(target=lambda: heard.extend(stream(site, submission.pk, headers)))
    listener.start()
    time.sleep(0.5)
    job = stage.claim()
    announce(stage, job, 1, kind="state", state="building", message="Loading")
    announce(stage, job, 2, kind="progress", message="3 of 14", data={"done": 3, "total": 14})
    stage.report(job)
    began = time.monotonic()
    listener.join(10)
    assert not listener.is_alive()
    assert time.monotonic() - began < 9, "heard by notification, not by the ping"
    told = [(event.event, json.loads(event.data)) for event in heard]
    states = [data["state"] for kind, data in told if kind == "state"]
    assert states == ["queued", "claimed", "building", "done"]
    assert [data["data"] for kind, data in told if kind == "progress"] == [{"done": 3, "total": 14}]
    kind, verdict = told[-1]
    assert (kind, verdict["outcome"], verdict["rank"]) == ("done", "passed", 1)
    assert "code" not in verdict
    ids = [int(event.id) for event in heard]
    assert ids == sorted(ids)


def test_tells_the_place_in_the_queue_of_what_waits(stage, site) -> None:
    from leaderboard.judging.models import Runner

    ahead, submission = stage.submit(stage.ben), stage.submit()
    Runner.objects.update(last_seen_at=stage.now)
    headers = token_of(stage.ada)
    _, behind = stream(site, submission.pk, headers, most=2)
    stage.judge(ahead)
    heard = stream(site, submission.pk, headers, most=3)
    assert [event.event for event in heard] == ["state", "queue", "queue"], "it looks again after a few seconds"
    places = [json.loads(event.data) for event in (behind, heard[1])]
    assert [(one["position"], one["queued"], one["runners"]) for one in places] == [(2, 2, 1), (1, 1, 1)]
    assert places[1]["text"] == "Next in the queue for cpu, starts now."


def test_resumes_after_the_last_id(stage, site) -> None:
    submission = stage.submit()
    stage.judge(submission)
    headers = token_of(stage.ada)
    whole = stream(site, submission.pk, headers)
    assert [event.event for event in whole] == ["state", "state", "state", "done"]
    rest = stream(site, submission.pk, headers | {"Last-Event-ID": whole[1].id})
    assert [event.id for event in rest] == [whole[2].id, whole[3].id]
    over = stream(site, submission.pk, headers | {"Last-Event-ID": whole[-1].id})
    assert [event.event for event in over] == ["done"], "who comes after the end is told so"
    odd = stream(site, submission.pk, headers | {"Last-Event-ID": "x; drop"})
    assert len(odd) == len(whole)


def test_is_for_owner_and_organisers(stage, site) -> None:
    submission = stage.submit()
    stage.judge(submission)

    def status(**asked: Any) -> int:
        return httpx.get(f"{site}/api/v1/submissions/{submission.pk}/events", trust_env=False, **asked).status_code

    assert status() == 401
    assert status(headers=token_of(stage.cleo)) == 404
    assert status(headers=token_of(stage.ben)) == 404
    assert status(headers=token_of(stage.olga)) == 200


def test_one_user_has_a_limited_number_of_streams(stage, site) -> None:
    from leaderboard.web.stream import MAX_STREAMS_A_USER

    submission, headers = stage.submit(), token_of(stage.ada)
    address = f"{site}/api/v1/submissions/{submission.pk}/events"
    with httpx.Client(timeout=10, trust_env=False, limits=httpx.Limits(max_connections=100)) as client:
        asked = [client.build_request("GET", address, headers=headers) for _ in range(MAX_STREAMS_A_USER)]
        held = [client.send(request, stream=True) for request in asked]
        chunks = [answer.iter_bytes() for answer in held]
        assert all(next(chunk).startswith(b": hello") for chunk in chunks)
        refused = client.get(address, headers=headers)
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) > 0
        assert client.get(f"{site}/healthz").status_code == 200, "waiting streams hold no database connection"
        for answer in held:
            answer.close()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            with client.stream("GET", address, headers=headers) as again:
                if again.status_code == 200:
                    return
            time.sleep(0.1)
    raise AssertionError("places of closed streams were not given back")


def test_a_dropped_listener_comes_back(stage, site) -> None:
    """The stream goes on after its process's only LISTEN connection dies."""
    from django.db import connection

    submission, headers, heard = stage.submit(), token_of(stage.ada), []
    listener = threading.Thread(target=lambda: heard.extend(stream(site, submission.pk, headers)))
    listener.start()
    listening = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%%' AND datname = current_database()"
    with connection.cursor() as cursor:
        for _ in range(100):
            cursor.execute(f"SELECT pid {listening}")
            if cursor.rowcount:
                break
            time.sleep(0.1)
        cursor.execute(f"SELECT pg_terminate_backend(pid) {listening}")
        assert cursor.rowcount == 1, "one connection listens for the whole process"
    stage.judge(submission)
    listener.join(10)
    assert not listener.is_alive()
    assert heard[-1].event == "done"
