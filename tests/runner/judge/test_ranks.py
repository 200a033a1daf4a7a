"""Memory of several devices as one: each act is done on every rank's part, and a layout's slots name their rank."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.evidence.throttle import Reading
from runner.judge.data.call import Input
from runner.judge.data.compare import Rule
from runner.judge.data.faults import Fault, OracleFailed, obeys_after
from runner.judge.data.layout import parse_layout
from runner.judge.data.memory import Memory
from runner.judge.data.ranks import Parts, RanksMemory, part_of
from runner.judge.device.telemetry import worst
from runner.judge.sides.oracle import Oracle
from tests.runner.judge.oracle_here import Process
from tests.runner.judge.tenant_here import LIMIT_S, tenant_of

RANKS = 2
REFERENCE = """
import torch
import torch.distributed as dist

def generate_input(size: int, seed: int, rank: int, world_size: int):
    generator = torch.Generator().manual_seed(seed + rank)
    return {"x": torch.randn(size + rank, generator=generator), "total": torch.zeros(1)}

def ref_kernel(data):
    data["total"].copy_(data["x"].sum().reshape(1))
    dist.all_reduce(data["total"])
    return data["total"], data["x"] * dist.get_rank()
"""
FAILING = REFERENCE.replace(
    "    dist.all_reduce", "    if dist.get_rank(): raise ValueError('rank 1 alone')\n    dist.all_reduce"
)
HONEST = REFERENCE.replace("def ref_kernel", "def custom_kernel")
CASE = {"size": 5, "seed": 3}


def memory() -> RanksMemory:
    return RanksMemory([Memory() for _ in range(RANKS)])


@contextmanager
def oracle_of(reference: str, folder: Path) -> Iterator[Oracle]:
    folder.mkdir(parents=True, exist_ok=True)
    container: Any = Process(folder)
    oracle = Oracle(container, memory(), 1 << 20, 1 << 20)
    try:
        oracle.connect()
        oracle.load({"reference.py": reference})
        yield oracle
    finally:
        oracle.close()


def floats(given: Input, buffer: Any, number: int) -> Any:
    slot = given.layout.outputs[number]
    raw: Any = part_of(buffer, slot.rank)[slot.output : slot.output + slot.nbytes]
    return raw.view(np.float32)


def test_every_rank_has_data_of_its_own_and_a_part_in_the_answer(tmp_path: Path) -> None:
    with oracle_of(REFERENCE, tmp_path) as oracle:
        given = oracle.make(CASE, seed=11, fp64="values")
        assert [slot.rank for slot in given.layout.outputs] == [0, 1, 0, 1]
        totals = [floats(given, given.expected, number) for number in (0, 1)]
        assert totals[0] == pytest.approx(totals[1]), "an all-reduce gives every rank the same"
        assert len(floats(given, given.expected, 2)) == CASE["size"]
        assert len(floats(given, given.expected, 3)) == CASE["size"] + 1
        assert not floats(given, given.expected, 2).any(), "of rank 0"
        assert floats(given, given.expected, 3).all(), "of rank 1"
        assert given.expected64 is None
        again = oracle.make(CASE, seed=11)
        assert memory().same(given.inputs, again.inputs, given.layout.input_bytes)


def test_a_rank_that_fails_in_the_reference_gives_its_error_and_no_deadlock(tmp_path: Path) -> None:
    with oracle_of(FAILING, tmp_path) as oracle:
        for _ in range(2):
            with pytest.raises(OracleFailed, match="rank 1 alone"):
                oracle.make(CASE, seed=1)


@pytest.mark.parametrize(
    ("source", "right"),
    [(HONEST, [True] * 4), (HONEST.replace("dist.all_reduce", "(lambda _: None)"), [False, False, True, True])],
)
def test_ranks_of_a_submission_are_compared_apart(tmp_path: Path, source: str, right: list[bool]) -> None:
    with oracle_of(REFERENCE, tmp_path / "o") as oracle, tenant_of(tmp_path / "t", memory=memory()) as tenant:
        tenant.load({"kernel.py": source}, "kernel.py", "custom_kernel", "function", LIMIT_S)
        for seed in (1, 2):
            given = oracle.make(CASE, seed)
            into = memory().buffer(given.layout.output_bytes)
            tenant.lay_out(given.layout, LIMIT_S)
            call = tenant.call(given, into, LIMIT_S)
            assert call.inputs_kept
            assert not call.late
            assert [figures.good for figures in memory().compare(given, into, Rule())] == right


def test_the_rank_that_fails_is_named_while_another_waits_for_it(tmp_path: Path) -> None:
    with oracle_of(REFERENCE, tmp_path / "o") as oracle, tenant_of(tmp_path / "t", memory=memory()) as tenant:
        source = FAILING.replace("def ref_kernel", "def custom_kernel")
        tenant.load({"kernel.py": source}, "kernel.py", "custom_kernel", "function", LIMIT_S)
        given = oracle.make(CASE, 1)
        tenant.lay_out(given.layout, LIMIT_S)
        with pytest.raises(Fault, match=r"(?s)Rank 1: .*rank 1 alone") as failed:
            tenant.call(given, memory().buffer(given.layout.output_bytes), LIMIT_S)
        assert failed.value.outcome == "runtime_error"
        assert not obeys_after(failed.value), "rank 0 waits for rank 1"


def test_ranks_that_all_fail_obey_further_orders(tmp_path: Path) -> None:
    with oracle_of(REFERENCE, tmp_path / "o") as oracle, tenant_of(tmp_path / "t", memory=memory()) as tenant:
        source = HONEST.replace("    dist.all_reduce", "    raise ValueError('all')\n    dist.all_reduce")
        tenant.load({"kernel.py": source}, "kernel.py", "custom_kernel", "function", LIMIT_S)
        given = oracle.make(CASE, 1)
        tenant.lay_out(given.layout, LIMIT_S)
        for _ in range(2):
            with pytest.raises(Fault, match=r"(?s)Rank [01]: .*all") as failed:
                tenant.call(given, memory().buffer(given.layout.output_bytes), LIMIT_S)
            assert obeys_after(failed.value)


def test_ranks_that_do_not_answer_are_named(tmp_path: Path) -> None:
    source = HONEST.replace("    dist.all_reduce", "    if not dist.get_rank(): dist.all_reduce")
    with oracle_of(REFERENCE, tmp_path / "o") as oracle, tenant_of(tmp_path / "t", memory=memory()) as tenant:
        tenant.load({"kernel.py": source}, "kernel.py", "custom_kernel", "function", LIMIT_S)
        given = oracle.make(CASE, 1)
        tenant.lay_out(given.layout, LIMIT_S)
        with pytest.raises(Fault, match=r"No answer within 1 s .* from rank 0 of 2") as failed:
            tenant.call(given, memory().buffer(given.layout.output_bytes), 1.0)
        assert failed.value.outcome == "timeout"


def test_a_tensor_of_two_ranks_is_the_problems_fault(tmp_path: Path) -> None:
    shared = REFERENCE.replace("torch.zeros(1)}", "KEPT}").replace(
        "def generate_input", "KEPT = torch.zeros(1)\n\ndef generate_input"
    )
    with oracle_of(shared, tmp_path) as oracle, pytest.raises(OracleFailed, match="belongs to rank 0 and to rank 1"):
        oracle.make(CASE, 1)


def slot(rank: object) -> dict[str, Any]:
    one = {"role": "out", "dtype": "float32", "shape": [1], "stride": [1], "nbytes": 4, "input": -1, "output": 0}
    return one | {"rank": rank}


@pytest.mark.parametrize("rank", [2, -1, 1 << 40, "0", None, 0.5])
def test_a_rank_that_is_not_there_is_refused(rank: object) -> None:
    data = {"slots": [slot(rank)], "data": {}, "result": {}, "input_bytes": 0, "output_bytes": 256}
    with pytest.raises(OracleFailed):
        parse_layout(data, 1 << 20, 1 << 20, RANKS)
    assert parse_layout(data | {"slots": [slot(1)]}, 1 << 20, 1 << 20, RANKS).slots[0].rank == 1


def test_acts_on_memory_reach_every_part() -> None:
    both = memory()
    buffer, other = both.buffer(512), both.buffer(512)
    assert len(buffer) == len(buffer[256:]) + 256 == 512
    both.fill(buffer, 512, 7)
    assert not both.same(buffer, other, 512)
    both.copy(other, buffer, 512)
    assert both.same(buffer, other, 512)
    other.parts[1][300] = 9
    assert both.same(buffer, other, 256)
    assert not both.same(buffer, other, 512)
    assert isinstance(other, Parts)
    region = both.region("test", 4096)
    assert len(region.fds) == RANKS == len(set(region.fds))
    region.close()


def test_a_window_of_several_devices_holds_the_worst_of_each() -> None:
    one = Reading(1, mask=1, counters={5: 3, 6: 1}, clock_mhz=1980, temperature_c=40, strangers=0, ecc_errors=0)
    two = Reading(2, mask=4, counters={5: 4}, clock_mhz=1500, temperature_c=70, strangers=2, ecc_errors=1, xids=(13,))
    both = worst([one, two])
    assert (both.mask, both.counters, both.clock_mhz, both.temperature_c) == (5, {5: 7}, 1500, 70)
    assert (both.strangers, both.ecc_errors, both.xids, both.lost) == (2, 1, (13,), False)
    assert worst([one, Reading(2)]).mask is None, "a device that does not tell makes the whole unknown"
