"""The first program in the problem's container: makes inputs and expected outputs, and answers the problem's own check.

Written by organisers' code and so trusted with the problem alone. Four shared regions: `inputs`, `expected` and `wide`
(written here, read by the judge; `wide`: the same outputs in double precision), `answer` (written by the judge: the
bytes that a submission produced). Requests are JSON over one connection:

    {"do": "load", "files", "init_seed": null | seed of a Model's construction} → {"checks": bool}
    {"do": "make", "number", "case", "seed", "near": null | seed, "fp64": "" | "values" | "spread" | "condition"}
        → {"layout", "near": bool, "eager_ns", "fp64": reason why there is none, or "", "terms", "condition": {slot: n}}
    {"do": "check", "number"} → {"good", "message"}

`near`: the data of `seed` with a few elements changed; where that cannot be, fresh data of the seed `near` (near.py).
`fp64`: `values` of the outputs in `wide`, and behind them their `spread`; `terms` and `condition` come with the latter
(widen.py). `condition` asks for these two alone: they are kept by case, and a spread is made where there was none yet.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import json
import mmap
import os
import random
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import modelnew
import near
import protocol
import torch
import tree
import widen

SOCKET = "/run/judge/socket"
WORK = "/tmp/work"  # noqa: S108  the container's own
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
KEEP = 64  # makes whose data is kept for a later check


@dataclass(frozen=True)
class Known:
    """What one input of a case told about all of them, by slot: see widen.py. Empty where nothing could be told."""

    terms: dict[int, int] = field(default_factory=dict)
    condition: dict[int, tuple[float, float]] = field(default_factory=dict)


class Oracle:
    """The four regions, and the problem's module once it is loaded."""

    def __init__(self, arena: dict[str, Any], fds: tuple[int, ...]) -> None:
        sizes = (arena["input_bytes"], *2 * (arena["output_bytes"],), tree.WIDE_FACTOR * arena["output_bytes"])
        self.device = arena["device"]
        self.settle: Callable[[], None] = _nothing
        if arena["device"] == "cuda":
            import device

            device.start()
            self.settle = torch.cuda.synchronize
            map_region: Callable[[int, int], Any] = device.adopt
        else:
            map_region = mmap.mmap
        regions = [map_region(fd, size) for fd, size in zip(fds, sizes, strict=True)]
        self.inputs, self.expected, self.answer, self.wide = regions
        self.limits = sizes[:2]
        self.wide_bytes = sizes[3]
        self.roles: list[str] = []
        self.fixed: frozenset[int] = frozenset()  # slots of a Model's parameters and state: the same in every make
        self.known: dict[str, Known] = {}  # by case and shapes
        self.eager_ns = 0  # of the reference, in the last make
        self.kept: dict[int, tuple[Any, dict[str, Any]]] = {}

    def load(self, files: dict[str, str], init_seed: int | None = None) -> dict[str, Any]:
        """Import the problem; does it bring its own check? `init_seed`: reference.py defines a Model (modelnew.py)."""
        os.makedirs(WORK, exist_ok=True)
        os.chdir(WORK)
        for name, text in files.items():
            with open(os.path.join(WORK, name), "w", encoding="utf-8") as file:
                file.write(text)
        sys.path.insert(0, WORK)
        self.module = importlib.import_module("reference")
        if init_seed is not None:
            self.module = modelnew.Reference(self.module, init_seed, self.device)
        self.reference = getattr(self.module, "ref_kernel", None)
        if self.reference is None:
            raise tree.TreeError("reference.py defines no ref_kernel(data)")
        self.check_function = getattr(self.module, "check_implementation", None)
        return {"checks": self.check_function is not None}

    def make(self, request: dict[str, Any]) -> dict[str, Any]:
        """One input and its expected output, written into the regions."""
        case, seed, changes = request["case"], request["seed"], request["near"]
        node, tensors = self._draw(case, seed)
        answer: dict[str, Any] = {"near": False}
        if changes is not None and self._change(tensors, changes):
            try:
                answer |= {"layout": self._write(request["number"], case, node, tensors), "near": True}
            except tree.TreeError:
                raise
            except Exception:  # the reference does not take such data: a matrix that lost its structure, for one
                answer["near"] = False
        if not answer["near"]:
            if changes is not None:
                node, tensors = self._draw(case, changes)
            answer["layout"] = self._write(request["number"], case, node, tensors)
        answer["eager_ns"] = self.eager_ns
        answer["fp64"], known = self._widen(request, node, tensors, answer["layout"])
        return answer | asdict(known)

    def _draw(self, case: dict[str, Any], seed: int) -> tuple[dict[str, Any], list[torch.Tensor]]:
        """The node of fresh data and its tensors."""
        tensors: list[torch.Tensor] = []
        node = tree.walk(self._generate(case, seed), lambda tensor: _collect(tensors, tensor))
        if len(self.roles) != len(tensors):
            self.roles = self._find_roles(node, tensors)
            self.fixed = modelnew.fixed_slots(node) if isinstance(self.module, modelnew.Reference) else frozenset()
        return node, tensors

    def _change(self, tensors: list[torch.Tensor], seed: int) -> bool:
        """A few elements of what the reference reads; False where nothing can be changed."""
        read = [index for index, role in enumerate(self.roles) if role != "out" and index not in self.fixed]
        copies = [tensors[index] for index in read]
        changed = near.change(copies, random.Random(seed))  # noqa: S311  the judge drew the seed
        for place in changed:
            tensors[read[place]] = copies[place]
        return bool(changed)

    def _write(
        self, number: int, case: dict[str, Any], node: dict[str, Any], tensors: list[torch.Tensor]
    ) -> dict[str, Any]:
        """Data and expected output into the regions; their layout.

        The reference works on the regions themselves: no copy is made that is thrown away again.
        """
        slots = [tree.slot_of(tensor, role) for tensor, role in zip(tensors, self.roles, strict=True)]
        self._place(slots, case)
        work = [self._lay(tensor, slot) for tensor, slot in zip(tensors, slots, strict=True)]
        self.settle()
        start = time.perf_counter_ns()
        result, expected = self._run(node, work)
        self.settle()
        self.eager_ns = time.perf_counter_ns() - start
        fresh = [tensor for tensor in expected if _owner(tensor, work) is None]
        slots += [tree.slot_of(tensor, "out") for tensor in fresh]
        input_bytes, output_bytes = self._place(slots, case)
        for slot, tensor in zip(slots[len(work) :], fresh, strict=True):
            tree.view(self.expected, slot, "output").copy_(tensor)
        layout = {
            "slots": slots,
            "data": node,
            "result": result,
            "input_bytes": input_bytes,
            "output_bytes": output_bytes,
        }
        if self.check_function is not None:
            self._remember(number, tree.build(node, tensors), layout)
        return layout

    def _widen(
        self, request: dict[str, Any], node: dict[str, Any], tensors: list[torch.Tensor], layout: dict[str, Any]
    ) -> tuple[str, Known]:
        """What is wanted of the outputs in double precision, into `wide`: "" or why not, and what is known."""
        wanted = request["fp64"]
        shape = [{**request["case"], "seed": None}, [slot["shape"] for slot in layout["slots"]]]
        key = json.dumps(shape, sort_keys=True)
        if not wanted or (wanted == "condition" and key in self.known):
            return "not asked for", self.known.get(key, Known())
        self.known.setdefault(key, Known())
        places, size = tree.wide_places(layout["slots"])
        if size * (1 if wanted == "values" else 2) > self.wide_bytes:
            return f"{size} bytes of outputs in float64 are too many", self.known[key]
        given = [widen.wide(tensor) for tensor in tensors]

        def reference(inputs: list[torch.Tensor]) -> dict[int, torch.Tensor]:
            return self._outputs(node, inputs, layout)

        try:
            truth = reference(given if wanted == "values" else [tensor.clone() for tensor in given])
            self._keep(truth, places, 0)
            if wanted != "values":
                spread = widen.spread(reference, given, truth, request["seed"])
                self._keep(spread, places, size)
                terms = self.known[key].terms or widen.terms(reference, given, truth, request["seed"])
                outputs = {index: tree.view(self.expected, layout["slots"][index], "output") for index in truth}
                self.known[key] = Known(terms, widen.condition(outputs, spread))
        except widen.NotWidened as err:
            return str(err)[:500], self.known[key]
        return "", self.known[key]

    def _outputs(
        self, node: dict[str, Any], inputs: list[torch.Tensor], layout: dict[str, Any]
    ) -> dict[int, torch.Tensor]:
        """By slot: what the reference makes of `inputs` in double precision, laid out as the slot is."""
        with widen.doubled():
            result, expected = self._run(node, inputs)
        if result != layout["result"]:
            raise widen.NotWidened("the reference returns something of another structure in float64")
        found = [*inputs, *(tensor for tensor in expected if _owner(tensor, inputs) is None)]
        return {
            index: _doubles_like(slot, found[index])
            for index, slot in enumerate(layout["slots"])
            if slot["output"] >= 0 and slot["dtype"] in tree.WIDE_BYTES
        }

    def _keep(self, tensors: dict[int, torch.Tensor], places: list[int], offset: int) -> None:
        """Flat, each at its place in `wide`, `offset` bytes further on."""
        for index, tensor in tensors.items():
            flat = torch.as_strided(tensor, (tensor.numel(),), (1,))
            slot = tree.slot_of(flat, "out") | {"output": places[index] + offset}
            tree.view(self.wide, slot, "output").copy_(flat)

    def _place(self, slots: list[dict[str, Any]], case: dict[str, Any]) -> tuple[int, int]:
        sizes: tuple[int, int] = tree.place(slots)
        if sizes[0] > self.limits[0] or sizes[1] > self.limits[1]:
            raise tree.TreeError(f"case {case}: {sizes} bytes of inputs and outputs, at most {self.limits}")
        return sizes

    def _lay(self, tensor: torch.Tensor, slot: dict[str, Any]) -> torch.Tensor:
        """Into its regions; the view that the reference reads or writes."""
        placed: torch.Tensor
        if slot["input"] >= 0:
            placed = tree.view(self.inputs, slot, "input")
            placed.copy_(tensor)
        if slot["output"] >= 0:
            placed = tree.view(self.expected, slot, "output")
            placed.copy_(tensor)
        return placed

    def check(self, number: int) -> dict[str, Any]:
        """The problem's own check of the bytes in `answer`, against the data of `make` with this number."""
        data, layout = self.kept[number]
        tensors = [
            tree.view(self.answer, slot, "output").clone() if slot["output"] >= 0 else torch.empty(0)
            for slot in layout["slots"]
        ]
        assert self.check_function is not None
        verdict = self.check_function(data, tree.build(layout["result"], tensors))
        good, message = verdict if isinstance(verdict, tuple) else (not verdict, verdict)
        return {"good": bool(good), "message": str(message)[:4000]}

    def _generate(self, case: dict[str, Any], seed: int) -> Any:
        arguments = dict(case)
        if "seed" in inspect.signature(self.module.generate_input).parameters:
            arguments["seed"] = seed
        torch.manual_seed(seed)
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)
        return self.module.generate_input(**arguments)

    def _run(self, node: dict[str, Any], work: list[torch.Tensor]) -> tuple[dict[str, Any], list[torch.Tensor]]:
        """The reference on `work`, which it may change: the node of its result (slots as in `make`), its tensors."""
        expected: list[torch.Tensor] = []
        fresh = iter(range(len(work), 1 << 20))

        def leaf(tensor: torch.Tensor) -> int:
            owner = _owner(tensor, work)
            expected.append(tensor if owner is not None else tree.dense(tensor))
            return next(fresh) if owner is None else owner

        assert self.reference is not None
        with torch.no_grad():
            result = tree.walk(self.reference(tree.build(node, work)), leaf, "the reference's result")
        return result, expected

    def _find_roles(self, node: dict[str, Any], tensors: list[torch.Tensor]) -> list[str]:
        """`out`: holds the result, its old contents do not matter. `inout`: changed, and they do. `in`: left alone."""
        work = [tensor.clone() for tensor in tensors]
        _, expected = self._run(node, work)
        roles = []
        for index, tensor in enumerate(tensors):
            holds_result = any(_owner(leaf, work) == index for leaf in expected)
            if not holds_result and _same_bytes(tensor, work[index]):
                roles.append("in")
                continue
            again = [t.clone() for t in tensors]
            _overwrite(again[index])
            self._run(node, again)
            roles.append("out" if _same_bytes(again[index], work[index]) else "inout")
        return roles

    def _remember(self, number: int, data: Any, layout: dict[str, Any]) -> None:
        self.kept[number] = (data, layout)
        while len(self.kept) > KEEP:
            self.kept.pop(next(iter(self.kept)))


