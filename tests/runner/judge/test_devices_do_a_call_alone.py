"""Devices do a call by themselves: here memory plays the judge's device, and harness threads the tenant's."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runner.judge.data.call import Call, Input
from runner.judge.data.faults import Fault
from runner.judge.data.layout import Layout
from runner.judge.data.memory import NoMemory
from runner.judge.data.room import PLACES
from runner.judge.sides import tenant as tenant_module
from runner.judge.sides.oracle import Oracle
from runner.judge.sides.tenant import Copies, Tenant, Wanted
from sandbox import protocol
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import LIMIT_S, agrees, tenant_of
from tests.runner.judge.two_devices import TwoDevices

REFERENCE = """
import torch

def generate_input(*, n, seed):
    return torch.arange(float(n)) + seed, torch.empty(n)

def ref_kernel(data):
    return torch.add(data[0], 1, out=data[1])
"""
GOOD = "import torch\ndef custom_kernel(data):\n    return torch.add(data[0], 1, out=data[1])\n"
WAITS = "SYNCHRONISES = True\n" + GOOD
LATE = "import time\n" + GOOD.replace("    return", "    time.sleep(0.3)\n    return")


@pytest.fixture
def memory() -> TwoDevices:
    return TwoDevices()


@pytest.fixture
def tenant(tmp_path: Path, memory: TwoDevices) -> Iterator[Tenant]:
    with tenant_of(tmp_path / "tenant", 8 << 20, memory) as tenant:
        yield tenant


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(REFERENCE, tmp_path_factory.mktemp("oracle"), 1 << 20) as oracle:
        yield oracle


@pytest.fixture
def given(oracle: Oracle) -> Input:
    return oracle.make({"n": 64}, 7)


def call(tenant: Tenant, source: str, given: Input, *, queue: bool = True, limit_s: float = LIMIT_S) -> Call:
    """Make one call of that code; its output is right, unless it raises."""
    load(tenant, source)
    tenant.lay_out(given.layout, LIMIT_S)
    into = np.empty(given.layout.output_bytes, np.uint8)
    made = tenant.call(given, into, limit_s, queue=queue)
    assert agrees(given, into)
    assert made.inputs_kept
    assert not made.late
    return made


def test_a_call_is_queued_and_the_gate_lets_it_go(tenant: Tenant, memory: TwoDevices, given: Input) -> None:
    made = call(tenant, GOOD, given)
    assert made.queued
    assert memory.gates == [True]
    assert 0 < made.sample.inner_ns < made.sample.wall_ns


def test_a_lean_call_is_the_same_call_and_tells_no_time(tenant: Tenant, memory: TwoDevices, given: Input) -> None:
    load(tenant)
    tenant.lay_out(given.layout, LIMIT_S)
    into = np.empty(given.layout.output_bytes, np.uint8)
    for order in (protocol.LEAN, protocol.QUEUE):
        (made,) = tenant.series([Wanted(given, into, order=order)], LIMIT_S)
        assert agrees(given, into)
        assert (made.queued, made.sample.inner_ns == 0) == (True, order == protocol.LEAN)
    assert memory.gates == [True] * 2


def test_where_it_is_not_asked_for_an_order_lets_it_go(tenant: Tenant, memory: TwoDevices, given: Input) -> None:
    made = call(tenant, GOOD, given, queue=False)
    assert not made.queued
    assert memory.gates == [False]


CHANGES = GOOD.replace("    return", "    data[0][0] += 1\n    data[0][0] -= 0.5\n    return")


@pytest.mark.parametrize("queue", [True, False], ids=["queued", "ordered"])
def test_an_input_that_a_call_changed_is_seen(tenant: Tenant, given: Input, queue: bool) -> None:
    load(tenant, CHANGES)
    tenant.lay_out(given.layout, LIMIT_S)
    made = tenant.call(given, np.empty(given.layout.output_bytes, np.uint8), LIMIT_S, queue=queue)
    assert not made.inputs_kept
    assert made.queued is queue


def test_a_container_that_was_thawed_when_the_judge_found_no_memory_is_frozen(
    tenant: Tenant, given: Input, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise NoMemory("none is left")

    load(tenant)
    tenant.lay_out(given.layout, LIMIT_S)
    acts: list[str] = []
    monkeypatch.setattr(tenant.container, "thaw", lambda: acts.append("thaw"))
    monkeypatch.setattr(tenant.container, "freeze", lambda: acts.append("freeze"))
    monkeypatch.setattr(tenant._arena.memory, "stage", full)
    with pytest.raises(NoMemory):
        tenant.call(given, np.empty(given.layout.output_bytes, np.uint8), LIMIT_S)
    assert acts == ["thaw", "freeze"]


def test_the_judges_device_begins_when_the_container_is_frozen(
    tenant: Tenant, memory: TwoDevices, given: Input, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(tenant)
    tenant.lay_out(given.layout, LIMIT_S)
    acts: list[str] = []
    freeze, put = tenant.container.freeze, tenant._arena.put_inputs
    monkeypatch.setattr(tenant.container, "freeze", lambda: [acts.append("freeze"), freeze()])
    monkeypatch.setattr(tenant._arena, "put_inputs", lambda *args, **kw: [acts.append("put"), put(*args, **kw)])
    into = np.empty(given.layout.output_bytes, np.uint8)
    assert tenant.call(given, into, LIMIT_S).queued
    assert acts == ["freeze", "put", "freeze"]
    assert agrees(given, into)


def test_a_call_whose_inputs_came_before_the_container_froze_is_not_queued(
    tenant: Tenant, memory: TwoDevices, given: Input, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device does not wait for ever for the host."""
    load(tenant)
    tenant.lay_out(given.layout, LIMIT_S)
    freeze = tenant.container.freeze
    monkeypatch.setattr(tenant.container, "freeze", lambda: [memory.shots[-1].fire(), freeze()])
    into = np.empty(given.layout.output_bytes, np.uint8)
    assert not tenant.call(given, into, LIMIT_S).queued
    assert agrees(given, into)


