"""Models of the evidence in a report, version 3, and a parser that refuses evidence that does not fit them.

The judge writes evidence with recorder.py, verdict.py and records.py decide from it, the site stores it, and
`runner replay` decides again. Evidence is JSON on the wire alone: every reader parses it here first.
`python -m runner.evidence.schema` prints the JSON schema: docs/report.schema.json.

Holds evidence (version 3): the configuration, failures (`fault`, `set_aside`), the `checks`, and every sample of each
timed case with the device's telemetry. Pure.
"""

import json
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from problems.spec import MAX_CASE_NAME_CHARS, MAX_INT, MIN_INT
from runner.evidence.sample import BASELINE, SIDES, Number, Sample
from runner.evidence.schedule import Profile
from runner.evidence.speed_of_light import Limits
from runner.evidence.starved import Count, Share
from runner.evidence.throttle import STRICT, Window

VERSION: Final = 3
RULES: Final = 9  # rules by which verdict.py decides; 1 in reports without this field
TEXT_CHARS: Final = 20_000
MOST_SHOWN: Final = 5  # errors in one message
PLACE_CHARS: Final = 80  # of a key; an untrusted program may have chosen it
M = TypeVar("M", bound=BaseModel)
COUNTED: Final = ("least_calls", "most_calls", "first_look", "look_every", "most_quads", "most_windows")

Name = Annotated[str, Field(max_length=MAX_CASE_NAME_CHARS)]
Text = Annotated[str, Field(max_length=TEXT_CHARS)]
Code = Annotated[str, Field(max_length=64)]
Side = Annotated[str, Field(pattern=f"^({'|'.join(SIDES)})$")]
Scalar = bool | int | Number | Name
Facts = Annotated[dict[Code, Scalar], Field(max_length=64)]
Details = Annotated[dict[Code, Any], Field(max_length=64)]
Arguments = Annotated[dict[Code, Scalar | list[int]], Field(max_length=64)]
Samples = Annotated[list[Sample], Field(description="of calls: [wall, put, take, inner, probe, thaw, freeze] in ns")]
Heat = Annotated[
    Window,
    PlainSerializer(Window.to_json),
    WithJsonSchema({"title": "Heat", "type": "object"}),
    Field(
        description="What telemetry saw: readings `before` and `after`, and [at_ns, mask, strangers] `polls` between. "
        "`inherited`: the first counters are those that the block before ended with."
    ),
]


def _can_be_followed(profile: Profile) -> Profile:
    for name, value in vars(profile).items():
        least = 1 if name in COUNTED else 0
        if not isinstance(value, str) and value < least:
            raise ValueError(f"{name} is {value}, at least {least} is needed")
    return profile


class _Strict(BaseModel):
    """Base of all models. recorder.py alone changes a model that was made."""

    model_config = STRICT


class Fault(_Strict):
    """Failure that ended the attempt before any comparison."""

    outcome: Code
    reason: Code
    message: Text


class Check(_Strict):
    """Comparison of one call's output. For a secret case, neither data nor indices are kept."""

    case: Name
    seed: Annotated[int, Field(ge=MIN_INT, le=MAX_INT)]
    public: bool
    good: bool
    reason: Code
    message: Text
    figures: Annotated[list[Details], Field(max_length=256, description="of each output tensor")]
    arguments: Arguments = {}
    outcome: Code = Field(default="wrong", description="of the attempt where this is not good")


class WarmUp(_Strict):
    """Calls of one side that do not count. Their median is in `warm`."""

    side: Side
    took_ns: Count
    heat: Heat


class Block(_Strict):
    """Consecutive calls of one side. `ruling` gives the reason if the block does not count."""

    side: Side
    took_ns: Count = Field(description="of the judge's clock, with making the inputs and comparing the outputs")
    calls: Annotated[Samples, Field(max_length=10_000)]
    lean: Annotated[
        Samples,
        Field(max_length=10_000, description="of lean calls, which tell no time and echo as soon as the gate is open"),
    ] = []
    unready: Count = Field(
        default=0, description="further lean calls, not queued or without an output when it was read"
    )
    alone: bool = Field(default=False, description="were its queued calls single ones, while own calls were followed?")
    seeds: Annotated[
        list[Count], Field(max_length=10_000, description="of its inputs, in order, also of calls that do not count")
    ] = []
    heat: Heat
    ruling: Details = {}


class Quad(_Strict):
    """Blocks in the order A B B A; with an incumbent A B I I B A. Void quads stay, with reason and side."""

    blocks: Annotated[list[Block], Field(max_length=6)]
    void: Code
    charged: str = Field(pattern=f"^({'|'.join(SIDES)})?$")

    @property
    def sides(self) -> list[str]:
        return [block.side for block in self.blocks]

    def of(self, side: str) -> list[Block]:
        return [block for block in self.blocks if block.side == side]

    def compares(self, *sides: str) -> bool:
        """Return whether the quad counts and has two blocks of the baseline and of each of these sides."""
        return not self.void and all(self.sides.count(side) == 2 for side in (BASELINE, *sides))

    @model_validator(mode="after")
    def _has_calls(self) -> Self:
        if not self.void and not all(block.calls for block in self.blocks):
            raise ValueError("a block without calls, in a quad that counts")
        return self


