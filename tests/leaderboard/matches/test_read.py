"""Figures of a match: gates, head-to-head, the measured bound, torch.compile, and rules that would hold a kernel."""

import threading
from typing import Any

import pytest
from django.db import connection

from leaderboard import pipeline
from leaderboard.admissions.models import CompiledTiming
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.errors import UserError
from leaderboard.matches import acts
from leaderboard.matches.models import HUMAN, MACHINE, Match
from leaderboard.matches.read import TIE, Report, report_on
from leaderboard.submissions.intake import Upload
from runner.evidence import profiled
from runner.evidence.profiled import Traced
from tests.leaderboard.matches.test_matches import answered, opened, predicted, sent, upload
from tests.leaderboard.stage import Stage
from tests.runner.judge.suspects import steady


def reported(stage: Stage, match: Match) -> Report:
    return report_on(match, stage.now)


def played(stage: Stage, *human: dict[str, Any], machine: tuple[dict[str, Any], ...] = ()) -> Match:
    match = opened(stage)
    predicted(stage, match)
    for number, told in enumerate(human):
        words = ("smaller tiles", 1.5) if number else ("", None)
        stage.judge(sent(stage, match, *words).submission, **told)
    for told in machine:
        stage.judge(answered(stage, match).submission, **told)
    return match


def timed(**cases: float) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"stage": "time", "name": name, "public": True, "good": True, "measured_us": 100.0 * ratio}
        | {"baseline_us": 100.0, "ratio": ratio, "half_width": 0.01}
        for name, ratio in cases.items()
    )


@pytest.mark.parametrize(
    ("told", "reached"),
    [
        ({"outcome": "build_error", "reason": "syntax"}, "none"),
        ({"outcome": "build_error", "reason": "import"}, "none"),
        ({"outcome": "wrong", "reason": "mismatch"}, "compiled"),
        ({"ratio": 1.2}, "correct"),
        ({"ratio": 0.995, "half_width": 0.02}, "correct"),
        ({"ratio": 0.9}, "faster"),
    ],
)
def test_version_reaches_its_last_gate(stage: Stage, told: dict[str, Any], reached: str) -> None:
    report = reported(stage, played(stage, told))
    assert report.human.versions[0].reached == report.human.reached == reached


def test_waiting_version_has_no_gate(stage: Stage) -> None:
    match = played(stage)
    sent(stage, match)
    report = reported(stage, match)
    assert (report.human.reached, report.is_waiting, report.result) == ("waiting", True, "")


@pytest.mark.parametrize(
    ("human", "machine", "result"),
    [
        ({"ratio": 0.5}, {"ratio": 0.6}, HUMAN),
        ({"ratio": 0.6}, {"ratio": 0.5}, MACHINE),
        ({"ratio": 0.5}, {"ratio": 0.508}, TIE),
        ({"ratio": 0.5}, {"ratio": 0.9, "half_width": None}, TIE),
        ({"ratio": 0.5}, {"outcome": "wrong", "reason": "nan"}, ""),
    ],
)
def test_result_is_a_tie_where_intervals_overlap(stage: Stage, human: Any, machine: Any, result: str) -> None:
    assert reported(stage, played(stage, human, machine=(machine,))).result == result


def test_best_version_is_the_fastest_correct_one(stage: Stage) -> None:
    report = reported(stage, played(stage, {"ratio": 0.7}, {"ratio": 0.5}, {"outcome": "wrong", "reason": "nan"}))
    assert report.human.best is not None
    assert (report.human.best.number, report.human.best.speedup) == (2, 2.0)
    assert [(one.number, one.expected, one.measured) for one in report.expectations] == [
        (None, 2.0, 2.0),
        (2, 1.5, 2.0),
        (3, 1.5, None),
    ]


def test_cases_are_compared_each(stage: Stage) -> None:
    human = {"ratio": 0.5, "cases": timed(a=0.5, b=0.8, c=0.5)}
    report = reported(stage, played(stage, human, machine=({"ratio": 0.6, "cases": timed(a=0.7, b=0.6, c=0.501)},)))
    assert [(one.name, one.winner) for one in report.cases] == [("a", HUMAN), ("b", MACHINE), ("c", TIE)]


def test_speed_of_light_measures_the_bound(stage: Stage) -> None:
    bound = {"case": "a", "hard": {"resource": "memory", "ns": 20_000.0}}
    evidence = steady(0.5) | {"limits": {"ceilings": None, "legal": [], "cases": [bound]}}
    report = reported(stage, played(stage, {"ratio": 0.5, "cases": timed(a=0.5), "evidence": evidence}))
    assert report.measured is not None
    assert report.measured.light_share == pytest.approx(0.4)
    assert (report.measured.bounds, report.measured.bound, report.measured.profile) == ("memory", "", None)


def test_profile_of_a_version_measures_the_bound(stage: Stage) -> None:
    match = played(stage, {"ratio": 0.5})
    code = match.versions.get().submission.source.encode()
    traced = Traced(wall_us=100.0, cpu_us=100.0, cores=1, outside=0.7, operators=())
    profile = profiled.on_cpu("rows=8", traced, None).model_dump(mode="json")
    for data in (code, code + b"# another kernel"):
        wanted = Upload(board="softmax", hardware="cpu", mode="profile", filename="kernel.py", data=data)
        submission = pipeline.submit(wanted, owner=stage.ada, now=stage.later(1))
        stage.judge(submission, profile=profile if data == code else profile | {"bound": "compute"})
    measured = reported(stage, match).measured
    assert measured is not None
    assert (measured.bounds, measured.profile) == ("latency", submission.pk - 1)
    assert measured.sentence.startswith("Latency bounds this kernel")


def test_torch_compile_is_a_line(stage: Stage) -> None:
    match = played(stage)
    assert reported(stage, match).compiled is None
    told = {"state": "done", "outcome": "passed", "ratio": 0.8, "half_width": 0.01, "score_us": 80.0, "epoch": ""}
    at = {"created_at": stage.now, "finished_at": stage.now}
    CompiledTiming.objects.create(version=stage.board.version, hardware="cpu", **told, **at)
    found = reported(stage, match).compiled
    assert found is not None
    assert found.speedup == 1.25


def test_rule_that_would_hold_a_version_is_named(stage: Stage) -> None:
    report = reported(stage, played(stage, {"ratio": 0.3}, machine=({"ratio": 0.9},)))
    assert set(report.held) == {HUMAN}


def test_two_members_at_once_get_two_numbers(live_stage: Stage) -> None:
    stage = live_stage
    team = Entrant.objects.create(competition=stage.board.competition, name="Team", is_team=True, created_at=stage.now)
    for user, role in ((stage.ada, Membership.CAPTAIN), (stage.ben, Membership.MEMBER)):
        Membership.objects.create(entrant=team, competition=team.competition, user=user, role=role, joined_at=stage.now)
    match = opened(stage)
    predicted(stage, match)
    sent(stage, match)
    ways = [
        {"author": user, "upload": upload(stage), "reason": f"by {user}", "expected": 1.5, "now": stage.later(1)}
        for user in (stage.ada, stage.ben)
    ]

    def send(told: dict[str, Any]) -> None:
        try:
            acts.send_version(match=match, **told)
        except UserError as error:
            failed.append(error)
        finally:
            connection.close()

    failed: list[UserError] = []
    threads = [threading.Thread(target=send, args=(told,)) for told in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failed
    assert [*match.versions.order_by("number").values_list("number", flat=True)] == [1, 2, 3]
