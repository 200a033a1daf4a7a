"""Linked logins count as a single account: submissions, teams and quotas are shared."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from leaderboard import pipeline
from leaderboard.accounts.logins import MAX_LOGINS, logins_of, logins_that_left, logins_that_share_all, unlink
from leaderboard.accounts.models import DataSetChoice, User
from leaderboard.accounts.permissions import choose_data_sets, data_set_choice
from leaderboard.accounts.tokens import find_token, issue_token, tokens_of
from leaderboard.audit.models import Row
from leaderboard.competitions.models import Competition, Role
from leaderboard.entrants.enter import entrant_of, link_logins
from leaderboard.entrants.teams import leave
from leaderboard.errors import RateLimited, UserError
from leaderboard.review.suspension import suspend, suspended_users
from leaderboard.standings.models import Entry
from leaderboard.submissions.models import Draft
from leaderboard.submissions.workspace import notes_of, save_draft, save_note
from tests.leaderboard.stage import Stage

PASSWORD = "correct horse battery"


@pytest.fixture
def ada2(stage: Stage) -> User:
    """Return Ada's second login, a day younger than her first."""
    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    return User.objects.create_user(
        "ada2", password=PASSWORD + "2", date_joined=stage.ada.date_joined + timedelta(days=1)
    )


def link(stage: Stage, user: User, other: User, keep: str = "") -> User:
    own, theirs = (PASSWORD + ("" if one.username == "ada" else one.username[-1]) for one in (user, other))
    return link_logins(
        user=user, own_password=own, username=other.username, password=theirs, keep=keep, now=stage.later(1)
    )


def test_the_older_stays_whichever_asks_unless_told(stage: Stage, ada2: User) -> None:
    assert link(stage, ada2, stage.ada) == stage.ada
    ada2.refresh_from_db()
    assert (ada2.account, stage.ada.account) == (stage.ada, stage.ada)
    assert Row.objects.get(act="link_login").after == {"account": "ada"}


def test_the_younger_stays_when_told(stage: Stage, ada2: User) -> None:
    with pytest.raises(UserError, match="choose one of ada, ada2"):
        link(stage, stage.ada, ada2, keep="cleo")
    assert link(stage, stage.ada, ada2, keep="ada2") == ada2


@pytest.mark.parametrize(
    ("own", "theirs", "common"), [("", "all", "public"), ("all", "public", "public"), ("all", "none", "none")]
)
def test_of_two_choices_about_data_sets_the_stricter_holds_and_can_be_changed(
    stage: Stage, ada2: User, own: str, theirs: str, common: str
) -> None:
    for user, choice in ((stage.ada, own), (ada2, theirs)):
        if choice:
            choose_data_sets(user=user, choice=choice, now=stage.now)
    account = link(stage, stage.ada, ada2)
    ada2.refresh_from_db()
    assert data_set_choice(account) == data_set_choice(ada2) == common
    assert logins_that_left().count() == (2 if common == "none" else 0)
    assert not logins_that_share_all().exists()
    choose_data_sets(user=account, choice="public", now=stage.now)
    assert not logins_that_left().exists()
    choose_data_sets(user=account, choice="all", now=stage.now)
    assert logins_that_share_all().count() == 2


def test_an_unlinked_login_takes_the_choice_about_data_sets_along(stage: Stage, ada2: User) -> None:
    choose_data_sets(user=ada2, choice="all", now=stage.now)
    choose_data_sets(user=link(stage, stage.ada, ada2), choice="none", now=stage.now)
    ada2.refresh_from_db()
    unlink(login=ada2, actor=stage.olga, reason="they are two people", now=stage.later(1))
    ada2.refresh_from_db()
    assert data_set_choice(ada2) == data_set_choice(stage.ada) == "none"


