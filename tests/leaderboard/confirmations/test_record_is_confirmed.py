"""First place taken from another entrant in a contest is confirmed: requested, claimed, decided and stored once."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.test import Client

from leaderboard import pipeline
from leaderboard.audit.models import Row
from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.confirmations.ask import PAUSE, ask_confirmation
from leaderboard.confirmations.models import (
    AWARD,
    CONFIRMED,
    DROPPED,
    FAILED,
    HELD,
    RECORD,
    REFUSED,
    Confirmation,
    Found,
)
from leaderboard.errors import StaleLease, UserError
from leaderboard.judging.lease import renew
from leaderboard.judging.models import AT_WORK, ERROR, QUEUED, EpochPin, longest
from leaderboard.judging.runners import create_runner
from leaderboard.judging.sweep import expire_leases
from leaderboard.review.models import Finding
from leaderboard.standings.models import Entry
from leaderboard.standings.read.records import CONFIRMED_MARK, NOT_YET, contest_leader
from leaderboard.standings.read.table import level_pairs
from leaderboard.submissions.models import Submission
from runner.wire import Job, dump
from tests.leaderboard import records
from tests.leaderboard.records import claim, confirm, found
from tests.leaderboard.stage import Stage, make_problem, make_runner


def overtake(stage: Stage, by: float = 0.8) -> tuple[Submission, Submission]:
    """Let ben lead and ada take first place."""
    incumbent, candidate = stage.submit(stage.ben), stage.submit(stage.ada)
    stage.judge(incumbent, ratio=0.9)
    stage.judge(candidate, ratio=by)
    return candidate, incumbent


def only() -> Confirmation:
    return Confirmation.objects.get()


def first(stage: Stage) -> int:
    value = contest_leader(Submission(board=stage.board, created_at=stage.now), "")
    assert value is not None
    return value.submissions[0]


def mark(stage: Stage) -> str:
    """Return the public record mark of the first place, after comparing the board's page with the API."""
    [line, *others] = Client().get("/api/v1/boards/softmax/cpu/entries").json()
    assert not any(other["record"] for other in others)
    assert not line["record"] or line["record"] in Client().get("/boards/softmax/cpu").content.decode()
    return str(line["record"])


def test_who_takes_first_place_from_another_is_confirmed(stage: Stage) -> None:
    candidate, incumbent = overtake(stage)
    asked = only()
    assert (asked.candidate, asked.incumbent, asked.cause) == (candidate, incumbent, RECORD)
    assert Row.objects.filter(act="ask_confirmation", actor=None).count() == 1


def test_who_leads_already_or_ties_is_not(stage: Stage) -> None:
    stage.judge(stage.submit(stage.ada), ratio=0.9)
    assert not Confirmation.objects.exists(), "there is nobody to overtake"
    stage.judge(stage.submit(stage.ada), ratio=0.8)
    assert not Confirmation.objects.exists(), "she overtakes herself"
    stage.judge(stage.submit(stage.ben), ratio=0.85)
    stage.judge(stage.submit(stage.cleo), ratio=0.799)
    assert not Confirmation.objects.exists(), "a tie takes no place: the earlier one stands first"


def test_practice_is_not_confirmed(stage: Stage) -> None:
    competition = stage.board.competition
    competition.contest_at = stage.now + timedelta(days=1)
    competition.practice_at = stage.now - timedelta(days=1)
    competition.save()
    overtake(stage)
    assert not Confirmation.objects.exists()


def test_a_confirmation_counts_in_its_epoch_alone(stage: Stage) -> None:
    candidate, incumbent = overtake(stage)
    confirm(stage, told=records.REFUSED)
    assert level_pairs([stage.board.pk]) == {stage.board.pk: {"": ((candidate.pk, incumbent.pk),)}}
    assert first(stage) == incumbent.pk, "they are tied, and the earlier one stands first"
    Entry.objects.update(epoch="driver-2")
    leader = contest_leader(Submission(board=stage.board, created_at=stage.now), "driver-2")
    assert leader is not None
    assert leader.submissions == (candidate.pk,)
    pair = {"candidate": candidate, "incumbent": incumbent, "cause": RECORD, "actor": None, "now": stage.now}
    assert ask_confirmation(**pair) == only(), "in this epoch it is decided"
    place = {"competition": stage.board.competition, "hardware": "cpu"}
    EpochPin.objects.update_or_create(**place, defaults={"epoch": "driver-2", "pinned_at": stage.now})
    assert ask_confirmation(**pair).state == QUEUED


def test_what_a_person_clears_is_confirmed_too(stage: Stage) -> None:
    stage.judge(stage.submit(stage.ben), ratio=0.9)
    held = stage.judge(stage.submit(stage.ada), ratio=0.3)
    assert not Confirmation.objects.exists()
    pipeline.clear_result(result=held, actor=stage.olga, reason="read it", now=stage.later(1))
    assert only().candidate_id == held.attempt.submission_id


