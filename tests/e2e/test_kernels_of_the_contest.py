"""Kernels of real_contest.py, tested by hand and rarely: honest kernels are right with room to spare in every drawn
case, the rest are not; and the play itself can be imported."""

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.e2e import real_contest
from tests.e2e.contest import kernels

FOLDER = Path(kernels.__file__).parent / "polynomial"
TASK = yaml.safe_load((FOLDER / "task.yml").read_text())
HONEST = {
    **{
        f"{name} {number}": kernels.plain(speed, number)
        for speed, name in enumerate(kernels.CLASSES)
        for number in (0, 3)
    },
    "lead": kernels.LEAD,
    "copy": kernels.COPY,
    "late best": kernels.LATE_BEST,
    "leap": kernels.LEAP,
}
DRAWS = 60


def function_of(source: str, name: str = "custom_kernel") -> Callable[[Any], torch.Tensor]:
    found: dict[str, Any] = {"__name__": "submission"}
    exec(compile(source, "submission.py", "exec"), found)
    function: Callable[[Any], torch.Tensor] = found[name]
    return function


@pytest.fixture(scope="module")
def reference() -> Any:
    spec = importlib.util.spec_from_file_location("reference", FOLDER / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def errors(kernel: Callable[[Any], torch.Tensor], reference: Any) -> list[float]:
    """Relative L2 error of each case, drawn from the ranges of the problem's secret cases."""
    chance, found = random.Random(8), []
    sizes, degrees = TASK["fuzz"]["size"]["int"], TASK["fuzz"]["degree"]["int"]
    for seed in range(DRAWS):
        case = {"size": chance.choice([sizes[0], chance.randint(*sizes)]), "degree": chance.randint(*degrees)}
        case["distribution"] = chance.choice(TASK["fuzz"]["distribution"])
        x, c, out = reference.generate_input(**case, seed=seed)
        truth = reference.ref_kernel((x, c, torch.empty_like(out))).double()
        found.append(float((kernel((x, c, out)).double() - truth).norm() / truth.norm()))
    return found


@pytest.mark.parametrize("name", HONEST)
def test_honest_kernels_are_right_with_room_to_spare(name: str, reference: Any) -> None:
    assert max(errors(function_of(HONEST[name]), reference)) < TASK["precision"]["max_relative_l2"] / 3


@pytest.mark.parametrize("source", [kernels.FORGETFUL, kernels.HALF], ids=["forgets a coefficient", "half precision"])
def test_wrong_ones_are_wrong(source: str, reference: Any) -> None:
    assert min(errors(function_of(source), reference)) > 10 * TASK["precision"]["max_relative_l2"]


def test_forty_compete() -> None:
    honest = real_contest.honest()
    sent = [source for _, source in honest.values()]
    assert len(honest) + len(real_contest.BAD) + len({real_contest.LEAPER, real_contest.COPIER}) >= 40
    assert len(set(sent)) == len(sent)