class Repeat(_Strict):
    """Two calls on the same input. They do not count, and reveal a cache of results."""

    side: Side
    fresh: Sample
    again: Sample
    same_bits: bool
    hot: bool = Field(default=False, description="the cache was left as it was before the second call")
    near: bool = Field(default=False, description="not quite the same input: a few elements were changed")


class Timing(_Strict):
    """Measurements of a benchmark case."""

    case: Name
    arguments: Arguments
    reference_ns: Annotated[Number, Field(ge=0)] | None = Field(
        default=None, description="in reports of older runners: the baseline's frozen time in this epoch; not used"
    )
    idle: Annotated[Samples, Field(max_length=1_000, description="calls without work, for the constant of the way")]
    probe_limit_ns: Number = Field(description="an idle probe above it met somebody else's work; 0: there is no probe")
    warm: Annotated[dict[Side, list[Number]], Field(description="times of the warm-up's windows, in ns")]
    warm_ups: Annotated[list[WarmUp], Field(max_length=10_000, description="in the order of time")]
    calls: Count = Field(description="of a block")
    queued: bool = Field(default=False, description="did a device do whole calls by itself, all hosts' threads frozen?")
    places: Annotated[int, Field(ge=1, le=1_000)] = Field(
        default=1, description="in how many places data lie in turn, of the side that has the fewest"
    )
    ranks: Annotated[int, Field(ge=1, le=8)] = Field(default=1, description="devices that a call works on at once")
    given_up: Annotated[list[Literal["near", "strict", "repeats"]], Field(max_length=3)] = Field(
        default=[],
        description="for want of memory: near-duplicates of inputs, comparisons of timed outputs with double "
        "precision, exact repeats of inputs",
    )
    contexts: Annotated[
        dict[Side, Number],
        Field(
            description="by how many ns a side's context makes a call tell more than the baseline's; from `own_calls`"
        ),
    ] = {}
    gaps: (
        Annotated[
            dict[Side, Number],
            Field(
                description="by how many ns more than the baseline's a side's wall time goes beyond what it tells; "
                "from `own_calls`"
            ),
        ]
        | None
    ) = Field(default=None, description="null: nobody asked, in reports of before")
    lean_gaps: (
        Annotated[
            dict[Side, Number],
            Field(
                description="ns from the gate to the read of a lean call beyond the kernel's own, by side; from "
                "`own_long` and `own_lean`"
            ),
        ]
        | None
    ) = Field(default=None, description="null: there were no lean calls, in reports of before")
    copies: Annotated[
        dict[Side, Annotated[list[tuple[Count, Count]], Field(max_length=1_000)]],
        Field(description="ns that putting inputs and taking outputs took afterwards, no code of others running"),
    ] = {}
    quads: Annotated[list[Quad], Field(max_length=1_000)]
    repeats: Annotated[list[Repeat], Field(max_length=10_000)]
    ended: str = Field(
        pattern="^(converged|quads|budget|voids|set_aside)?$", description="how; empty: it was cut short"
    )
    ended_why: Code
    input_bytes: Count
    output_bytes: Count
    eager_ns: Number | None = Field(description="the reference's time as it is written, where it was measured")
    summary: Details = Field(
        default={},
        description="instead of samples and quads, in a confirmation that would not fit the wire (confirm.py)",
    )

    def calls_of(self, side: str, *, valid: bool = False) -> list[Sample]:
        """Return all samples of a side's blocks; with `valid`, of quads that are not void."""
        quads = [quad for quad in self.quads if not (valid and quad.void)]
        return [sample for quad in quads for block in quad.of(side) for sample in block.calls]

    @model_validator(mode="after")
    def _has_idle_calls(self) -> Self:
        """Require idle calls, which come first. Only a case that was not begun, or is summed up, has none."""
        if not (self.idle or self.summary) and (self.ended or self.quads or self.warm_ups):
            raise ValueError("idle is empty, so nothing says what the way of a call costs")
        return self


class Finding(_Strict):
    """Evidence for a rule that holds a result until a person has decided."""

    rule: Code
    case: Name
    figures: Details
    sentence: Text


