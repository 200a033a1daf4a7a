"""Code is public from the deadline on, unless frozen or sent afterwards; its owner may publish it earlier."""

from datetime import timedelta

import pytest

from leaderboard.audit.models import Row
from leaderboard.competitions.calendar import Schedule, code_public_at, is_code_public
from leaderboard.errors import UserError
from leaderboard.submissions.models import CodeRelease
from leaderboard.submissions.permissions import release_code
from tests.leaderboard.stage import NOON, Stage

HOUR = timedelta(hours=1)
END = NOON + 10 * HOUR
FROZEN = Schedule(freeze_at=NOON + 5 * HOUR, deadline=END)


@pytest.mark.parametrize(
    ("schedule", "board_deadline", "sent_after_h", "now_h", "public"),
    [
        (Schedule(), None, 1, 10_000, False),
        (Schedule(deadline=END), None, 1, 9.99, False),
        (Schedule(deadline=END), None, 1, 10, True),
        (Schedule(deadline=END), None, 10, 100, False),
        (Schedule(contest_at=NOON + 2 * HOUR, deadline=END), None, 1, 10, True),
        (Schedule(), END, 1, 10, True),
        (Schedule(deadline=END), NOON + 2 * HOUR, 1, 3, False),
        (FROZEN, None, 1, 11, False),
        (Schedule(freeze_at=NOON, deadline=END, revealed_at=NOON + 12 * HOUR), None, 1, 11, False),
        (Schedule(freeze_at=NOON, deadline=END, revealed_at=NOON + 12 * HOUR), None, 1, 12, True),
        (Schedule(freeze_at=NOON, deadline=END, final_at=NOON + 12 * HOUR), None, 1, 12, True),
    ],
)
def test_when(schedule: Schedule, board_deadline, sent_after_h: float, now_h: float, public: bool) -> None:
    sent_at, now = NOON + sent_after_h * HOUR, NOON + now_h * HOUR
    assert is_code_public(schedule, board_deadline, sent_at, is_released=False, now=now) == public
    assert is_code_public(schedule, board_deadline, sent_at, is_released=True, now=now)


def test_a_deadline_is_told_beforehand() -> None:
    assert code_public_at(FROZEN, None, NOON) == END
    assert code_public_at(Schedule(), None, NOON) is None


def test_its_owner_publishes_it_once(stage: Stage) -> None:
    submission = stage.submit(stage.ada)
    assert release_code(submission=submission, actor=stage.ada, now=stage.now)
    assert not release_code(submission=submission, actor=stage.ada, now=stage.now)
    assert (CodeRelease.objects.count(), Row.objects.get().act) == (1, "release_code")


def test_nobody_else_does_not_even_an_organiser(stage: Stage) -> None:
    submission = stage.submit(stage.ada)
    for person in (stage.ben, stage.olga):
        with pytest.raises(UserError, match="only its owner") as refused:
            release_code(submission=submission, actor=person, now=stage.now)
        assert refused.value.status == 403
