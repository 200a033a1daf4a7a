"""What one container's context costs beyond the baseline's, from calls of the harness's own kernel."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from runner.judge import contexts

CHANCE = random.Random(5)


def samples(count: int, *, told: float) -> list[list[float]]:
    """With a stray in every tenth, as the first call after a thaw is."""
    found = []
    for number in range(count):
        event = told + CHANCE.gauss(0, 40) + (900 if number % 10 == 0 else 0)
        found.append([event + 450_000, 0, 0, event, 0, 0, 0])
    return found


def test_it_is_the_difference_to_the_baseline() -> None:
    found = contexts.compare(
        {
            "baseline": samples(64, told=3_600),
            "candidate": samples(64, told=3_780),
            "incumbent": samples(64, told=3_600),
        }
    )
    assert found == {"candidate": pytest.approx(180, abs=40), "incumbent": pytest.approx(0, abs=40)}


@pytest.mark.parametrize("sides", [{}, {"candidate": 64}, {"candidate": 64, "baseline": contexts.LEAST - 1}])
def test_too_few_calls_say_nothing(sides: dict[str, int]) -> None:
    assert contexts.compare({name: samples(count, told=1) for name, count in sides.items()}) == {}


def test_a_difference_beyond_what_contexts_have_says_nothing() -> None:
    found = contexts.compare(
        {
            "baseline": samples(64, told=3_600),
            "candidate": samples(64, told=6_000),
            "incumbent": samples(64, told=3_600),
        }
    )
    assert set(found) == {"incumbent"}


def test_sides_take_turns_and_calls_that_were_not_queued_are_left_out() -> None:
    order: list[str] = []

    def side(name: str, queued: bool = True) -> Any:
        def own_calls(count: int) -> list[Any]:
            order.append(name)
            return [SimpleNamespace(sample=[1] * 7, queued=queued or at > 2) for at in range(count)]

        return SimpleNamespace(own_calls=own_calls, queues=True)

    found = contexts.own_calls({"candidate": side("candidate", queued=False), "baseline": side("baseline")})
    assert order[:6] == ["candidate", "baseline", "baseline", "candidate", "candidate", "baseline"]
    assert len(found["baseline"]) == contexts.ROUNDS * contexts.CALLS
    assert len(found["candidate"]) == contexts.ROUNDS * (contexts.CALLS - 3)


def test_where_no_device_does_calls_by_itself_none_is_made() -> None:
    assert contexts.own_calls({"candidate": SimpleNamespace(queues=False)}) == {}  # type: ignore[dict-item]
