"""Child process of test_library: judges a library problem's samples like the judge, without containers and clocks.

python judged_here.py FOLDER [compiled]

The real oracle program makes inputs and expected outputs, and the judge's own comparison decides; only the submissions
run in this process, so they must be trusted. Without `compiled`: all samples except load_inline builds and samples that
need a GPU. With it: only load_inline builds. Prints JSON: {side: {case: verdict}}, where a verdict is "" for right,
else the reason.

Sides: `submissions/*/*`, `baseline`, `template/*`, `answer/*` (made from the reference by admission.py) and `planted`:
the reference's own output in which one element, at a random place, has the value of a different element. A sample that
failed is not tried again, except answers and planted elements.
"""

import json
import os
import random
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import slots as memory
import torch
import tree

from problems.formats.gpumode import load_problem
from problems.spec import Case, Problem, case_name
from runner.admission import examine
from runner.judge import cases
from runner.judge.data import compare
from runner.judge.data.compare import Rule
from runner.judge.sides.oracle import Input, Oracle
from tests.runner.judge.oracle_here import oracle_of

REGION_BYTES = 256 << 20
COMPILER = "load_inline"  # takes its time; g++ by itself does not
ELSEWHERE = ("triton", "cuda_sources")  # run on a GPU only
CANDIDATES = 64  # a planted element takes the value of the farthest of these elements
ALWAYS = ("answer/", "planted")  # asked again after a failure
ONCE = ("accepted/", "slow/", "template/", "baseline")  # tried once per case
DOES_NOT_APPLY = "does not apply"
Kernel = Callable[[Any], Any]


@dataclass
class Call:
    """One input, laid out as in a tenant, and a kernel's output for it."""

    given: Input
    rule: Rule
    oracle: Oracle

    def verdict(self, kernel: Kernel) -> str:
        inputs, output = self.given.inputs.copy(), np.full(self.given.layout.output_bytes, 0x5A, np.uint8)
        layout = json.loads(self.given.layout.text)
        slots = [self._view(slot, inputs, output) for slot in layout["slots"]]
        try:
            returned = kernel(tree.build(layout["data"], slots))
        except Exception as error:
            name = type(error).__name__
            return DOES_NOT_APPLY if name == "NotApplicable" else f"raised {name}: {error}"
        for slot, tensor in zip(_leaves(layout["result"]), _tensors(returned), strict=True):
            if tensor.shape != slots[slot].shape or tensor.dtype != slots[slot].dtype:
                return f"shape or dtype: {tuple(tensor.shape)} {tensor.dtype}"
            if tensor.data_ptr() != slots[slot].data_ptr():
                slots[slot].copy_(tensor)
        return self.judged(output) or ("" if np.array_equal(inputs, self.given.inputs) else "inputs changed")

    def planted(self, chance: random.Random) -> str:
        output = self.given.expected.copy()
        slots = [slot for slot in json.loads(self.given.layout.text)["slots"] if slot["output"] >= 0 and slot["nbytes"]]
        slot = chance.choice(slots)
        flat = memory.view(torch.from_numpy(output), slot, "output").as_strided((slot_count(slot),), (1,))
        places = torch.tensor([chance.randrange(len(flat)) for _ in range(CANDIDATES)])
        values = flat[places].to(torch.complex128)
        farthest = int((values - values[0]).abs().nan_to_num(0.0).argmax())
        if values[farthest] != values[0]:
            flat[places[0]] = flat[places[farthest]].clone()
        else:  # all values are equal: choose a different number
            flat[places[0]] = 1 if values[0] == 0 else 0
        return self.judged(output)

    def judged(self, output: np.ndarray[Any, np.dtype[np.uint8]]) -> str:
        """Verdict in the manner of trial.py's judge_output."""
        if self.oracle.checks:
            good, message = self.oracle.check(self.given.number, self.given.layout, output)
            if not good:
                return f"check: {message}"
        found = compare.compare(self.given, output, self.rule)
        return next((f"{one.reason}: {one.worst_share} of what is allowed" for one in found if not one.good), "")

    def _view(self, slot: dict[str, Any], inputs: Any, output: Any) -> torch.Tensor:
        if slot["role"] == "in":
            return _tensor(inputs, slot, "input")
        placed = _tensor(output, slot, "output")
        return placed.copy_(_tensor(inputs, slot, "input")) if slot["input"] >= 0 else placed


def _tensor(region: Any, slot: dict[str, Any], where: str) -> torch.Tensor:
    view: torch.Tensor = memory.view(region, slot, where)
    return view


def _leaves(node: dict[str, Any]) -> Iterator[int]:
    if node["kind"] == "tensor":
        yield node["slot"]
    for part in node.get("of", ()):
        yield from _leaves(part[1] if isinstance(part, list) else part)


