"""Runner tokens: rotation, revocation, rate limits, and a clear refusal of an invalid token."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.admissions.ask import ask_test
from leaderboard.admissions.models import AdmissionTest
from leaderboard.audit.models import Row
from leaderboard.errors import UserError
from leaderboard.judging.models import Attempt, Epoch, Runner
from leaderboard.judging.runners import create_runner, find_runner, revoke, rotate
from leaderboard.web import limits
from tests.leaderboard.stage import NOON, Stage, current, passing

CALLS = ("hello", "claim", "drain", "attempts/1/renew", "attempts/1/events", "attempts/1/report", "attempts/1/release")
HELLO = {"wire": 1, "hardware": "cpu", "fingerprint": {}, "epoch": "sha256:0a1b"}


def post(token: str, path: str, sent: object, address: str = "198.51.100.7") -> HttpResponse:
    client = Client(headers={"authorization": f"Bearer {token}"}, REMOTE_ADDR=address)
    return client.post(f"/api/runner/v1/{path}", data=json.dumps(sent), content_type="application/json")


@pytest.fixture
def token(stage: Stage) -> str:
    stage.rex, text = create_runner(name="rex-2", hardware="cpu", now=stage.now)
    return text


def test_revoke_closes_every_call_and_queues_the_work_again_without_a_loss(stage: Stage, token: str) -> None:
    submission = stage.submit()
    job = stage.claim()
    revoke(runner=stage.rex, actor=stage.olga, reason="the host was stolen", now=stage.now)
    for call in CALLS:
        answer = post(token, call, {})
        assert answer.status_code == 401
        assert "rex-2 was revoked; `create_runner` makes another" in json.loads(answer.content)["detail"]
    held = current(submission)
    assert (held.state, held.losses, held.number) == ("queued", 0, 1)
    assert "taken out of service" in submission.events.last().message
    row = Row.objects.get(act="revoke_runner")
    assert (row.actor, row.reason, row.object_id) == (stage.olga, "the host was stolen", str(stage.rex.pk))
    with pytest.raises(UserError, match="revoked already"):
        revoke(runner=stage.rex, actor=stage.olga, reason="again", now=stage.now)
    assert stage.claim(Runner.objects.get(name="rex")).attempt_id == job.attempt_id


def test_revoke_queues_an_admission_test_again_without_a_loss(stage: Stage) -> None:
    ask_test(version=stage.board.version, hardware="cpu", actor=None, now=stage.now)
    assert pipeline.claim_work(runner=stage.rex, now=stage.now) is not None
    revoke(runner=stage.rex, actor=None, reason="retired", now=stage.now)
    test = AdmissionTest.objects.get()
    assert (test.state, test.losses, test.runner) == ("queued", 0, None)
    assert pipeline.claim_work(runner=stage.rex, now=stage.now) is None


def test_rotate_lets_the_old_token_in_for_the_grace_only(stage: Stage, token: str) -> None:
    fresh = rotate(runner=stage.rex, actor=stage.olga, reason="once a year", now=NOON)
    assert find_runner(fresh, now=NOON) == stage.rex
    assert find_runner(token, now=NOON + timedelta(minutes=14)) == stage.rex
    assert find_runner(token, now=NOON + timedelta(minutes=15)) is None
    third = rotate(runner=stage.rex, actor=None, reason="it leaked", now=NOON, grace=timedelta(0))
    assert [find_runner(text, now=NOON) for text in (token, fresh, third)] == [None, None, stage.rex]
    acts = Row.objects.filter(act="rotate_runner")
    assert acts.count() == 2
    assert not any(secret in str(row.after) for row in acts for secret in (fresh, third))


@pytest.mark.parametrize("grace", [-1, 8 * 24 * 60])
def test_rotate_names_a_grace_that_is_none(stage: Stage, grace: int) -> None:
    with pytest.raises(UserError, match="expected 0 to 604,800 seconds"):
        rotate(runner=stage.rex, actor=None, reason="x", now=NOON, grace=timedelta(minutes=grace))


def test_commands_rotate_and_revoke_a_runner(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("rotate_runner", "rex", reason="once a year", grace=0)
    assert find_runner(capsys.readouterr().out.strip(), now=timezone.now()) == stage.rex
    with pytest.raises(CommandError, match="say why"):
        call_command("revoke_runner", "rex", reason=" ")
    call_command("revoke_runner", "rex", reason="retired")
    for name, reason in (("revoke_runner", "already"), ("rotate_runner", "was revoked; make another")):
        with pytest.raises(CommandError, match=reason):
            call_command(name, "rex", reason="again")
    with pytest.raises(CommandError, match="there are rex"):
        call_command("revoke_runner", "max", reason="x")


def test_suspended_runner_says_hello_and_opens_no_epoch(stage: Stage, token: str) -> None:
    job_of = stage.submit()
    job = stage.claim()
    Runner.objects.filter(pk=stage.rex.pk).update(suspended_at=stage.now)
    assert post(token, "hello", HELLO).status_code == 200
    assert not Epoch.objects.exists()
    Attempt.objects.update(hard_deadline_at=timezone.now() + timedelta(hours=1))
    assert post(token, f"attempts/{job.attempt_id}/renew", {"token": job.token}).status_code == 200
    assert post(token, f"attempts/{job.attempt_id}/report", passing(job).to_json()).status_code == 200
    assert current(job_of).outcome == "passed"
    assert post(token, "claim", {"hardware": "cpu"}).headers["Photofinish-Runner"] == "suspended"


def test_drain_call_stops_claims_until_it_is_taken_back(stage: Stage, token: str) -> None:
    stage.submit()
    job = stage.claim()
    answer = json.loads(post(token, "drain", {"draining": True}).content)
    assert answer == {"runner": "rex-2", "draining": True, "holds": job.attempt_id}
    assert stage.report(job)
    stage.submit()
    claim = post(token, "claim", {"hardware": "cpu"})
    assert (claim.status_code, claim.headers["Photofinish-Runner"]) == (204, "draining")
    assert json.loads(post(token, "drain", {"draining": True}).content)["holds"] == ""
    assert post(token, "drain", {"draining": False}).status_code == 200
    assert post(token, "claim", {"hardware": "cpu"}).status_code == 200
    assert list(Row.objects.values_list("act", flat=True).order_by("id")) == ["drain_runner", "undrain_runner"]
    assert post(token, "drain", {"draining": "yes"}).status_code == 400


def test_seen_address_and_time_of_a_token_are_kept(stage: Stage, token: str) -> None:
    post(token, "claim", {"hardware": "cpu"}, address="2001:db8::1")
    rex = Runner.objects.get(name="rex-2")
    assert rex.seen_from == "2001:db8::1"
    assert rex.last_seen_at is not None
    post(token, "claim", {"hardware": "cpu"}, address="")
    assert Runner.objects.get(name="rex-2").seen_from is None


def test_refused_tokens_are_limited_by_address_and_good_ones_are_not(
    stage: Stage, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RUNNER_GUESS_IP", limits.Limit("runner token ip", 3, 3600))
    statuses = [post("pfr_guess", "claim", {}).status_code for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    assert post("pfr_guess", "claim", {}, address="203.0.113.9").status_code == 401
    assert post("", "claim", {}).status_code == 401
    assert post(token, "claim", {"hardware": "cpu"}).status_code == 204


def test_runner_that_runs_wild_is_limited_by_its_token(
    stage: Stage, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RUNNER", limits.Limit("runner", 3, 3600))
    answers = [post(token, "claim", {"hardware": "cpu"}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [204, 204, 204, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0


def test_job_carries_the_deadline_of_its_claim(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    assert current(submission).hard_deadline_at == stage.now + timedelta(seconds=job.deadline_s)
    assert job.deadline_s > 900
