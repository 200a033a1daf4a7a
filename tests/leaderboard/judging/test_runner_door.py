"""`/api/runner/v1` from a runner's side: identity, jobs and error messages."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from leaderboard.accounts.tokens import issue_token
from leaderboard.judging import archive
from leaderboard.judging.models import Epoch, Result, Runner
from leaderboard.judging.runners import create_runner
from leaderboard.standings.read.status import status_of
from runner.wire import MAX_REPORT_BYTES, Event, Job, dump
from tests.leaderboard.stage import SOURCE, Stage, current, passing

ROOT = "/api/runner/v1"


class Door:
    """Client for the runner API with a runner's token."""

    def __init__(self, token: str) -> None:
        self._client = Client(headers={"authorization": f"Bearer {token}"})

    def post(self, path: str, sent: object) -> HttpResponse:
        body = sent if isinstance(sent, bytes | str) else json.dumps(sent)
        return self._client.post(f"{ROOT}/{path}", data=body, content_type="application/json")

    def hello(self, **changes: Any) -> HttpResponse:
        return self.post("hello", {"wire": 1, "hardware": "cpu", "fingerprint": {"cores": 2}, **changes})

    def claim(self) -> Job:
        answer = self.post("claim", {"hardware": "cpu"})
        assert answer.status_code == 200
        return Job.from_json(json.loads(answer.content))


@pytest.fixture
def door(stage: Stage) -> Door:
    stage.rex, token = create_runner(name="rex-2", hardware="cpu", now=stage.now)
    return Door(token)


def told(answer: HttpResponse) -> dict[str, Any]:
    """Return the decoded body, after checking the shape of errors."""
    body: dict[str, Any] = json.loads(answer.content)
    if answer.status_code >= 400:
        assert isinstance(body["detail"], str)
        assert "Traceback" not in body["detail"]
    return body


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_web_host_with_a_wrong_clock_grants_a_right_lease(stage: Stage, door: Door, minutes: int) -> None:
    submission = stage.submit()
    with time_machine.travel(timezone.now() + timedelta(minutes=minutes)):
        door.hello()
        job = door.claim()
        claimed = current(submission).lease_expires_at - timezone.now() + timedelta(minutes=minutes)
        assert told(door.post(f"attempts/{job.attempt_id}/renew", {"token": job.token})) == {
            "expires_in_s": pytest.approx(60, abs=5),
            "cancel": False,
        }
    renewed = current(submission).lease_expires_at - timezone.now()
    assert [left.total_seconds() for left in (claimed, renewed)] == pytest.approx([60, 60], abs=5)


def test_the_whole_way(stage: Stage, door: Door) -> None:
    submission = stage.submit()
    assert told(door.hello()) == {
        "runner": "rex-2",
        "hardware": "cpu",
        "lease_s": 60.0,
        "renew_s": 15.0,
        "epoch_state": "",
    }
    job = door.claim()
    at = f"attempts/{job.attempt_id}"
    assert told(door.post(f"{at}/renew", {"token": job.token}))["cancel"] is False
    events = [Event(1, "state", "building").to_json(), Event(2, "progress", data={"done": 1}).to_json()]
    assert told(door.post(f"{at}/events", {"token": job.token, "events": events})) == {"accepted": 2}
    assert told(door.post(f"{at}/events", {"token": job.token, "events": events})) == {"accepted": 0}
    report = dump(passing(job))
    assert told(door.post(f"{at}/report", report)) == {"recorded": True}
    assert told(door.post(f"{at}/report", report)) == {"recorded": False}
    assert status_of(submission, now=stage.now).rank == 1


def test_hello_is_remembered(door: Door) -> None:
    door.hello()
    rex = Runner.objects.get(name="rex-2")
    assert rex.fingerprint == {"cores": 2}
    assert rex.last_seen_at is not None


def test_hello_opens_an_epoch_once(stage: Stage, door: Door) -> None:
    assert told(door.hello(epoch="sha256:0a1b"))["runner"] == "rex-2"
    assert door.hello(epoch="sha256:0a1b").status_code == 200
    assert Epoch.objects.get().name == Runner.objects.get(name="rex-2").epoch == "sha256:0a1b"
    assert door.hello().status_code == 200, "a runner of before says none"
    assert (Runner.objects.get(name="rex-2").epoch, Epoch.objects.count()) == ("", 1)


@pytest.mark.parametrize("epoch", [7, None, "x" * 65, "a b", "<b>", "é"])
def test_an_epoch_that_is_none_is_named(door: Door, epoch: object) -> None:
    answer = door.hello(epoch=epoch)
    assert (answer.status_code, told(answer)["errors"][0]["field"]) == (400, "epoch")
    assert not Epoch.objects.exists()


