"""`runner replay REPORT.json`: decide again from a report's stored data, and compare with its stored results.

Takes the output of `runner once --json`, a report as it went to the site, or the evidence alone. Recomputed are the
verdict (verdict.py, with the certificate of each case), every ruling on a block and the whole course of each case
(evidence/replay.py), the findings (rules.py), and of a confirmation the record (records.py). There is no measurement,
and the report is the only file that is read.
"""

import json
import math
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.errors import RunnerError
from runner.evidence import records, rules, schema, verdict
from runner.evidence import replay as rerun
from runner.evidence.records import RecordVerdict
from runner.evidence.replay import Difference
from runner.evidence.schema import Confirmation, Evidence, Finding
from runner.evidence.verdict import Verdict
from runner.wire import MOST_RUNS

MOST_BYTES: Final = 64_000_000
MOST_WHOLE: Final = 2**64
# Exceptions of arithmetic over values that each fit the schema: two values contradict each other, or a part without a
# schema (`limits`, `figures`) is not the judge's format.
NONSENSE: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
SAME_AS_PRINTED: Final = 1e-9  # relative: another machine's logarithm may differ in the last bit
COMPARED: Final = ("outcome", "reason", "message", "score_us", "ratio", "half_width", "forgeable")
COPIED: Final = ("telemetry", "epoch", "set_aside")  # in the report as they are in the evidence
BY_COMPARING: Final = "cheaper_precision"  # explain.precision_findings
ADDED_FLAGS: Final = frozenset({"not_certified"})  # by execute.py, from evidence.certified

JSON = dict[str, Any]


class ReplayError(RunnerError):
    """No replay is possible; the text gives the reason and the remedy."""


class _Confirmation(BaseModel):
    """The fields of a report's confirmation that a replay computes with."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    gains: Annotated[list[float], Field(max_length=MOST_RUNS)] = []


class _Told(BaseModel):
    """The fields of a report beside its evidence that a replay compares; any of them may be missing."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    outcome: str = ""
    reason: str = ""
    message: str = ""
    flags: list[str] = []
    score_us: float | None = None
    ratio: float | None = None
    half_width: float | None = None
    forgeable: float | None = None
    telemetry: str = ""
    epoch: str = ""
    set_aside: str = ""
    cases: list[dict[str, bool | float | str | None]] = []
    confirmation: _Confirmation = _Confirmation()


@dataclass(frozen=True)
class Replayed:
    """Results from the evidence, and the differences from the report. `compared`: the file held more than evidence."""

    runs: tuple[Verdict, ...]
    record: RecordVerdict | None
    differences: tuple[Difference, ...]
    compared: bool
    blocks: int  # ruled on again
    summed_up: int = 0  # runs whose samples were not all kept, which are not decided again

    @property
    def same(self) -> bool:
        return not self.differences

    def to_json(self) -> JSON:
        return {
            "same": self.same,
            "compared": self.compared,
            "blocks": self.blocks,
            "summed_up": self.summed_up,
            "runs": [
                {
                    **{name: getattr(decided, name) for name in COMPARED},
                    "flags": list(decided.flags),
                    "cases": [
                        {"case": time.case, "ratio": time.ratio, "measured_us": time.candidate_ns / 1e3}
                        for time in decided.times
                    ],
                }
                for decided in self.runs
            ],
            "record": self.record and self.record.to_json(),
            "differences": [asdict(difference) for difference in self.differences],
        }


