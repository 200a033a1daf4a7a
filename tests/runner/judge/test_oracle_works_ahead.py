"""The oracle makes the next block's inputs beside the judge's comparing, and is at rest in every call of a side."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.commands.local import find_problem
from runner.evidence.schedule import CPU, GPU, A, B, Profile
from runner.evidence.throttle import Window
from runner.judge.calls import Calls
from runner.judge.data.faults import OracleFailed, ProblemRaised
from runner.judge.data.memory import Memory, NoMemory
from runner.judge.data.room import Plan
from runner.judge.device.telemetry import Blind, nothing
from runner.judge.sides import oracle as asking
from runner.judge.sides.oracle import Oracle
from runner.judge.sides.tenant import Tenant
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import oracle_of, problem_of
from tests.runner.judge.simulated import FakeSide, Race
from tests.runner.judge.tenant_here import tenant_of

SUMS = """
import os, torch

def generate_input(*, n, seed):
    if seed == 13:
        raise ValueError("thirteen")
    if seed == 14:
        os._exit(3)
    return torch.rand(n, generator=torch.Generator().manual_seed(seed))

def ref_kernel(x):
    return x * 2
"""
CASE: dict[str, Any] = {"n": 600}
SEEDS: list[tuple[int, int | None]] = [(1, None), (2, None), (1, 5)]


@pytest.fixture
def acts() -> list[str]:
    """Requests, answers, freezing and thawing of the oracle, in their order."""
    return []


@pytest.fixture
def oracle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acts: list[str]) -> Iterator[Oracle]:
    """Oracle that knows how long an input of CASE takes."""
    with oracle_of(SUMS, tmp_path) as oracle:
        oracle.make_all(CASE, SEEDS)
        note(oracle, monkeypatch, acts)
        yield oracle


def note(oracle: Oracle, monkeypatch: pytest.MonkeyPatch, acts: list[str]) -> None:
    send, receive = asking.protocol.send, asking.protocol.receive
    freeze, thaw = oracle.container.freeze, oracle.container.thaw
    monkeypatch.setattr(asking.protocol, "send", lambda *args: [acts.append("asked"), send(*args)][1])
    monkeypatch.setattr(
        asking.protocol, "receive", lambda *args, **kw: [acts.append("answered"), receive(*args, **kw)][1]
    )
    monkeypatch.setattr(oracle.container, "freeze", lambda: [acts.append("frozen"), freeze()][1])
    monkeypatch.setattr(oracle.container, "thaw", lambda: [acts.append("thawed"), thaw()][1])


def test_inputs_asked_for_ahead_are_those_that_a_later_request_would_bring(oracle: Oracle, acts: list[str]) -> None:
    alone = oracle.make_all(CASE, SEEDS)
    del acts[:]
    oracle.begin(CASE, SEEDS)
    assert acts == ["thawed", "asked"]
    made = oracle.make_all(CASE, SEEDS)
    assert acts == ["thawed", "asked", "answered", "frozen"]
    for one, other in zip(made, alone, strict=True):
        assert one.layout == other.layout
        assert bytes(one.inputs) == bytes(other.inputs)
        assert bytes(one.expected) == bytes(other.expected)
        assert one.number > other.number


@pytest.mark.parametrize(
    ("case", "seeds", "fp64"),
    [(CASE, [(9, None)], ""), ({"n": 601}, SEEDS, ""), (CASE, SEEDS, "values")],
    ids=["other seeds", "another case", "other doubles"],
)
def test_a_request_that_was_not_foreseen_discards_the_request_ahead(
    oracle: Oracle, acts: list[str], case: dict[str, Any], seeds: Any, fp64: Any
) -> None:
    oracle.begin(CASE, SEEDS)
    made = oracle.make_all(case, seeds, fp64=fp64)
    assert [one.drawn_from for one in made] == seeds
    assert acts.count("asked") == acts.count("answered")
    assert acts[-1] == "frozen"
    oracle.begin(CASE, SEEDS)
    oracle.load({"reference.py": SUMS})
    assert [one.drawn_from for one in oracle.make_all(CASE, SEEDS)] == SEEDS


def test_rest_freezes_the_oracle_once(oracle: Oracle, acts: list[str]) -> None:
    oracle.begin(CASE, SEEDS)
    oracle.rest()
    assert acts == ["thawed", "asked", "answered", "frozen"]
    oracle.rest()
    assert acts.count("frozen") == 1


def test_what_a_job_asked_ahead_ends_with_it(oracle: Oracle, acts: list[str]) -> None:
    oracle.begin(CASE, SEEDS)
    oracle.begin_anew()
    assert acts == ["thawed", "asked", "answered", "frozen"]
    assert oracle.problem_s == 0
    oracle.begin(CASE, SEEDS)
    assert acts[4:] == [], "it does not know any more how long they take"


def test_inputs_that_take_long_are_not_asked_for_ahead(
    oracle: Oracle, acts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last block of a case would wait for the inputs of a block that does not come."""
    oracle.begin({"n": 602}, SEEDS)  # how long they take is unknown
    monkeypatch.setattr(asking, "AT_ONCE_NS", 1)
    oracle.begin(CASE, SEEDS)
    oracle.begin(CASE, [])
    assert acts == []


