"""The contract between a runner and the site: Job, Event, Report, to and from JSON.

Standard library only, because the site imports this module. Every value that crosses is a frozen dataclass, parsed once
with `from_json`, which names the wrong field and never lets an oversized or mistyped value through. A new field gets a
default; a changed meaning gets a new WIRE_VERSION.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final

WIRE_VERSION: Final = 1

MODES: Final = ("test", "benchmark", "ranked")
JUDGE: Final = "judge"
ADMISSION: Final = "admission"
STARTER: Final = "starter/"  # before the language, in the name of an admission test's line about starter code
TASKS: Final = (JUDGE, ADMISSION)  # of a job: judge a submission; or test whether a problem may take submissions
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
MAX_LOG_CHARS: Final = 140_000  # first and last 64 kB of each stream, with the mark between
ANSWER_S: Final = 15.0  # that a runner waits for the site's answer
MAX_REPORT_BYTES: Final = 16_000_000
MAX_EVENTS_PER_CALL: Final = 100
MAX_CONFIRMATION_BYTES: Final = 64_000
MAX_ADMISSION_BYTES: Final = 64_000
MOST_RUNS: Final = 9  # of a confirmation
MOST_DEADLINE_S: Final = 10_000_000.0
SPARE_RUNS: Final = 2  # of a confirmation, instead of runs that could not be measured
TELEMETRY: Final = ("", "full", "mask_only", "none")  # how much of the device's state was seen; "": not reported
LEAST_POSITIVE: Final = 1e-9  # of a time or a ratio: a smaller value is no measurement

JSON = dict[str, Any]


class WireError(ValueError):
    """Value on the wire that does not fit the contract; `field` names its place."""

    def __init__(self, field_name: str, problem: str) -> None:
        super().__init__(f"{field_name}: {problem}")
        self.field = field_name


@dataclass(frozen=True)
class Incumbent:
    """Submission in first place: as untrusted as the candidate that it is measured beside."""

    source: str
    filename: str
    submission_id: str

    @classmethod
    def from_json(cls, data: object) -> Incumbent:
        fields = _Fields(data, "job.incumbent")
        return cls(
            source=fields.text("source", MAX_SOURCE_BYTES),
            filename=fields.text("filename", 255),
            submission_id=fields.text("submission_id", 64),
        )


@dataclass(frozen=True)
class Job:
    """Attempt handed to a runner under a lease."""

    attempt_id: str
    token: int  # fencing token: every event and report carries it
    lease_s: float
    hardware: str
    mode: str
    submission_id: str
    filename: str
    source: str
    problem: JSON  # problems.spec.Problem.to_bundle()
    problem_digest: str
    incumbent: Incumbent | None = None  # set: a confirmation, with this submission in the blocks
    runs: int = 1  # independent runs in sequence; more than one only with an incumbent
    deadline_s: float = 0.0  # from the claim on; a later report is refused. 0: the site did not set it
    task: str = JUDGE  # ADMISSION: the problem itself is tested; mode is "test", source and submission_id are empty
    wire: int = WIRE_VERSION

    @property
    def most_judged(self) -> int:
        """Largest number of judgings for this job: in each run the candidate and its incumbent alone."""
        return 1 if self.incumbent is None else 2 * self.runs + SPARE_RUNS

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Job:
        fields = _Fields(data, "job")
        fields.version()
        mode, incumbent = fields.one_of("mode", MODES), fields.value_or_none("incumbent")
        if incumbent is not None and mode == "test":
            raise WireError("job.incumbent", "mode 'test' times nothing; send 'benchmark' or 'ranked'")
        task = fields.one_of("task", TASKS, default=JUDGE)
        if task == ADMISSION and mode != "test":
            raise WireError("job.mode", f"an admission test times nothing; send 'test', got {mode!r}")
        return cls(
            attempt_id=fields.text("attempt_id", 64),
            token=fields.whole("token", 0),
            lease_s=fields.number("lease_s", 1, 86_400),
            hardware=fields.text("hardware", 64),
            mode=mode,
            submission_id=fields.text("submission_id", 64),
            filename=fields.text("filename", 255),
            source=fields.text("source", MAX_SOURCE_BYTES),
            problem=fields.mapping("problem"),
            problem_digest=fields.text("problem_digest", 128),
            incumbent=None if incumbent is None else Incumbent.from_json(incumbent),
            runs=fields.whole("runs", 1, 1 if incumbent is None else MOST_RUNS, default=1),
            deadline_s=fields.number("deadline_s", 0, MOST_DEADLINE_S, default=0.0),
            task=task,
        )


@dataclass(frozen=True)
class Event:
    """State or progress for watchers. `data` is small and for display."""

    seq: int  # 1, 2, 3 … within an attempt; the site drops events that it already has
    kind: str  # "state" (then `state` is set) or "progress"
    state: str = ""
    message: str = ""
    data: JSON = field(default_factory=dict)  # e.g. {"done": 3, "total": 14}

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Event:
        fields = _Fields(data, "event")
        kind = fields.one_of("kind", ("state", "progress"))
        return cls(
            seq=fields.whole("seq", 1),
            kind=kind,
            state=fields.one_of("state", STATES) if kind == "state" else fields.text("state", 16, default=""),
            message=fields.text("message", 500, default=""),
            data=fields.mapping("data", default={}, limit_bytes=4_000),
        )


@dataclass(frozen=True)
class Report:
    """Result of an attempt. `evidence` is the judge's versioned record, from which the verdict can be replayed."""

    attempt_id: str
    token: int
    outcome: str
    reason: str = ""  # code: "shape", "nan", "clock_mismatch", …
    message: str = ""  # for the competitor: the case, expected and actual value, remedy
    flags: tuple[str, ...] = ()  # "not_converged", "bimodal", …
    score_us: float | None = None  # of the measured times, by the problem's ranking_by; None unless passed and timed
    ratio: float | None = None  # candidate / baseline, geometric mean over cases; < 1 is faster
    half_width: float | None = None  # relative half-width of the ratio's 95 % interval
    cases: tuple[JSON, ...] = ()  # per case, for display: stage, name, public, good, message, measured_us, …
    logs: dict[str, str] = field(default_factory=dict)  # "stdout", "stderr" of the submission, capped, escaped
    evidence: JSON = field(default_factory=dict)
    set_aside: str = ""  # why this device must not judge until a canary passed twice; empty: it may go on
    telemetry: str = ""  # one of TELEMETRY
    epoch: str = ""  # hash of all properties that must be the same for two times to rank together
    forgeable: float | None = None  # share of the true time, 0 … 1, that may be missing at most; None: not timed
    confirmation: JSON = field(default_factory=dict)  # records.RecordVerdict.to_json() of a confirmation job
    admission: JSON = field(default_factory=dict)  # examine.Admission.to_json() of an admission job
    wire: int = WIRE_VERSION

    def to_json(self) -> JSON:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Report:
        fields = _Fields(data, "report")
        fields.version()
        return cls(
            attempt_id=fields.text("attempt_id", 64),
            token=fields.whole("token", 0),
            outcome=fields.one_of("outcome", OUTCOMES),
            reason=fields.text("reason", 64, default=""),
            message=fields.text("message", MAX_MESSAGE_CHARS, default=""),
            flags=tuple(fields.texts("flags", 64, most=32)),
            score_us=fields.number_or_none("score_us", LEAST_POSITIVE, 1e15),
            ratio=fields.number_or_none("ratio", LEAST_POSITIVE, 1e15),
            half_width=fields.number_or_none("half_width", LEAST_POSITIVE, 1e15),
            cases=tuple(fields.mappings("cases", most=256)),
            logs=fields.text_map("logs", MAX_LOG_CHARS, most=4),
            evidence=fields.mapping("evidence", default={}),
            set_aside=fields.text("set_aside", 500, default=""),
            telemetry=fields.one_of("telemetry", TELEMETRY, default=""),
            epoch=fields.text("epoch", 64, default=""),
            forgeable=fields.number_or_none("forgeable", 0.0, 1.0),
            confirmation=fields.mapping("confirmation", default={}, limit_bytes=MAX_CONFIRMATION_BYTES),
            admission=fields.mapping("admission", default={}, limit_bytes=MAX_ADMISSION_BYTES),
        )


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


