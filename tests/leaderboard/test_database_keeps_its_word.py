"""Database constraints and triggers refuse changes that the code must never make."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, models, transaction

from leaderboard.accounts.models import ApiToken, User
from leaderboard.audit.models import Row
from leaderboard.audit.record import record
from leaderboard.competitions.models import ProblemVersion
from leaderboard.judging.models import Attempt, AttemptEvent, Result
from leaderboard.review.models import Decision, Finding, Suspension
from leaderboard.submissions.models import QuotaLine, Submission
from tests.leaderboard.stage import NOON, Stage, current


def refused(act: Callable[[], Any], name: str) -> None:
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        act()


def test_one_current_attempt_a_submission(stage: Stage) -> None:
    first = current(stage.submit())
    refused(
        lambda: Attempt.objects.create(
            submission=first.submission,
            owner=first.owner,
            is_ranked=True,
            sent_at=NOON,
            number=2,
            hardware="cpu",
            version=first.version,
            created_at=NOON,
        ),
        "one_current_attempt_a_submission",
    )


def test_one_result_an_attempt(stage: Stage) -> None:
    result = stage.judge(stage.submit())
    refused(lambda: Result.objects.create(attempt=result.attempt, outcome="wrong", created_at=NOON), "attempt_id")


@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"state": "resting"}, "attempt_(state_is_known|has_an_end_when_finished)"),
        ({"is_current": False}, "attempt_unfinished_is_current_or_shadow"),
        ({"is_current": False, "is_shadow": True}, "attempt_in_the_shadow_has_a_set"),
        ({"cause": "boredom"}, "attempt_cause_is_known"),
        ({"state": "done", "finished_at": NOON}, "attempt_has_an_outcome_when_done"),
        ({"outcome": "passed"}, "attempt_has_an_outcome_when_done"),
        ({"state": "building"}, "attempt_runs_under_a_lease"),
        ({"token": 7}, "attempt_queued_has_no_runner"),
        ({"finished_at": NOON}, "attempt_has_an_end_when_finished"),
        ({"state": "cancelled"}, "attempt_has_an_end_when_finished"),
    ],
)
def test_an_impossible_attempt_is_refused(stage: Stage, changes: dict[str, Any], constraint: str) -> None:
    attempt = current(stage.submit())
    refused(lambda: Attempt.objects.filter(pk=attempt.pk).update(**changes), constraint)


@pytest.fixture
def rows(stage: Stage) -> dict[type[models.Model], models.Model]:
    """Return a row of each append-only table."""
    submission = stage.submit()
    result = stage.judge(submission, ratio=0.1, score_us=100.0)
    row = record(act="look", target=result, actor=stage.olga, reason="a test", now=NOON)
    line = Decision.objects.create(result=result, actor=stage.olga, act="note", reason="a test", created_at=NOON)
    closed = Suspension.objects.create(user=stage.ada, actor=stage.olga, act="suspend", reason="a", created_at=NOON)
    some = [
        submission,
        result,
        row,
        result.findings.get(),
        stage.board.version,
        submission.events.first(),
        line,
        closed,
        submission.quota_lines.first(),
    ]
    return {type(one): one for one in some if one is not None}


@pytest.mark.parametrize(
    "table", [Submission, Result, Row, Finding, Decision, Suspension, ProblemVersion, AttemptEvent, QuotaLine]
)
def test_append_only_rows_are_never_changed_or_deleted(
    rows: dict[type[models.Model], models.Model], table: type[models.Model]
) -> None:
    one = rows[table]
    same = table._default_manager.filter(pk=one.pk)
    refused(lambda: same.update(id=models.F("id")), "never changed or deleted")
    refused(lambda: same._raw_delete(same.db), "never changed or deleted")


def test_names_are_unique_in_any_case(stage: Stage) -> None:
    refused(lambda: User.objects.create_user("ADA"), "user_name_is_unique_in_any_case")


def test_token_scopes_are_known(stage: Stage) -> None:
    refused(lambda: ApiToken.objects.create(owner=stage.ada, name="x", digest="d", scopes=["root"]), "scopes_are_known")
    refused(lambda: ApiToken.objects.create(owner=stage.ada, name="x", digest="d", scopes=[]), "scopes_are_known")
