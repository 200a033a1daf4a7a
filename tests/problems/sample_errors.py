"""Child process of test_library: runs a library problem's sample submissions on small cases and prints their errors.

Prints JSON {side: {case: worst error in units of the tolerance}}; 1 is just acceptable, 1e9 stands for a NaN or worse.
Every case is called with two seeds, into an output of NaN. Sides are the sample submissions and some answers that must
never pass. Trusted code only: it shares this process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from problems.formats.gpumode import load_problem
from problems.library.bench import load
from problems.spec import Problem, case_name

WORST = 1e9
DISTRIBUTIONS = ("normal", "uniform", "wide", "constant_rows", "zeros")
SHAPES: dict[str, tuple[dict[str, int], ...]] = {
    "vectoradd": ({"size": 1}, {"size": 1001}, {"size": 199_999}),
    "softmax": (
        {"rows": 1, "cols": 1},
        {"rows": 9, "cols": 31},
        {"rows": 101, "cols": 1021},
        {"rows": 7, "cols": 8191},
    ),
}
Kernel = Callable[[tuple[torch.Tensor, ...]], torch.Tensor]


def half(data: tuple[torch.Tensor, ...]) -> torch.Tensor:
    *inputs, out = (tensor.half() for tensor in data)
    answer = inputs[0] + inputs[1] if len(inputs) == 2 else torch.softmax(inputs[0].float(), dim=-1).half()
    assert answer.shape == out.shape
    return data[-1].copy_(answer)


ANSWERS: dict[str, Kernel] = {
    "answer/half": half,
    "answer/zeros": lambda data: data[-1].zero_(),
    "answer/ones": lambda data: data[-1].fill_(1.0),
    "answer/uniform": lambda data: data[-1].fill_(1.0 / data[-1].shape[-1]),
    "answer/input": lambda data: data[-1].copy_(data[0]),
    "answer/untouched": lambda data: data[-1],
}


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    problem = load_problem(folder)
    reference = load(folder / "reference.py")
    sides = {
        f"{path.parent.name}/{path.stem}": load(path)["custom_kernel"]
        for path in sorted(folder.glob("submissions/*/*.py"))
    }
    sides |= ANSWERS | {"baseline": load(folder / "baseline.py")["custom_kernel"]}
    sides |= {f"template/{name}": load(folder / name)["custom_kernel"] for name in template_names(folder)}
    errors = {name: measure(problem, reference, kernel) for name, kernel in sides.items()}
    json.dump(errors, sys.stdout, allow_nan=False)


def template_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("template*.py"))


def cases(problem: Problem) -> Iterator[dict[str, Any]]:
    yield from (dict(case) for case in problem.tests)
    for distribution in DISTRIBUTIONS:
        for shape in SHAPES[problem.slug]:
            yield {**shape, "distribution": distribution, "seed": 97}


def measure(problem: Problem, reference: dict[str, Any], kernel: Kernel) -> dict[str, float]:
    return {case_name(case): worst_of_two(problem, reference, kernel, case) for case in cases(problem)}


def worst_of_two(problem: Problem, reference: dict[str, Any], kernel: Kernel, case: dict[str, Any]) -> float:
    return max(error(problem, reference, kernel, {**case, "seed": case["seed"] + n}) for n in range(2))


def error(problem: Problem, reference: dict[str, Any], kernel: Kernel, case: dict[str, Any]) -> float:
    data = reference["generate_input"](**case)
    given = [tensor.clone() for tensor in data[:-1]]
    data[-1].fill_(float("nan"))
    got = kernel(data).double()
    kept = all(torch.equal(tensor, before) for tensor, before in zip(data[:-1], given, strict=True))
    expected = reference["ref_kernel"]((*given, torch.empty_like(data[-1]))).double()
    assert bool(expected.isfinite().all())
    assert problem.tolerance is not None
    limit = problem.tolerance.atol + problem.tolerance.rtol * expected.abs()
    worst = float(((got - expected).abs() / limit).nan_to_num(WORST, WORST).max())
    return min(worst, WORST) if kept else WORST


if __name__ == "__main__":
    main(Path(sys.argv[1]))
