"""Closing an account, erasing a person, and the export of a person's data."""

import io
import json
import re
import zipfile

import pytest
from allauth.account.models import EmailAddress

from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.tokens import find_token, issue_token
from leaderboard.audit.models import Row
from leaderboard.awards import life
from leaderboard.competitions.access import grant_role, revoke_role
from leaderboard.competitions.models import Announcement, Competition
from leaderboard.desk import acts
from leaderboard.entrants import teams
from leaderboard.entrants.enter import create_agent
from leaderboard.entrants.models import Entrant
from leaderboard.inbox import tell
from leaderboard.inbox.collect import tell_overtaken
from leaderboard.inbox.models import Message, Preference
from leaderboard.pipeline import link_logins
from leaderboard.web.models import KeyedAnswer
from tests.leaderboard.awarding import over, sent, track
from tests.leaderboard.records import confirm

PASSWORD = "hurdle-Rail-99"


@pytest.fixture
def client(stage, browser):
    stage.ada.set_password(PASSWORD)
    stage.ada.save()
    EmailAddress.objects.create(user=stage.ada, email="ada@example.org", verified=True, primary=True)
    client = browser(None)
    client.post("/sign-in", {"username": "ada", "password": PASSWORD})
    return client


def end(client, how: str, username: str = "ada"):
    return client.post("/account/close", {"how": how, "username": username}, follow=True)


def test_a_closed_account_opens_to_nobody_and_keeps_its_name(stage, browser, tool, client, mailoutbox) -> None:
    stage.judge(stage.submit(stage.ada))
    api, other = tool(stage.ada), browser(stage.ada)
    assert b"Your account is closed." in end(client, "close").content
    assert [one.get("/account").status_code for one in (client, other)] == [302, 302]
    assert api.get("/api/v1/me").status_code == 401
    assert browser(None).post("/sign-in", {"username": "ada", "password": PASSWORD}).status_code == 200
    assert b"ada" in browser(None).get("/boards/softmax/cpu").content
    assert mailoutbox[-1].to == ["ada@example.org"]


def test_an_erased_person_stays_on_boards_by_a_pseudonym(stage, browser, tool, client) -> None:
    from django.apps import apps

    stage.ben.linked_to = stage.ada
    stage.ben.save()
    stage.judge(stage.submit(stage.ada))
    entrant = stage.ada.memberships.get().entrant
    tool(stage.ada)
    assert b"Your account is erased." in end(client, "erase").content
    board = browser(None).get("/boards/softmax/cpu").content.decode()
    assert f"deleted-{entrant.pk}" in board
    assert ">ada<" not in board
    for login in User.objects.filter(pk__in=(stage.ada.pk, stage.ben.pk)):
        assert (login.get_username(), login.is_active) == (f"deleted-{login.pk}", False)
    for model in ("account.EmailAddress", "usersessions.UserSession", "accounts.ApiToken", "mfa.Authenticator"):
        assert not apps.get_model(model).objects.exists(), model


@pytest.fixture
def agent(stage) -> User:
    """Return Ada's agent, with a token, a webhook, and an entrant with an affiliation."""
    agent, now = create_agent(owner=stage.ada, name="robo", now=stage.now), {"now": stage.now}
    entrant = stage.submit(agent).entrant
    teams.say_affiliation(entrant=entrant, actor=agent, affiliation="Lab of Ada", **now)
    issue_token(owner=agent, name="lab-7", scopes=["read"], **now)
    tell.set_hook(user=agent, address="https://hooks.example.org/ada", form="json")
    tell.tell([agent.pk], "verdict", subject="x", title="x", url="/", **now)
    return agent


def test_an_account_that_is_opened_again_has_agents_without_tokens(stage, client, agent) -> None:
    end(client, "close")
    assert not ApiToken.objects.filter(revoked_at=None).exists()
    assert not Preference.objects.exists()
    assert not Message.objects.exists()
    acts.set_active(person=stage.ada, on=True, actor=stage.olga, reason="asked", now=stage.now)
    [token, text] = issue_token(owner=agent, name="new", scopes=["read"], now=stage.now)
    assert find_token(text, now=stage.now) == token
    assert (agent.username, agent.memberships.get().entrant.affiliation) == ("robo", "Lab of Ada")


