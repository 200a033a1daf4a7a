"""Figures of one problem of our own library on this machine: `python problems/library/bench.py kernels101/softmax`.

Imports the problem's reference and sample submissions into this process, so it is for trusted folders only. It helps
to choose sizes and tolerances and is no judge. It uses one torch thread, copies fresh inputs into fixed buffers before
every call, and takes sides in turn. For each timed case it prints the judge's cost beside the call (generate,
reference, compare; goal: at most 30 ms together), the time of every side (goal: the baseline at least 2 ms) and the
largest error in units of the tolerance.
"""

from __future__ import annotations

import argparse
import math
import runpy
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import yaml

LIBRARY = Path(__file__).parent
COMPARE_CHUNK = 1 << 16  # elements: stays in the cache
Tensors = tuple[torch.Tensor, ...]
Kernel = Callable[[Tensors], torch.Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problem", help="a folder, also below problems/library, such as kernels101/softmax")
    parser.add_argument("--hardware", default="cpu", help="whose timed cases; all are run on this machine's processor")
    parser.add_argument("--calls", type=int, default=9)
    args = parser.parse_args()
    torch.set_num_threads(1)
    folder = next(
        (place for place in (Path(args.problem).resolve(), LIBRARY / args.problem) if (place / "task.yml").is_file()),
        None,
    )
    if folder is None:
        parser.error(f"{args.problem}: no folder with a task.yml, neither here nor below {LIBRARY}")
    task = yaml.safe_load((folder / "task.yml").read_text())
    reference = load(folder / "reference.py")
    sides = load_sides(folder)
    for case in task.get("benchmarks_on", {}).get(args.hardware, task["benchmarks"]):
        print(" ".join(f"{name}={value}" for name, value in case.items() if name != "seed"))
        bench_case(reference, sides, case, task["tolerance"], args.calls)


def load(path: Path) -> dict[str, Any]:
    folder = next(parent for parent in path.parents if (parent / "task.yml").exists())
    sys.path.insert(0, str(folder))
    try:
        return runpy.run_path(str(path))
    finally:
        sys.path.remove(str(folder))


def load_sides(folder: Path) -> dict[str, Kernel]:
    samples = sorted(path for kind in ("accepted", "slow") for path in (folder / "submissions" / kind).glob("*.py"))
    return {f"{path.parent.name}/{path.stem}": load(path)["custom_kernel"] for path in samples} | {
        "baseline": load(folder / "baseline.py")["custom_kernel"]
    }


def bench_case(
    reference: dict[str, Any], sides: dict[str, Kernel], case: dict[str, Any], tolerance: dict[str, float], calls: int
) -> None:
    pool = [reference["generate_input"](**{**case, "seed": case["seed"] + n}) for n in range(2)]
    buffers = tuple(torch.empty_like(tensor) for tensor in pool[0])
    generate_ms = median_ms(calls, lambda n: reference["generate_input"](**{**case, "seed": n}))
    reference_ms = median_ms(calls, lambda n: reference["ref_kernel"](pool[n % 2]))
    expected = pool[0][-1]
    reference["ref_kernel"](pool[0])
    compare_ms = median_ms(calls, lambda n: worst_error(buffers[-1], expected, **tolerance))
    beside_ms = generate_ms + reference_ms + compare_ms
    print(
        f"  beside the call: generate {generate_ms:.1f} + reference {reference_ms:.1f} + compare {compare_ms:.1f} "
        f"= {beside_ms:.1f} ms"
    )
    taken = time_in_turn(sides, buffers, pool, calls)
    for name, kernel in sides.items():
        out = kernel(refill(buffers, pool[0]))
        error = worst_error(out, expected, **tolerance)
        print(
            f"  {name:28} {taken[name]:7.2f} ms  {taken[name] / taken['baseline']:5.2f} x  error {error:.4f} of limit"
        )


def time_in_turn(sides: dict[str, Kernel], buffers: Tensors, pool: list[Tensors], calls: int) -> dict[str, float]:
    samples: dict[str, list[float]] = {name: [] for name in sides}
    for n in range(calls):
        for name, kernel in sides.items():
            data = refill(buffers, pool[n % len(pool)])
            start = time.perf_counter()
            kernel(data)
            samples[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(values) for name, values in samples.items()}


def refill(buffers: Tensors, source: Tensors) -> Tensors:
    """Poison the output first, as the judge does, then copy the inputs."""
    buffers[-1].fill_(float("nan") if buffers[-1].is_floating_point() else -1)
    for buffer, tensor in zip(buffers[:-1], source[:-1], strict=True):
        buffer.copy_(tensor)
    return buffers


def median_ms(calls: int, act: Callable[[int], object]) -> float:
    act(0)
    samples = []
    for n in range(calls):
        start = time.perf_counter()
        act(n)
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)


def worst_error(got: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> float:
    """Return the largest |got − expected| / (atol + rtol |expected|): 1 is just acceptable. NaN where got has NaN.

    For whole numbers, which must be exact: 0 or infinity.
    """
    if not expected.is_floating_point():
        return 0.0 if torch.equal(got, expected) else math.inf
    worst = torch.zeros(())
    for a, b in zip(got.view(-1).split(COMPARE_CHUNK), expected.view(-1).split(COMPARE_CHUNK), strict=True):
        worst = torch.maximum(worst, ((a - b).abs_() / b.abs().mul_(rtol).add_(atol)).max())
    return float(worst)


if __name__ == "__main__":
    main()
