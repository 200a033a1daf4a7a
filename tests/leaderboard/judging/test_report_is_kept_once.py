"""A report ends its attempt; a replay changes no row; a contract violation is named and leaves no result."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard import pipeline
from leaderboard.errors import StaleLease, UserError
from leaderboard.judging import archive
from leaderboard.judging.models import Result
from leaderboard.standings.models import Entry
from leaderboard.standings.read.status import status_of
from tests.leaderboard.stage import Stage, current, make_runner, passing


def test_it_ends_the_attempt_and_is_kept_whole(stage: Stage) -> None:
    submission = stage.submit()
    told: dict[str, Any] = {
        "flags": ("bimodal",),
        "cases": ({"name": "rows=1", "time_us": 1.5},),
        "logs": {"stdout": "hello"},
        "evidence": {"version": 1, "samples": [1, 2.5]},
    }
    result = stage.judge(submission, **told)
    assert archive.look(result).report["evidence"] == told["evidence"]
    attempt = current(submission)
    assert (attempt.state, attempt.outcome, attempt.finished_at) == ("done", "passed", stage.now)
    last = submission.events.order_by("id").last()
    assert last is not None
    assert (last.state, last.data) == ("done", {"outcome": "passed", "reason": ""})
    seen = status_of(submission, now=stage.now)
    assert (seen.flags, seen.logs) == (["bimodal"], {"stdout": "hello"})
    assert seen.cases == [{"name": "rows=1", "time_us": 1.5}]


def test_a_replay_changes_nothing(stage: Stage) -> None:
    submission = stage.submit()
    job = stage.claim()
    assert stage.report(job)
    events = submission.events.count()
    assert not stage.report(job)
    assert not stage.report(job, outcome="wrong")
    assert (Result.objects.get().outcome, submission.events.count()) == ("passed", events)


def test_reports_at_once_are_kept_once(live_stage: Stage) -> None:
    live_stage.submit()
    report, answers = passing(live_stage.claim()), []

    def send() -> None:
        try:
            answers.append(pipeline.take_report(runner=live_stage.rex, report=report, now=live_stage.now))
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(answers) == [False, False, False, True]
    assert (Result.objects.count(), Entry.objects.count()) == (1, 1)


def test_report_of_a_ranked_pass_asks_few_questions(stage: Stage) -> None:
    stage.judge(stage.submit(stage.ben))
    stage.submit(stage.ada)
    report = passing(stage.claim(), ratio=0.95)
    with CaptureQueriesContext(connection) as asked:
        assert pipeline.take_report(runner=stage.rex, report=report, now=stage.later(1))
    assert Entry.objects.filter(owner=stage.ada).exists()
    assert len(asked) <= 44  # two lock account and entrant against a decision; the last find case and batch


def test_another_runner_may_not_report(stage: Stage) -> None:
    stage.submit()
    job = stage.claim()
    with pytest.raises(StaleLease):
        stage.report(job, runner=make_runner("tex"))
    assert not Result.objects.exists()


@pytest.mark.parametrize(
    ("mode", "told", "field"),
    [
        ("ranked", {"score_us": None}, "report.score_us"),
        ("ranked", {"ratio": 0.0}, "report.ratio"),
        ("benchmark", {"ratio": None}, "report.ratio"),
        ("test", {"score_us": 1.0}, "report.score_us"),
        ("ranked", {"outcome": "wrong", "ratio": 0.5}, "report.ratio"),
        ("ranked", {"message": "\ud800"}, "report.message"),
        ("ranked", {"evidence": {"a": [1, {"b": "\x00"}]}}, "report.evidence.a[1].b"),
        ("ranked", {"evidence": {"\x00": 1}}, "report.evidence: a key"),
        ("ranked", {"evidence": {"a": float("nan")}}, "report.evidence.a"),
        ("ranked", {"evidence": {"a": 2**70}}, "report.evidence.a"),
        ("ranked", {"cases": ({"name": "\udfff"},)}, "report.cases[0].name"),
    ],
)
def test_what_breaks_the_contract_is_named(stage: Stage, mode: str, told: dict[str, Any], field: str) -> None:
    submission = stage.submit(mode=mode)
    job = stage.claim()
    with pytest.raises(UserError) as caught:
        stage.report(job, **told)
    assert caught.value.field == field
    assert not Result.objects.exists()
    assert current(submission).state == "claimed", "the attempt goes on until a better report or the end of its lease"
    assert stage.report(job)


@pytest.mark.parametrize("outcome", ["wrong", "build_error", "runtime_error", "timeout", "out_of_memory", "policy"])
def test_a_failure_tells_its_owner_why_and_ranks_nowhere(stage: Stage, outcome: str) -> None:
    submission = stage.submit()
    stage.judge(submission, outcome=outcome, reason="shape", message="case rows=1: expected (1, 4), got (4, 1)")
    seen = status_of(submission, now=stage.now)
    assert (seen.status, seen.outcome, seen.reason) == ("done", outcome, "shape")
    assert "expected (1, 4)" in seen.message
    assert (seen.published, seen.rank, seen.review) == (False, None, None)


@pytest.mark.parametrize("mode", ["test", "benchmark", "profile"])
def test_practice_passes_without_ranking(stage: Stage, mode: str) -> None:
    submission = stage.submit(mode=mode)
    stage.judge(submission)
    assert status_of(submission, now=stage.now).outcome == "passed"
    assert not Entry.objects.exists()
