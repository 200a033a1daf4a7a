"""A retracted kernel has no line anywhere, despite later judging or decisions, until an organiser restores it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard import pipeline
from leaderboard.audit.models import Row
from leaderboard.competitions.models import Competition, Role
from leaderboard.errors import UserError
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.models import Result
from leaderboard.standings.models import Entry, Retraction
from leaderboard.standings.publish import BY_OWNER, retract
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import Stage
from tests.leaderboard.standings.test_board_order import entries_of

WHY = "it reads the clock"


def names(stage: Stage) -> list[str]:
    return [line.entry.owner.username for line in entries_of(stage.board)]


def sent(stage: Stage, kernel: int, ratio: float) -> Submission:
    submission = stage.submit(kernel=kernel)
    stage.judge(submission, ratio=ratio, score_us=1000 * ratio)
    return Submission.objects.get(pk=submission.pk)


def take_back(stage: Stage, submission: Submission, reason: str = BY_OWNER) -> int:
    return retract(submission=submission, actor=stage.ada, reason=reason, now=stage.later(1))


def test_all_runs_of_a_kernel_go_at_once_and_the_next_one_ranks(stage: Stage) -> None:
    slow, lucky, other = sent(stage, 1, 0.9), sent(stage, 1, 0.8), sent(stage, 2, 0.95)
    assert take_back(stage, slow) == 2
    [line] = entries_of(stage.board)
    assert line.entry.submission == other, "not the lucky run alone"
    assert take_back(stage, lucky) == 0, "it is retracted already"
    row = Row.objects.get(act="retract_entry")
    assert (row.actor, row.before, row.after) == (stage.ada, {"lines": 2}, {"lines": 0})


def test_the_same_code_does_not_buy_a_new_draw(stage: Stage) -> None:
    take_back(stage, sent(stage, 1, 0.9))
    sent(stage, 1, 0.8)
    assert names(stage) == []
    sent(stage, 2, 0.85)
    assert names(stage) == ["ada"]


def test_neither_a_new_judging_nor_a_decision_brings_it_back(stage: Stage) -> None:
    first, held = sent(stage, 1, 0.9), stage.submit(kernel=1)
    result = stage.judge(held, ratio=0.2)
    take_back(stage, first)
    pipeline.clear_result(result=result, actor=stage.olga, reason="it is sound", now=stage.now)
    rejudge(submission=first, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    stage.judge(first, ratio=0.88)
    assert names(stage) == []


def test_an_organiser_restores_what_nothing_else_stands_against(stage: Stage) -> None:
    first, _, held = sent(stage, 1, 0.9), sent(stage, 1, 0.8), stage.submit(kernel=1)
    stage.judge(held, ratio=0.2)
    take_back(stage, first)
    restored = {"submission": first, "actor": stage.olga, "reason": "by mistake", "now": stage.later(1)}
    assert pipeline.restore_entry(**restored) == 2
    assert pipeline.restore_entry(**restored) == 0
    assert set(Entry.objects.values_list("submission", flat=True)) == {first.pk, first.pk + 1}
    assert list(Retraction.objects.values_list("act", flat=True)) == ["retract", "restore"]
    assert take_back(stage, first) == 2, "and again"


def test_who_may(stage: Stage) -> None:
    submission = sent(stage, 1, 0.9)
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.VIEWER)
    for stranger in (stage.cleo, stage.ben):
        with pytest.raises(UserError, match="may retract it") as refused:
            retract(submission=submission, actor=stranger, reason=WHY, now=stage.now)
        assert refused.value.status == 403
    with pytest.raises(UserError, match="only a reviewer"):
        pipeline.restore_entry(submission=submission, actor=stage.ada, reason=WHY, now=stage.now)
    with pytest.raises(UserError, match="say why"):
        retract(submission=submission, actor=stage.olga, reason="", now=stage.now)
    Role.objects.filter(user=stage.ben).update(role=Role.REVIEWER)
    assert retract(submission=submission, actor=stage.ben, reason=WHY, now=stage.now) == 1


def test_what_is_final_only_an_organiser_takes_back(stage: Stage) -> None:
    submission = sent(stage, 1, 0.9)
    Competition.objects.update(deadline=stage.later(1), final_at=stage.now)
    with pytest.raises(UserError, match="until the standing is final"):
        take_back(stage, Submission.objects.get(pk=submission.pk))
    late = sent(stage, 2, 0.8)
    assert take_back(stage, late) == 1, "it is no part of the contest"
    fresh = Submission.objects.get(pk=submission.pk)
    assert retract(submission=fresh, actor=stage.olga, reason=WHY, now=stage.now + timedelta(days=1)) == 1


def test_a_later_run_of_a_kernel_takes_back_no_line_of_the_contest(stage: Stage) -> None:
    sent(stage, 1, 0.9)
    Competition.objects.update(deadline=stage.later(1), final_at=stage.now)
    late = sent(stage, 1, 0.8)
    with pytest.raises(UserError, match="until the standing is final"):
        take_back(stage, late)
    assert Entry.objects.count() == 2


def test_what_has_no_line_cannot_be_retracted(stage: Stage) -> None:
    submission = stage.submit()
    stage.judge(submission, outcome="wrong")
    with pytest.raises(UserError, match="has no line"):
        take_back(stage, submission)
    assert Result.objects.count() == 1


@pytest.mark.parametrize("told", [{"outcome": "infra_error"}, {}])
def test_what_an_earlier_verdict_earned_is_restored_too(stage: Stage, told: dict[str, str]) -> None:
    """A failure of the site, or a wait for another verdict, takes no line away."""
    submission = sent(stage, 1, 0.9)
    rejudge(submission=submission, actor=stage.olga, reason="a bug in the judge", now=stage.now)
    if told:
        stage.judge(submission, **told)
    assert take_back(stage, submission) == 1
    assert pipeline.restore_entry(submission=submission, actor=stage.olga, reason="by mistake", now=stage.now) == 1


def test_restoring_locks_in_the_order_of_a_report(stage: Stage) -> None:
    """Lock people before entrants, to avoid a deadlock with a report of the same person."""
    submission = sent(stage, 1, 0.9)
    take_back(stage, submission)
    with CaptureQueriesContext(connection) as seen:
        pipeline.restore_entry(submission=submission, actor=stage.olga, reason="by mistake", now=stage.now)
    locks = [query["sql"] for query in seen if query["sql"].endswith("FOR NO KEY UPDATE")]
    assert [lock.split('"')[1] for lock in locks[:2]] == ["accounts_user", "entrants_entrant"]
