"""The judge holds no more memory for a case than its plan says. A fake device counts; a MiB here stands for a GiB."""

import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.commands.local import find_problem
from runner.evidence import schedule
from runner.evidence.schedule import A, B
from runner.judge import timing
from runner.judge.calls import Calls
from runner.judge.data.memory import NoMemory
from runner.judge.device.telemetry import Blind
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import tenant_of
from tests.runner.judge.two_devices import TwoDevices

MIB = 1 << 20
REFERENCE = """
import torch

def generate_input(*, size, seed):
    x = torch.randn(size, generator=torch.Generator().manual_seed(seed))
    return x, torch.empty_like(x)

def ref_kernel(data):
    return torch.add(data[0], 1.0, out=data[1])
"""
GOOD = "import torch\ndef custom_kernel(data):\n    return torch.add(data[0], 1.0, out=data[1])\n"
CASE = {"size": MIB // 4, "seed": 5}  # a MiB in, a MiB out


class Bounded(TwoDevices):
    """Memory of `limit` bytes for the judge's buffers, with their bytes now and at most."""

    snapshot_bytes = 24 * MIB
    is_shared = True

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.held = self.most = 0
        self._staged: Any = None

    def buffer(self, size: int) -> Any:
        if self.held + size > self.limit:
            raise NoMemory(f"{size} bytes are wanted, {self.held} of {self.limit} are held")
        made = super().buffer(size)
        weakref.finalize(made, self._gone, size)
        self.held += size
        self.most = max(self.most, self.held)
        return made

    def _gone(self, size: int) -> None:
        self.held -= size

    def free_bytes(self) -> int:
        return self.limit

    def stage(self, source: Any, count: int) -> None:
        if self._staged is None or len(self._staged) < count:
            self._staged = self.buffer(count)

    def shoot(self, *told: Any) -> Any:
        shot = super().shoot(*told)
        self.shots.clear()  # each holds its output
        return shot

    def release(self) -> None:
        self._staged = None


def whole_blocks(run: timing.CaseTiming) -> None:
    """Run some blocks of each side, as large as the plan allows, in the place of a schedule."""
    for side in (A, B, B, A):
        timed: Any = run.sides[side]
        timed.make_ready(run.plan.most_calls)
        assert np.asarray(timed.run_block()).size
        assert timed.settle().wrong is None


@pytest.mark.parametrize("limit", [39, 24, 13], ids=lambda limit: f"{limit} MiB")
def test_a_case_holds_no_more_than_its_plan(limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for share in ("NEAR_SHARE", "REPEAT_SHARE", "STRICT_SHARE"):
        monkeypatch.setattr(timing, share, 1.0)
    monkeypatch.setattr(timing.CaseTiming, "run", whole_blocks)
    problem = replace(
        find_problem("add"), files={"reference.py": REFERENCE}, tests=(), benchmarks=(CASE,), tolerance=None
    )
    memory, region = Bounded(limit * MIB), 19 * MIB // 4
    with (
        oracle_of(REFERENCE, tmp_path, region) as oracle,
        tenant_of(tmp_path / "baseline", region, memory) as baseline,
        tenant_of(tmp_path / "candidate", region, memory) as candidate,
    ):
        oracle._memory = memory
        oracle.peak_bytes = 8 * MIB
        calls = Calls(problem, oracle, {A: baseline, B: candidate}, memory)
        trial = Trial(calls, "ranked", profile=schedule.GPU, emit=lambda *told: None)
        trial.load(GOOD)
        trial.load_oracle()
        trial.load_baseline()
        calls.plan = replace(calls.plan, calls=1)
        trial.measure(Blind())
        assert not trial.evidence.checks
        assert memory.most <= calls.plan.needs(trial._sizes)
