"""Helpers for tests of re-judging sets: make a set, judge it, snapshot every table of the site."""

from typing import Any

from django.apps import apps
from django.db import models

from leaderboard.judging.models import Attempt, AttemptEvent, RejudgeSet
from leaderboard.rejudging import apply as rejudging_acts
from leaderboard.rejudging.sets import Kind, Selection, make_set
from leaderboard.submissions.models import Submission
from runner.wire import Job
from tests.leaderboard.stage import Stage

MAY_CHANGE = {  # by shadow judging: the set, its attempts and their rows, the audit, the runners' presence
    "judging.rejudgeset",
    "judging.rejudgeitem",
    "judging.attempt",
    "judging.attemptevent",
    "judging.result",
    "judging.resultarchived",
    "judging.runner",
    "audit.row",
}


def set_of(stage: Stage, *submissions: Submission, name: str = "new judge") -> RejudgeSet:
    competition = stage.board.competition
    selection = Selection(kind=Kind.LIST, ids=tuple(submission.pk for submission in submissions))
    return make_set(
        competition=competition,
        board=None,
        name=name,
        why="a bug in the judge",
        selection=selection,
        actor=stage.olga,
        now=stage.later(1),
    )


def judge_shadow(stage: Stage, submission: Submission, **told: Any) -> Job:
    """Claim and report the next attempt in the queue, which must be this submission's shadow attempt."""
    job = stage.claim()
    assert job.submission_id == str(submission.pk)
    assert Attempt.objects.get(pk=int(job.attempt_id)).is_shadow
    assert stage.report(job, **told)
    return job


def apply(stage: Stage, chosen: RejudgeSet, **how: bool) -> dict[str, int] | None:
    told = rejudging_acts.apply_rejudging(
        chosen=chosen, actor=stage.olga, reason="it is better", now=stage.later(1), **how
    )
    return None if told is None else dict(told)


def heard(submission: Submission, after: int = 0) -> list[AttemptEvent]:
    """Return the events that the live stream reads."""
    return list(AttemptEvent.objects.filter(submission=submission, pk__gt=after).order_by("pk"))


def everything() -> dict[str, list[dict[str, Any]]]:
    """Return every row of the site, except those of MAY_CHANGE."""
    return {
        model._meta.label_lower: list(model._base_manager.order_by("pk").values())
        for model in apps.get_models()
        if model._meta.label_lower not in MAY_CHANGE and isinstance(model._base_manager, models.Manager)
    }
