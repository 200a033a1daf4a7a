"""A generator may add its seed to its data. Fresh seeds then stay small: large seeds would drown the data."""

from pathlib import Path

import numpy as np
import pytest

from tests.runner.judge.oracle_here import oracle_of

SOURCE = """
import torch
def generate_input(size, seed, shift=False):
    drawn = torch.randn(size, generator=torch.Generator().manual_seed(seed))
    return drawn + seed if shift else drawn, seed
def ref_kernel(data):
    return torch.sort(data[0])[0]
"""
FRESH = 2_000_000_011
LONG = (1 << 61) + 12345


@pytest.mark.parametrize("shift", [True, False])
def test_only_seeds_that_are_added_to_the_data_are_made_small(tmp_path: Path, shift: bool) -> None:
    case = {"size": 512, "shift": shift, "seed": 93246}
    with oracle_of(SOURCE, tmp_path) as oracle:
        fresh = np.array(oracle.make(case, FRESH).expected)[: 512 * 4].view(np.float32)
        own = np.array(oracle.make(case, 93246).expected)[: 512 * 4].view(np.float32)
        again = np.array(oracle.make(case, FRESH).expected)[: 512 * 4].view(np.float32)
    assert np.array_equal(fresh, again)
    assert len(np.unique(fresh)) > 300
    assert abs(np.median(own) - 93246 * shift) < 1
    assert 0.5 < np.std(fresh) < 2
    assert np.median(fresh) < 1 << 16


@pytest.mark.parametrize(
    "narrow", ["np.random.RandomState(seed).rand(size)", "np.random.rand(size) * np.int32(seed) / seed"]
)
def test_a_long_seed_is_made_shorter_where_a_generator_does_not_take_it(tmp_path: Path, narrow: str) -> None:
    source = f"""
import numpy as np
import torch
def generate_input(size, seed):
    return torch.from_numpy({narrow}), seed
def ref_kernel(data):
    return torch.sqrt(data[0]), torch.full((1,), data[1], dtype=torch.int64)
"""
    with oracle_of(source, tmp_path) as oracle:
        long, other, short = (oracle.make({"size": 64}, seed) for seed in (LONG, LONG + 1, FRESH))
        again = oracle.make({"size": 64}, LONG)
    outputs = [np.array(one.expected) for one in (long, other, short, again)]
    seeds = [
        int(output[one.layout.outputs[1].output :][:8].view(np.int64)[0])
        for one, output in zip((long, other, short, again), outputs, strict=True)
    ]
    assert seeds == [LONG % (1 << 31), (LONG + 1) % (1 << 31), FRESH, seeds[0]]
    assert np.array_equal(outputs[0][:512], outputs[3][:512])
    assert not np.array_equal(outputs[0][:512], outputs[1][:512])


def test_a_long_seed_is_given_as_it_is_where_a_generator_takes_it(tmp_path: Path) -> None:
    source = """
import torch
def generate_input(size, seed):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)), seed
def ref_kernel(data):
    return torch.exp(data[0]), torch.full((1,), data[1], dtype=torch.int64)
"""
    with oracle_of(source, tmp_path) as oracle:
        made = oracle.make({"size": 64}, LONG)
    assert int(np.array(made.expected)[made.layout.outputs[1].output :][:8].view(np.int64)[0]) == LONG


def test_what_lies_in_empty_memory_is_not_taken_for_data_that_grow(tmp_path: Path) -> None:
    """The result's place holds arbitrary old contents: here they grow with each call, like data after large data."""
    source = """
import torch
calls = 0
def generate_input(size, seed):
    global calls
    calls += 1
    drawn = torch.randn(size, generator=torch.Generator().manual_seed(seed))
    return drawn, torch.full((size,), 10.0 ** (12 * calls - 18), dtype=torch.float64), seed
def ref_kernel(data):
    return torch.exp(data[0]), torch.full((1,), data[2], dtype=torch.int64)
"""
    with oracle_of(source, tmp_path) as oracle:
        made = oracle.make({"size": 64}, LONG)
    assert int(np.array(made.expected)[made.layout.outputs[1].output :][:8].view(np.int64)[0]) == LONG