def test_agents_of_an_erased_person_lose_name_affiliation_and_webhook(stage, client, agent) -> None:
    end(client, "erase")
    agent.refresh_from_db()
    entrant = agent.memberships.get().entrant
    assert (agent.username, agent.is_active) == (f"deleted-{agent.pk}", False)
    assert (entrant.name, entrant.affiliation) == (f"deleted-{entrant.pk}", "")
    assert not ApiToken.objects.exists()
    assert not Preference.objects.exists()


def test_a_name_from_before_it_was_reserved_keeps_nobody_from_an_erasure(stage, client) -> None:
    entrants = [stage.submit(owner).entrant for owner in (stage.ada, stage.ben)]
    User.objects.create_user(f"Deleted-{stage.ada.pk}")
    Entrant.objects.filter(pk=entrants[1].pk).update(name=f"deleted-{entrants[0].pk}")
    assert b"Your account is erased." in end(client, "erase").content
    assert User.objects.get(pk=stage.ada.pk).username == f"deleted-{stage.ada.pk}-2"
    assert Entrant.objects.get(pk=entrants[0].pk).name == f"deleted-{entrants[0].pk}-2"


PLACES_OF = """
SELECT table_name, column_name
  FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
 WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type NOT IN ('bytea', 'bigint', 'boolean')
"""
FORMER = ("zanzibar", "mombasa", "malindi", "pemba", "kilwa")  # names of a person in their life


def places_with(*names: str) -> set[tuple[str, str]]:
    """Return the tables and columns of the database that contain one of these names."""
    from django.db import connection

    found = set()
    with connection.cursor() as cursor:
        cursor.execute(PLACES_OF)
        for table, column in cursor.fetchall():
            cursor.execute(f'SELECT 1 FROM "{table}" WHERE "{column}"::text ~* %s LIMIT 1', ["|".join(names)])
            if cursor.fetchone():
                found.add((table, column))
    return found


def live(stage) -> Entrant:
    """Let Ada leave her names on the site: former, present, of a login, pseudonym, affiliation. Return her entrant."""
    competition = stage.board.competition
    now = {"now": stage.now}
    for user, name in ((stage.ada, FORMER[0]), (stage.ben, FORMER[2])):
        user.username, user.email = name, f"{name}@example.org"
        user.password = stage.ada.password
        user.save()
    EmailAddress.objects.update(email=f"{FORMER[0]}@example.org")
    agent = create_agent(owner=stage.ada, name=f"{FORMER[0]}-agent", **now)
    for sender, ratio in ((stage.cleo, 0.8), (agent, 0.7), (stage.ada, 0.6)):
        sent(stage, sender, ratio)
        tell_overtaken(**now)
    assert FORMER[0] in Message.objects.get(user=stage.cleo, kind="overtaken").text
    teams.say_affiliation(
        entrant=agent.memberships.get().entrant, actor=agent, affiliation=f"Lab of {FORMER[4]}", **now
    )
    entrant = stage.ada.memberships.get().entrant
    teams.take_pseudonym(entrant=entrant, actor=stage.ada, pseudonym=FORMER[3], **now)
    teams.say_affiliation(entrant=entrant, actor=stage.ada, affiliation=f"University of {FORMER[4]}", **now)
    teams.reveal(entrant=entrant, actor=stage.ada, **now)
    confirm(stage)
    over(stage)
    award = life.propose_award(track=track(stage, 1000), actor=stage.olga, now=stage.now)
    while life.confirm_award(award=award, actor=stage.olga, now=stage.now):
        confirm(stage)
    life.approve_award(award=award, actor=stage.olga, reason="read the code", now=stage.now)
    life.announce_award(award=award, actor=stage.olga, now=stage.now)

    second = Competition.objects.create(slug="second", name="Second", max_team_size=3)
    team = teams.create_team(user=stage.cleo, competition=second, name="Fast", **now)
    invited = teams.invite(entrant=team, username=FORMER[0], actor=stage.cleo, **now)
    teams.accept_invite(invite_id=invited.pk, user=stage.ada, **now)
    teams.hand_over(entrant=team, username=FORMER[0], actor=stage.cleo, **now)
    teams.hand_over(entrant=team, username="cleo", actor=stage.ada, **now)
    teams.remove_member(entrant=team, username=FORMER[0], actor=stage.cleo, **now)

    by = {"actor": stage.olga, "now": stage.now}
    acts.rename_person(person=stage.ada, name=FORMER[1], reason=f"{FORMER[0]}@example.org asked, {FORMER[0]}.", **by)
    role = grant_role(competition=competition, username=FORMER[1], role="viewer", **by)
    revoke_role(role=role, **by)
    quota = {"mode": "ranked", "capacity": 9, "per_day": 9, "days": 3, "reason": "a course"}
    acts.grant_quota(person=stage.ada, competition=competition, board=None, **quota, **by)
    proof = {"username": FORMER[2], "password": PASSWORD, "own_password": PASSWORD, "keep": FORMER[1]}
    link_logins(user=User.objects.get(pk=stage.ada.pk), **proof, **now)
    KeyedAnswer.objects.create(account=stage.ada, key="1", digest="", answer={"owner": FORMER[1]}, created_at=stage.now)
    return entrant


