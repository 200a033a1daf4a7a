"""Profile of a submission: bound of the kernel, three figures behind it, longest operators, files. Pure.

All of it comes out of a sandbox with the submission in it. It may be forged, and neither ranks nor decides.

The rule follows Nsight Compute's "speed of light": of memory and processors, the busier part bounds the kernel from
BUSY on. Below BUSY the kernel waits: for want of warps if less than OCCUPIED of their places are taken.
docs/how-it-measures.md names the sources.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

BUSY: Final = 60.0  # per cent of a peak
OCCUPIED: Final = 50.0  # per cent of the places for warps, or of the cores
BOUNDS: Final = ("memory", "compute", "latency", "occupancy")
MEMORY, COMPUTE, LATENCY, OCCUPANCY = BOUNDS

TRACE: Final = "trace.json.gz"
COUNTERS: Final = "counters.csv"
FILES: Final = {  # by name, with their meaning
    "operators.txt": "table of PyTorch's operators",
    TRACE: "trace of PyTorch: open it as it is in ui.perfetto.dev, or unpacked in chrome://tracing",
    "counters.txt": "Nsight Compute's details of each kernel",
    COUNTERS: "the same as a table",
    "counters.ncu-rep.gz": "Nsight Compute's report: unpack it with gunzip and open it in ncu-ui",
}
MOST_FILE_CHARS: Final = 4_000_000  # in base64
MOST_SENT_CHARS: Final = MOST_FILE_CHARS + 4 * len(FILES)  # of all files of a profiler; each is padded by itself
MOST_US: Final = 1e12
MOST_ROWS: Final = 20
MOST_NOTES: Final = 8
NAME_CHARS: Final = 300
SHORT_CHARS: Final = 80  # of a name in a sentence
FORGEABLE: Final = (
    "As measured inside the sandbox, beside the code itself: these numbers may be forged, and never rank."
)
UNKNOWN: Final = "There are no figures that would tell what bounds this kernel."
FORBIDDEN: Final = "ERR_NVGPUCTRPERM"  # in Nsight Compute's output where the driver refuses its counters


def visible(text: str) -> str:
    """Return the text with a mark in place of each character without a glyph."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Micros = Annotated[float, Field(ge=0, le=MOST_US, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Name = Annotated[str, Field(max_length=NAME_CHARS), AfterValidator(visible)]
Sentence = Annotated[str, Field(max_length=1_000)]


def _few_enough(files: dict[str, str]) -> dict[str, str]:
    """Refuse more than a profiler may send: two profilers' files must fit a report."""
    if sum(map(len, files.values())) > MOST_SENT_CHARS:
        raise ValueError(f"files of more than {MOST_SENT_CHARS} characters")
    return files


