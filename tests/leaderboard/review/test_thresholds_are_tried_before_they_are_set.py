"""A dry run applies candidate thresholds to stored measures and lists holds and releases.

An owner sets thresholds on the record, for later reports.
"""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.audit.models import Row
from leaderboard.competitions.models import Role
from leaderboard.errors import UserError
from leaderboard.review.models import Finding, Measurement
from leaderboard.review.rules.dry_run import MOST_LINES, Measured, dry_run, holding, measured_of, unmeasured
from leaderboard.review.rules.screen import set_thresholds, thresholds_of
from leaderboard.review.rules.thresholds import USUAL, parse
from leaderboard.standings.read.status import status_of
from tests.leaderboard.stage import NOON, Stage


def measured(number: int, **values: float | None) -> Measured:
    return Measured(number, "ada", "softmax on cpu", 0.5, values)


RESULTS = (
    measured(1, faster_than_best=1.5, one_case_apart=1.0),
    measured(2, faster_than_best=2.5, one_case_apart=1.0),
    measured(3, faster_than_best=2.5, one_case_apart=5.0),
    measured(4, faster_than_best=4.0, cold_as_hot=0.0),
    measured(5, bimodal=None),
)


def test_a_dry_run_tells_held_released_and_held_by_others() -> None:
    run = dry_run(RESULTS, USUAL, parse({"faster_than_best": 3, "one_case_apart": 2}))
    assert (run.looked, run.held_before, run.held_after) == (5, 4, 3)
    told = {line.measured.submission_id: line for line in run.lines}
    assert {pk: line.change for pk, line in told.items()} == {2: "released", 3: ""}
    assert [(step.rule, step.change) for step in told[3].steps] == [
        ("faster_than_best", "released"),
        ("one_case_apart", ""),
    ]
    stricter = dry_run(RESULTS, USUAL, parse({"faster_than_best": 1.2}))
    assert [(line.measured.submission_id, line.change) for line in stricter.lines] == [(1, "held")]
    assert stricter.by_rule == {("faster_than_best", "held"): 1}


def test_no_change_changes_nothing() -> None:
    run = dry_run(RESULTS, USUAL, USUAL)
    assert (run.lines, run.left_off, run.held_before) == ([], 0, run.held_after)


def test_it_is_bounded() -> None:
    many = (measured(n, faster_than_best=2.5) for n in range(MOST_LINES + 7))
    run = dry_run(many, USUAL, parse({"faster_than_best": 3}))
    assert (len(run.lines), run.left_off) == (MOST_LINES, 7)


def test_a_rule_of_former_times_holds_nothing() -> None:
    assert holding({"faster_than_light": 9.0, "late_work": 1.0}, USUAL) == {"late_work"}


def test_what_was_stored_gives_what_was_found(stage: Stage) -> None:
    for ratio in (0.9, 0.4, 0.7, 0.2):
        stage.judge(stage.submit(), ratio=ratio)
    stored = list(measured_of(stage.board.competition))
    run = dry_run(stored, USUAL, parse({"faster_than_best": 3}))
    assert run.held_before == Finding.objects.count() == 2
    assert [line.measured.ratio for line in run.lines] == [0.4]
    assert unmeasured(stage.board.competition) == 0


def test_it_reads_no_report_and_asks_once_however_many_there_are(stage: Stage) -> None:
    for _ in range(3):
        stage.judge(stage.submit())
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert len(list(measured_of(stage.board.competition))) == 3
    fetched = [query["sql"] for query in asked if "SELECT" in query["sql"] or "DECLARE" in query["sql"]]
    assert len(fetched) == 1
    assert '"judging_result"."report"' not in fetched[0]
    assert Measurement.objects.count() == 3


def test_an_owner_sets_them_on_the_record_and_they_bear_on_what_comes(stage: Stage) -> None:
    before = stage.judge(stage.submit(), ratio=0.4)
    competition = stage.board.competition
    Role.objects.create(competition=competition, user=stage.ada, role=Role.OWNER)
    told = {"faster_than_best": 3.0, "one_case_apart": 4.0, "similar_source": "off"}
    competition = set_thresholds(
        competition=competition, actor=stage.ada, thresholds=told, reason="tricks are welcome", now=NOON
    )
    assert competition.thresholds == {"faster_than_best": 3.0, "similar_source": "off"}
    assert thresholds_of(competition)["similar_source"] is None
    row = Row.objects.get(act="set_thresholds")
    assert (row.actor, row.reason, row.before) == (stage.ada, "tricks are welcome", {"thresholds": {}})
    stage.board.refresh_from_db()
    assert status_of(stage.judge(stage.submit(), ratio=0.4).attempt.submission, now=stage.now).published
    assert status_of(before.attempt.submission, now=stage.now).review == "under_review"


@pytest.mark.parametrize(
    ("role", "status"), [(None, 403), (Role.VIEWER, 403), (Role.REVIEWER, 403), (Role.OWNER, None)]
)
def test_only_an_owner_sets_them(stage: Stage, role: str | None, status: int | None) -> None:
    competition = stage.board.competition
    if role:
        Role.objects.create(competition=competition, user=stage.ben, role=role)
    told = {"competition": competition, "actor": stage.ben, "thresholds": {"bimodal": 0.1}, "reason": "so", "now": NOON}
    if status is None:
        assert set_thresholds(**told).thresholds == {"bimodal": 0.1}
        return
    with pytest.raises(UserError) as caught:
        set_thresholds(**told)
    assert caught.value.status == status
    assert not Row.objects.exists()


@pytest.mark.parametrize(
    ("thresholds", "reason", "field"),
    [
        ({"late_work": "off"}, "so", "thresholds.late_work"),
        ({"bimodal": 0.1}, " ", "reason"),
        ({"no": 1}, "so", "thresholds.no"),
    ],
)
def test_what_cannot_be_set_is_named(stage: Stage, thresholds: dict[str, object], reason: str, field: str) -> None:
    told = {"actor": stage.olga, "thresholds": thresholds, "reason": reason, "now": NOON}
    with pytest.raises(UserError) as caught:
        set_thresholds(competition=stage.board.competition, **told)
    assert caught.value.field == field
