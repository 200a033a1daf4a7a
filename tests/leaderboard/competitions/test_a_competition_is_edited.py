"""Creating and editing competitions: only owners may edit, errors are explained, and changes leave an audit row."""

from datetime import timedelta
from typing import Any

import pytest

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.competitions.edit import create_competition, edit_competition, needs_reason
from leaderboard.competitions.models import CLOSED, Competition, Role
from leaderboard.errors import UserError
from tests.leaderboard.stage import NOON, Stage

HOUR = timedelta(hours=1)


def create(stage: Stage, slug: str = "spring", **settings: Any) -> Competition:
    return create_competition(actor=stage.olga, slug=slug, settings={"name": "Spring"} | settings, now=NOON)


def edit(competition: Competition, actor: User, reason: str = "", **settings: Any) -> Competition:
    return edit_competition(competition=competition, actor=actor, settings=settings, now=NOON, reason=reason)


def refused(field: str, act: Any, *args: Any, **more: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        act(*args, **more)
    assert caught.value.field == field, str(caught.value)
    return caught.value


def test_who_creates_one_owns_it_and_nobody_else_sees_it(stage: Stage) -> None:
    made = create(stage, deadline=NOON + HOUR)
    assert (made.slug, made.name, made.visibility) == ("spring", "Spring", CLOSED)
    assert made.roles.get().user == stage.olga
    assert made.roles.get().role == Role.OWNER
    row = Row.objects.get(act="create_competition")
    assert (row.actor, row.after["deadline"]) == (stage.olga, (NOON + HOUR).isoformat())


def test_only_staff_creates(stage: Stage) -> None:
    error = refused("actor", create_competition, actor=stage.ada, slug="mine", settings={"name": "Mine"}, now=NOON)
    assert error.status == 403


@pytest.mark.parametrize("slug", ["", "Spring", "a b", "-a", "a--b", "a" * 65, "ä"])
def test_a_bad_address_is_told(stage: Stage, slug: str) -> None:
    refused("slug", create, stage, slug)


def test_an_address_is_given_once(stage: Stage) -> None:
    create(stage)
    assert refused("slug", create, stage).status == 409


def test_an_owner_edits_and_the_audit_keeps_what_changed(stage: Stage) -> None:
    made = create(stage)
    Role.objects.create(competition=made, user=stage.ada, role=Role.OWNER)
    edit(made, stage.ada, rules="Be fair.", deadline=NOON + HOUR, name="Spring")
    made.refresh_from_db()
    assert (made.rules, made.deadline) == ("Be fair.", NOON + HOUR)
    row = Row.objects.get(act="edit_competition")
    assert row.before == {"rules": "", "deadline": None}
    assert row.after == {"rules": "Be fair.", "deadline": (NOON + HOUR).isoformat()}


def test_an_edit_that_changes_nothing_leaves_no_trace(stage: Stage) -> None:
    made = create(stage)
    edit(made, stage.olga, name="Spring", divisions=["human", "agent", "mixed"])
    assert not Row.objects.filter(act="edit_competition").exists()


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.REVIEWER])
def test_nobody_below_an_owner_edits(stage: Stage, role: str | None) -> None:
    made = create(stage)
    if role:
        Role.objects.create(competition=made, user=stage.ada, role=role)
    assert refused("actor", edit, made, stage.ada, name="Mine").status == 403


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("name", {"name": " "}),
        ("name", {"name": "x" * 129}),
        ("name", {"name": "Spring\nBcc: all@example.org"}),
        ("rules", {"rules": "\x00"}),
        ("visibility", {"visibility": "secret"}),
        ("scoring", {"scoring": "dice"}),
        ("default_licence", {"default_licence": "WTFPL"}),
        ("divisions", {"divisions": []}),
        ("divisions", {"divisions": ["human", "martian"]}),
        ("max_team_size", {"max_team_size": 0}),
        ("deadline", {"contest_at": NOON + 2 * HOUR, "deadline": NOON + HOUR}),
        ("contest_at", {"practice_at": NOON + 2 * HOUR, "contest_at": NOON + HOUR}),
        ("deadline", {"practice_at": NOON + 2 * HOUR, "deadline": NOON + HOUR}),
        ("deadline", {"freeze_at": NOON + 2 * HOUR, "deadline": NOON + HOUR}),
        ("deadline", {"deadline": NOON.replace(year=2062)}),
        ("final_at", {"final_at": NOON}),
    ],
)
def test_what_cannot_be_is_told_at_its_field(stage: Stage, field: str, settings: dict[str, Any]) -> None:
    made = create(stage)
    refused(field, edit, made, stage.olga, **settings)
    made.refresh_from_db()
    assert made.name == "Spring"


def test_a_deadline_that_is_past_moves_with_a_reason_only(stage: Stage) -> None:
    made = create(stage, deadline=NOON - HOUR)
    later = NOON + HOUR
    assert "say why" in refused("reason", edit, made, stage.olga, deadline=later).message
    edit(made, stage.olga, "The site was down for an hour.", deadline=later)
    row = Row.objects.get(act="edit_competition")
    assert row.reason == "The site was down for an hour."
    assert row.before == {"deadline": (NOON - HOUR).isoformat()}


def test_the_freeze_of_a_running_contest_moves_with_a_reason_only(stage: Stage) -> None:
    made = create(stage, contest_at=NOON - HOUR, freeze_at=NOON + HOUR, deadline=NOON + 3 * HOUR)
    refused("reason", edit, made, stage.olga, freeze_at=NOON + 2 * HOUR)
    edit(made, stage.olga, "As the rules said.", freeze_at=NOON + 2 * HOUR)


def test_times_to_come_move_freely(stage: Stage) -> None:
    made = create(stage, contest_at=NOON + HOUR, freeze_at=NOON + 2 * HOUR, deadline=NOON + 3 * HOUR)
    edit(made, stage.olga, freeze_at=NOON + 2.5 * HOUR, deadline=NOON + 4 * HOUR, scoring="points")
    assert needs_reason(made, {"deadline": NOON - HOUR}, NOON) == ["deadline"]
    assert needs_reason(made, {"deadline": made.deadline}, NOON) == []


def test_a_division_with_entrants_stays(stage: Stage) -> None:
    stage.submit()
    competition = stage.board.competition
    edit(competition, stage.olga, divisions=["human", "mixed"])
    assert refused("divisions", edit, competition, stage.olga, divisions=["agent"]).status == 409
