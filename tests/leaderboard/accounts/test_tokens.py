"""API tokens: shown once, stored as a digest, accepted while active, refused after revocation."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.tokens import MAX_TOKENS, find_token, issue_token, revoke_token
from leaderboard.audit.models import Row
from leaderboard.errors import UserError
from leaderboard.judging.models import Runner
from leaderboard.judging.runners import create_runner, find_runner
from tests.leaderboard.stage import NOON, Stage


def test_the_text_is_found_and_nowhere_kept(stage: Stage) -> None:
    token, text = issue_token(owner=stage.ada, name="laptop", scopes=["submit", "read"], now=NOON)
    assert text.startswith("pf_")
    assert len(text) > 40
    assert find_token(text, now=NOON) == token
    assert token.scopes == ["read", "submit"]
    assert text not in json.dumps(list(ApiToken.objects.values()), default=str)
    assert text.startswith(token.prefix)


@pytest.mark.parametrize("text", ["", "pf_", "pf_wrong", "pfr_x", "pf_" + "x" * 1000, "pf_\x00"])
def test_a_guess_is_not_found(stage: Stage, text: str) -> None:
    issue_token(owner=stage.ada, name="laptop", scopes=["read"], now=NOON)
    assert find_token(text, now=NOON) is None


def test_a_revoked_token_is_dead_and_on_the_record_once(stage: Stage) -> None:
    token, text = issue_token(owner=stage.ada, name="laptop", scopes=["read"], now=NOON)
    assert revoke_token(token=token, actor=stage.ada, now=NOON)
    assert not revoke_token(token=token, actor=stage.ada, now=NOON)
    assert find_token(text, now=NOON) is None
    assert Row.objects.filter(act="revoke_token").count() == 1


def test_a_token_dies_with_its_owners_account(stage: Stage) -> None:
    _, text = issue_token(owner=stage.ada, name="laptop", scopes=["read"], now=NOON)
    User.objects.filter(pk=stage.ada.pk).update(is_active=False)
    assert find_token(text, now=NOON) is None


def test_last_use_is_written_at_most_once_a_minute(stage: Stage) -> None:
    token, text = issue_token(owner=stage.ada, name="laptop", scopes=["read"], now=NOON)
    for seconds in (0, 30, 59, 61):
        find_token(text, now=NOON + timedelta(seconds=seconds))
        token.refresh_from_db()
        assert token.last_used_at == NOON + timedelta(seconds=61 if seconds == 61 else 0)


@pytest.mark.parametrize(
    ("name", "scopes", "field"),
    [
        ("", ["read"], "name"),
        ("x" * 65, ["read"], "name"),
        ("a\nb", ["read"], "name"),
        ("a", [], "scopes"),
        ("a", ["read", "root"], "scopes"),
    ],
)
def test_a_bad_token_is_named(stage: Stage, name: str, scopes: list[str], field: str) -> None:
    with pytest.raises(UserError) as caught:
        issue_token(owner=stage.ada, name=name, scopes=scopes, now=NOON)
    assert caught.value.field == field


def test_an_owner_has_so_many_at_most(stage: Stage) -> None:
    for number in range(MAX_TOKENS):
        token, _ = issue_token(owner=stage.ada, name=str(number), scopes=["read"], now=NOON)
    with pytest.raises(UserError, match="revoke one"):
        issue_token(owner=stage.ada, name="one more", scopes=["read"], now=NOON)
    revoke_token(token=token, actor=stage.ada, now=NOON)
    issue_token(owner=stage.ada, name="one more", scopes=["read"], now=NOON)


def test_a_runner_is_found_by_its_token(stage: Stage) -> None:
    runner, text = create_runner(name="tex", hardware="H200", now=NOON)
    assert find_runner(text, now=NOON) == runner
    assert find_runner(text + "x", now=NOON) is None
    with pytest.raises(UserError, match="there is a runner of this name"):
        create_runner(name="tex", hardware="cpu", now=NOON)


@pytest.mark.django_db
def test_sample_accounts_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    User.objects.create_user("ben", password="his own")
    call_command("sample_accounts")
    made = json.loads(capsys.readouterr().out)
    assert set(made) == {"ada", "cleo", "dora", "emil", "olga"}
    for name, told in made.items():
        user = User.objects.get(username=name)
        assert user.check_password(told["password"])
        assert user.is_superuser == (name == "olga")
        found = find_token(told["token"], now=NOON)
        assert found is not None
        assert found.owner == user
    call_command("sample_accounts")
    assert json.loads(capsys.readouterr().out) == {}
    assert User.objects.get(username="ben").check_password("his own")


@pytest.mark.django_db
def test_commands_print_a_token_once(capsys: pytest.CaptureFixture[str]) -> None:
    ada = User.objects.create_user("ada")
    call_command("create_token", "ada", name="laptop")
    found = find_token(capsys.readouterr().out.strip(), now=NOON)
    assert found is not None
    assert (found.owner, found.scopes) == (ada, ["read", "submit"])
    call_command("create_runner", "rex", hardware="cpu")
    assert find_runner(capsys.readouterr().out.strip(), now=NOON) == Runner.objects.get(name="rex")
    with pytest.raises(CommandError, match="there is no user 'eve'"):
        call_command("create_token", "eve", name="x")
    with pytest.raises(CommandError, match="there is a runner of this name"):
        call_command("create_runner", "rex", hardware="cpu")
