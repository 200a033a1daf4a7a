"""Acts of the desk: permissions, effects, one audit row for each act, and undoing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import find_token, issue_token
from leaderboard.audit.models import Row
from leaderboard.desk import acts, undo
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import create_team, take_pseudonym
from leaderboard.errors import RateLimited, UserError
from leaderboard.judging.models import Attempt
from leaderboard.submissions import ledger
from leaderboard.submissions.models import QuotaException, Takedown
from tests.leaderboard.stage import Stage, make_board


def by(stage: Stage, actor: User | None = None, reason: str = "a complaint") -> dict[str, Any]:
    return {"actor": actor or stage.olga, "reason": reason, "now": stage.later(1)}


def newest() -> Row:
    return Row.objects.filter(act__startswith="desk_").latest("pk")


@pytest.fixture
def sam(db: None) -> User:
    """Return a member of the staff who is no superuser."""
    return User.objects.create_user("sam", is_staff=True)


def test_a_deactivated_account_loses_sessions_and_tokens_until_it_is_reactivated(stage: Stage) -> None:
    token, text = issue_token(owner=stage.ada, name="laptop", scopes=("read",), now=stage.now)
    before = stage.ada.get_session_auth_hash()
    acts.set_active(person=stage.ada, on=False, **by(stage))
    ada = User.objects.get(pk=stage.ada.pk)
    assert not ada.is_active
    assert ada.get_session_auth_hash() != before
    assert find_token(text, now=stage.now) is None
    with pytest.raises(UserError, match="deactivated already"):
        acts.set_active(person=ada, on=False, **by(stage))
    with pytest.raises(UserError, match="this account is deactivated"):
        stage.submit(stage.ada)
    acts.set_active(person=ada, on=True, **by(stage))
    assert find_token(text, now=stage.now) == token
    assert User.objects.get(pk=ada.pk).get_session_auth_hash() != before, "the ended sessions stay ended"
    row = newest()
    assert (row.act, row.actor, row.reason) == ("desk_reactivate", stage.olga, "a complaint")


def test_deactivation_cancels_what_waits_without_cost_and_spares_the_team(stage: Stage) -> None:
    running = stage.submit(stage.ada)
    stage.claim()
    waiting = stage.submit(stage.ada)
    board = stage.board
    board.competition.max_team_size = 3
    board.competition.save()
    create_team(user=stage.ada, competition=board.competition, name="Team Ada", now=stage.now)
    of_team = stage.submit(stage.ada)
    spent = ledger.levels(owner=stage.ada, boards=[board], now=stage.now)[board.pk, "ranked"].left
    acts.set_active(person=stage.ada, on=False, **by(stage))
    states = dict(Attempt.objects.values_list("submission", "state"))
    assert (states[running.pk], states[waiting.pk], states[of_team.pk]) == ("claimed", "cancelled", "queued")
    assert newest().after["cancelled"] == [waiting.pk]
    assert ledger.levels(owner=stage.ada, boards=[board], now=stage.now)[board.pk, "ranked"].left == spent + 1


def test_staff_act_neither_on_staff_nor_on_themselves(stage: Stage, sam: User) -> None:
    other = User.objects.create_user("tim", is_staff=True)
    for person in (other, stage.olga):
        with pytest.raises(UserError, match="only a superuser may") as caught:
            acts.set_active(person=person, on=False, **by(stage, sam))
        assert caught.value.status == 403
    for act in (acts.sign_out, acts.revoke_tokens):
        with pytest.raises(UserError, match="this is you"):
            act(person=sam, **by(stage, sam))
    with pytest.raises(UserError, match="this is you"):
        acts.set_active(person=stage.olga, on=False, **by(stage))
    with pytest.raises(UserError, match="only an organiser"):
        acts.set_active(person=stage.ada, on=False, **by(stage, stage.ben))
    acts.set_active(person=other, on=False, **by(stage))
    assert not User.objects.get(pk=other.pk).is_active


def test_only_superusers_make_staff(stage: Stage, sam: User) -> None:
    with pytest.raises(UserError, match="only a superuser"):
        acts.set_staff(person=stage.ada, on=True, **by(stage, sam))
    acts.set_staff(person=stage.ada, on=True, **by(stage))
    assert User.objects.get(pk=stage.ada.pk).is_staff
    undo.undo(row=newest(), **by(stage))
    assert not User.objects.get(pk=stage.ada.pk).is_staff
    User.objects.filter(pk=stage.ben.pk).update(linked_to=stage.ada)
    with pytest.raises(UserError, match="linked logins"):
        acts.set_staff(person=stage.ada, on=True, **by(stage))


def test_renamed_person_keeps_entrants_and_the_undo_restores_each_name(stage: Stage) -> None:
    stage.submit(stage.ada)
    with pytest.raises(UserError, match="looks like a name that is"):
        acts.rename_person(person=stage.ada, name="Ben", **by(stage))
    with pytest.raises(UserError, match="letters, digits"):
        acts.rename_person(person=stage.ada, name="a b", **by(stage))
    acts.rename_person(person=stage.ada, name=acts.neutral_name("user", stage.ada.pk), **by(stage))
    assert User.objects.get(pk=stage.ada.pk).username == f"user-{stage.ada.pk}"
    assert Entrant.objects.get().shown_name == f"user-{stage.ada.pk}"
    row = newest()
    assert row.before["name"] == "ada", "the audit log keeps the old name"
    undo.undo(row=row, **by(stage))
    assert (User.objects.get(pk=stage.ada.pk).username, Entrant.objects.get().name) == ("ada", "ada")
    assert newest().after["undoes"] == row.pk
    with pytest.raises(UserError, match="a later act replaced it"):
        undo.undo(row=row, **by(stage))
    undo.undo(row=newest(), **by(stage))
    assert Entrant.objects.get().name == f"user-{stage.ada.pk}", "an undo can be undone"


def test_team_name_and_pseudonym_are_hidden_and_lead_on(stage: Stage, sam: User) -> None:
    competition = stage.board.competition
    competition.max_team_size = 3
    competition.save()
    team = create_team(user=stage.ada, competition=competition, name="Rude Words", now=stage.now)
    take_pseudonym(entrant=team, actor=stage.ada, pseudonym="Ruder Words", now=stage.now)
    hidden = acts.neutral_name("team", team.pk)
    acts.rename_entrant(entrant=team, field=acts.PSEUDONYM, name=hidden, **by(stage, sam))
    assert Entrant.objects.get(pk=team.pk).shown_name == f"team-{team.pk}"
    assert undo.renamed("Ruder Words", competition.slug) == [f"team-{team.pk}"]
    acts.rename_entrant(entrant=team, field=acts.NAME, name="Polite Words", **by(stage, sam))
    assert undo.renamed("Rude Words", competition.slug) == [], "a name never leads to the pseudonym"
    User.objects.filter(pk=stage.ada.pk).update(is_staff=True)
    with pytest.raises(UserError, match="only a superuser"):
        acts.rename_entrant(entrant=team, field=acts.NAME, name="Other Words", **by(stage, sam))


def test_revoked_tokens_stay_revoked_and_the_undo_says_why(stage: Stage) -> None:
    tokens = [issue_token(owner=stage.ada, name=name, scopes=("read",), now=stage.now)[0] for name in ("one", "two")]
    acts.revoke_tokens(person=stage.ada, only=tokens[0].pk, **by(stage))
    acts.revoke_tokens(person=stage.ada, **by(stage))
    assert newest().after["tokens"] == [tokens[1].prefix]
    with pytest.raises(UserError, match="revoked already"):
        acts.revoke_tokens(person=stage.ada, **by(stage))
    with pytest.raises(UserError, match="its owner makes a new one"):
        undo.undo(row=newest(), **by(stage))


def test_quota_exception_counts_for_its_person_board_and_time(stage: Stage) -> None:
    stage.board.competition.quotas = {"ranked": 2}
    stage.board.competition.save()
    other = make_board("matmul")
    told = {"person": stage.ada, "competition": stage.board.competition, "mode": "ranked", "days": 1}
    acts.grant_quota(board=stage.board, capacity=4, per_day=4, **told, **by(stage))
    acts.grant_quota(board=None, capacity=3, per_day=3, **told, **by(stage))
    with pytest.raises(UserError, match="end it first"):
        acts.grant_quota(board=None, capacity=5, per_day=5, **told, **by(stage))
    for board, owner, most in ((stage.board, stage.ada, 4), (other, stage.ada, 3), (stage.board, stage.ben, 2)):
        for _ in range(most):
            stage.submit(owner, board=board)
        with pytest.raises(RateLimited, match=f"none left of your {most} ranked"):
            stage.submit(owner, board=board)
    found = QuotaException.objects.get(board=stage.board)
    undo.undo(row=Row.objects.get(act="desk_grant_quota", object_id=found.pk), **by(stage))

    def capacity() -> int:
        levels = ledger.levels(owner=stage.ada, boards=[stage.board], now=stage.now)
        return levels[stage.board.pk, "ranked"].bucket.capacity

    assert capacity() == 3, "the competition's exception counts now"
    undo.undo(row=newest(), **by(stage))
    assert capacity() == 4
    stage.now += timedelta(days=1)
    assert capacity() == 2


def test_code_is_taken_down_once_and_put_back(stage: Stage) -> None:
    sent = stage.submit(stage.ada)
    acts.set_taken_down(submission=sent, on=True, **by(stage, reason="Copied from <elsewhere>."))
    with pytest.raises(UserError, match="taken down already"):
        acts.set_taken_down(submission=sent, on=True, **by(stage))
    undo.undo(row=newest(), **by(stage))
    assert not Takedown.objects.exists()
    undo.undo(row=newest(), **by(stage))
    assert Takedown.objects.get().submission == sent


def test_two_staff_who_press_one_button_do_one_act(live_stage: Stage) -> None:
    stage, errors = live_stage, []
    sent, told = stage.submit(stage.ada), by(live_stage)

    def press(number: int) -> None:
        try:
            acts.set_active(person=stage.ada, on=False, **told)
            acts.set_taken_down(submission=sent, on=True, **told)
        except UserError as error:
            errors.append(error.status)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(press, range(4)))
    assert errors == [409, 409, 409]
    assert Row.objects.filter(act="desk_deactivate").count() == 1
    row = Row.objects.get(act="desk_take_down")

    def take_back(number: int) -> None:
        try:
            undo.undo(row=row, **told)
        except UserError as error:
            errors.append(error.status)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take_back, range(4)))
    assert len(errors) == 6
    assert Row.objects.filter(act="desk_put_back").count() == 1
