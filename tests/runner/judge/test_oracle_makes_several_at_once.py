"""Several inputs in one request: the same bytes as in single requests, as many as room and time permit."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runner.judge.calls import Calls
from runner.judge.data.call import Input
from runner.judge.data.faults import OracleFailed, OracleFull, ProblemRaised
from runner.judge.data.memory import Memory
from runner.judge.sides import oracle as asking
from runner.judge.sides.oracle import Oracle
from tests.runner.judge.oracle_here import oracle_of

RAGGED = """
import torch

def generate_input(*, rows, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 3 + seed % 5, generator=g), torch.randint(9, (rows,), generator=g)

def ref_kernel(data):
    x, index = data
    return x.sum(dim=1), index + 1

def check_implementation(data, output):
    return all(bool((one == other).all()) for one, other in zip(output, ref_kernel(data))), "differs"
"""
CASE: dict[str, Any] = {"rows": 700}
SEEDS: list[tuple[int, int | None]] = [*((seed, None) for seed in range(100, 111)), (103, 9), (104, 77)]
Asked = list[dict[str, Any]]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Oracle]:
    """Oracle with room for about three inputs of CASE."""
    with oracle_of(RAGGED, tmp_path, region_bytes=64 << 10) as oracle:
        yield oracle


@pytest.fixture
def asked(small: Oracle, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Requests as they go out."""
    found: Asked = []
    ask = small._ask

    def note(request: dict[str, Any]) -> dict[str, Any]:
        found.append(request)
        return ask(request)

    monkeypatch.setattr(small, "_ask", note)
    return found


def same(one: Input, two: Input) -> bool:
    """Compare the contents of the tensors only: the gaps between them hold old bytes."""
    places = [
        (buffers, at, slot.nbytes)
        for slot in one.layout.slots
        for buffers, at in (((one.inputs, two.inputs), slot.input), ((one.expected, two.expected), slot.output))
        if at >= 0
    ]
    return (one.layout.text, one.seed, one.near, one.case) == (two.layout.text, two.seed, two.near, two.case) and all(
        np.array_equal(first[at : at + size], second[at : at + size]) for (first, second), at, size in places
    )


@pytest.mark.parametrize("fp64", ["", "values", "spread"])
def test_they_are_what_they_would_be_alone(small: Oracle, asked: Asked, fp64: Any) -> None:
    together = small.make_all(CASE, SEEDS, fp64=fp64)
    requests = len(asked)
    alone = [small.make(CASE, seed, near, fp64=fp64) for seed, near in SEEDS]
    assert all(same(one, other) for one, other in zip(together, alone, strict=True))
    assert sorted({one.number for one in together}) == [one.number for one in together]
    assert [one.near for one in together] == [False] * 11 + [True] * 2
    assert 3 < requests < len(SEEDS), "some three fit at a time, and the first comes alone"
    for one, other in zip(together, alone, strict=True):
        assert (one.expected64 is None) == (other.expected64 is None)
        assert one.expected64 is None or np.array_equal(one.expected64, other.expected64)


def test_each_can_be_checked_later(small: Oracle) -> None:
    made = small.make_all(CASE, SEEDS)
    for given in made:
        assert small.check(given.number, given.layout, given.expected)[0] is True
    other = small.make(CASE, 5).expected
    assert small.check(made[0].number, made[0].layout, other)[0] is False


def test_slow_inputs_come_one_by_one(small: Oracle, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "AT_ONCE_NS", 1)
    small.make_all(CASE, SEEDS)
    assert [len(request["wanted"]) for request in asked] == [1] * len(SEEDS)


def test_what_does_not_fit_alone_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    growing = RAGGED.replace("3 + seed % 5", "seed")
    with oracle_of(growing, tmp_path, region_bytes=64 << 10) as oracle:
        with pytest.raises(OracleFailed, match="choose smaller sizes"):
            oracle.make_all(CASE, [(3, None), (4, None), (5, None), (60, None), (2, None)])
        assert oracle.make_all(CASE, [(3, None), (4, None)])[1].seed == 4


@pytest.mark.parametrize(
    "spoil",
    [
        lambda made: [],
        lambda made: [*made, made[0]],
        lambda made: made[0],
        lambda made: [None],
        lambda made: [*made[:1], {**made[1], "layout": {**made[1]["layout"], "input_bytes": 64 << 10}}],
    ],
    ids=["none", "more", "no list", "no answer", "beyond the region"],
)
def test_an_answer_that_does_not_fit_the_question_is_the_problems_failure(
    small: Oracle, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Any], Any]
) -> None:
    small.make_all(CASE, SEEDS[:2])
    ask = small._ask
    monkeypatch.setattr(small, "_ask", lambda request: {"made": spoil(ask(request)["made"])})
    with pytest.raises(OracleFailed):
        small.make_all(CASE, SEEDS[:2])


WIDE = """
import torch

def generate_input(*, n, seed):
    return torch.randn(n + seed % 3, generator=torch.Generator().manual_seed(seed)).half()

def ref_kernel(x):
    return (x + x.mean()).repeat(50)
"""


