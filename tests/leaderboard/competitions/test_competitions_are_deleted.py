"""Deleting a competition: only while nobody has entered it, by its owner, and on record."""

from __future__ import annotations

import pytest

from leaderboard.audit.models import Row
from leaderboard.competitions import edit
from leaderboard.competitions.access import issue_codes, publish_announcement
from leaderboard.competitions.models import Competition, Problem
from leaderboard.errors import UserError


def delete(stage, actor=None, **changes: str) -> None:
    told = {"slug": "kernels-101", "reason": "made by mistake"} | changes
    competition = stage.board.competition
    edit.delete_competition(competition=competition, actor=actor or stage.olga, now=stage.later(1), **told)


def test_a_competition_without_entrants_is_deleted_with_its_parts(stage) -> None:
    told = {"competition": stage.board.competition, "actor": stage.olga, "now": stage.later(1)}
    issue_codes(count=2, boards=[stage.board], **told)
    publish_announcement(title="Soon", text="", **told)
    delete(stage)
    assert not Competition.objects.filter(slug="kernels-101").exists()
    assert Problem.objects.filter(slug="softmax").exists()
    row = Row.objects.get(act="delete_competition")
    assert (row.reason, row.before["boards"]) == ("made by mistake", ["softmax on cpu"])


def test_a_competition_with_entrants_stays(stage) -> None:
    stage.submit()
    with pytest.raises(UserError, match="make it closed instead"):
        delete(stage)
    assert Competition.objects.filter(slug="kernels-101").exists()


@pytest.mark.parametrize(("changes", "field"), [({"slug": "kernels"}, "slug"), ({"reason": ""}, "reason")])
def test_deleting_needs_the_address_and_a_reason(stage, changes, field: str) -> None:
    with pytest.raises(UserError) as refused:
        delete(stage, **changes)
    assert refused.value.field == field


def test_only_owners_delete_a_competition(stage) -> None:
    with pytest.raises(UserError) as refused:
        delete(stage, actor=stage.cleo)
    assert refused.value.status == 403
