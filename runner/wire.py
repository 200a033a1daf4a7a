"""The contract between a runner and the site: Job, Event, Report, Software, Place, Health, Enrolment, as JSON.

Standard library only, because the site imports this module. Every value that crosses is a frozen dataclass, parsed once
with `from_json`, which names the wrong field and never lets an oversized or mistyped value through. A new field gets a
default; a changed meaning gets a new WIRE_VERSION.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache, partial
from typing import Annotated, Any, Final, TypeVar, get_type_hints

WIRE_VERSION: Final = 1

TEST: Final = "test"
PROFILE: Final = "profile"
BENCHMARK: Final = "benchmark"
TIMED_MODES: Final = (BENCHMARK, "ranked")
MODES: Final = (TEST, *TIMED_MODES, PROFILE)
JUDGE: Final = "judge"
ADMISSION: Final = "admission"
STARTER: Final = "starter/"  # before the language, in the name of an admission test's line about starter code
TASKS: Final = (JUDGE, ADMISSION)  # of a job: judge a submission; or test whether a problem may take submissions
PROBLEM: Final = "problem"  # reason of infra_error: the problem's own code failed
OUT_OF_TIME: Final = "out_of_time"  # reason of infra_error: the deadline that the site set was over first
STATES: Final = ("building", "checking", "timing")  # states that a runner may announce; the site sets the rest
OUTCOMES: Final = (  # of an attempt; leaderboard/wording/outcomes.py has their words
    "passed",
    "wrong",
    "build_error",
    "runtime_error",
    "timeout",
    "out_of_memory",
    "policy",
    "unmeasurable",
    "infra_error",
)

MAX_SOURCE_BYTES: Final = 1_000_000
MAX_MESSAGE_CHARS: Final = 8_000
MAX_LOGS: Final = 4
MAX_LOG_CHARS: Final = 140_000  # first and last 64 kB of each stream, with the mark between
ANSWER_S: Final = 15.0  # that a runner waits for the site's answer
BELL_S: Final = 25.0  # longer, while it waits for work; below the usual time limits of proxies
MAX_REPORT_BYTES: Final = 16_000_000
MAX_EVENTS_PER_CALL: Final = 100
MAX_CONFIRMATION_BYTES: Final = 64_000
MAX_ADMISSION_BYTES: Final = 256_000  # 32 lines that quote 400 characters, each up to 12 bytes in JSON
MAX_PROFILE_BYTES: Final = 12_000_000
ADMISSION_CHECKS: Final = 17  # of an admission test, each as long as a submission's: 8 variants, baseline, 8 outputs
STARTERS_S: Final = 300.0  # of an admission test, after which it tries no further starter
MOST_RUNS: Final = 9  # of a confirmation
MOST_DEADLINE_S: Final = 10_000_000.0
SPARE_RUNS: Final = 2  # of a confirmation, instead of runs that could not be measured
TELEMETRY: Final = ("", "full", "mask_only", "none")  # how much of the device's state was seen; "": not reported
RUNNER_KIND: Final = "pfr_"  # start of the tokens of runners, so that a leaked token can be recognised
SHOWN_CHARS: Final = 6  # characters after it that name a token on pages
CODE_CHARS: Final = 128
MOST_IMAGES: Final = 8
MOST_CANARIES: Final = 20
MOST_CHECKS: Final = 64
FIT: Final = ("ok", "warning")  # results of the doctor's lines with which a host may judge for a site
LEAST_POSITIVE: Final = 1e-9  # of a time or a ratio: a smaller value is no measurement
MOST_POSITIVE: Final = 1e15
CASE_FIGURES: Final = ("measured_us", "baseline_us", "ratio", "half_width", "forgeable")  # numbers of a timed case

DIGEST: Final = "sha256:[0-9a-f]{64}"  # of an image
CORES: Final = r"([0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*)?"  # the kernel's short form, or nothing

# What kernels may be written in: name in a runner's fingerprint, with its version in the containers → name for people.
LANGUAGES: Final = {
    "gxx": "C++ (g++)",
    "nvcc": "CUDA C++ (nvcc)",
    "nvrtc": "NVRTC",
    "cutlass": "CUTLASS",
    "triton": "Triton",
    "helion": "Helion",
    "cute_dsl": "CuTe DSL",
    "tilelang": "TileLang",
    "cuda_core": "cuda.core",
}
TRITON: Final = "triton"
EXTENDING: Final = ("load_inline", "cpp_extension")  # names that a source of an extension has
LOOKED_AHEAD: Final = 16  # jobs behind a runner's present one, of which some are named to be built ahead:
EXTENSIONS_FIRST: Final = 2  # so many extensions come first,
MOST_AHEAD: Final = 6  # then the next jobs, of which some are built or being built when a runner asks

JSON = dict[str, Any]
T = TypeVar("T")


class WireError(ValueError):
    """Value on the wire that does not fit the contract; `field` names its place."""

    def __init__(self, field_name: str, problem: str) -> None:
        super().__init__(f"{field_name}: {problem}")
        self.field = field_name


Reader = Callable[[str, object], Any]  # from a field's place and its value in JSON; raises WireError


def _text(place: str, value: object, most: int) -> str:
    if not isinstance(value, str):
        raise WireError(place, f"expected text, got {type(value).__name__}")
    if len(value) > most:
        raise WireError(place, f"{len(value)} characters, at most {most}")
    if "\x00" in value:
        raise WireError(place, "contains a NUL character")
    return value


def _one_of(place: str, value: object, allowed: tuple[str, ...]) -> str:
    text = _text(place, value, 64)
    if text not in allowed:
        raise WireError(place, f"{text!r} is not one of {', '.join(filter(None, allowed))}")
    return text


def _whole(place: str, value: object, least: int, most: int = 2**63 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        span = f"of at least {least}" if most >= 2**63 - 1 else f"from {least} to {most}"
        raise WireError(place, f"expected a whole number {span}")
    return value


def _number(place: str, value: object, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise WireError(place, "expected a finite number")
    if not least <= value <= most:
        raise WireError(place, f"it is outside {least:g} … {most:g}")
    return float(value)


def _mapping(place: str, value: object, most_bytes: int | None = None) -> JSON:
    if not isinstance(value, dict):
        raise WireError(place, f"expected an object, got {type(value).__name__}")
    if most_bytes is not None and len(json.dumps(value)) > most_bytes:
        raise WireError(place, f"more than {most_bytes} bytes")
    return dict(value)


def _sequence(place: str, value: object, most: int, of: str, fits: Callable[[Any], bool]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise WireError(place, f"expected a list, got {type(value).__name__}")
    if len(value) > most:
        raise WireError(place, f"{len(value)} items, at most {most}")
    if not all(map(fits, value)):
        raise WireError(place, f"expected a list of {of}")
    return tuple(value)


_flags = partial(
    _sequence, most=32, of="texts of at most 64 characters", fits=lambda flag: isinstance(flag, str) and len(flag) <= 64
)
_cases = partial(_sequence, most=256, of="objects", fits=lambda case: isinstance(case, dict))


def _logs(place: str, value: object) -> dict[str, str]:
    items = _mapping(place, value)
    if len(items) > MAX_LOGS:
        raise WireError(place, f"{len(items)} items, at most {MAX_LOGS}")
    for name, text in items.items():
        if not isinstance(text, str) or len(text) > MAX_LOG_CHARS:
            raise WireError(f"{place}.{name}", f"expected text of at most {MAX_LOG_CHARS} characters")
    return {str(name): text.replace("\x00", "\N{REPLACEMENT CHARACTER}") for name, text in items.items()}


def _matching(place: str, value: object, pattern: str, of: str, most: int = 128) -> str:
    text = _text(place, value, most)
    if not re.fullmatch(pattern, text):
        raise WireError(place, f"expected {of}")
    return text


def _flag(place: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise WireError(place, "expected true or false")
    return value


def _each(place: str, value: object, kind: type[T], most: int) -> tuple[T, ...]:
    items = _sequence(place, value, most, "objects", lambda item: isinstance(item, dict))
    return tuple(_parsed(kind, f"{place}[{index}]", item) for index, item in enumerate(items))


_images = partial(
    _sequence,
    most=MOST_IMAGES,
    of="digests such as sha256:…",
    fits=lambda item: isinstance(item, str) and bool(re.fullmatch(DIGEST, item)),
)


def _version(place: str, value: object) -> int:
    if type(value) is not int or value != WIRE_VERSION:
        raise WireError(place, f"this side speaks version {WIRE_VERSION}, got {value!r:.40}; upgrade the older side")
    return value


Name = Annotated[str, partial(_text, most=64)]
Filename = Annotated[str, partial(_text, most=255)]
Sentence = Annotated[str, partial(_text, most=500)]
Source = Annotated[str, partial(_text, most=MAX_SOURCE_BYTES)]
Token = Annotated[int, partial(_whole, least=0)]  # fencing token: every event and report carries it
Positive = Annotated[float | None, partial(_number, least=LEAST_POSITIVE, most=MOST_POSITIVE)]
Version = Annotated[int, _version]


@cache
def _readers(kind: type) -> dict[str, Reader]:
    """Return the reader of each field, taken from its annotation; the version's comes first."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in sorted(hints, key="wire".__ne__)}


