"""Distance of honest code to the limits of the library's problems, on the smallest data that they draw. By hand.

python -m benchmarks.margins DRAWS [PROBLEM …]

Default: all problems. For each kind of data (`distribution`) it draws DRAWS inputs of each corner, the same each time:
all sizes at their smallest, or second; a single size at its second, third or any; all among their smallest few. Answers
come from the reference, also in a different order (Otherwise), the baseline, and accepted samples that need neither a
GPU nor load_inline. The judge's comparison looks at each answer as it is and far: with four times its distance to
float64, as in the admission test's margin (or a quarter of the problem's own limits).

Prints a line a kind: draws; the share of them where any answer is refused, where the reference's is when far, any is
when far; for these three the worst error as a share of the allowed error, of an element or of the whole; and the
answer, case, seed and reason of the last. Where any answer is refused when far, prints a line a corner, too.
"""

import json
import math
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ContextDecorator, nullcontext
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

sys.path.extend(str(Path(__file__).parents[1] / folder) for folder in ("sandbox/inside", "sandbox"))

import oracle as inside

from problems.formats.gpumode import load_problem
from problems.spec import Choice, IntRange, Problem, case_name
from runner.admission.examine import MARGIN
from runner.judge import cases
from runner.judge.data import compare
from runner.judge.data.call import Input
from runner.judge.data.compare import Rule
from runner.judge.data.memory import Memory
from runner.judge.sides.oracle import Oracle
from tests.problems.judged_here import Call, Kernel, is_built, load

REGION_BYTES: Final = 16 << 20
FEW: Final = 32  # sizes up to this far above the smallest count as small
LIMITS, LEAST, FINER = "SHARE", 2.0**-10, 1.05  # factor of a problem's own limits; steps of the search for a share
Found = tuple[float, float, float, str]  # worst shares: as it is; the reference's and any, far; where


class Here(Oracle):
    """The judge's side of an oracle and the problem's, with neither container nor socket between them."""

    awake = nullcontext  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(None, Memory(), REGION_BYTES, REGION_BYTES)  # type: ignore[arg-type]
        fds = tuple(region.fd for region in (self._inputs, self._expected, self._answer, self._wide))
        self.inside = inside.Oracle(
            {"device": "cpu", "module": "", "input_bytes": REGION_BYTES, "output_bytes": REGION_BYTES}, fds
        )

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        return dict(json.loads(json.dumps(getattr(self.inside, request["do"])(request))))


@dataclass
class Answer(Call):
    """A kernel's worst error as a share of the allowed error, and four times as far. Above 1 it is refused."""

    near: float  # the share with which a problem's own check begins
    far: float = 0.0
    why: str = ""

    def judged(self, output: Any) -> str:
        if self.oracle.checks:
            self.far = MARGIN * self._checked(output)
        else:
            (self.near, _), (self.far, self.why) = self._compared(output), self._compared(self._farther(output))
        return ""

    def _checked(self, output: Any) -> float:
        """Return the least share of its limits with which the problem's own check accepts the output."""
        allowed, good = getattr(sys.modules["reference"], LIMITS), False
        while not good and self.near <= 1:
            setattr(sys.modules["reference"], LIMITS, allowed * self.near)
            good, _ = self.oracle.check(self.given.number, self.given.layout, output)
            self.near *= 1 if good else FINER
        setattr(sys.modules["reference"], LIMITS, allowed)
        return self.near

    def _compared(self, output: Any) -> tuple[float, str]:
        found = compare.compare(self.given, output, self.rule)
        share = max(max(one.worst_share or 0.0, (one.relative_l2 or 0.0) / (one.limit_l2 or math.inf)) for one in found)
        why = " ".join(one.reason for one in found if not one.good)
        return math.inf if why and share <= 1 else share, why

    def _farther(self, output: Any) -> Any:
        """Move an output as `margin` of problems/library/admission.py does; formats unknown to numpy stay unmoved."""
        moved = output.copy()
        places = self.given.layout.wide_places()[0] if self.given.expected64 is not None else []
        for number, place in enumerate(places):
            if place < 0:
                continue
            came = compare.HOST.values(self.given.layout.outputs[number], moved)
            right = compare.HOST.doubles(self.given.expected64, place, len(came))
            came[:] = right + MARGIN * (came - right)
        return moved