def test_the_job_has_both_sources_and_says_how_many_runs(stage: Stage) -> None:
    candidate, incumbent = overtake(stage)
    job = claim(stage)
    assert job.incumbent is not None
    assert (job.source, job.incumbent.source, job.runs, job.mode) == (candidate.source, incumbent.source, 5, "ranked")
    assert (job.attempt_id, job.incumbent.submission_id) == (f"confirmation-{only().pk}", str(incumbent.pk))
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job
    assert pipeline.claim_work(runner=make_runner("tess"), now=stage.now) is None, "nobody else gets it"
    deadline = only().hard_deadline_at
    assert deadline == stage.now + 12 * longest(stage.board.version.bundle)


@pytest.mark.parametrize("awaited", ["by nobody", "by a prize", "by olga"])
def test_attempts_come_first_but_a_record_does_not_starve(stage: Stage, awaited: str) -> None:
    overtake(stage)
    for user in (stage.ada, stage.ben):
        stage.submit(user)
    await_it(awaited, stage)
    patience = pipeline.LONG_PATIENCE if awaited == "by nobody" else pipeline.PATIENCE
    stage.later((only().created_at + patience - stage.now).total_seconds() - 1)
    early = pipeline.claim_work(runner=stage.rex, now=stage.now)
    assert early is not None
    assert early.incumbent is None
    assert stage.report(early, ratio=0.95)
    stage.later(1)
    due = pipeline.claim_work(runner=stage.rex, now=stage.now)
    assert due is not None
    assert due.incumbent is not None


def await_it(awaited: str, stage: Stage) -> None:
    """Let a prize or a person wait for the only confirmation."""
    changed = {"by a prize": {"cause": AWARD}, "by olga": {"asked_by": stage.olga}, "by nobody": {}}
    Confirmation.objects.update(**({"state": QUEUED} | changed[awaited]))


def test_a_record_that_nobody_awaits_waits_until_nobody_is_at_work(stage: Stage) -> None:
    """Its runs take minutes, and a competitor who reads a verdict sends the next version soon."""
    overtake(stage)
    stage.later(pipeline.CALM.total_seconds() - 2)
    stage.judge(stage.submit(stage.cleo), ratio=0.95)
    assert pipeline.claim_work(runner=stage.rex, now=stage.later(pipeline.CALM.total_seconds() - 1)) is None
    job = pipeline.claim_work(runner=stage.rex, now=stage.later(1))
    assert job is not None
    assert job.incumbent is not None


@pytest.mark.parametrize("awaited", ["by a prize", "by olga"])
def test_an_awaited_record_waits_for_no_calm(stage: Stage, awaited: str) -> None:
    overtake(stage)
    assert pipeline.claim_work(runner=stage.rex, now=stage.now) is None
    await_it(awaited, stage)
    job = pipeline.claim_work(runner=stage.rex, now=stage.now)
    assert job is not None
    assert job.incumbent is not None


def test_another_hardware_does_not_get_it(stage: Stage) -> None:
    overtake(stage)
    assert pipeline.claim_work(runner=make_runner("tess", "H200"), now=stage.now) is None


def test_a_record_that_a_prize_waits_for_is_not_paused(stage: Stage) -> None:
    overtake(stage)
    claim(stage)
    record = stage.submit(stage.cleo)
    stage.judge(record, ratio=0.6)
    [paused] = Confirmation.objects.filter(state=QUEUED)
    tess = make_runner("tess")
    assert pipeline.claim_work(runner=tess, now=stage.now) is None
    pair = {"candidate": paused.candidate, "incumbent": paused.incumbent}
    assert ask_confirmation(**pair, cause=AWARD, actor=stage.olga, now=stage.now) == paused
    taken = pipeline.claim_work(runner=tess, now=stage.now)
    assert taken is not None
    assert taken.attempt_id == f"confirmation-{paused.pk}"


def test_a_confirmed_record_is_marked_so(stage: Stage) -> None:
    candidate, _ = overtake(stage)
    assert mark(stage) == NOT_YET
    asked = confirm(stage)
    assert (asked.outcome, asked.found.median_gain, asked.found.wins) == (CONFIRMED, 0.02, 5)
    assert (mark(stage), first(stage)) == (CONFIRMED_MARK, candidate.pk)


def test_a_record_of_an_earlier_version_of_the_problem_is_none_of_todays(stage: Stage) -> None:
    candidate, incumbent = overtake(stage)
    confirm(stage)
    newer = replace(make_problem(), description="Softmax of each column.")
    version = ProblemVersion.objects.create(
        problem=stage.board.problem, digest=newer.digest, bundle=newer.to_bundle(), created_at=stage.now
    )
    Board.objects.update(version=version)
    assert (mark(stage), first(stage)) == ("", candidate.pk)
    now = stage.later(PAUSE.total_seconds())
    ask_confirmation(candidate=candidate, incumbent=incumbent, cause=RECORD, actor=None, now=now)
    assert mark(stage) == NOT_YET
    assert confirm(stage).version == version
    assert mark(stage) == CONFIRMED_MARK