def _parsed(kind: type[T], name: str, data: object) -> T:
    """Parse a JSON object. An absent field takes its default; null stands for a default of None only."""
    if not isinstance(data, dict):
        raise WireError(name, f"expected an object, got {type(data).__name__}")
    defaults = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]  # dataclasses all
    values = {}
    for key, read in _readers(kind).items():  # type: ignore[arg-type]  # a class is hashable
        place, default = f"{name}.{key}", defaults[key]
        if key in data:
            values[key] = None if data[key] is None and default.default is None else read(place, data[key])
        elif key == "wire" or default.default is default.default_factory is MISSING:
            raise WireError(place, "missing")
    return kind(**values)


@dataclass(frozen=True)
class Incumbent:
    """Submission in first place: as untrusted as the candidate that it is measured beside."""

    source: Source
    filename: Filename
    submission_id: Name


@dataclass(frozen=True)
class Job:
    """Attempt handed to a runner under a lease."""

    attempt_id: Name
    token: Token
    lease_s: Annotated[float, partial(_number, least=1, most=86_400)]
    hardware: Name
    mode: Annotated[str, partial(_one_of, allowed=MODES)]
    submission_id: Name
    filename: Filename
    source: Source
    problem: Annotated[JSON, _mapping]  # problems.spec.Problem.to_bundle()
    problem_digest: Annotated[str, partial(_text, most=128)]
    # Set: a confirmation, with this submission in the blocks.
    incumbent: Annotated[Incumbent | None, partial(_parsed, Incumbent)] = None
    runs: Annotated[int, partial(_whole, least=1, most=MOST_RUNS)] = 1  # in sequence; more than one with an incumbent
    # From the claim on; a later report is refused. 0: the site did not set it.
    deadline_s: Annotated[float, partial(_number, least=0, most=MOST_DEADLINE_S)] = 0.0
    # ADMISSION: the problem itself is tested; mode is "test", source and submission_id are empty.
    task: Annotated[str, partial(_one_of, allowed=TASKS)] = JUDGE
    # Ratio of candidate to baseline: the timing of a candidate that cannot beat it ends after a first look.
    bar: Positive = None
    wire: Version = WIRE_VERSION

    @property
    def ranks(self) -> int:
        """Devices that its problem runs on at once."""
        ranks: int = self.problem.get("ranks", 1)
        return ranks

    @property
    def never_ranks(self) -> bool:
        """Whether it judges a submission whose result cannot rank."""
        return self.task == JUDGE and self.incumbent is None and self.mode in (TEST, BENCHMARK)

    @property
    def compiles(self) -> bool:
        """Whether judging its submission is likely to run a compiler."""
        return self.extends or TRITON in self.source

    @property
    def extends(self) -> bool:
        """Whether judging its submission is likely to compile an extension of C++ or CUDA, which takes a minute."""
        return bool(self.problem.get("build")) or extends(self.source)

    @property
    def most_judged(self) -> int:
        """Largest number of judgings for this job: in each run the candidate and its incumbent alone."""
        if self.task == ADMISSION:
            return ADMISSION_CHECKS
        return 1 if self.incumbent is None else 2 * self.runs + SPARE_RUNS

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Job:
        job = _parsed(cls, "job", data)
        if job.incumbent is not None and job.mode not in TIMED_MODES:
            raise WireError("job.incumbent", f"mode {job.mode!r} times nothing; send 'benchmark' or 'ranked'")
        if job.task == ADMISSION and job.mode != TEST:
            raise WireError("job.mode", f"an admission test times nothing; send 'test', got {job.mode!r}")
        if job.bar is not None and job.mode != BENCHMARK:
            raise WireError("job.bar", f"only mode 'benchmark' may end early, got {job.mode!r}")
        if job.incumbent is None:
            _whole("job.runs", job.runs, 1, 1)
        return job