def test_after_erasure_neither_database_nor_pages_have_a_former_name(stage, browser, client) -> None:
    entrant = live(stage)
    acts_before = list(Row.objects.order_by("pk").values_list("pk", "act", "actor", "object_id", "created_at"))
    held = {table for table, _ in places_with(*FORMER)}
    assert {"audit_row", "accounts_user", "entrants_entrant", "competitions_announcement", "web_keyedanswer"} <= held
    assert b"Your account is erased." in end(client, "erase", FORMER[1]).content
    assert places_with(*FORMER) == set()
    acts_after = list(Row.objects.order_by("pk").values_list("pk", "act", "actor", "object_id", "created_at"))
    assert acts_after[: len(acts_before)] == acts_before
    assert Announcement.objects.get().text.startswith(f"- 1st place: deleted-{entrant.pk}, ")
    renamed = Row.objects.get(act="desk_rename")
    gone = f"deleted-{stage.ada.pk}"
    assert (renamed.before["name"], renamed.after["name"], renamed.reason) == (gone, gone, f"{gone} asked, {gone}.")
    assert Row.objects.get(act="grant_role").after == {"user": gone, "role": "viewer"}
    assert Row.objects.get(act="create_agent").after == {"owner": gone}
    overtaken = Message.objects.get(user=stage.cleo, kind="overtaken")
    assert overtaken.text == "You are on rank 3, and were on rank 2."
    for path in (
        "/competitions/kernels-101",
        "/boards/softmax/cpu",
        "/api/v1/competitions/kernels-101/awards",
        "/api/v1/boards/softmax/cpu/entries",
        "/desk",
        f"/desk/people/{stage.ada.pk}",
        "/admin/audit/row/",
        f"/admin/audit/row/{renamed.pk}/change/",
    ):
        answer = browser(stage.olga).get(path)
        assert answer.status_code == 200, path
        assert not re.search("|".join(FORMER), answer.content.decode(), re.IGNORECASE), path


def test_erasure_changes_no_row_of_the_audit_about_others(stage, browser, client) -> None:
    """Not even where a stranger's row has the same words."""
    person = User.objects.create_user("ada2")
    by = {"actor": stage.olga, "now": stage.now}
    acts.rename_person(person=person, name="ada3", reason="ada is taken", **by)
    grant_role(competition=stage.board.competition, username="cleo", role="owner", **by)
    before = dict(Row.objects.values_list("pk", "reason"))
    end(client, "erase")
    rows = Row.objects.filter(pk__in=before)
    assert dict(rows.values_list("pk", "reason")) == before
    assert rows.get(act="grant_role").after == {"user": "cleo", "role": "owner"}
    assert rows.get(act="desk_rename").before["name"] == "ada2"


