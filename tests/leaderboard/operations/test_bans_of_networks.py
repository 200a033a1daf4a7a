"""Bans of networks: bounds, the caller's own network, look-ups in memory, and the command."""

from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.core.management import CommandError, call_command
from django.utils import timezone

from leaderboard.audit.models import Row
from leaderboard.errors import UserError
from leaderboard.operations import bans
from leaderboard.operations.models import Ban
from tests.leaderboard.stage import Stage


@pytest.fixture(autouse=True)
def _no_ban_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bans, "_loaded", {})


def ban(stage: Stage, network: str, **told: Any) -> Ban:
    given = {"days": 1, "reason": "floods", "actor": stage.olga, "now": stage.now} | told
    made = bans.ban(network=network, **given)
    bans.load(stage.now)
    return made


@pytest.mark.parametrize(
    ("network", "inside", "outside"),
    [
        ("192.0.2.77/24", "192.0.2.1", "192.0.3.1"),
        ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("192.0.2.0/24", "::ffff:192.0.2.9", "::ffff:192.0.3.9"),
        ("2001:db8::/48", "2001:db8:0:ffff::1%eth0", "2001:db8:1::1"),
    ],
)
def test_a_ban_covers_its_network_until_its_end(stage: Stage, network: str, inside: str, outside: str) -> None:
    ban(stage, "198.51.100.0/24")
    made = ban(stage, network)
    assert bans.of(inside, stage.now) == made
    assert bans.of(outside, stage.now) is None
    assert bans.of("unix", stage.now) is None
    assert bans.of(inside, stage.now + timedelta(days=1)) is None, "over, although it is still in memory"
    ban(stage, network, now=stage.now + timedelta(days=1))


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        ("everybody", "expected a network such as"),
        ("10.0.0.0/8", "at least /16"),
        ("2001::/16", "at least /32"),
        ("::ffff:192.0.2.0/120", "write it as IPv4"),
    ],
)
def test_a_wrong_network_is_refused(stage: Stage, network: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        ban(stage, network)


def test_own_network_must_be_confirmed(stage: Stage) -> None:
    with pytest.raises(UserError, match=r"your own address 192.0.2.5 is in 192.0.2.0/24") as caught:
        ban(stage, "192.0.2.0/24", own_address="192.0.2.5")
    assert caught.value.field == "confirm"
    ban(stage, "192.0.2.0/24", own_address="192.0.2.5", confirm=True)
    with pytest.raises(UserError, match="banned already"):
        ban(stage, "192.0.2.0/24")


def test_lifted_ban_of_own_network_is_not_put_back(stage: Stage) -> None:
    made = ban(stage, "2001:db8::/48")
    told = {"ban": made, "actor": stage.olga, "reason": "x", "now": stage.now}
    bans.set_lifted(on=True, **told)
    here = structlog.contextvars.bound_contextvars(address="2001:db8:0:1::/64")
    with here, pytest.raises(UserError, match="your own network"):
        bans.set_lifted(on=False, **told)
    bans.set_lifted(on=False, **told)
    assert bans.in_force(stage.now) == [made]


def test_number_of_bans_is_bounded(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bans, "MOST", 1)
    ban(stage, "192.0.2.0/24")
    with pytest.raises(UserError, match="which is the most"):
        ban(stage, "198.51.100.0/24")


def test_commands_ban_and_lift_without_a_browser(db: None) -> None:
    call_command("ban", "192.0.2.9/24", "--reason", "floods")
    assert [str(one) for one in bans.in_force(timezone.now())] == ["192.0.2.0/24"]
    with pytest.raises(CommandError, match=r"is not banned; banned: 192\.0\.2\.0/24"):
        call_command("ban", "192.0.2.9", "--lift", "--reason", "sorry")
    call_command("ban", "192.0.2.0/24", "--lift", "--reason", "sorry")
    assert bans.in_force(timezone.now()) == []
    assert list(Row.objects.order_by("pk").values_list("act", "actor")) == [("desk_ban", None), ("desk_lift_ban", None)]