def _collect(tensors: list[torch.Tensor], tensor: torch.Tensor) -> int:
    """Each tensor once, dense, in the order of the walk; the same tensor twice is the same slot."""
    for index, known in enumerate(tensors):
        if known is tensor:
            return index
    tensors.append(tree.dense(tensor.detach()))
    return len(tensors) - 1


def _owner(tensor: torch.Tensor, candidates: list[torch.Tensor]) -> int | None:
    """Which of the candidates this tensor is, by memory; a part of one does not count."""
    for index, candidate in enumerate(candidates):
        same = tensor.data_ptr() == candidate.data_ptr() and tensor.dtype == candidate.dtype
        if same and tensor.shape == candidate.shape and tensor.stride() == candidate.stride() and tensor.numel():
            return index
    return None


def _overwrite(tensor: torch.Tensor) -> None:
    """With a pattern that no honest computation leaves behind."""
    torch.as_strided(tensor, (tensor.numel(),), (1,)).view(torch.uint8).fill_(0x5A)


def _same_bytes(left: torch.Tensor, right: torch.Tensor) -> bool:
    return torch.equal(left.contiguous().view(-1).view(torch.uint8), right.contiguous().view(-1).view(torch.uint8))


def _doubles_like(slot: dict[str, Any], tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the slot's own strides. Raises NotWidened where it has another shape or a narrower format."""
    if list(tensor.shape) != slot["shape"]:
        raise widen.NotWidened(f"the reference returns shape {tuple(tensor.shape)} in float64, not {slot['shape']}")
    if tensor.dtype not in (torch.float64, torch.complex128):
        raise widen.NotWidened(f"the reference returns {tensor.dtype} even from float64 inputs")
    like = torch.empty_strided(slot["shape"], slot["stride"], dtype=tensor.dtype, device=tensor.device)
    return like.copy_(tensor)


def _nothing() -> None:
    """Host memory: what was done is done."""


def _keep_freed_memory() -> None:
    """Tell glibc to keep what is freed: fresh pages for each large tensor would cost more than filling it."""
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
    libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def main() -> None:
    _keep_freed_memory()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.backends.cudnn.allow_tf32 = False  # expected outputs are as precise as their dtype says
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(SOCKET)
    protocol.send(connection, {"ready": protocol.VERSION})
    oracle = Oracle(*protocol.receive(connection, descriptors=4))
    protocol.send(connection, {"mapped": True})
    while True:
        request, _ = protocol.receive(connection)
        start = time.perf_counter_ns()
        try:
            answer: dict[str, Any]
            if request["do"] == "load":
                answer = oracle.load(request["files"], request["init_seed"])
            elif request["do"] == "make":
                answer = oracle.make(request)
            else:
                answer = oracle.check(request["number"])
            oracle.settle()
            answer["took_ns"] = time.perf_counter_ns() - start
        except Exception as err:
            answer = {"error": "".join(traceback.format_exception(err))[-6000:]}
        protocol.send(connection, answer)


if __name__ == "__main__":
    main()