def test_an_account_that_others_depend_on_is_not_closed(stage, browser, client) -> None:
    from leaderboard.competitions.models import Role
    from leaderboard.entrants.models import Membership

    competition = stage.board.competition
    role = Role.objects.create(competition=competition, user=stage.ada, role="owner")
    assert b"takes the role back first" in end(client, "close").content
    role.delete()
    team = Entrant.objects.create(competition=competition, name="Fast", is_team=True, created_at=stage.now)
    for user, part in ((stage.ada, Membership.CAPTAIN), (stage.ben, Membership.MEMBER)):
        Membership.objects.create(entrant=team, competition=competition, user=user, role=part, joined_at=stage.now)
    assert b"ou are the captain of Fast; make another member captain first" in end(client, "erase").content
    agent = create_agent(owner=stage.ada, name="robo", now=stage.now)
    team.memberships.filter(user=stage.ada).update(user=agent)
    assert b"our agent robo is the captain of Fast" in end(client, "close").content
    assert b"closed by another administrator" in end(browser(stage.olga), "close", "olga").content
    stage.ada.refresh_from_db()
    assert stage.ada.is_active


def test_closing_wants_the_name_and_the_password_again(stage, browser, client) -> None:
    assert b"Type the name of your account" in end(client, "close", "ben").content
    assert client.post("/account/close", {"username": "ada"}).status_code == 400
    asked = browser(stage.ada).post("/account/close", {"how": "close", "username": "ada"})
    assert asked.headers["Location"].startswith("/account/confirm")
    stage.ada.refresh_from_db()
    assert stage.ada.is_active


def test_the_export_has_ones_own_data_and_no_secret(stage, browser, tool, client) -> None:
    submission, foreign = stage.submit(stage.ada), stage.submit(stage.cleo)
    tool(stage.ada)
    answer = client.post("/account/export")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="photofinish-ada.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        names = packed.namelist()
        told = json.loads(packed.read("account.json"))
        assert packed.read(f"submissions/{submission.pk}/{submission.filename}").decode() == submission.source
    assert [name for name in names if f"/{foreign.pk}/" in name] == []
    assert [row["id"] for row in told["submissions"]] == [submission.pk]
    assert told["addresses"] == [{"email": "ada@example.org", "verified": True}]
    assert "sign_in_done" in [row["act"] for row in told["acts"]]
    text = json.dumps(told)
    assert not [secret for secret in ("digest", "password", "pbkdf2") if secret in text]
    assert told["sources_left_out"] == 0


def test_the_export_has_the_work_of_ones_agents(stage, client) -> None:
    agent = create_agent(owner=stage.ada, name="robo", now=stage.now)
    issue_token(owner=agent, name="lab-7", scopes=["read"], now=stage.now)
    own, sent = stage.submit(stage.ada), stage.submit(agent)
    with zipfile.ZipFile(io.BytesIO(client.post("/account/export").content)) as packed:
        told = json.loads(packed.read("account.json"))
        assert packed.read(f"submissions/{sent.pk}/{sent.filename}").decode() == sent.source
    assert [(row["id"], row["owner__username"]) for row in told["submissions"]] == [(own.pk, "ada"), (sent.pk, "robo")]
    assert [row["username"] for row in told["logins"]] == ["ada"]
    assert [row["username"] for row in told["agents"]] == ["robo"]
    assert [row["name"] for row in told["tokens"]] == ["lab-7"]
    assert [row["submission_id"] for row in told["lineages"]] == [sent.pk]


def test_exports_are_limited(client) -> None:
    statuses = [client.post("/account/export").status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]


def test_a_ranked_submission_can_need_a_confirmed_address(stage, browser, settings) -> None:
    from leaderboard.errors import UserError

    settings.RANKED_NEEDS_EMAIL = True
    stage.submit(stage.cleo, mode="test")
    with pytest.raises(UserError, match="confirmed e-mail address; add one at /account/email"):
        stage.submit(stage.cleo)
    address = EmailAddress.objects.create(user=stage.cleo, email="cleo@example.org", primary=True)
    with pytest.raises(UserError, match="confirmed"):
        stage.submit(stage.cleo)
    address.verified = True
    address.save()
    assert stage.submit(stage.cleo).mode == "ranked"