@pytest.mark.parametrize(
    ("own", "linked", "merged"),
    [("all", ["none"], "none"), ("all", ["public", "all"], "public"), ("all", ["all"], "all"), ("", ["all"], "public")],
)
def test_choices_of_logins_linked_earlier_are_merged(
    stage: Stage, ada2: User, own: str, linked: list[str], merged: str
) -> None:
    logins = [ada2, User.objects.create_user("ada3")][: len(linked)]
    for user, choice in zip([stage.ada, *logins, stage.ben], [own, *linked, "all"], strict=True):
        if choice:
            choose_data_sets(user=user, choice=choice, now=stage.now)
    User.objects.filter(pk__in=[login.pk for login in logins]).update(linked_to=stage.ada)
    with connection.cursor() as cursor:
        cursor.execute(import_module("leaderboard.accounts.migrations.0009_choices_of_linked_logins").MERGE)
    kept = dict(DataSetChoice.objects.values_list("account", "choice"))
    assert kept == {stage.ada.pk: merged, stage.ben.pk: "all"}


def test_notes_and_drafts_of_both_logins_are_the_accounts(stage: Stage, ada2: User) -> None:
    first, second = stage.submit(ada2), stage.submit(stage.cleo)
    told = {"filename": "", "hardware": "", "mode": ""}
    for user, slugs in ((stage.ada, "new old"), (ada2, "old both"), (stage.ada, "both")):
        for slug in slugs.split():
            save_draft(user=user, slug=slug, source=user.username, now=stage.later(1), **told)
    for user, submission in ((stage.ada, second), (ada2, first), (ada2, second)):
        save_note(user=user, submission=submission, text=f"of {user.username}", now=stage.later(1))
    proof = {"own_password": PASSWORD + "2", "username": "ada", "password": PASSWORD}
    account = pipeline.link_logins(user=ada2, **proof, now=stage.later(1))
    assert notes_of(account, [first.pk, second.pk]) == {first.pk: "of ada2", second.pk: "of ada"}
    drafts = dict(Draft.objects.filter(user=account).values_list("slug", "source"))
    assert drafts == {"new": "ada", "old": "ada2", "both": "ada"}
    assert Draft.objects.count() == 3


def test_both_have_to_be_proved(stage: Stage, ada2: User) -> None:
    told = {"user": stage.ada, "username": "ada2", "now": stage.now}
    for own, theirs, field in (("x", PASSWORD + "2", "own_password"), (PASSWORD, "x", "password")):
        with pytest.raises(UserError) as caught:
            link_logins(own_password=own, password=theirs, **told)  # type: ignore[arg-type]
        assert caught.value.field == field
    with pytest.raises(UserError) as nobody:
        link_logins(user=stage.ada, own_password=PASSWORD, username="nobody", password="x", now=stage.now)
    assert nobody.value.message == caught.value.message, "who exists is not told"
    assert not User.objects.exclude(linked_to=None).exists()


def test_what_was_sent_and_who_competes_is_one(stage: Stage, ada2: User) -> None:
    old = stage.submit(ada2)
    link(stage, stage.ada, ada2)
    assert entrant_of(stage.ada, stage.board.competition) == old.entrant
    new = stage.submit(stage.ada)
    assert (new.owner, new.entrant) == (stage.ada, old.entrant)
    ada2.refresh_from_db()
    assert stage.submit(ada2).owner == stage.ada, "a request that began before it was linked"


def test_the_quota_is_one(stage: Stage, ada2: User) -> None:
    Competition.objects.update(quotas={"ranked": 2})
    stage.submit(ada2)
    link(stage, stage.ada, ada2)
    stage.submit(stage.ada)
    for login in (stage.ada, User.objects.get(pk=ada2.pk)):
        with pytest.raises(RateLimited, match="none left of your 2"):
            stage.submit(login)


def test_two_entrants_of_a_running_competition_are_not_linked(stage: Stage, ada2: User) -> None:
    stage.submit(stage.ada)
    stage.submit(ada2)
    with pytest.raises(UserError, match="both of your logins compete in Kernels 101; leave it with one") as caught:
        link(stage, stage.ada, ada2)
    assert caught.value.status == 409
    leave(user=ada2, competition=stage.board.competition, now=stage.later(1))
    assert link(stage, stage.ada, ada2) == stage.ada


def test_two_entrants_of_what_is_over_are_linked(stage: Stage, ada2: User) -> None:
    mine = stage.submit(stage.ada).entrant
    stage.submit(ada2)
    Competition.objects.update(deadline=stage.later(1), final_at=stage.later(1))
    link(stage, stage.ada, ada2)
    assert entrant_of(stage.ada, stage.board.competition) == mine