def test_a_refused_record_is_a_tie_and_the_earlier_stands_first(stage: Stage) -> None:
    candidate, incumbent = overtake(stage)
    assert first(stage) == candidate.pk
    assert confirm(stage, told=records.REFUSED).outcome == REFUSED
    assert (mark(stage), first(stage)) == ("", incumbent.pk)
    assert Entry.objects.filter(submission=candidate).exists(), "it ranks, as one of those who are tied"


def test_after_a_refusal_a_better_kernel_is_asked_about_again(stage: Stage) -> None:
    overtake(stage)
    confirm(stage, told=records.REFUSED)
    better = stage.submit(stage.ada)
    stage.judge(better, ratio=0.7)
    assert Confirmation.objects.get(state=QUEUED).candidate == better


def test_who_fails_on_fresh_seeds_waits_for_a_person(stage: Stage) -> None:
    candidate, _ = overtake(stage)
    assert confirm(stage, told=records.FAILED, outcome="wrong", reason="values").outcome == FAILED
    finding = Finding.objects.get()
    assert (finding.rule, finding.result.attempt.submission) == ("record_failed", candidate)
    assert not Entry.objects.filter(submission=candidate).exists()


@pytest.mark.parametrize(
    ("told", "report"),
    [
        ({"held": True}, {}),
        ({}, {"flags": ("not_certified",)}),
        (records.FAILED | {"held": True, "reason": "incumbent_failed"}, {}),
    ],
)
def test_what_was_disturbed_is_held_and_settles_nothing(
    stage: Stage, told: dict[str, Any], report: dict[str, Any]
) -> None:
    candidate, _ = overtake(stage)
    assert confirm(stage, told=told, **report).outcome == HELD
    assert (mark(stage), first(stage)) == (NOT_YET, candidate.pk)


def test_a_report_is_kept_once_and_never_changed(stage: Stage) -> None:
    overtake(stage)
    job = claim(stage)
    assert pipeline.take_report(runner=stage.rex, report=found(job), now=stage.now)
    again = found(job, told=records.REFUSED)
    assert not pipeline.take_report(runner=stage.rex, report=again, now=stage.now)
    assert only().outcome == CONFIRMED
    with transaction.atomic(), pytest.raises(DatabaseError, match="never changed"):
        Found.objects.update(accepted=False)


def test_another_runner_or_an_old_token_decides_nothing(stage: Stage) -> None:
    overtake(stage)
    job = claim(stage)
    other = make_runner("tess")
    for runner, report in ((other, found(job)), (stage.rex, found(replace(job, token=1)))):
        with pytest.raises(StaleLease):
            pipeline.take_report(runner=runner, report=report, now=stage.now)
    stage.later(61)
    assert expire_leases(now=stage.now) == 1
    assert (only().state, only().losses) == (QUEUED, 1)
    stage.later(PAUSE.total_seconds())
    again = claim(stage, other)
    assert again.token > job.token
    with pytest.raises(StaleLease):
        pipeline.take_report(runner=stage.rex, report=found(job), now=stage.now)
    assert only().state == AT_WORK


def test_a_renewal_never_passes_the_hard_deadline(stage: Stage) -> None:
    overtake(stage)
    job = claim(stage)
    asked = only()
    deadline = asked.hard_deadline_at
    assert deadline is not None
    asked.lease_expires_at = deadline
    asked.save()
    near = deadline - timedelta(seconds=5)
    assert renew(attempt_id=asked.attempt_id, runner=stage.rex, token=job.token, now=near).expires_in_s == 5
    with pytest.raises(StaleLease):
        renew(attempt_id=asked.attempt_id, runner=stage.rex, token=job.token, now=deadline)
    with pytest.raises(StaleLease):
        pipeline.take_report(runner=stage.rex, report=found(job), now=deadline)