def extends(source: str) -> bool:
    """Return whether the import of this submission is likely to compile an extension of C++ or CUDA."""
    return any(name in source for name in EXTENDING)


def to_build_ahead(jobs: Sequence[Job]) -> list[Job]:
    """Return those of these jobs, the next first, that a runner is to build ahead, in this order.

    An extension takes far longer than all else, so the first come before jobs that are claimed sooner; but a few only,
    or a queue full of them would keep all other builds waiting.
    """
    compiled = [job for job in jobs if job.compiles]
    first = [job for job in compiled if job.extends][:EXTENSIONS_FIRST]
    return [*first, *[job for job in compiled if job not in first][:MOST_AHEAD]]


@dataclass(frozen=True)
class Event:
    """State or progress for watchers. `data` is small and for display."""

    # 1, 2, 3 … within an attempt; the site drops events that it already has.
    seq: Annotated[int, partial(_whole, least=1)]
    kind: Annotated[str, partial(_one_of, allowed=("state", "progress"))]  # "state": then `state` is set
    state: Annotated[str, partial(_text, most=16)] = ""
    message: Sentence = ""
    data: Annotated[JSON, partial(_mapping, most_bytes=4_000)] = field(default_factory=dict)  # e.g. {"done": 3}

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Event:
        event = _parsed(cls, "event", data)
        if event.kind == "state":
            _one_of("event.state", event.state, STATES)
        return event