class _Fields:
    """Typed, bounded access to a JSON object; every failure names the object and the field."""

    def __init__(self, data: object, name: str) -> None:
        if not isinstance(data, dict):
            raise WireError(name, f"expected an object, got {type(data).__name__}")
        self._data = data
        self._name = name

    def _fail(self, key: str, problem: str) -> WireError:
        return WireError(f"{self._name}.{key}", problem)

    def _get(self, key: str, default: object) -> object:
        if key in self._data:
            return self._data[key]
        if default is _REQUIRED:
            raise self._fail(key, "missing")
        return default

    def version(self) -> None:
        got = self._get("wire", _REQUIRED)
        if type(got) is not int or got != WIRE_VERSION:
            raise self._fail("wire", f"this side speaks version {WIRE_VERSION}, got {got!r}; upgrade the older side")

    def text(self, key: str, limit: int, default: object = None) -> str:
        value = self._get(key, _REQUIRED if default is None else default)
        if not isinstance(value, str):
            raise self._fail(key, f"expected text, got {type(value).__name__}")
        if len(value) > limit:
            raise self._fail(key, f"{len(value)} characters, at most {limit}")
        if "\x00" in value:
            raise self._fail(key, "contains a NUL character")
        return value

    def one_of(self, key: str, allowed: tuple[str, ...], default: object = None) -> str:
        value = self.text(key, 64, default)
        if value not in allowed:
            raise self._fail(key, f"{value!r} is not one of {', '.join(filter(None, allowed))}")
        return value

    def whole(self, key: str, least: int, most: int = 2**63 - 1, default: object = None) -> int:
        value = self._get(key, _REQUIRED if default is None else default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            span = f"of at least {least}" if most >= 2**63 - 1 else f"from {least} to {most}"
            raise self._fail(key, f"expected a whole number {span}")
        return value

    def number(self, key: str, least: float, most: float, default: float | None = None) -> float:
        value = self._get(key, _REQUIRED if default is None else default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise self._fail(key, "expected a finite number")
        if not least <= value <= most:
            raise self._fail(key, f"it is outside {least:g} … {most:g}")
        return float(value)

    def number_or_none(self, key: str, least: float, most: float) -> float | None:
        return None if self._get(key, None) is None else self.number(key, least, most)

    def value_or_none(self, key: str) -> object:
        """Return the value unparsed."""
        return self._get(key, None)

    def mapping(self, key: str, default: object = None, limit_bytes: int | None = None) -> JSON:
        value = self._get(key, _REQUIRED if default is None else default)
        if not isinstance(value, dict):
            raise self._fail(key, f"expected an object, got {type(value).__name__}")
        if limit_bytes is not None and len(json.dumps(value)) > limit_bytes:
            raise self._fail(key, f"more than {limit_bytes} bytes")
        return dict(value)

    def _sequence(self, key: str, most: int) -> list[Any]:
        value = self._get(key, [])
        if not isinstance(value, list | tuple):
            raise self._fail(key, f"expected a list, got {type(value).__name__}")
        if len(value) > most:
            raise self._fail(key, f"{len(value)} items, at most {most}")
        return list(value)

    def mappings(self, key: str, most: int) -> list[JSON]:
        items = self._sequence(key, most)
        if not all(isinstance(item, dict) for item in items):
            raise self._fail(key, "expected a list of objects")
        return items

    def texts(self, key: str, limit: int, most: int) -> list[str]:
        items = self._sequence(key, most)
        if not all(isinstance(item, str) and len(item) <= limit for item in items):
            raise self._fail(key, f"expected a list of texts of at most {limit} characters")
        return items

    def text_map(self, key: str, limit: int, most: int) -> dict[str, str]:
        items = self.mapping(key, default={})
        if len(items) > most:
            raise self._fail(key, f"{len(items)} items, at most {most}")
        for name, value in items.items():
            if not isinstance(value, str) or len(value) > limit:
                raise self._fail(f"{key}.{name}", f"expected text of at most {limit} characters")
        return {str(name): value.replace("\x00", "\N{REPLACEMENT CHARACTER}") for name, value in items.items()}


_REQUIRED: Final = object()