def test_tokens_of_the_linked_login_act_as_the_account(stage: Stage, ada2: User) -> None:
    _, text = issue_token(owner=ada2, name="laptop", scopes=["read"], now=stage.now)
    link(stage, stage.ada, ada2)
    token = find_token(text, now=stage.now)
    assert token is not None
    assert token.account == stage.ada
    assert tokens_of(stage.ada, stage.now).get() == token
    User.objects.filter(pk=stage.ada.pk).update(is_active=False)
    assert find_token(text, now=stage.now) is None


def test_who_organises_stays_by_themselves(stage: Stage, ada2: User) -> None:
    Role.objects.create(competition=stage.board.competition, user=ada2, role=Role.VIEWER)
    with pytest.raises(UserError, match="organises a competition"):
        link(stage, stage.ada, ada2)
    Role.objects.all().delete()
    User.objects.filter(pk=ada2.pk).update(is_staff=True)
    with pytest.raises(UserError, match="an organiser's login"):
        link(stage, stage.ada, ada2)


def test_links_are_one_step_deep_and_few(stage: Stage, ada2: User) -> None:
    link(stage, stage.ada, ada2)
    others = [User.objects.create_user(f"ada{number}", password=f"{PASSWORD}{number}") for number in range(3, 8)]
    with pytest.raises(UserError, match="belongs to another account"):
        link(stage, others[0], ada2)
    with pytest.raises(UserError, match="is your account already"):
        link(stage, stage.ada, ada2)
    link(stage, stage.ada, others[0], keep="ada3")
    account = others[0]
    assert set(User.objects.filter(linked_to=account)) == {stage.ada, ada2}
    for other in others[1:3]:
        link(stage, account, other, keep="ada3")
    assert logins_of(account).count() == MAX_LOGINS
    with pytest.raises(UserError, match="at most 5 logins"):
        link(stage, account, others[3], keep="ada3")


def test_unlinked_logins_are_two_entrants_again(stage: Stage, ada2: User) -> None:
    sent = stage.submit(ada2)
    link(stage, stage.ada, ada2)
    leave(user=stage.ada, competition=stage.board.competition, now=stage.later(1))
    assert stage.submit(stage.ada).entrant == sent.entrant
    unlink(login=ada2, actor=stage.olga, reason="they are two people", now=stage.later(1))
    ada2.refresh_from_db()
    other = stage.submit(ada2).entrant
    assert other != sent.entrant
    assert other.name == "ada2 (2)"
    assert stage.submit(stage.ada).entrant == sent.entrant


def test_only_an_organiser_unlinks(stage: Stage, ada2: User) -> None:
    link(stage, stage.ada, ada2)
    with pytest.raises(UserError) as caught:
        unlink(login=ada2, actor=stage.ada, reason="I want two", now=stage.now)
    assert caught.value.status == 403
    call_command("unlink_login", "ada2", by="olga", reason="they are two people")
    ada2.refresh_from_db()
    assert ada2.account == ada2
    with pytest.raises(CommandError, match="is linked to no account"):
        call_command("unlink_login", "ada2", by="olga", reason="again")
    with pytest.raises(CommandError, match="no user 'nobody'"):
        call_command("unlink_login", "nobody", by="olga", reason="why")


def test_who_is_suspended_is_so_by_all_their_logins(stage: Stage, ada2: User) -> None:
    competition = stage.board.competition
    link(stage, stage.ada, ada2, keep="ada2")
    suspend(user=ada2, competition=competition, actor=stage.olga, reason="cheats", now=stage.later(1))
    assert suspended_users([stage.ada.pk, stage.ben.pk], competition) == {stage.ada.pk}


def test_a_suspension_of_one_login_is_of_the_account_until_they_are_unlinked(stage: Stage, ada2: User) -> None:
    stage.judge(stage.submit(stage.ada), ratio=0.9)
    told = {"competition": None, "actor": stage.olga, "reason": "two accounts", "now": stage.now}
    pipeline.suspend_account(user=ada2, **told)
    pipeline.link_logins(
        user=stage.ada, own_password=PASSWORD, username="ada2", password=PASSWORD + "2", now=stage.later(1)
    )
    assert not Entry.objects.exists()
    call_command("unlink_login", "ada2", by="olga", reason="they are two people")
    assert Entry.objects.get().owner == stage.ada