class Evidence(_Strict):
    """Evidence of one attempt: all data from which its verdict was decided."""

    version: Literal[3]
    rules: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9] = Field(default=1, description="of verdict.py that decided")
    mode: Literal["test", "benchmark", "ranked", "profile"]
    ranking_by: Literal["geom", "mean", "last"]
    clock: Literal["wall", "event"] = Field(description="which time counts: the judge's, or the device's raised to it")
    certified: bool = Field(description="every container stood still outside its calls")
    hardware: Code
    telemetry: str = Field(pattern="^(full|mask_only|none)$")
    profile: Annotated[
        Profile, AfterValidator(_can_be_followed), Field(description="how long to measure and when to stop")
    ]
    fingerprint: Annotated[Facts, Field(description="what the host is: accelerators.fingerprint")]
    epoch: Code = Field(description="hash of what must be the same for two times to rank together")
    problem_digest: Name
    image: Name
    left_out: Annotated[list[Code], Field(max_length=64, description="steps of a call that an experiment left out")]
    cores: Annotated[dict[Code, list[int]], Field(max_length=8)]
    phases_s: Annotated[dict[Code, Number], Field(max_length=64)]
    fault: Fault | None
    processor_share: Share | None = Field(default=None, description="while the time ran out, where that is the fault")
    checks: Annotated[list[Check], Field(max_length=1_024)]
    timing: Annotated[list[Timing], Field(max_length=256)]
    findings: Annotated[list[Finding], Field(max_length=1_024)]
    set_aside: Name = Field(description="why the device must not judge until canaries passed; empty: it may")
    limits: Limits
    init_seed: Count | None = Field(default=None, description="that a Model and its ModelNew are constructed with")
    own_calls: Annotated[
        dict[Side, Annotated[Samples, Field(max_length=1_000)]],
        Field(description="of a small kernel of the harness's own, before there was a submission; queued ones alone"),
    ] = {}
    own_long: Annotated[
        dict[Side, Annotated[Samples, Field(max_length=1_000)]],
        Field(description="as `own_calls`, of longer vectors"),
    ] = {}
    own_lean: Annotated[
        dict[Side, Annotated[Samples, Field(max_length=1_000)]],
        Field(description="the same calls, lean"),
    ] = {}
    launches: Annotated[
        dict[Side, Annotated[list[tuple[Number, Number]], Field(max_length=100)]],
        Field(
            description="ns of a launch of two kernels of the harness's own, in every context of a device that was "
            "drawn for a side; the last is in use"
        ),
    ] = {}
    tuned: bool = Field(
        default=True,
        description="the baseline is the problem's own and somebody's best on this hardware; so it counts where a "
        "report lacks this field",
    )
    stopped_at: Annotated[Number, Field(gt=0)] | None = Field(
        default=None, description="the ratio that it could not beat, where the timing ended after a first look"
    )
    operator: Text = Field(default="", description="for operators: why the host or the problem failed")

    @property
    def is_good(self) -> bool:
        """Whether every output was right."""
        return all(check.good for check in self.checks)

    @property
    def is_summed_up(self) -> bool:
        """Whether samples are missing: confirm.py."""
        return any(timing.summary for timing in self.timing)


class Confirmation(_Strict):
    """Independent runs with the incumbent in their blocks. After a run that the incumbent disturbed, `alone` holds a
    separate run with the incumbent as candidate."""

    version: Literal[3]
    runs: Annotated[list[Evidence], Field(min_length=1, max_length=9)]
    alone: Annotated[list[Evidence | None], Field(max_length=9)]

    @property
    def everything(self) -> list[Evidence]:
        return [*self.runs, *(run for run in self.alone if run is not None)]


class ReportError(ValueError):
    """Evidence that no verdict can be decided from. The text names the reason and the remedy."""


def parse(evidence: object) -> Evidence | Confirmation:
    """Return stored evidence as a model. Raises ReportError if it does not fit this version."""
    if isinstance(evidence, dict) and "runs" in evidence:
        return _parsed(evidence, Confirmation)
    return parse_run(evidence)


def parse_run(evidence: object) -> Evidence:
    """Return the stored evidence of a single run as a model. Raises ReportError if it does not fit this version."""
    return _parsed(evidence, Evidence)


def _parsed(evidence: object, model: type[M]) -> M:
    if not isinstance(evidence, dict):
        raise ReportError(f"evidence: expected an object, got {type(evidence).__name__}")
    version = evidence.get("version")
    if type(version) is not int:
        raise ReportError("evidence.version is missing: the run ended before there was anything to decide from")
    if version < VERSION:
        raise ReportError(
            f"evidence.version is {version}, which was decided by other rules; this runner decides from "
            f"version {VERSION}. Judge the submission again."
        )
    if version > VERSION:
        raise ReportError(f"evidence.version is {version}, this version of Photofinish reads {VERSION}; upgrade it.")
    try:
        return model.model_validate_json(json.dumps(evidence, allow_nan=False))
    except ValidationError as error:
        raise ReportError(explained(error, "evidence")) from None
    except ValueError as error:
        raise ReportError(f"evidence: {error}") from None


def explained(error: ValidationError, name: str) -> str:
    """Return the first few errors as text, each with its place, which begins with `name`."""
    found = error.errors(include_url=False, include_input=False)
    places = [".".join([name, *(str(part)[:PLACE_CHARS] for part in one["loc"])]) for one in found[:MOST_SHOWN]]
    lines = [f"{place}: {one['msg']}" for place, one in zip(places, found, strict=False)]
    more = [f"and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    return "; ".join(lines + more)


def schema() -> dict[str, Any]:
    made: dict[str, Any] = TypeAdapter(Evidence | Confirmation).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Evidence of a Photofinish report, version {VERSION}",
        **made,
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