def read(path: Path) -> JSON:
    """Return the file as an object in which every number is finite. Raises ReplayError."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ReplayError(f"{path} is no file; save the report in one")
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ReplayError(f"{path} has more than {MOST_BYTES >> 20} MiB; that is no report")
        data = json.loads(text.decode("utf-8"), parse_int=_whole)
        json.dumps(data, allow_nan=False)
    except OSError as error:
        raise ReplayError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ReplayError(f"{path} is not whole JSON ({error}); fetch the report again") from None
    if not isinstance(data, dict):
        raise ReplayError(f"{path}: expected an object with evidence, got {type(data).__name__}")
    return data


def _whole(digits: str) -> int:
    """Parse an integer. Raises ValueError for a size beyond all arithmetic here."""
    value = int(digits)
    if abs(value) > MOST_WHOLE:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return value


def replay(data: JSON) -> Replayed:
    """Replay a report. Raises ReplayError if there is no evidence, or none that this version can decide from."""
    told, evidence = _parts(data)
    if told.get("outcome") == "infra_error":
        raise ReplayError("The host or the problem failed (infra_error); there is no verdict to replay.")
    try:
        _Told.model_validate_json(json.dumps(told))
        parsed = schema.parse(evidence)
    except ValidationError as error:
        raise ReplayError(schema.explained(error, "report")) from None
    except schema.ReportError as error:
        raise ReplayError(str(error)) from None
    try:
        if isinstance(parsed, Confirmation):
            return _confirmation(told, parsed)
        decided, differences = _run(parsed)
        differences += _against_report(told, parsed, decided)
        return Replayed((decided,), None, tuple(differences), bool(told), _blocks(parsed))
    except NONSENSE as error:
        raise ReplayError(f"What is stored contradicts itself, nothing follows from it ({error!r:.300}).") from None


def _parts(data: JSON) -> tuple[JSON, JSON]:
    """Return the report's fields without evidence, empty for bare evidence; and the evidence."""
    data = data["report"] if isinstance(data.get("report"), dict) else data
    if isinstance(data.get("evidence"), dict):
        return {key: value for key, value in data.items() if key != "evidence"}, data["evidence"]
    if "version" in data and "outcome" not in data:
        return {}, data
    raise ReplayError(
        "There is no evidence in it; expected what `runner once --json` prints, or a report from the site."
    )


def _confirmation(told: JSON, evidence: Confirmation) -> Replayed:
    everything = evidence.everything
    whole = [run for run in everything if not run.is_summed_up]
    runs = [_run(run) for run in whole]
    differences = [difference for _, found in runs for difference in found]
    record = None
    if len(whole) == len(everything):
        record = records.decide_record(evidence)
    else:  # the record follows from the stored gains, unless a run failed
        gains = told.get("confirmation", {}).get("gains") or []
        if len(gains) == len(evidence.runs) and all(isinstance(gain, float | int) and gain < 1 for gain in gains):
            left_out = any(one is not None for one in evidence.alone)
            record = records.decide_differences([math.log1p(-gain) for gain in gains], left_out=left_out)
    for name, found in record.to_json().items() if record is not None and "confirmation" in told else ():
        said = told["confirmation"].get(name)
        if not _agree(said, found):
            differences.append(Difference(f"confirmation.{name}", said, found))
    decided = tuple(verdict for verdict, _ in runs)
    summed_up = len(everything) - len(whole)
    return Replayed(decided, record, tuple(differences), bool(told), sum(map(_blocks, whole)), summed_up)


def _run(evidence: Evidence) -> tuple[Verdict, list[Difference]]:
    course = [difference for timing in evidence.timing for difference in rerun.rerun(timing, evidence)]
    return verdict.decide(evidence), [*course, *_findings(evidence)]


def _findings(evidence: Evidence) -> Iterator[Difference]:
    """Compare the findings. The findings of rules.py come last; earlier findings came from comparing outputs, which are
    not stored."""
    found = [_named(finding) for finding in rules.findings(evidence)]
    said = [_named(finding) for finding in evidence.findings]
    split = max(0, len(said) - len(found))
    if said[split:] != found or any(rule != BY_COMPARING for rule, _ in said[:split]):
        yield Difference("findings", said, found)


def _named(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.case


def _against_report(told: JSON, evidence: Evidence, decided: Verdict) -> Iterator[Difference]:
    for source, names in ((decided, COMPARED), (evidence, COPIED)):
        for name in names:
            if name in told and not _agree(told[name], getattr(source, name)):
                yield Difference(name, told[name], getattr(source, name))
    if "cases" in told:
        said, found = told["cases"], list(verdict.shown_cases(evidence, decided))
        if len(said) != len(found):
            yield Difference("cases", len(said), len(found))
        for one, other in zip(said, found, strict=False):
            for name, value in other.items():
                if name not in one or not _agree(one[name], value):
                    yield Difference(f"cases: {other['stage']} {other['name']}: {name}", one.get(name), value)
    if "flags" in told:
        flags = set(decided.flags) | (set() if evidence.certified else ADDED_FLAGS)
        if set(told["flags"]) != flags:
            yield Difference("flags", sorted(told["flags"]), sorted(flags))


def _agree(said: Any, found: Any) -> bool:
    if isinstance(said, list) and isinstance(found, list):
        return len(said) == len(found) and all(map(_agree, said, found))
    numbers = isinstance(said, int | float) and isinstance(found, int | float)
    if numbers and not isinstance(said, bool) and not isinstance(found, bool):
        return math.isclose(said, found, rel_tol=SAME_AS_PRINTED)
    return bool(said == found)


def _blocks(evidence: Evidence) -> int:
    return sum(len(quad.blocks) for timing in evidence.timing for quad in timing.quads)