def _tensors(data: Any) -> Iterator[torch.Tensor]:
    if isinstance(data, torch.Tensor):
        yield data
    elif isinstance(data, tuple | list):
        for item in data:
            yield from _tensors(item)
    elif isinstance(data, dict):
        for item in data.values():
            yield from _tensors(item)


def slot_count(slot: dict[str, Any]) -> int:
    return int(slot["nbytes"]) // int(getattr(torch, slot["dtype"]).itemsize)


def plan(problem: Problem) -> list[Case]:
    """The public cases, ranges drawn from, then the timed cases twice: the judge's plan without varied timed shapes."""
    chance = random.Random(5)
    drawn = []
    if problem.fuzz is not None:
        base = {**problem.benchmarks[0], **problem.tests[0]} if problem.tests else dict(problem.benchmarks[0])
        drawn = [
            {**base, **{name: cases.draw(choice, chance) for name, choice in problem.fuzz.args.items()}}
            for _ in range(problem.fuzz.cases)
        ]
    return [*problem.tests, *drawn, *(case for case in problem.benchmarks for _ in range(2))]


def sides(folder: Path, problem: Problem, *, compiled: bool) -> dict[str, Kernel]:
    paths = {f"{path.parent.name}/{path.stem}": path for path in sorted(folder.glob("submissions/*/*.py"))}
    paths |= {"baseline": folder / "baseline.py"}
    paths |= {f"template/{name}": folder / name for name in sorted(path.name for path in folder.glob("template*.py"))}
    found = {name: load(path, problem.entry) for name, path in paths.items() if is_built(path) == compiled}
    if not compiled:
        found |= {
            f"answer/{name}": answer(examine.source(problem, (name,)), problem.entry)
            for name in examine.variants(problem)
        }
    return found


def is_built(path: Path) -> bool | None:
    """Whether load_inline builds the sample; None if it needs a GPU. A baseline runs everywhere."""
    text = path.read_text()
    needs_gpu = path.name != "baseline.py" and any(mark in text for mark in ELSEWHERE)
    return None if needs_gpu else COMPILER in text


def build_once() -> None:
    """Reach torch's headers by one path from every checkout: ninja builds anew what has another command."""
    from torch.utils import cpp_extension

    link = Path(os.environ["TORCH_EXTENSIONS_DIR"]) / f"torch-{torch.__version__}"
    new = link.with_name(f"{link.name}.{os.getpid()}")
    link.parent.mkdir(parents=True, exist_ok=True)
    new.symlink_to(Path(torch.__file__).parent)
    new.replace(link)
    cpp_extension._TORCH_PATH, cpp_extension.TORCH_LIB_PATH = str(link), str(link / "lib")


def load(path: Path, entry: str) -> Kernel:
    kernel: Kernel = runpy.run_path(str(path))[entry]
    return kernel


def answer(source: str, entry: str) -> Kernel:
    names: dict[str, Any] = {}
    exec(compile(source, "admission.py", "exec"), names)
    kernel: Kernel = names[entry]
    return kernel


def main(folder: Path, *, compiled: bool) -> dict[str, dict[str, str]]:
    torch.set_num_threads(1)
    problem = load_problem(folder)
    sys.path.insert(0, str(folder))
    os.chdir(tempfile.mkdtemp())
    if compiled:
        build_once()
    kernels = sides(folder, problem, compiled=compiled)
    if not kernels:
        return {}
    chance = random.Random(11)
    verdicts: dict[str, dict[str, str]] = {name: {} for name in (*kernels, *(() if compiled else ("planted",)))}
    files = {name.removesuffix(".py"): text for name, text in problem.files.items() if name != "reference.py"}
    with oracle_of(problem.files["reference.py"], Path(tempfile.mkdtemp()), REGION_BYTES, **files) as oracle:
        planned = plan(problem)
        for number, case in enumerate(planned):
            repeated = case in planned[:number]
            rule = Rule.of(problem, case, own_check=oracle.checks)
            given = oracle.make(case, 1000 + number, fp64=rule.fp64(timed=False))
            call = Call(given, rule, oracle)
            label = f"{number}: {case_name(case)}"
            for name, found in verdicts.items():
                skipped = any(found.values()) or (repeated and name.startswith(ONCE))
                if name.startswith(ALWAYS) or not skipped:
                    found[label] = call.planted(chance) if name == "planted" else call.verdict(kernels[name])
            oracle.release(given)
    return verdicts


if __name__ == "__main__":
    json.dump(main(Path(sys.argv[1]).resolve(), compiled="compiled" in sys.argv[2:]), sys.stdout)
