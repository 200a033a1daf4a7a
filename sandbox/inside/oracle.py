"""First program in the problem's container: makes inputs and expected outputs, and runs the problem's own check.

It runs organisers' code, so it is trusted with the problem alone. It has four shared regions: `inputs`, `expected` and
`wide` (written here, read by the judge; `wide` holds the same outputs in double precision), and `answer` (written by
the judge: the bytes that a submission produced). Requests are JSON over one connection:

    {"do": "load", "files", "init_seed": null | seed of a Model's construction} → {"checks": bool, "constructed_ns"}
    {"do": "make", "case", "wanted": [{"number", "seed", "near": null | seed}…], "fp64": "" | "values" | "spread" |
     "condition", "done": [number…] whose data need not be kept}
        → {"made": [{"layout", "near": bool, "eager_ns", "first_ns", "fp64": reason why there is none, or "", "terms",
           "condition": {slot: n}}…]}
    {"do": "check", "number"} → {"good", "message"}
    {"do": "forget", "done"} → {}

Every request has a number, `request`, and its answer has the same. Every answer has `took_ns` and, on a device, the
memory that this program holds and held at most: `held_bytes` and `peak_bytes`; and `work_bytes`, the most that tensors
took beyond those of the request before. A failed request has {"error", "full": whether memory ran out, "large": whether
no region has the room}. `constructed_ns` and `first_ns` are how long Model's construction and the reference's first
call of the case took.

Of the `wanted` inputs the oracle makes as many as the regions and the time allow, at least one. Each begins where the
previous input ends.
`near`: the data of `seed` with a few elements changed, which keeps zeros and structures (`has_structure`); where that
cannot be, fresh data of the seed `near`.
With several ranks (world.py) each region has a part for each, and the descriptors come region by region. There are
no outputs in double precision then.

`fp64`: `values` of the outputs in `wide`, and behind them their `spread`; `terms` and `condition` come with the spread
(widen.py). `condition` asks for these two alone: they are kept by case, and a spread is made if the case has none yet.
"""

import ctypes
import gc
import importlib
import json
import mmap
import os
import random
import socket
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
gc.disable()  # while torch is imported: a tenth of the time would go into collections that find nothing
os.environ["OMP_WAIT_POLICY"] = "passive"  # idle threads of torch would spin on cores that other containers want

import problem_code
import protocol
import roles
import slots
import torch
import tree
import widen

gc.enable()

SOCKET = "/run/judge/socket"
WORK = "/tmp/work"  # noqa: S108  inside the container
FRAMES, MOST_SAID = 8, 2_000  # frames of a problem's traceback; characters of its exception
LIBC = ctypes.CDLL(None)
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
KEPT_BLOCK_BYTES = 128 << 20  # glibc keeps freed blocks below this size
Layout = dict[str, Any]
MIB = 1 << 20
LONG_S = 1.0  # after this time a request begins no further input, since a request has a time limit
MOST_SLOTS_AT_ONCE = 4_000  # in the answer to one request, which has a size limit
TIMED = 8  # makes of a case in a row whose reference is timed; timing costs as much as making a small input
MOST_CHANGED = 8  # elements of a near-duplicate
CANDIDATES = 16  # values looked at for each element; it takes the value farthest from its old value
CORNER = 4096  # elements of a tensor that are looked at first for a structure
# By so much a symmetric matrix may miss: roundings of its largest element in float32, of each in its own format.
ROUNDINGS, OWN_ROUNDINGS = 8, 2
SORTED = 8  # elements; fewer are sorted by chance too often
GROUPS = (  # folder of the container's control group, and its limit and use of memory, in either version
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)
FILE_PAGES = ("active_file", "inactive_file")
KEEP = 64  # makes whose data is kept for a later check, at the most