FileName = Annotated[str, Field(pattern=f"^({'|'.join(map(re.escape, FILES))})$")]
BASE64: Final = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"  # that every decoder takes
Files = Annotated[
    dict[FileName, Annotated[str, Field(max_length=MOST_FILE_CHARS, pattern=BASE64)]], Field(max_length=len(FILES))
]
SentFiles = Annotated[Files, AfterValidator(_few_enough)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(_Strict):
    """An operator of PyTorch on a cpu, a kernel on a GPU. `us`: of one call of the submission."""

    name: Name
    calls: Count
    us: Micros
    share: Share = 0.0


class Figure(_Strict):
    name: Name
    percent: Percent | None  # None: unknown here
    about: Sentence


class Profiled(_Strict):
    """A profile as report, page and API have it. `bound` "": no figures decide it."""

    case: Name
    bound: Annotated[str, Field(pattern=f"^({'|'.join(BOUNDS)})?$")] = ""
    sentence: Sentence
    figures: Annotated[tuple[Figure, ...], Field(max_length=3)] = ()
    rows: Annotated[tuple[Row, ...], Field(max_length=MOST_ROWS)] = ()
    notes: Annotated[tuple[Sentence, ...], Field(max_length=MOST_NOTES)] = ()
    files: Files = {}


class Traced(_Strict):
    """Answer of the container with PyTorch's profiler. Times of one call."""

    wall_us: Micros
    cpu_us: Micros
    cores: Annotated[int, Field(ge=1, le=100_000)]
    outside: Share  # of the time of a call outside all operators
    operators: Annotated[tuple[Row, ...], Field(max_length=100)]
    files: SentFiles = {}


class Counted(_Strict):
    """Answer of the container with Nsight Compute; without a file, its last words."""

    said: Annotated[str, Field(max_length=10_000)] = ""
    files: SentFiles = {}


@dataclass(frozen=True)
class Kernel:
    """A kernel of a GPU by its counters; several launches of a name count together, each by its time."""

    name: str
    launches: int
    us: float
    memory: float  # these in per cent
    compute: float
    occupancy: float

    def __add__(self, other: Kernel) -> Kernel:
        us = min(self.us + other.us, MOST_US)
        part = other.us / us if us else 0.0
        return Kernel(
            self.name,
            self.launches + other.launches,
            us,
            self.memory + part * (other.memory - self.memory),
            self.compute + part * (other.compute - self.compute),
            self.occupancy + part * (other.occupancy - self.occupancy),
        )


def read(data: object) -> Profiled | None:
    """Return the profile of a report; None if it is missing or outside its limits."""
    try:
        return Profiled.model_validate(data) if data else None
    except ValidationError:
        return None


# -- the rule ----------------------------------------------------------------------------------------------------------


def bound_on_gpu(memory: float, compute: float, occupancy: float) -> str:
    """Return the bound of a kernel with these throughputs and this achieved occupancy, in per cent."""
    if max(memory, compute) >= BUSY:
        return MEMORY if memory >= compute else COMPUTE
    return LATENCY if occupancy >= OCCUPIED else OCCUPANCY


def bound_on_cpu(memory: float | None, inside: float, cores: float) -> str:
    """Return the bound of a call on a processor, by per cent of the memory's bandwidth (None: unknown), of the time
    inside operators, and of the cores that work; "" where only the bandwidth would decide."""
    if memory is not None and memory >= BUSY:
        return MEMORY
    if inside < OCCUPIED:
        return LATENCY
    if cores < OCCUPIED:
        return OCCUPANCY
    return "" if memory is None else COMPUTE


# -- a processor -------------------------------------------------------------------------------------------------------


def on_cpu(case: str, traced: Traced | None, light_us: float | None, notes: Sequence[str] = ()) -> Profiled:
    """Return a profile on a processor. `light_us`: the least time of the case by the memory's bandwidth, if known.
    `notes`: why parts are missing."""
    if traced is None:
        return Profiled(case=case, sentence=UNKNOWN, notes=tuple(notes))
    memory = None if light_us is None else _percent(light_us, traced.wall_us)
    inside, cores = 100 * (1 - traced.outside), _percent(traced.cpu_us, traced.wall_us * traced.cores)
    bound = bound_on_cpu(memory, inside, cores)
    sentence = {
        "": f"Memory or compute bounds this kernel: {inside:.0f} % of its time is operators, on {cores:.0f} % of the "
        "cores. Which of them is unknown until the operator measures this machine with `runner bench`.",
        MEMORY: f"Memory bounds this kernel: it reaches {memory or 0:.0f} % of this machine's bandwidth.",
        COMPUTE: f"Compute bounds this kernel: {inside:.0f} % of its time is operators, on {cores:.0f} % of the cores.",
        LATENCY: f"Latency bounds this kernel: {100 - inside:.0f} % of its time passes outside PyTorch's operators, "
        "in Python or in code that the profiler does not see.",
        OCCUPANCY: f"Occupancy bounds this kernel: it keeps only {cores:.0f} % of {traced.cores} "
        f"core{'s' * (traced.cores > 1)} at work; it waits for the rest, or for other programs on the machine.",
    }[bound]
    figures = (
        Figure(name="memory bandwidth", percent=memory, about="of the highest that `runner bench` measured here"),
        Figure(name="inside operators", percent=inside, about="of a call's time; the rest is Python and unseen code"),
        Figure(name="cores at work", percent=cores, about=f"of {traced.cores}, over a call"),
    )
    told: dict[str, Any] = {"rows": _rows(traced.operators), "notes": tuple(notes), "files": traced.files}
    return Profiled(case=case, bound=bound, sentence=sentence, figures=figures, **told)


# -- a GPU -------------------------------------------------------------------------------------------------------------


def on_gpu(
    case: str,
    traced: Traced | None,
    kernels: Iterable[Kernel],
    notes: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
) -> Profiled:
    """Return a profile on a GPU. `notes`: why parts are missing, such as the counters."""
    ordered = sorted(kernels, key=lambda one: -one.us)
    seen = traced.operators if traced else [Row(name=one.name, calls=one.launches, us=one.us) for one in ordered]
    at_work = _percent(sum(one.us for one in traced.operators), traced.wall_us) if traced else 100.0
    if at_work < OCCUPIED:
        notes = [*notes, f"The device works for only {at_work:.0f} % of a call; launching and waiting take the rest."]
    told: dict[str, Any] = {"case": case, "rows": _rows(seen), "notes": tuple(notes), "files": dict(files or {})}
    if not ordered:
        return Profiled(sentence=UNKNOWN, **told)
    first = ordered[0]
    bound = bound_on_gpu(first.memory, first.compute, first.occupancy)
    whose = f"{_short(first.name)}, {_percent(first.us, sum(one.us for one in ordered)):.0f} % of the device's time"
    both = f"{first.memory:.0f} % of the memory's throughput and {first.compute:.0f} % of the processors'"
    warps = f"{first.occupancy:.0f} % of the places for warps are taken"
    sentence = {
        MEMORY: f"Memory bounds {whose}: it uses {both}.",
        COMPUTE: f"Compute bounds {whose}: it uses {both}.",
        LATENCY: f"Latency bounds {whose}: it uses only {both}, though {warps}.",
        OCCUPANCY: f"Occupancy bounds {whose}: only {warps}, too few to use more than {both}.",
    }[bound]
    figures = (
        Figure(name="memory throughput", percent=first.memory, about="of the peak of the busiest part of the memory"),
        Figure(
            name="compute throughput", percent=first.compute, about="of the peak of the busiest pipe of the processors"
        ),
        Figure(name="achieved occupancy", percent=first.occupancy, about="of the places for warps, on average"),
    )
    return Profiled(bound=bound, sentence=sentence, figures=figures, **told)


_SPEED: Final = "GPU Speed Of Light Throughput"
_WANTED: Final = {
    (_SPEED, "Memory Throughput", "%"): MEMORY,
    (_SPEED, "Compute (SM) Throughput", "%"): COMPUTE,
    ("Occupancy", "Achieved Occupancy", "%"): OCCUPANCY,
}
_TO_US: Final = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_COLUMNS: Final = ("ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit", "Metric Value")


def kernels_of(table: str) -> list[Kernel]:
    """Return the kernels in Nsight Compute's table of details, each name once. Raises ValueError."""
    found: dict[str, tuple[str, dict[str, float]]] = {}
    for number, name, *place, value in _cells(table):
        section, metric, unit = place
        key = _WANTED.get((section, metric, unit))
        if (section, metric) == (_SPEED, "Duration") and unit in _TO_US:
            key = "us"
        if key:
            most = 100.0 if key != "us" else MOST_US
            amount = float(value.replace(",", "")) * _TO_US.get(unit, 1.0)
            if not 0 <= amount < math.inf:
                raise ValueError(f"{metric} is {value[:40]}")
            found.setdefault(number, (name[:NAME_CHARS], {}))[1][key] = min(amount, most)
    kernels: dict[str, Kernel] = {}
    for name, figures in found.values():
        if len(figures) == len(_WANTED) + 1:
            one = Kernel(name, 1, **figures)
            kernels[name] = kernels[name] + one if name in kernels else one
    return list(kernels.values())


def _cells(table: str) -> Iterator[list[str]]:
    """Yield the cells of _COLUMNS of each line below the table's head."""
    begin = table.find(f'"{_COLUMNS[0]}"')
    if begin < 0:
        return
    try:
        lines = csv.reader(io.StringIO(table[begin:]))
        head = next(lines)
        places = [head.index(name) for name in _COLUMNS]
        yield from ([line[place] for place in places] for line in lines if len(line) > max(places))
    except csv.Error as error:
        raise ValueError(f"not a table: {error}") from None


def _rows(operators: Iterable[Row]) -> tuple[Row, ...]:
    """Return the longest, with their shares."""
    ordered = sorted(operators, key=lambda one: -one.us)
    total = sum(one.us for one in ordered)
    return tuple(one.model_copy(update={"share": one.us / total if total else 0.0}) for one in ordered[:MOST_ROWS])


def _percent(part: float, whole: float) -> float:
    return min(100.0, 100 * part / whole) if whole else 0.0


def _short(name: str) -> str:
    return name if len(name) <= SHORT_CHARS else f"{name[: SHORT_CHARS - 1]}…"