@dataclass(frozen=True)
class Report:
    """Result of an attempt. `evidence` is the judge's versioned record, from which the verdict can be replayed."""

    attempt_id: Name
    token: Token
    outcome: Annotated[str, partial(_one_of, allowed=OUTCOMES)]
    reason: Name = ""  # code: "shape", "nan", "clock_mismatch", …
    # For the competitor: the case, expected and actual value, remedy.
    message: Annotated[str, partial(_text, most=MAX_MESSAGE_CHARS)] = ""
    flags: Annotated[tuple[str, ...], _flags] = ()  # "not_converged", "bimodal", …
    score_us: Positive = None  # of the measured times, by the problem's ranking_by; None unless passed and timed
    ratio: Positive = None  # candidate / baseline, geometric mean over cases; < 1 is faster
    half_width: Positive = None  # relative half-width of the ratio's 95 % interval
    cases: Annotated[tuple[JSON, ...], _cases] = ()  # for display: stage, name, public, good, message, measured_us, …
    # "stdout", "stderr" of the submission, capped, escaped.
    logs: Annotated[dict[str, str], _logs] = field(default_factory=dict)
    evidence: Annotated[JSON, _mapping] = field(default_factory=dict)
    set_aside: Sentence = ""  # why this device must not judge until a canary passed twice; empty: it may go on
    telemetry: Annotated[str, partial(_one_of, allowed=TELEMETRY)] = ""
    epoch: Name = ""  # hash of all properties that must be the same for two times to rank together
    # Share of the true time, 0 … 1, that may be missing at most; None: not timed.
    forgeable: Annotated[float | None, partial(_number, least=0.0, most=1.0)] = None
    # records.RecordVerdict.to_json() of a confirmation job, examine.Admission.to_json() of an admission job.
    confirmation: Annotated[JSON, partial(_mapping, most_bytes=MAX_CONFIRMATION_BYTES)] = field(default_factory=dict)
    admission: Annotated[JSON, partial(_mapping, most_bytes=MAX_ADMISSION_BYTES)] = field(default_factory=dict)
    # evidence.profiled.Profiled in JSON, of a job in mode "profile". Its numbers and files come from the sandbox.
    profile: Annotated[JSON, partial(_mapping, most_bytes=MAX_PROFILE_BYTES)] = field(default_factory=dict)
    wire: Version = WIRE_VERSION

    def to_json(self) -> JSON:
        return dict(vars(self))  # its parts are JSON already, and copies of all samples would take long

    @classmethod
    def from_json(cls, data: object) -> Report:
        report = _parsed(cls, "report", data)
        for index, case in enumerate(report.cases):
            for name in CASE_FIGURES:
                if case.get(name) is not None:
                    _number(f"report.cases[{index}].{name}", case[name], least=0, most=MOST_POSITIVE)
        return report