@dataclass(frozen=True)
class Known:
    """Figures by slot that one input of a case yields for all of them (widen.py). Empty where there is no estimate."""

    terms: dict[int, int] = field(default_factory=dict)
    condition: dict[int, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """Data that a later check needs: the drawn data, their layout, and whether the reference answered on the host."""

    drawn: slots.Drawn
    layout: Layout
    on_host: bool


class HostWatch:
    """Host time and memory. Host work is done when its call returns, and the host keeps no memory for the next
    input."""

    @staticmethod
    def map(fd: int, size: int, rank: int = 0) -> Any:
        return memoryview(mmap.mmap(fd, size))

    def start(self) -> None:
        self._began = time.perf_counter_ns()

    def stop_ns(self) -> int:
        return time.perf_counter_ns() - self._began

    def wait(self) -> None:
        """Do nothing."""

    def finish(self) -> dict[str, int]:
        """Return no figures: a container's host memory is limited, not shared."""
        return {}

    def left_bytes(self) -> int | None:
        """Return how much memory this container may still take before the host ends it; None if unknown.

        Pages of files can be given up; pages of shared memory, like the regions, cannot. What glibc keeps counts as
        taken: `malloc_trim` gives it back.
        """
        for folder, most, used in GROUPS:
            with suppress(OSError, ValueError, KeyError):
                limit, current, counters = (read_text(f"{folder}/{name}") for name in (most, used, "memory.stat"))
                counted = dict(line.split() for line in counters.splitlines())
                return int(limit) - int(current) + sum(int(counted[name]) for name in FILE_PAGES)
        return None


class Full(Exception):
    """No room is left behind the data made before."""


class TooLarge(Exception):
    """Not even an empty region has room for the data."""


class Oracle:
    """The four regions, and the problem's module after loading."""

    def __init__(self, arena: dict[str, Any], fds: tuple[int, ...]) -> None:
        wide_bytes = min(protocol.WIDE_FACTOR * arena["output_bytes"], protocol.WIDE_MOST_BYTES)
        sizes = (arena["input_bytes"], *2 * (arena["output_bytes"],), wide_bytes)
        self.device = arena["device"]
        self.ranks = ranks = arena["ranks"]
        made = importlib.import_module(arena["module"]).Watch(ranks) if arena["module"] else HostWatch()
        self.watch: HostWatch = made
        mapped = [made.map(fd, sizes[place // ranks], place % ranks) for place, fd in enumerate(fds)]
        if ranks > 1:
            mapped = [slots.Parts(mapped[start : start + ranks]) for start in range(0, len(mapped), ranks)]
        self.regions = mapped
        self.problem: Any = None  # of these files, once `load` has loaded it
        self.files: dict[str, str] = {}
        self.sizes = sizes
        self._begin_at((0, 0, 0))
        # By the case's arguments other than sizes, and by structure.
        self.roles: dict[tuple[str, tuple[Any, ...]], roles.Roles] = {}
        self.places: dict[str, roles.Place] = {}  # of the last draw
        self.fixed: frozenset[int] = frozenset()  # slots that a near-duplicate leaves: Model's parameters, places
        # By case without its seed, and shapes.
        self.known: dict[tuple[str, tuple[Any, ...]], Known] = {}
        self.structured: dict[tuple[str, tuple[Any, ...]], set[int]] = {}  # slots that a near-duplicate leaves
        self.eager_ns = 0  # of the reference, in the last make that was timed
        self.case, self.timed = "", 0  # case of the last makes, and how many of them were timed
        # Of the present make, as text: its case, its arguments other than sizes, its case without the seed.
        self.made = self.told = self.unseeded = ""
        self.first_ns: dict[str, int] = {}  # of the reference's first call, by case
        self.kept: dict[int, Kept] = {}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Import the problem, once; the answer holds whether it has its own check.

        Loaded again, it begins anew: all that was found with earlier data is forgotten, and a Model of another seed is
        constructed.
        """
        if self.problem is None:
            self.problem = problem_code.Problem(request["files"], self.device, WORK, request["init_seed"], self.ranks)
            self.files = request["files"]
        elif request["files"] != self.files:
            raise ValueError("another problem is loaded here")
        self.roles, self.known, self.structured, self.kept = {}, {}, {}, {}
        if self.problem.is_model and self.problem.init_seed != request["init_seed"]:
            self.problem.construct(request["init_seed"])
        self.case, self.timed = "", 0
        return {"checks": self.problem.checks, "constructed_ns": self.problem.constructed_ns}

    def _begin_at(self, at: tuple[int, int, int]) -> None:
        """Let the next data begin at these byte offsets in `inputs`, `expected` and `wide`."""
        inputs, expected, _, wide = self.regions
        self.at = at
        self.inputs, self.expected, self.wide = inputs[at[0] :], expected[at[1] :], wide[at[2] :]
        self.limits = self.sizes[0] - at[0], self.sizes[1] - at[1]
        self.wide_bytes = self.sizes[3] - at[2]

    def make(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write inputs and their expected outputs into the regions."""
        self.forget(request)
        case, made = request["case"], list[dict[str, Any]]()
        self.made, self.unseeded = (json.dumps(one, sort_keys=True) for one in (case, {**case, "seed": None}))
        self.told = json.dumps({name: value for name, value in case.items() if type(value) is not int}, sort_keys=True)
        at, began = (0, 0, 0), time.monotonic()
        for wanted in request["wanted"]:
            if made and time.monotonic() - began > LONG_S:
                break
            self._begin_at(at)
            try:
                made.append(self._make(request | wanted))
            except Full:
                self.kept.pop(wanted["number"], None)
                break
            except Exception:  # the judge gets none of them
                self.forget({"done": [one["number"] for one in request["wanted"]]})
                raise
            layout = made[-1]["layout"]
            if len(made) * len(layout["slots"]) > MOST_SLOTS_AT_ONCE:
                break
            doubles = 0 if made[-1]["fp64"] else slots.wide_places(layout["slots"])[1]
            doubles *= 1 if request["fp64"] == "values" else 2
            at = at[0] + layout["input_bytes"], at[1] + layout["output_bytes"], at[2] + doubles
            if at[0] >= self.sizes[0] or at[1] >= self.sizes[1] or at[2] >= self.sizes[3]:
                break
        return {"made": made}

    def _make(self, request: dict[str, Any]) -> dict[str, Any]:
        case, seed, changes = request["case"], request["seed"], request["near"]
        drawn = self._draw(case, seed)
        answer: dict[str, Any] = {"near": False}
        read = [index for index in drawn.bases if drawn.slots[index]["role"] != "out" and index not in self.fixed]
        key = self.unseeded, tuple(tuple(slot["shape"]) for slot in drawn.slots)
        if changes is not None and key not in self.structured:  # a kernel may rely on what all data of a case obey
            owners = [slot.get("of", index) for index, slot in enumerate(drawn.slots)]
            pairs = zip(owners, drawn.views(), strict=True)
            self.structured[key] = {owner for owner, tensor in pairs if owner in read and has_structure(tensor)}
        free = [] if changes is None else [index for index in read if index not in self.structured[key]]
        copies = [drawn.bases[index] for index in free]
        changed = changed_elements(copies, random.Random(changes)) if free else []  # noqa: S311  the judge drew it
        drawn.bases |= {free[place]: copies[place] for place in changed}
        if changed:
            try:
                answer |= {"layout": self._write(request["number"], case, drawn), "near": self._is_sound(drawn)}
            except (tree.TreeError, TooLarge, Full):
                raise
            except Exception:  # the reference refuses the changed data, for example a matrix that lost its structure
                answer["near"] = False
        if not answer["near"]:
            if changes is not None:
                drawn = self._draw(case, changes)
            answer["layout"] = self._write(request["number"], case, drawn)
        answer |= {"eager_ns": self.eager_ns, "first_ns": self.first_ns.get(self.made, 0)}
        answer["fp64"], known = self._widen(request, drawn, answer["layout"])
        return answer | {"terms": known.terms, "condition": known.condition}

    def _draw(self, case: dict[str, Any], seed: int) -> slots.Drawn:
        """Draw fresh data and give every slot its role."""
        drawn = slots.take_apart(self.problem.generate(case, seed))
        if self.ranks > 1:
            slots.give_ranks(drawn.node, drawn.slots)
        key = self.told, tuple((slot["dtype"], slot.get("of")) for slot in drawn.slots)
        if key not in self.roles:
            with_places = not self.problem.is_model and self.ranks == 1
            self.roles[key] = roles.find(self._reference, drawn, with_places=with_places)
        for index, role in self.roles[key].by_slot.items():
            drawn.slots[index]["role"] = role
        self.places = self.roles[key].places
        self.fixed = self.problem.fixed_slots(drawn.node) | {place.slot for place in self.places.values()}
        return drawn

    def _write(self, number: int, case: dict[str, Any], drawn: slots.Drawn) -> Layout:
        """Write data and expected output into the regions and return their layout.

        The reference works on the regions themselves, which saves a copy.
        """
        placed = drawn.slots
        self._place(placed, case)
        bases: dict[int, torch.Tensor] = {}
        for index, tensor in drawn.bases.items():
            for region, where in ((self.inputs, "input"), (self.expected, "output")):
                if placed[index][where] >= 0:
                    bases[index] = slots.view(region, placed[index], where)
                    slots.copy(bases[index], tensor)
        work = drawn.views(bases)
        self.case, self.timed = self.made, self.timed + 1 if self.made == self.case else 0
        is_timed = self.timed < TIMED and self.ranks == 1  # collectives of threads are slower than those of devices
        if is_timed:
            self.watch.start()
        result, expected = self._run(drawn.node, work)
        if is_timed:
            self.eager_ns = self.watch.stop_ns()
        fresh = [tensor for tensor in expected if roles.owner_of(tensor, work) is None]
        found = placed + [slots.slot_of(tensor, "out") for tensor in fresh]
        if self.ranks > 1:
            slots.give_ranks(result, found)
        input_bytes, output_bytes = self._place(found, case)
        for slot, tensor in zip(found[len(work) :], fresh, strict=True):
            slots.copy(slots.view(self.expected, slot, "output"), tensor)
        layout = {"slots": found, "data": drawn.node, "result": result}
        layout |= {"input_bytes": input_bytes, "output_bytes": output_bytes}
        if self.problem.checks:
            self.kept[number] = Kept(drawn, layout, self.problem.answered_on_host)
            while len(self.kept) > KEEP:
                self.kept.pop(next(iter(self.kept)))
        return layout

    def _run(self, node: tree.Node, work: list[torch.Tensor]) -> roles.Result:
        return roles.run(self._reference, node, work, self.places, any_float=self.problem.checks)

    def _reference(self, data: Any) -> Any:
        """Run the reference, and time its first call of a case."""
        if self.made in self.first_ns:
            return self.problem.reference(data)
        began = time.perf_counter_ns()
        result = self.problem.reference(data)
        self.watch.wait()
        self.first_ns[self.made] = time.perf_counter_ns() - began
        return result

    def _widen(self, request: dict[str, Any], drawn: slots.Drawn, layout: Layout) -> tuple[str, Known]:
        """Write the wanted double-precision outputs into `wide`; return "" or a reason why not, and known figures."""
        wanted = request["fp64"]
        if wanted and self.ranks > 1:
            return "outputs of several ranks are compared with the reference alone", Known()
        key = self.unseeded, tuple(tuple(slot["shape"]) for slot in layout["slots"])
        if not wanted or (wanted == "condition" and key in self.known):
            return "not asked for", self.known.get(key, Known())
        places, size = slots.wide_places(layout["slots"])
        too_many = size * (1 if wanted == "values" else 2) > self.wide_bytes
        if too_many and self.at[2]:
            raise Full
        self.known.setdefault(key, Known())
        if too_many:
            return f"{size} bytes of outputs in float64 are too many", self.known[key]
        reference = partial(self._outputs, drawn, layout)
        needed = widen.needed_bytes([*drawn.bases.values()], size, with_spread=wanted != "values")
        if (left := self.watch.left_bytes()) is not None and needed > left:
            LIBC.malloc_trim(0)
            left = self.watch.left_bytes()
        if left is not None and needed > left:
            why = f"float64 needs about {-(-needed // MIB)} MiB, and this container has {left // MIB} MiB left"
            return why, self.known[key]
        try:
            given = [widen.wide(tensor) for tensor in drawn.bases.values()]
            truth = reference(given if wanted == "values" else [slots.clone(tensor) for tensor in given])
            self._keep(truth, places, 0)
            if wanted != "values":
                spread = widen.spread(reference, given, truth, request["seed"])
                self._keep(spread, places, size)
                terms = self.known[key].terms or widen.terms(reference, given, truth, request["seed"])
                outputs = {index: slots.view(self.expected, layout["slots"][index], "output") for index in truth}
                self.known[key] = Known(terms, widen.condition(outputs, spread))
        except widen.NotWidened as err:
            return str(err)[:500], self.known[key]
        except torch.OutOfMemoryError:
            return "no memory is left for inputs in float64", self.known[key]
        return "", self.known[key]

    def _outputs(self, drawn: slots.Drawn, layout: Layout, inputs: list[torch.Tensor]) -> dict[int, torch.Tensor]:
        """Run the reference on `inputs` in double precision; return its outputs by slot, with the slot's strides.

        Raises NotWidened, for example for outputs of another shape or a narrower format.
        """
        work = drawn.views(dict(zip(drawn.bases, inputs, strict=True)))
        with widen.doubled():
            result, expected = self._run(drawn.node, work)
        if result != layout["result"]:
            raise widen.NotWidened("the reference returns something of another structure in float64")
        found = [*work, *(tensor for tensor in expected if roles.owner_of(tensor, work) is None)]
        doubles = {}
        for index, slot in enumerate(layout["slots"]):
            if slots.is_output(slot) and slot["dtype"] in protocol.WIDE_BYTES:
                tensor, shape = found[index], slot["shape"]
                if list(tensor.shape) != shape:
                    raise widen.NotWidened(f"the reference returns shape {tuple(tensor.shape)} in float64, not {shape}")
                if tensor.dtype not in (torch.float64, torch.complex128):
                    raise widen.NotWidened(f"the reference returns {tensor.dtype} even from float64 inputs")
                like = torch.empty_strided(shape, slot["stride"], dtype=tensor.dtype, device=tensor.device)
                doubles[index] = like.copy_(tensor)
        return doubles

    def _keep(self, tensors: dict[int, torch.Tensor], places: list[int], offset: int) -> None:
        """Write each tensor flat at its place in `wide`, moved by `offset` bytes."""
        for index, tensor in tensors.items():
            flat = slots.elements(tensor)
            slot = slots.slot_of(flat, "out") | {"output": places[index] + offset}
            slots.view(self.wide, slot, "output").copy_(flat)

    def _place(self, placed: list[slots.Slot], case: dict[str, Any]) -> tuple[int, int]:
        if len(placed) > protocol.MOST_SLOTS:
            fault = f"case {case}: {len(placed)} tensors in data and result, at most {protocol.MOST_SLOTS}"
            raise tree.TreeError(fault)
        sizes: tuple[int, int] = slots.place(placed)
        for what, size, room in zip(("inputs", "outputs"), sizes, self.limits, strict=True):
            if size > room and any(self.at):
                raise Full
            if size > room:
                raise TooLarge(
                    f"case {case}: its {what} take {-(-size // MIB)} MiB, and this hardware's judge has room for "
                    f"{room // MIB} MiB of them; choose smaller sizes"
                )
        return sizes

    def forget(self, request: dict[str, Any]) -> dict[str, Any]:
        """Free the data kept for checks that are over."""
        for number in request["done"]:
            self.kept.pop(number, None)
        return {}

    def check(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run the problem's own check on the bytes in `answer`, with the data of the `make` that has this number.

        The check works on the region itself, which saves a copy: the judge writes it anew for each check. It may run
        the reference, so it gets copies of what that changes: the next check of this data needs them, too.
        """
        kept = self.kept[request["number"]]
        drawn = kept.drawn
        changed = {n: slots.clone(base) for n, base in drawn.bases.items() if drawn.slots[n]["role"] == "inout"}
        return self._checked(drawn.data(drawn.bases | changed), kept, outputs_in(self.regions[2], kept.layout))

    def _is_sound(self, drawn: slots.Drawn) -> bool:
        """Return whether the problem's own check accepts the reference's own output for this data.

        It fails, for example, for a matrix that is no longer symmetric while the reference reads one half. The check
        gets copies: it may run the reference, which changes its data.
        """
        if not self.problem.checks:
            return True
        copies = {index: slots.clone(base) for index, base in drawn.bases.items()}
        kept = next(reversed(self.kept.values()))
        outputs = {n: slots.clone(output) for n, output in outputs_in(self.expected, kept.layout).items()}
        return self._checked(drawn.data(copies), kept, outputs)["good"] is True

    def _checked(self, data: Any, kept: Kept, outputs: dict[int, torch.Tensor]) -> dict[str, Any]:
        nothing, layout = torch.empty(0), kept.layout
        tensors = [outputs.get(index, nothing) for index in range(len(layout["slots"]))]
        for index, slot in enumerate(layout["slots"]):
            if slot["role"] == "view" and slots.is_output(layout["slots"][slot["of"]]):
                tensors[index] = slots.looked_at(slot, tensors[slot["of"]])
        output = tree.build(layout["result"], tensors)
        answer: dict[str, Any] = self.problem.check(data, output, on_host=kept.on_host)
        return answer


def outputs_in(region: Any, layout: Layout) -> dict[int, torch.Tensor]:
    """Return the outputs that lie in a region, by slot."""
    return {n: slots.view(region, slot, "output") for n, slot in enumerate(layout["slots"]) if slots.is_output(slot)}


def can_change(tensor: torch.Tensor) -> bool:
    """Return whether a near-duplicate may change elements of the tensor. Whole numbers may be positions."""
    return (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype.itemsize > 1 and tensor.numel() > 1


def has_structure(tensor: torch.Tensor) -> bool:
    """Return whether numbers are sorted along a dimension, or symmetric in two dimensions: a changed element ends that.

    A corner comes first: it shows that a tensor has no structure, and spares a look at all elements. A product of a
    matrix and its transpose is symmetric up to rounding.
    """
    if not can_change(tensor):
        return False
    once = tensor[tuple(slice(None if step else 1) for step in tensor.stride())]  # one place of an expanded dimension
    edge = max(2, int(CORNER ** (1 / once.dim())))
    corner = once[(slice(edge),) * once.dim()].cpu()
    largest = corner.to(torch.complex128).abs().nan_to_num(0.0, 0.0).max().item()
    rounding = ROUNDINGS * torch.finfo(torch.float32).eps * largest
    return _has_structure(corner, rounding) and _has_structure(once, rounding)


def _has_structure(tensor: torch.Tensor, rounding: float) -> bool:
    broken, share = [], OWN_ROUNDINGS * torch.finfo(tensor.dtype).eps
    for dim, size in enumerate(tensor.shape):
        if size > 1 and tensor.numel() >= SORTED and not tensor.is_complex():
            before, after = tensor.narrow(dim, 0, size - 1), tensor.narrow(dim, 1, size - 1)
            broken += [(before > after).any(), (before < after).any()]
        for turned in [tensor.transpose(dim, at) for at in range(dim) if tensor.shape[at] == size > 1]:
            both = {turned, turned.conj()}  # one object if it is real
            broken += [((tensor - one).abs() > share * tensor.abs() + rounding).any() for one in both]
    return bool(broken) and not torch.stack(broken).all()  # one wait for a device


def changed_elements(tensors: list[torch.Tensor], chance: random.Random) -> list[int]:
    """Replace tensors of the list by changed copies and return their indices; empty if no element can change.

    Tensors are dense. Only finite values other than zero are taken: zeros may be half of a triangular matrix.
    """
    fit = [index for index, tensor in enumerate(tensors) if can_change(tensor)]
    wanted = chance.randint(1, MOST_CHANGED)
    tries = []  # a tensor, the place of an element, and the places of the values that it may take
    for _ in range(4 * wanted if fit else 0):
        index = chance.choice(fit)
        tries.append((index, chance.choices(range(tensors[index].numel()), k=1 + CANDIDATES)))
    # all of a tensor at once: each look at a device's memory costs more than all the other work
    found = {
        index: iter(_farthest(tensors[index], [places for of, places in tries if of == index]))
        for index in {index for index, _ in tries}
    }
    moves: dict[int, dict[int, int]] = {}
    for index, (place, *_) in tries:
        source = next(found[index])
        if wanted and source is not None and place not in moves.setdefault(index, {}):
            moves[index][place] = source
            wanted -= 1
    changed = [index for index in moves if moves[index]]
    for index in changed:
        old, copy = tensors[index], tensors[index].clone()
        places = torch.tensor([list(moves[index]), list(moves[index].values())], device=old.device)
        slots.elements(copy)[places[0]] = slots.elements(old)[places[1]]
        tensors[index] = copy
    return changed


def _farthest(tensor: torch.Tensor, rows: list[list[int]]) -> list[int | None]:
    """Return each row's place whose value is farthest from the value at its first place; None where all are equal, or
    zero."""
    values = slots.elements(tensor)[torch.tensor(rows, device=tensor.device)].cpu().to(torch.complex128)
    distance = (values - values[:, :1]).abs().nan_to_num(0.0, 0.0, 0.0)
    distance[(values == 0) | (values[:, :1] == 0)] = 0.0
    most, at = distance.max(dim=1)
    return [row[n] if apart > 0 else None for row, n, apart in zip(rows, at.tolist(), most.tolist(), strict=True)]


def read_text(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def is_full(err: Exception) -> bool:
    """Return whether memory ran out."""
    return isinstance(err, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(err)


def explain(err: Exception, request: dict[str, Any]) -> str:
    """Describe an error for the problem's author: the exception, the case, and the lines of the problem behind it."""
    frames = traceback.extract_tb(err.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(f"{WORK}/")] or frames[-1:]
    what = "".join(traceback.format_exception_only(err)).strip()[:MOST_SAID]
    case = f", case {request['case']!r:.300}" if "case" in request else ""
    lines = "".join(traceback.format_list(own[-FRAMES:])).replace(f"{WORK}/", "")
    return f"{what}\nwhile it was asked to {request['do']}{case}:\n{lines}"[:6000]


def main() -> None:
    # glibc keeps freed memory: fresh pages for each tensor would cost more than filling it. Of the largest it keeps
    # none, as gaps between them would take a container's memory.
    LIBC.mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES)
    LIBC.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.backends.cudnn.allow_tf32 = False  # expected outputs are as precise as their dtype says
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(SOCKET)
    protocol.send(connection, {"ready": protocol.VERSION})
    oracle = Oracle(*protocol.receive(connection, descriptors=protocol.MOST_DESCRIPTORS))
    protocol.send(connection, {"mapped": True})
    while True:
        request, _ = protocol.receive(connection)
        start = time.perf_counter_ns()
        try:
            acts = {"load": oracle.load, "make": oracle.make, "check": oracle.check, "forget": oracle.forget}
            answer = acts[request["do"]](request)
            answer |= oracle.watch.finish()
            answer["took_ns"] = time.perf_counter_ns() - start
        except (tree.TreeError, TooLarge) as err:
            answer = {"error": str(err)[:6000], "large": isinstance(err, TooLarge)}
        except Exception as err:
            answer = {"error": explain(err, request), "full": is_full(err)}
        if answer.get("full"):  # the failed call's tensors are free now
            with suppress(Exception):
                answer |= oracle.watch.finish()
        protocol.send(connection, answer | {"request": request["request"]})


if __name__ == "__main__":
    main()