@pytest.mark.parametrize(
    "spoiled",
    [
        {"outcome": "infra_error", "told": None},
        {"told": records.FAILED | {"reason": "run_failed"}},
        {"telemetry": "none"},
    ],
)
def test_three_spoiled_tries_say_nothing(stage: Stage, spoiled: dict[str, Any]) -> None:
    overtake(stage)
    for _ in range(3):
        job = claim(stage)
        report = found(job, **spoiled)
        if spoiled.get("outcome") == "infra_error":
            report = replace(report, confirmation={})
        assert pipeline.take_report(runner=stage.rex, report=report, now=stage.now)
        stage.later(PAUSE.total_seconds() + 1)
    assert (only().outcome, Found.objects.count()) == (ERROR, 0)


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"incumbent": "0"}, "incumbent"),
        ({"accepted": "yes"}, "accepted"),
        ({"gains": [0.1] * 4, "wins": 4}, "accepted"),
        ({"gains": [0.1] * 6}, "gains"),
        ({"gains": [1.0]}, "gains"),
        ({"least_gain": -0.1}, "accepted"),
        ({"wins": 6}, "wins"),
        ({"sentence": ""}, "sentence"),
        ({"median_gain": True}, "median_gain"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(stage: Stage, told: dict[str, Any], field: str) -> None:
    overtake(stage)
    job = claim(stage)
    with pytest.raises(UserError, match=rf"report\.confirmation\.{field}"):
        pipeline.take_report(runner=stage.rex, report=found(job, told=told), now=stage.now)
    assert only().state == AT_WORK


def test_taking_turns_at_the_top_fills_no_queue(stage: Stage) -> None:
    overtake(stage)
    for step, owner in enumerate((stage.ben, stage.ada, stage.ben, stage.ada), 1):
        stage.judge(stage.submit(owner), ratio=0.8 - step / 20)
    assert Confirmation.objects.filter(state=QUEUED).count() == 1
    assert Confirmation.objects.filter(outcome=DROPPED).count() == 4
    claim(stage)
    stage.judge(stage.submit(stage.ben), ratio=0.5)
    tess = make_runner("tess")
    assert pipeline.claim_work(runner=tess, now=stage.now) is None, "not so soon after the last"
    assert pipeline.claim_work(runner=tess, now=stage.later(PAUSE.total_seconds())) is not None


def test_asking_twice_is_one_confirmation(stage: Stage) -> None:
    candidate, incumbent = overtake(stage)
    told = {"candidate": candidate, "incumbent": incumbent, "actor": stage.olga, "now": stage.now}
    for cause in (RECORD, AWARD, RECORD, AWARD):
        again = ask_confirmation(cause=cause, **told)
        assert (again, again.cause, again.asked_by) == (only(), only().cause, only().asked_by)
    assert (only().cause, only().asked_by) == (AWARD, stage.olga)
    rows = Row.objects.filter(act="ask_confirmation", actor=stage.olga).order_by("pk")
    assert [row.after["cause"] for row in rows] == [RECORD, AWARD], "twice more is urgent"
    with pytest.raises(UserError, match="another entrant"):
        ask_confirmation(candidate=candidate, incumbent=candidate, cause=AWARD, actor=stage.olga, now=stage.now)


def test_a_line_that_comes_back_is_not_confirmed_twice(stage: Stage) -> None:
    candidate, _ = overtake(stage)
    confirm(stage)
    pipeline.suspend_account(user=stage.ada, competition=None, actor=stage.olga, reason="a mistake", now=stage.now)
    assert first(stage) != candidate.pk
    pipeline.reinstate_account(user=stage.ada, competition=None, actor=stage.olga, reason="of ours", now=stage.now)
    assert (first(stage), Confirmation.objects.count()) == (candidate.pk, 1)


def test_every_finding_has_an_outcome() -> None:
    for accepted, held, reason, outcome in (
        (True, False, "confirmed", CONFIRMED),
        (True, True, "confirmed", HELD),
        (False, False, "uncertain", REFUSED),
        (False, True, "candidate_failed", FAILED),
    ):
        assert Found(accepted=accepted, held=held, reason=reason).outcome == outcome


def test_a_runner_does_it_over_http(stage: Stage) -> None:
    overtake(stage)
    _, token = create_runner(name="rex-2", hardware="cpu", now=stage.now)
    client = Client(headers={"authorization": f"Bearer {token}"})

    def post(path: str, sent: object) -> Any:
        body = sent if isinstance(sent, str) else json.dumps(sent)
        return client.post(f"/api/runner/v1/{path}", data=body, content_type="application/json")

    Confirmation.objects.update(created_at=stage.now - timedelta(days=9))
    job = Job.from_json(post("claim", {"hardware": "cpu"}).json())
    at = f"attempts/{job.attempt_id}"
    assert post(f"{at}/renew", {"token": job.token}).json()["cancel"] is False
    assert post(f"{at}/renew", {"token": job.token + 1}).status_code == 409
    assert post(f"{at}/events", {"token": job.token, "events": []}).status_code == 200
    assert post(f"{at}/report", dump(found(job)).replace("confirmation-", "confirmation-9")).status_code == 400
    assert post(f"{at.replace('confirmation', 'admission')}/report", dump(found(job))).status_code in (400, 409)
    assert post(f"{at}/report", dump(found(job))).json() == {"recorded": True}
    assert post(f"{at}/report", dump(found(job))).json() == {"recorded": False}
    assert only().outcome == CONFIRMED