@pytest.mark.parametrize("source", [WAITS, LATE], ids=["waits for its device", "takes long"])
def test_what_cannot_be_queued_runs_all_the_same(tenant: Tenant, memory: TwoDevices, given: Input, source: str) -> None:
    assert not call(tenant, source, given).queued
    assert memory.gates == [True]


def test_a_first_call_that_waits_for_its_gate_does_not_wait_long(
    tenant: Tenant, given: Input, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver loads no module while a gate is closed."""
    load(tenant, WAITS)
    tenant.lay_out(given.layout, LIMIT_S)
    into = np.empty(given.layout.output_bytes, np.uint8)
    waited: list[int] = []
    echoed = tenant._orders.echoed

    def noted(nonce: int, limit_ns: int, *others: Any, **named: Any) -> bool:
        waited.extend([] if others or named else [limit_ns])
        return echoed(nonce, limit_ns, *others, **named)

    monkeypatch.setattr(tenant._orders, "echoed", noted)
    for is_first in (True, False):
        (made,) = tenant.series([Wanted(given, into)], LIMIT_S, is_first=is_first)
        assert not made.queued
        assert agrees(given, into)
    assert waited == [tenant_module.FIRST_QUEUE_NS, tenant_module.QUEUE_NS]
    assert waited[0] < waited[1] / 10


@pytest.mark.parametrize("queue", [True, False], ids=["queued", "ordered"])
def test_without_an_echo_the_answer_lets_the_judge_read(tenant: Tenant, given: Input, queue: bool) -> None:
    assert not call(tenant, "ECHOES = False\n" + GOOD, given, queue=queue).queued


@pytest.mark.parametrize("queue", [True, False], ids=["queued", "ordered"])
@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def custom_kernel(data):\n    raise ValueError('no')\n", "runtime_error"),
        ("import os\ndef custom_kernel(data):\n    os._exit(3)\n", "runtime_error"),
        ("import time\ndef custom_kernel(data):\n    time.sleep(600)\n", "timeout"),
    ],
    ids=["raises", "dies", "hangs"],
)
def test_whatever_a_call_comes_to_no_device_is_left_waiting(
    tenant: Tenant, memory: TwoDevices, given: Input, source: str, outcome: str, queue: bool
) -> None:
    with pytest.raises(Fault) as fault:
        call(tenant, source, given, queue=queue, limit_s=1.0)
    assert fault.value.outcome == outcome
    assert memory.shots
    assert all(shot.took_ns for shot in memory.shots)


# -- several calls at once -------------------------------------------------------------------------------------------


def series(tenant: Tenant, oracle: Oracle, count: int, orders: Sequence[int] = ()) -> list[tuple[Call, Input, Any]]:
    """Make a series of calls; return each with its input and its output."""
    given = [oracle.make({"n": 64}, seed) for seed in range(count)]
    tenant.lay_out(given[0].layout, LIMIT_S)
    wanted = [Wanted(one, np.empty(one.layout.output_bytes, np.uint8)) for one in given]
    wanted = [replace(one, order=order) for one, order in zip(wanted, orders or [protocol.QUEUE] * count, strict=True)]
    made = tenant.series(wanted, LIMIT_S)
    return [(call, one.given, one.into) for call, one in zip(made, wanted, strict=False)]


SLEEPS = "import time\n" + GOOD.replace("    return", "    time.sleep(0.02 * float(data[0][0]))\n    return")


def test_calls_of_a_series_run_one_after_the_other_while_the_container_is_frozen(
    tenant: Tenant, memory: TwoDevices, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(tenant, SLEEPS)
    acts: list[str] = []
    freeze, put = tenant.container.freeze, tenant._arena.put_inputs
    monkeypatch.setattr(tenant.container, "freeze", lambda: [acts.append("freeze"), freeze()])
    monkeypatch.setattr(tenant._arena, "put_inputs", lambda *args, **kw: [acts.append("put"), put(*args, **kw)])
    tenant.lay_out(oracle.make({"n": 64}, 0).layout, LIMIT_S)
    acts.clear()
    made = series(tenant, oracle, 4)
    assert acts == ["freeze", "put", "put", "put", "put", "freeze"]
    assert len(made) == 4
    assert all(call.queued and call.inputs_kept and not call.late for call, _, _ in made)
    assert all(agrees(given, output) for _, given, output in made)
    slept = [call.sample.inner_ns // 10_000_000 for call, _, _ in made]
    assert [told >= 2 * seed for seed, told in enumerate(slept)] == [True] * 4, "each call is told its own time"
    assert slept[0] < 2


def test_lean_calls_and_others_go_together(tenant: Tenant, oracle: Oracle) -> None:
    load(tenant)
    made = series(tenant, oracle, 3, [protocol.QUEUE, protocol.QUEUE, protocol.LEAN])
    assert [call.sample.inner_ns == 0 for call, _, _ in made] == [False, False, True]
    assert all(call.queued and agrees(given, output) for call, given, output in made)


def test_no_two_places_of_a_series_overlap(tenant: Tenant, oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tenant)
    went: list[tuple[int, int]] = []
    shoot = tenant._arena.shoot
    monkeypatch.setattr(
        tenant._arena, "shoot", lambda *args, **how: [went.append(tenant._arena.place), shoot(*args, **how)][1]
    )
    for _ in range(5):
        went.clear()
        assert len(series(tenant, oracle, 10)) == 10
        assert len(set(went)) == 10
    layout = oracle.make({"n": 64}, 0).layout
    large = replace(layout, input_bytes=tenant._arena.inputs.size // 20)
    tenant._arena.spread(large)
    assert not tenant.in_series, "these would overlap"
    assert len(series(tenant, oracle, 3)) == 1


def test_where_the_device_has_no_room_for_more_work_the_series_ends(tenant: Tenant, oracle: Oracle) -> None:
    load(tenant, "ROOM = 2\n" + GOOD)
    made = series(tenant, oracle, 5)
    assert [call.queued for call, _, _ in made] == [False] * 3, "the container was not frozen for them"
    assert all(agrees(given, output) and not call.late for call, given, output in made)
    assert len(series(tenant, oracle, 2)) == 2, "and the next one works"


KEEPS = """
import torch
kept = []
def custom_kernel(data):
    for earlier in kept:
        earlier.zero_()
    kept.append(data[1])
    return torch.add(data[0], 1, out=data[1])
"""


def test_an_output_that_a_later_call_of_the_series_changes_is_late(tenant: Tenant, oracle: Oracle) -> None:
    load(tenant, KEEPS)
    made = series(tenant, oracle, 3)
    assert [call.late for call, _, _ in made] == [True, True, False]
    assert all(agrees(given, output) for _, given, output in made), "as they were read"


RAISES_THIRD = """
import itertools, torch
numbers = itertools.count()
def custom_kernel(data):
    if next(numbers) == 2:
        raise ValueError("not yet")
    return torch.add(data[0], 1, out=data[1])
"""


def test_a_call_that_fails_in_a_series_leaves_no_device_waiting(
    tenant: Tenant, memory: TwoDevices, oracle: Oracle
) -> None:
    load(tenant, RAISES_THIRD)
    with pytest.raises(Fault, match="not yet"):
        series(tenant, oracle, 5)
    assert all(shot.took_ns for shot in memory.shots)
    made = series(tenant, oracle, 2)
    assert all(call.queued and agrees(given, output) for call, given, output in made)


def test_want_of_memory_in_a_series_leaves_no_device_waiting(
    tenant: Tenant, memory: TwoDevices, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        if memory.shots:
            raise NoMemory("none is left")

    load(tenant)
    monkeypatch.setattr(tenant._arena.memory, "stage", full)
    with pytest.raises(NoMemory):
        series(tenant, oracle, 3)
    assert [shot.took_ns > 0 for shot in memory.shots] == [True]
    assert tenant.container.alive(), "it is not at fault"


def test_shots_that_were_let_go_too_early_wait_for_no_echo_that_has_passed(
    tenant: Tenant, memory: TwoDevices, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge that is stopped while it hands over a shot finds those before it let go; then a call is late."""
    load(tenant, "ROOM = 3\n" + GOOD)
    shoot = memory.shoot

    def stopped(*given: Any) -> Any:
        if len(memory.shots) == 2:
            for shot in memory.shots:
                shot.fire()
                while not shot.is_done():
                    time.sleep(0.001)
        return shoot(*given)

    monkeypatch.setattr(memory, "shoot", stopped)
    made = series(tenant, oracle, 5)
    assert [call.queued for call, _, _ in made] == [False] * 4
    assert all(agrees(given, output) for _, given, output in made)


def test_data_with_many_tensors_that_are_changed_make_single_calls(tenant: Tenant, oracle: Oracle) -> None:
    layout = oracle.make({"n": 64}, 0).layout
    changed = replace(layout, slots=(replace(layout.slots[0], role="inout"),) * 17)
    tenant._arena.spread(changed)
    assert not tenant.in_series
    tenant._arena.spread(replace(changed, slots=changed.slots[:16]))
    assert tenant.in_series


RAISES_ONCE = """
turns = iter([True])
def custom_kernel(data):
    if next(turns, False):
        raise ValueError("not yet")
    return torch.add(data[0], 1, out=data[1])
"""


@pytest.mark.parametrize("queue", [True, False], ids=["queued", "ordered"])
@pytest.mark.parametrize("first", ["import torch\n", "import torch\nSYNCHRONISES = True\n"], ids=["at once", "waiting"])
def test_who_raised_can_be_asked_again(
    tenant: Tenant, memory: TwoDevices, given: Input, first: str, queue: bool
) -> None:
    """The admission test repeats calls this way: its variants raise where they make no sense."""
    with pytest.raises(Fault, match="not yet"):
        call(tenant, first + RAISES_ONCE, given, queue=queue)
    assert all(shot.took_ns for shot in memory.shots)
    into = np.empty(given.layout.output_bytes, np.uint8)
    tenant.call(given, into, LIMIT_S, queue=queue)
    assert agrees(given, into)


def test_copies_are_timed_in_every_place_when_nothing_runs_any_more(
    tenant: Tenant, memory: TwoDevices, given: Input, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(tenant, GOOD, given)
    sides = {"candidate": tenant}
    assert Copies.of({"n": 64}, given.layout, sides) is None, "of so little the difference is lost"
    monkeypatch.setattr(tenant_module, "LARGE_BYTES", given.layout.input_bytes)
    made = Copies.of({"n": 64}, given.layout, sides)
    assert made is not None
    tenant.container.kill()
    went: list[tuple[int, int]] = []
    go_to = tenant._arena.go_to
    monkeypatch.setattr(tenant._arena, "go_to", lambda place: went.append(place) or go_to(place))
    memory.gates.clear()
    into = np.empty(given.layout.output_bytes, np.uint8)
    found = made.time(sides, given, into)
    assert went == [*tenant.whereabouts, tenant.whereabouts[0]]
    assert memory.gates == [False] * (PLACES + 1), "nobody waits for a gate, and the first round counts for nothing"
    assert [len(times) for times in found["candidate"]] == [2] * PLACES
    assert all(taking > 0 for _, taking in found["candidate"])


def test_an_input_that_is_larger_than_others_of_its_case_goes_where_it_fits(
    tenant: Tenant, given: Input, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_module, "LARGE_BYTES", 1)
    call(tenant, GOOD, given)
    room = tenant._arena.inputs.size
    tenant._arena.places = [(0, 0), ((room - given.layout.input_bytes) // protocol.PLACE_BYTES + 1, 0)]
    made = Copies.of({"n": 64}, given.layout, {"candidate": tenant})
    assert made is not None
    tenant.container.kill()
    into = np.empty(given.layout.output_bytes, np.uint8)
    assert len(made.time({"candidate": tenant}, given, into)["candidate"]) == tenant_module.COPY_ROUNDS
    tenant._arena.places.pop(0)
    nowhere = Copies.of({"n": 64}, given.layout, {"candidate": tenant})
    assert nowhere is not None
    assert nowhere.time({"candidate": tenant}, given, into) == {}


def test_copies_are_not_timed_where_no_device_makes_them(given: Input) -> None:
    side: Any = SimpleNamespace(queues=False)
    assert Copies.of({}, replace(given.layout, input_bytes=1 << 40), {"baseline": side}) is None


@pytest.fixture
def roomy(tmp_path: Path, memory: TwoDevices) -> Iterator[Tenant]:
    """A tenant with room for all own calls."""
    with tenant_of(tmp_path / "roomy", 64 << 20, memory) as tenant:
        assert tenant.leans
        yield tenant


def test_calls_are_not_lean_where_own_calls_find_no_room(tenant: Tenant) -> None:
    assert tenant.queues
    assert not tenant.leans


def test_before_there_is_a_submission_the_harness_has_a_kernel_of_its_own(
    roomy: Tenant, memory: TwoDevices, given: Input
) -> None:
    for count in (3, 2):
        made = roomy.own_calls(protocol.OWN, count)
        assert len(made) == count
        assert all(one.queued and not one.late and 0 < one.sample.inner_ns < one.sample.wall_ns for one in made)
    (lean,) = roomy.own_calls(protocol.OWN_LEAN, 1)
    assert lean.queued
    assert lean.sample.inner_ns == 0
    assert memory.gates == [True] * 6
    assert call(roomy, GOOD, given).queued, "and then it takes the job"


def test_sides_that_are_timed_get_contexts_that_are_alike(tmp_path: Path, given: Input) -> None:
    memory = TwoDevices()
    memory.draws = True
    with tenant_of(tmp_path / "first", 1 << 20, memory, draws=True) as first:
        first.launches[-1] = (3.0, 1.5)
        with tenant_of(tmp_path / "second", 8 << 20, memory, draws=True, like=first) as second:
            assert second.launches == [(2e6, 2e6), (3.0, 1.5)]
            call(second, GOOD, given)
        with tenant_of(tmp_path / "for a test", 1 << 20, memory) as third:
            assert third.launches == []


def test_the_harnesss_own_kernel_adds_two_vectors_wherever_they_lie(roomy: Tenant) -> None:
    for order in (protocol.OWN, protocol.OWN_LONG, protocol.OWN_LEAN, protocol.OWN):
        roomy.own_calls(order, 1)
        length, arena = protocol.OWN_BYTES[order], roomy._arena
        first, second = protocol.places_of(arena.number)
        left, right = (arena.inputs.bytes[first + at :][:length].view(np.float32) for at in (0, length))
        out = arena.outputs.bytes[second:][:length].view(np.float32)
        assert np.array_equal(out, left + right, equal_nan=True)


def load(tenant: Tenant, source: str = GOOD) -> None:
    tenant.load({"submission.py": source}, "submission.py", "custom_kernel", "function", LIMIT_S)


def places(tenant: Tenant, given: Input, calls: int, *, queue: bool, block: int = 1000) -> list[int]:
    """Return the place number of each call; every output is right."""
    into = np.empty(given.layout.output_bytes, np.uint8)
    found = []
    for number in range(calls):
        if number % block == 0:
            tenant.move()
        tenant.lay_out(given.layout, LIMIT_S)
        made = tenant.call(given, into, LIMIT_S, queue=queue)
        assert made.inputs_kept
        assert agrees(given, into)
        found.append(tenant._arena.number)
    return found


def test_each_place_has_its_turn_among_queued_calls(tenant: Tenant, given: Input) -> None:
    load(tenant)
    found = places(tenant, given, 3 * PLACES, queue=True)
    assert len(set(found)) == len(set(tenant.whereabouts)) > PLACES // 2
    first, second = found[:PLACES], found[PLACES : 2 * PLACES]
    assert sorted(first) == sorted(second)
    assert first != second
    assert all(place % protocol.PLACE_BYTES == 0 for number in found for place in protocol.places_of(number))


def test_turns_that_begin_anew_leave_none_out(tenant: Tenant, given: Input) -> None:
    load(tenant)
    known = set(places(tenant, given, PLACES, queue=True))
    places(tenant, given, 5, queue=True)
    assert tenant.begin_turns() == PLACES
    assert set(places(tenant, given, PLACES, queue=True)) == known


def test_where_an_order_lets_it_go_a_block_has_one_place(tenant: Tenant, given: Input) -> None:
    """The clock includes the host's work in such a call."""
    load(tenant)
    found = places(tenant, given, 24, queue=False, block=3)
    blocks = [found[at : at + 3] for at in range(0, 24, 3)]
    assert all(len(set(block)) == 1 for block in blocks)
    assert len({block[0] for block in blocks}) > 4


def test_data_of_the_same_size_have_the_same_places(tenant: Tenant, oracle: Oracle) -> None:
    """A number that is drawn with the data is part of the layout."""
    load(tenant)
    given = oracle.make({"n": 64}, 7)
    known = set(places(tenant, given, PLACES, queue=True))
    longer = replace(given, layout=replace(given.layout, text=given.layout.text + b" "))
    assert set(places(tenant, longer, PLACES, queue=True)) == known
    assert set(places(tenant, oracle.make({"n": 640}, 7), PLACES, queue=True)) != known


def test_where_only_one_place_is_left_it_is_that(tenant: Tenant, oracle: Oracle) -> None:
    """A layout may need all of its region."""
    arena = tenant._arena
    whole = Layout((), arena.inputs.size, arena.outputs.size, b"")
    arena.spread(whole)
    assert arena.number == 0
    arena.poison(whole, 3)
    assert (arena.outputs.bytes.view(np.uint64) == 3).all()


def test_a_page_is_the_devices_no_longer_than_its_container_lives(
    tenant: Tenant, memory: TwoDevices, given: Input
) -> None:
    """A later page in this process may get the same address."""
    call(tenant, GOOD, given)
    assert len(memory.pages) == 1
    for _ in range(2):
        tenant.close()
        assert memory.pages == {}