def test_an_answer_that_the_judge_reads_late_came_in_time(oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ANSWER_S", 1)
    oracle.begin(CASE, SEEDS)
    time.sleep(1.2)
    assert len(oracle.make_all(CASE, SEEDS)) == 3


def test_a_failure_ahead_comes_to_light_when_the_inputs_are_taken(oracle: Oracle, acts: list[str]) -> None:
    bad: list[tuple[int, int | None]] = [(13, None), (2, None)]
    oracle.begin(CASE, bad)
    oracle.rest()
    assert len(oracle.make_all(CASE, SEEDS)) == 3, "it goes on"
    oracle.begin(CASE, bad)
    with pytest.raises(ProblemRaised, match="thirteen"):
        oracle.make_all(CASE, bad)
    assert acts[-1] == "frozen"


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "discarded"])
def test_an_oracle_that_dies_ahead_is_the_problems_failure(oracle: Oracle, taken: bool) -> None:
    bad: list[tuple[int, int | None]] = [(14, None), (2, None)]
    oracle.begin(CASE, bad)
    with pytest.raises(OracleFailed, match="exit status 3"):
        _ = oracle.make_all(CASE, bad) if taken else oracle.begin_anew()


# -- a timed case ----------------------------------------------------------------------------------------------------


class Beside(Memory):
    """Memory of a device, on which the judge compares while the oracle works on the host."""

    works_beside_oracle = True


def trial_of(oracle: Oracle, tenant: Tenant, memory: Memory, **changes: Any) -> Trial:
    calls = Calls(problem_of(SUMS, CASE, **changes), oracle, {A: tenant, B: tenant}, memory)
    return Trial(calls, "ranked", profile=CPU, emit=lambda *told: None)


@pytest.mark.parametrize("memory", [Beside(), Memory()], ids=["a device", "the host"])
def test_oracle_is_frozen_in_every_call_of_a_timed_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acts: list[str], memory: Memory
) -> None:
    with oracle_of(SUMS, tmp_path) as oracle, tenant_of(tmp_path / "tenant", memory=memory) as tenant:
        trial = trial_of(oracle, tenant, memory)
        trial.load("def custom_kernel(x):\n    return x * 2\n", B)
        trial.check(Blind())
        note(oracle, monkeypatch, acts)
        call, compare, beside = tenant.call, memory.compare, list[bool]()

        def called(*args: Any, **kwargs: Any) -> Any:
            assert not oracle._awake
            assert acts[-1] == "frozen"
            return call(*args, **kwargs)

        def compared(*args: Any) -> Any:
            beside.append(oracle._awake > 0)
            return compare(*args)

        class Watching(Blind):
            def end(self, meanwhile: Callable[[], object] = nothing) -> Window:
                assert not oracle._awake, "what happens to the device in a window is the side's"
                return super().end(meanwhile)

        monkeypatch.setattr(tenant, "call", called)
        monkeypatch.setattr(memory, "compare", compared)
        trial.measure(Watching())
        assert trial.counts
        assert len(trial.evidence.timing[0].quads) >= CPU.first_look
        assert acts.count("asked") == acts.count("answered")
        assert acts[-1] == "frozen"
    if memory.works_beside_oracle:
        assert sum(beside) > len(beside) / 4, "the oracle works while the judge compares every second block"
    else:
        assert not any(beside)


def test_the_oracle_is_at_rest_before_memory_is_asked_for_again(oracle: Oracle, acts: list[str]) -> None:
    """What it makes ahead takes memory, too."""
    problem: Any = find_problem("vectoradd")
    calls, tries = Calls(problem, oracle, {}, Beside()), [NoMemory("none is left")]

    def work() -> int:
        if tries:
            raise tries.pop()
        return len(acts)

    oracle.begin(CASE, SEEDS)
    assert calls._with_room(work) == len(["thawed", "asked", "answered", "frozen"])


@pytest.mark.parametrize("plan", [Plan(8, keeps=False), Plan(8)], ids=["no room", "own check"])
def test_nothing_is_asked_for_ahead_where_memory_is_short_or_the_check_needs_the_oracle(
    oracle: Oracle, acts: list[str], plan: Plan
) -> None:
    problem: Any = find_problem("vectoradd")
    calls = Calls(problem, oracle, {}, Beside())
    calls.plan, oracle.checks = plan, plan.keeps
    calls.begin_making(SEEDS, CASE)
    assert acts == []


@pytest.mark.parametrize("profile", [CPU, GPU])
def test_the_expected_block_is_the_next_block(profile: Profile) -> None:
    """Of a quiet race every block comes as it was foreseen, and most are foreseen."""
    race = Race(profile=profile)
    told: list[tuple[str, str, int, int]] = []

    class Telling(FakeSide):
        def make_ready(self, calls: int, lean: int = 0) -> None:
            told.append(("ready", self.name, calls, lean))
            super().make_ready(calls, lean)

        def make_ahead(self, calls: int, lean: int) -> None:
            told.append(("ahead", self.name, calls, lean))

    race.sides = {A: Telling(race, A, 5e6), B: Telling(race, B, 4e6)}
    race.run()
    ahead = [at for at, (what, *_) in enumerate(told) if what == "ahead"]
    assert len(ahead) > 0.8 * (len(told) - len(ahead))
    assert all(told[at + 1] == ("ready", *told[at][1:]) for at in ahead)