def test_what_is_known_of_a_shape_does_not_hang_on_the_room(tmp_path: Path) -> None:
    """In the small region the double-precision outputs of shapes that appear for the first time do not fit."""
    seeds: list[tuple[int, int | None]] = [(seed, None) for seed in (3, 3, 6, 9, 4, 7, 5, 8, 3)]
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    with (
        oracle_of(WIDE, tmp_path / "small", region_bytes=64 << 10) as small,
        oracle_of(WIDE, tmp_path / "large", region_bytes=8 << 20) as large,
    ):
        together = small.make_all({"n": 100}, seeds, fp64="condition")
        alone = [large.make({"n": 100}, seed, fp64="condition") for seed, _ in seeds]
    assert [one.condition for one in together] == [one.condition for one in alone]
    assert [one.terms for one in together] == [one.terms for one in alone]
    assert all(one.condition != ((0, 0),) for one in together)


def test_dearer_inputs_of_the_same_case_come_one_by_one_at_first(small: Oracle, asked: Asked) -> None:
    small.make_all(CASE, SEEDS[:6])
    del asked[:]
    small.make_all(CASE, SEEDS[:6], fp64="spread")
    assert len(asked[0]["wanted"]) == 1


def test_a_request_ends_before_its_time_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "AT_ONCE_NS", 10**12)
    slow = RAGGED.replace("    g = torch", "    import time\n    time.sleep(0.4)\n    g = torch")
    with oracle_of(slow, tmp_path) as oracle:
        answered: list[int] = []
        ask = oracle._ask

        def note(request: dict[str, Any]) -> dict[str, Any]:
            answer = ask(request)
            answered.append(len(answer["made"]))
            return answer

        monkeypatch.setattr(oracle, "_ask", note)
        made = oracle.make_all(CASE, SEEDS[:8])
    assert [one.seed for one in made] == [seed for seed, _ in SEEDS[:8]]
    assert answered[0] == 1
    assert max(answered) <= 3, "as many as begin within a second"


FULL_LATER = RAGGED.replace(
    "    g = torch", "    if seed == 300:\n        raise MemoryError('none is left')\n    g = torch"
)


def test_inputs_made_before_memory_ran_out_are_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with oracle_of(FULL_LATER, tmp_path) as oracle:
        first = oracle.make(CASE, 5)
        monkeypatch.setattr(asking, "MOST_AT_ONCE", 1)
        with pytest.raises(OracleFull, match="none is left"):
            oracle.make_all(CASE, [(6, None), (7, None), (300, None)])
        oracle.make(CASE, 8)
        assert oracle.check(first.number, first.layout, first.expected)[0] is True
        with pytest.raises(ProblemRaised, match="KeyError"):
            oracle.check(first.number + 1, first.layout, first.expected)


def test_a_request_that_runs_out_of_memory_keeps_none_of_its_inputs(tmp_path: Path) -> None:
    with oracle_of(FULL_LATER, tmp_path) as oracle:
        first = oracle.make(CASE, 5)
        with pytest.raises(OracleFull, match="none is left"):
            oracle.make_all(CASE, [(6, None), (7, None), (300, None)])
        with pytest.raises(ProblemRaised, match="KeyError"):
            oracle.check(first.number + 1, first.layout, first.expected)


def test_released_inputs_are_forgotten_without_a_further_input(small: Oracle) -> None:
    kept, released = small.make_all(CASE, SEEDS[:2])
    small.release(released)
    small.forget()
    assert small.check(kept.number, kept.layout, kept.expected)[0] is True
    with pytest.raises(ProblemRaised, match="KeyError"):
        small.check(released.number, kept.layout, kept.expected)


ONCE_FULL = RAGGED.replace(
    "def check_implementation(data, output):",
    "tries = 0\n\ndef check_implementation(data, output):\n    global tries\n    tries += 1\n"
    "    if tries == 1:\n        raise MemoryError('none is left')",
)


def test_a_check_without_memory_is_asked_once_more_without_the_judges_buffers(tmp_path: Path) -> None:
    problem: Any = SimpleNamespace()
    with oracle_of(ONCE_FULL, tmp_path) as oracle:
        calls = Calls(problem, oracle, {}, Memory())
        given = oracle.make(CASE, 5)
        calls.buffer(0, 256)
        assert calls._own_check(given, given.expected, "candidate") == (True, "differs")
        assert calls._buffers == []


FULL = """
import torch

calls = 0

def generate_input(*, n, seed):
    global calls  # the first call looks for data that grow with the seed
    calls += 1
    if calls <= n:
        raise MemoryError("none is left")
    return torch.ones(8)

def ref_kernel(x):
    return x + 1
"""


@pytest.mark.parametrize(("fails", "is_made"), [(2, True), (99, False)])
def test_an_oracle_without_memory_is_asked_once_more_without_the_judges_buffers(
    tmp_path: Path, fails: int, is_made: bool
) -> None:
    problem: Any = SimpleNamespace()
    with oracle_of(FULL, tmp_path) as oracle:
        calls = Calls(problem, oracle, {}, Memory())
        calls.buffer(0, 256)
        if is_made:
            assert len(calls.make_all({"n": fails}, [(1, None)], fp64="")) == 1
        else:
            with pytest.raises(OracleFull, match="none is left"):
                calls.make_all({"n": fails}, [(1, None)], fp64="")
        assert calls._buffers == []