def test_nothing_to_do_is_204(door: Door) -> None:
    answer = door.post("claim", {"hardware": "cpu"})
    assert (answer.status_code, answer.content) == (204, b"")


def test_a_suspended_runner_gets_nothing(stage: Stage, door: Door) -> None:
    stage.submit()
    Runner.objects.update(suspended_at=stage.now)
    assert door.post("claim", {"hardware": "cpu"}).status_code == 204


@pytest.mark.parametrize("path", ["hello", "claim", "attempts/1/renew", "attempts/1/events", "attempts/1/report"])
def test_only_runners_come_in(stage: Stage, path: str) -> None:
    _, person = issue_token(owner=stage.olga, name="hers", scopes=["read", "submit"], now=stage.now)
    for token in ("", "pfr_guess", "pfr_" + "x" * 500, "pfr_ü", person):
        answer = Door(token).post(path, {})
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        told(answer)


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"wire": 2}, 400, "wire"),
        ({"wire": None}, 400, "software.wire"),
        ({"hardware": "H200"}, 403, "hardware"),
        ({"hardware": 7}, 400, "hardware"),
        ({"fingerprint": []}, 400, "fingerprint"),
        ({"fingerprint": {"a": "\x00"}}, 400, "fingerprint.a"),
    ],
)
def test_a_wrong_hello_is_named(door: Door, changes: dict[str, Any], status: int, field: str) -> None:
    answer = door.hello(**changes)
    assert (answer.status_code, told(answer)["errors"][0]["field"]) == (status, field)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000, b'{"token": ' + b"9" * 5000 + b"}", b"x" * 1_000_001],
)
@pytest.mark.parametrize("path", ["hello", "claim", "attempts/1/renew", "attempts/1/events", "attempts/1/report"])
def test_a_body_that_is_no_object_is_refused(door: Door, path: str, body: bytes) -> None:
    answer = door.post(path, body)
    too_long = len(body) > 1_000_000 and not path.endswith("report")
    assert answer.status_code == (413 if too_long else 400)
    assert told(answer)["errors"][0]["field"] == "body"


@pytest.mark.parametrize("call", ["renew", "events", "report"])
def test_a_stale_token_is_409_with_its_code(stage: Stage, door: Door, call: str) -> None:
    stage.submit()
    job = door.claim()
    stale = replace(job, token=job.token + 1)
    sent = passing(stale).to_json() | {"events": []}
    answer = door.post(f"attempts/{job.attempt_id}/{call}", sent)
    assert (answer.status_code, told(answer)["code"]) == (409, "stale")


@pytest.mark.parametrize("token", [None, "1", -1, True, 2**63])
def test_a_token_that_is_none_is_named(door: Door, token: object) -> None:
    answer = door.post("attempts/1/renew", {"token": token})
    assert (answer.status_code, told(answer)["errors"][0]["field"]) == (400, "token")


@pytest.mark.parametrize(
    ("events", "field"),
    [
        (None, "events"),
        ([{}] * 101, "events"),
        ([{"seq": 1, "kind": "wish"}], "event.kind"),
        ([{"seq": 1, "kind": "state", "state": "done"}], "event.state"),
        ([{"seq": 1, "kind": "progress", "message": "\ud800"}], "events[0].message"),
        ([{"seq": 10_001, "kind": "progress"}], "events.seq"),
    ],
)
def test_a_wrong_event_is_named(stage: Stage, door: Door, events: object, field: str) -> None:
    stage.submit()
    job = door.claim()
    answer = door.post(f"attempts/{job.attempt_id}/events", {"token": job.token, "events": events})
    assert (answer.status_code, told(answer)["errors"][0]["field"]) == (400, field)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"wire": 9}, "report.wire"),
        ({"outcome": "fine"}, "report.outcome"),
        ({"attempt_id": "999"}, "report.attempt_id"),
        ({"score_us": None}, "report.score_us"),
        ({"score_us": "fast"}, "report.score_us"),
        ({"message": "x" * 8001}, "report.message"),
        ({"cases": [1]}, "report.cases"),
    ],
)
def test_a_report_that_breaks_the_contract_is_named_and_noted(
    stage: Stage, door: Door, changes: dict[str, Any], field: str
) -> None:
    submission = stage.submit()
    job = door.claim()
    answer = door.post(f"attempts/{job.attempt_id}/report", passing(job).to_json() | changes)
    assert (answer.status_code, told(answer)["errors"][0]["field"]) == (400, field)
    last = submission.events.order_by("id").last()
    assert last is not None
    assert (last.kind, last.state) == ("progress", "claimed")
    assert "could not be read" in last.message
    assert current(submission).state == "claimed"
    assert told(door.post(f"attempts/{job.attempt_id}/report", passing(job).to_json())) == {"recorded": True}