class Otherwise(TorchFunctionMode, ContextDecorator):
    """A running total for each sum of products, the last term first; scans are trees, and qr goes as on a GPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, out = func.__name__, (kwargs or {}).get("out")
        if name == "cumsum":
            total = reduce(
                lambda x, far: torch.cat((x[:far], x[far:] + x[:-far])), [1 << n for n in range(18)], args[0]
            )
        elif name in ("mm", "matmul", "__matmul__", "linear"):
            a, b = args[0].float(), (args[1].mT if name == "linear" else args[1]).float()
            total = sum((a[..., k : k + 1] * b[..., k : k + 1, :] for k in range(a.shape[-1] - 1, -1, -1)), *args[2:])
        else:
            on_gpu = {"linalg_qr": getattr(sys.modules["reference"], "_on_device", None)}
            return on_gpu.get(name, func)(*args, **(kwargs or {}))
        return total if out is None else out.copy_(total)


def spots(problem: Problem) -> Iterator[tuple[str, str, dict[str, Choice]]]:
    """Yield kind of data, corner, and the choice of each argument."""
    if problem.fuzz is None:
        yield from (("-", case_name(case), {name: (value,) for name, value in case.items()}) for case in problem.tests)
        return
    ranges = {name: one for name, one in problem.fuzz.args.items() if isinstance(one, IntRange)}
    others = {name: one for name, one in problem.fuzz.args.items() if name not in ranges}
    first = dict.fromkeys(ranges, 0)
    steps = [first, dict.fromkeys(ranges, 1), *(first | {name: step} for name in ranges for step in (1, 2))]
    ends = [{name: min(one.low + at[name] * (1 + one.odd), one.high) for name, one in ranges.items()} for at in steps]
    corners = {" ".join(f"{name}={end}" for name, end in at.items()): {name: (at[name],) for name in at} for at in ends}
    corners |= {f"any {name}": {**corners[next(iter(corners))], name: one} for name, one in ranges.items()}
    few = {name: replace(one, high=min(one.low + FEW, one.high), log=True) for name, one in ranges.items()}
    for kind in others.pop("distribution"):
        for corner, sizes in {**corners, "few": few}.items():
            yield str(kind), corner, {**others, **sizes, "distribution": (kind,)}


def found_of(oracle: Here, rule: Rule, given: Input, sides: dict[str, Kernel], worst: float) -> Found:
    answers = {name: Answer(given, rule, oracle, worst) for name in sides}
    for name, kernel in sides.items():
        assert not (said := answers[name].verdict(kernel)), f"{name}, {given.case}, seed {given.seed}: {said}"
    oracle.release(given)
    name, most = max(answers.items(), key=lambda pair: pair[1].far)
    where = f"{name}, {given.case}, seed {given.seed} {most.why}"
    return max(one.near for one in answers.values()), answers["reference"].far, most.far, where


def line(found: list[Found]) -> str:
    columns = list(zip(*found, strict=True))[:3]
    refused = [f"{sum(share > 1 for share in column) / len(found):.3%}" for column in columns]
    where = max(found, key=lambda one: one[2])[3]
    return " | ".join([str(len(found)), *refused, *(f"{max(column):.3g}" for column in columns), where])


def examine(folder: Path, draws: int) -> None:
    board, problem = f"{folder.parent.name}/{folder.name}", load_problem(folder)
    inside.WORK, oracle = tempfile.mkdtemp(), Here()
    oracle.load(problem.files)
    paths = [*folder.glob("baseline.py"), *sorted(folder.glob("submissions/accepted/*.py"))]
    sides = {"reference": (solve := oracle.inside.problem.reference), "otherwise": Otherwise()(solve)}
    sides |= {path.stem: load(path, problem.entry) for path in paths if is_built(path) is False}
    print(f"{board}: {', '.join(sides)}; not here: {[path.stem for path in paths if path.stem not in sides]}")
    found: dict[str, list[Found]] = defaultdict(list)
    for kind, corner, choices in spots(problem):
        chance, worst = random.Random(f"{board} {kind} {corner}"), LEAST
        for _ in range(draws):
            drawn = {name: cases.draw(choice, chance) for name, choice in choices.items()}
            case = problem.benchmarks[0] | problem.tests[0] | drawn
            rule = Rule.of(problem, case, own_check=oracle.checks)
            given = oracle.make(case, chance.getrandbits(31), fp64=rule.fp64(timed=False))
            found[kind].append(one := found_of(oracle, rule, given, sides, worst))
            found[f"{kind}, {corner}"].append(one)
            worst = max(worst, one[0])
    for label, some in found.items():
        if "," not in label or any(one[2] > 1 for one in some):
            print(f"{board} | {label} | {line(some)}", flush=True)
    for file in problem.files:
        sys.modules.pop(file.removesuffix(".py"), None)


def main() -> None:
    torch.set_num_threads(1)
    draws, *names = sys.argv[1:]
    print("problem | data | draws | refused | reference far | any far | worst | reference far | any far | where")
    for task in sorted(Path(__file__).parents[1].glob("problems/library/*/*/task.yml")):
        if not names or {task.parent.name, f"{task.parts[-3]}/{task.parent.name}"} & set(names):
            examine(task.parent, int(draws))


if __name__ == "__main__":
    main()
