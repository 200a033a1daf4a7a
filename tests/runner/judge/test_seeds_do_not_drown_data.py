"""A generator may add its seed to what it draws. Fresh seeds then stay small: large ones would leave nothing else."""

from __future__ import annotations

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
