"""A small problem, and its admission test by the real programs of both containers, without a container."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from problems.spec import MODEL, Problem, Tolerance
from runner.admission import examine
from runner.admission.examine import Admission
from runner.evidence import schedule
from runner.evidence.schedule import A, B
from runner.judge.calls import Calls
from runner.judge.data.memory import Memory
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import tenant_of

ALL = ("seeds", "again", "plain", *examine.MUST_PASS, *examine.MUST_FAIL)
INPUTS = """
import torch
def generate_input(*, size, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=generator), torch.randn(size, generator=generator)
"""
SUM = INPUTS + "def ref_kernel(data):\n    return torch.exp(data[0]) + data[1]\n"


def problem(reference: str, **changes: Any) -> Problem:
    made = Problem(
        slug="made",
        title="Made",
        description="",
        files={"reference.py": reference},
        tests=({"size": 33, "seed": 1},),
        benchmarks=({"size": 128, "seed": 2}, {"size": 256, "seed": 3}),
        tolerance=Tolerance(rtol=1e-5, atol=1e-6),
    )
    return replace(made, **changes)


def examined(
    asked: Problem,
    folder: Path,
    calls: list[str] | None = None,
    *,
    beside: bool = False,
    hard_ns: dict[str, float] | None = None,
) -> Admission:
    """Run the admission test with the real programs of both containers. `calls` gets one item per call. `beside` adds
    the baseline."""
    seed = 7 if asked.interface == MODEL else None
    reference = asked.files["reference.py"]
    folder.mkdir(parents=True, exist_ok=True)
    with oracle_of(reference, folder, init_seed=seed) as oracle, tenant_of(folder / "tenant") as side:
        oracle.load = lambda files, init_seed: None  # type: ignore[method-assign]  # it is loaded
        call = side.call

        def counted(given: Any, *told: Any, **named: Any) -> Any:
            (calls if calls is not None else []).append(given.case)
            return call(given, *told, **named)

        side.call = counted  # type: ignore[method-assign]
        sides: Any = {B: side}
        trial = Trial(Calls(asked, oracle, sides, Memory()), "test", profile=schedule.CPU, emit=lambda *told: None)
        if not beside:
            return examine.examine(trial, hard_ns)
        with tenant_of(folder / "baseline") as sides[A]:
            return examine.examine(trial, hard_ns)


def lines(found: Admission) -> dict[str, bool | None]:
    return {line.name.removeprefix("admission/"): line.good for line in found.lines}