@dataclass(frozen=True)
class Software:
    """Versions that a runner judges with, stated in hello and in every claim; the site refuses foreign versions."""

    version: Name = ""  # of the package; "": a runner from before it was stated
    evidence: Annotated[int, partial(_whole, least=0, most=1_000_000)] = 0  # version of its reports' evidence
    images: Annotated[tuple[str, ...], _images] = ()  # the sandbox image: its id, then its digests in registries
    wire: Annotated[int, partial(_whole, least=0, most=1_000_000)] = WIRE_VERSION

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Software:
        return _parsed(cls, "software", data)


@dataclass(frozen=True)
class Place:
    """Place of a runner in its host, stated in hello: the site's pages show the runners of a host together."""

    # Name of the host, by its operator or a hash; "": a runner from before it was stated.
    host: Annotated[str, partial(_matching, pattern="[A-Za-z0-9_-]{0,64}", of="letters, digits, _ and -")] = ""
    device: Annotated[int, partial(_whole, least=0, most=999)] = 0  # number of its GPU, or of its lane on `cpu`
    cores: Annotated[str, partial(_matching, pattern=CORES, of="core numbers such as 0-1,4", most=4_000)] = ""
    node: Annotated[int | None, partial(_whole, least=0, most=9_999)] = None  # of NUMA; None: several, or unknown

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Place:
        return _parsed(cls, "place", data)


@dataclass(frozen=True)
class Canary:
    """Result of a canary, for the history of its host."""

    at_s: Annotated[float, partial(_number, least=0, most=1e11)]  # since 1970
    ok: Annotated[bool, _flag]
    took_us: Annotated[float, partial(_number, least=0, most=1e15)] = 0.0  # 0: not timed
    reason: Sentence = ""


@dataclass(frozen=True)
class Health:
    """State of a runner's host between two jobs: a reading beside a job could disturb its times."""

    disk_free_bytes: Annotated[int, partial(_whole, least=0)]  # where RUNNER_STATE lies
    disk_bytes: Annotated[int, partial(_whole, least=0)]
    temperature_c: Annotated[float | None, partial(_number, least=-100, most=1_000)] = None  # None: not readable
    canaries: Annotated[tuple[Canary, ...], partial(_each, kind=Canary, most=MOST_CANARIES)] = ()  # the oldest first

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Health:
        return _parsed(cls, "health", data)


@dataclass(frozen=True)
class DoctorLine:
    """Check of `runner doctor`, as a host sends it with its enrolment."""

    name: Name
    result: Name
    found: Sentence = ""

    @property
    def is_fit(self) -> bool:
        return self.result in FIT


@dataclass(frozen=True)
class Enrolment:
    """Request of a host to become the runner that a one-time code is for.

    The host makes the token and sends its digest: the token itself stays on the host, and a repeated request is known
    by its digest.
    """

    code: Annotated[str, partial(_text, most=CODE_CHARS)]
    hardware: Name
    token_prefix: Annotated[
        str, partial(_matching, pattern=rf"{RUNNER_KIND}[\w-]{{{SHOWN_CHARS}}}", of="the first characters of a token")
    ]
    token_digest: Annotated[str, partial(_matching, pattern="[0-9a-f]{64}", of="a SHA-256 digest in hexadecimal")]
    checks: Annotated[tuple[DoctorLine, ...], partial(_each, kind=DoctorLine, most=MOST_CHECKS)] = ()
    wire: Version = WIRE_VERSION

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Enrolment:
        return _parsed(cls, "enrolment", data)


@dataclass(frozen=True)
class Expectation:
    """Expected and actual result of a sample or of a part of an admission test, as a table shows them.

    `good` None: it does not apply to this problem. Not `judged`: this machine failed.
    """

    name: str
    expected: str
    got: str
    good: bool | None
    explained: str = ""
    figures: JSON = field(default_factory=dict)
    judged: bool = True

    def to_json(self) -> JSON:
        return asdict(self)


def dump(value: Job | Event | Report) -> str:
    """Return strict JSON text: NaN and infinities are an error here, not a surprise at the other end."""
    return json.dumps(value.to_json(), allow_nan=False, separators=(",", ":"))
