"""Rewards by library and command: a kernel is sent, judged and rewarded."""

import asyncio
import json

import pytest

from leaderboard.client import AsyncClient, Client, Misuse
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import TOKEN, FakeSite

LINE = {
    "id": 7,
    "status": "judged",
    "reward": 2.3,
    "low": 2.29,
    "high": 2.31,
    "speedup": 2.0,
    "half_width": 0.004,
    "reason": "correct",
    "message": "The kernel is correct and takes 0.5 of the baseline's time.",
}
WAITING = {**LINE, "status": "waiting", "reward": None, "low": None, "high": None, "message": "It is queued."}


@pytest.fixture
def rewarding(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> FakeSite:
    site.act_answer = {"formula": "reward/1", "correct": 0.3, "cap": 10.0, "only_correct": False, "rewards": [LINE]}
    monkeypatch.setattr("leaderboard.client.clients.POLL_S", 0.01)
    return site


def test_client_sends_a_kernel_and_returns_its_reward(rewarding: FakeSite) -> None:
    with Client(rewarding.url, TOKEN) as connection:
        found = connection.reward(board="softmax", hardware="cpu", code="x = 1", parameters={"cap": 4.0})
    assert found == LINE
    [sent] = rewarding.sent
    assert (sent["mode"], sent["filename"], sent["code"]) == ("benchmark", "kernel.py", "x = 1")
    assert rewarding.acts == [("/rewards", {"ids": [7], "cap": 4.0})]


def test_async_client_rewards_a_known_submission(rewarding: FakeSite) -> None:
    async def ask() -> object:
        async with AsyncClient(rewarding.url, TOKEN) as connection:
            sent = await connection.reward(board="softmax", code="x = 1")
            assert sent == LINE
            return await connection.reward(7)

    assert asyncio.run(ask()) == LINE
    assert len(rewarding.sent) == 1


def test_client_waits_for_a_verdict_that_is_measured_again(rewarding: FakeSite) -> None:
    rewarding.act_answers = [{**rewarding.act_answer, "rewards": [line]} for line in (WAITING, WAITING)]
    with Client(rewarding.url, TOKEN) as connection:
        assert connection.reward(7) == LINE
    assert [path for path, _ in rewarding.acts] == ["/rewards"] * 3


def test_client_names_what_a_kernel_lacks(rewarding: FakeSite) -> None:
    with Client(rewarding.url, TOKEN) as connection:
        with pytest.raises(Misuse, match="code: missing"):
            connection.reward(board="softmax")
        with pytest.raises(Misuse, match="not the number of a submission"):
            connection.rewards(["../me"])
    assert rewarding.sent == []


def test_command_prints_rewards_with_bounds_and_reasons(
    rewarding: FakeSite, photofinish: Photofinish, signed_in: None
) -> None:
    rewarding.act_answer["rewards"] = [LINE, {**WAITING, "id": 8}]
    done = photofinish("reward", "7", "8", "--cap", "4", "--only-correct")
    assert done.code == 0
    first, second = done.out.splitlines()[1:]
    assert first.split("\t")[:4] == ["7", "2.300", "2.290", "2.310"]
    assert second.split("\t") == ["8", "–", "–", "–", "It is queued."]
    assert rewarding.acts[-1] == ("/rewards", {"ids": [7, 8], "cap": 4.0, "only_correct": True})
    assert json.loads(photofinish("reward", "7", "--json").out)["rewards"][0] == LINE
    assert photofinish("reward", "x").code == 2