def test_a_report_over_the_limit_is_413(stage: Stage, door: Door) -> None:
    stage.submit()
    job = door.claim()
    fat = dump(passing(job, evidence={"x": "y" * MAX_REPORT_BYTES}))
    answer = door.post(f"attempts/{job.attempt_id}/report", fat)
    assert answer.status_code == 413
    assert "16,000,000" in told(answer)["detail"]
    assert not Result.objects.exists()


def test_a_large_report_within_the_limit_is_kept(stage: Stage, door: Door) -> None:
    stage.submit()
    job = door.claim()
    samples = [float(number) for number in range(500_000)]
    report = dump(passing(job, evidence={"samples": samples}))
    assert told(door.post(f"attempts/{job.attempt_id}/report", report)) == {"recorded": True}
    assert archive.look(Result.objects.get()).report["evidence"]["samples"] == samples


def test_get_is_no_way_in(door: Door) -> None:
    assert door._client.get(f"{ROOT}/claim").status_code == 405


def test_upcoming_extensions_are_named_in_the_order_of_claims(
    stage: Stage, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    door.hello()
    first = stage.submit()
    monkeypatch.setattr("tests.leaderboard.stage.SOURCE", SOURCE + b"load_inline = None\n")
    extensions = [stage.submit(owner) for owner in (stage.ben, stage.ada, stage.cleo)]
    assert door.claim().submission_id == str(first.pk)
    jobs = [Job.from_json(job) for job in told(door.post("upcoming", {"hardware": "cpu"}))["jobs"]]
    assert [current(one).state for one in extensions] == ["queued"] * 3
    assert len(jobs) == 3
    stale = door.post(f"attempts/{jobs[0].attempt_id}/renew", {"token": jobs[0].token})
    assert stale.status_code == 409
    door.post(f"attempts/{current(first).attempt_id}/report", passing(door.claim()).to_json())
    claimed = door.claim()
    assert claimed.submission_id == jobs[0].submission_id
    assert claimed.source == jobs[0].source


def test_extensions_take_longest_and_are_named_first(stage: Stage, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    door.hello()
    sent = []
    for word in (b"torch", b"triton", b"triton", b"load_inline"):
        monkeypatch.setattr("tests.leaderboard.stage.SOURCE", SOURCE + word + b" = None\n")
        sent.append(str(stage.submit().pk))
    jobs = told(door.post("upcoming", {"hardware": "cpu"}))["jobs"]
    assert [job["submission_id"] for job in jobs] == [sent[3], sent[1], sent[2]]


def test_large_upcoming_jobs_are_named_as_far_as_an_answer_has_room(
    stage: Stage, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.leaderboard.stage.SOURCE", SOURCE + b"load_inline = None\n")
    sent = [str(stage.submit().pk) for _ in range(3)]
    door.hello()
    one = len(json.dumps(told(door.post("upcoming", {"hardware": "cpu"}))["jobs"][0]))
    for most, found in ((one // 2, 0), (2 * one + 20, 2), (4 * one, 3)):
        monkeypatch.setattr("leaderboard.judging.claim.MOST_UPCOMING_BYTES", most)
        jobs = told(door.post("upcoming", {"hardware": "cpu"}))["jobs"]
        assert [job["submission_id"] for job in jobs] == sent[:found]


@pytest.mark.parametrize("building", ["a b", "1,,2", "1,", ",".join(["1"] * 65)])
def test_a_claim_that_names_no_submissions_is_refused(door: Door, building: str) -> None:
    door.hello()
    answer = door.post("claim", {"hardware": "cpu", "wire": 1, "being_built": building})
    assert answer.status_code == 400
    assert told(answer)["detail"].startswith("being_built: ")


def test_a_runner_that_may_not_work_is_named_no_jobs(stage: Stage, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    door.hello()
    monkeypatch.setattr("tests.leaderboard.stage.SOURCE", SOURCE + b"load_inline = None\n")
    stage.submit()
    assert len(told(door.post("upcoming", {"hardware": "cpu"}))["jobs"]) == 1
    door.post("drain", {"draining": True})
    assert told(door.post("upcoming", {"hardware": "cpu"})) == {"jobs": []}
    assert door.post("upcoming", {"hardware": "H200"}).status_code == 403
