"""Admission test: a problem must refuse wrong answers and leave honest code its margin.

Variants of the problem's own reference (problems/library/admission.py) answer the same inputs, the inputs of a
submission's check, in one set of containers. Zeros, ones, the best constant, the input, the previous output and, unless
legal, half precision must be refused at least once on secret data: a submission knows the public cases and could answer
honestly there alone. The reference must pass everywhere, also with four times the error of its working precision, and
the baseline must pass too, because every submission is timed beside it. seeds.py tests how the data follow the seed.
Timed outputs must also vary: if a constant or the last output comes within NEAR of the expected output on every timed
case, the problem is marked, and boards can leave it out.

Except for the walk over the cases (`examine`) this module is pure.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import problems
from problems.spec import MODEL, Problem, case_name
from runner.admission import outputs
from runner.admission.outputs import SAID_CHARS, Count, EachOutput
from runner.evidence import speed_of_light
from runner.evidence.schedule import A, B
from runner.evidence.schema import Check
from runner.judge.calls import Stage
from runner.judge.cases import Planned, fresh_seed, plan_checks
from runner.judge.data import faults
from runner.judge.data.faults import Fault, OracleFailed, OracleFull, TooLarge
from runner.judge.data.memory import NoMemory
from runner.judge.trial import Trial
from runner.wire import ADMISSION_CHECKS, Expectation

MARGIN: Final = 4.0  # times the error of the working precision, in the variant `margin`
NEAR: Final = 0.01  # relative L2 distance below which an output counts as equal to the last output, or to a constant
HONEST: Final = "reference"
MUST_PASS: Final = (HONEST, "margin")
MUST_FAIL: Final = ("zeros", "ones", "constant", "input", "previous", "half")
MAY_NOT_APPLY: Final = ("input", "previous", "half", "margin")
GUESSES: Final = ("constant", "previous")
HALF_NAMES: Final = ("fp16", "bf16")
NEAR_CONSTANT: Final = "near_constant"
SOURCE: Final = Path(problems.__file__).parent / "library" / "admission.py"
CALL_S: Final = 60.0  # limit of a call: more than a submission's, since it solves twice and copies
BASELINE: Final = "baseline"
EXPLAINED: Final = {
    "reference": "The problem's own reference must pass its own check, on every case and with nothing to hold it.",
    "margin": "The tolerance leaves honest code less than four times its rounding error; widen it.",
    "half": "Half the inputs' precision passes (fp32 for float64, fp16 for float32): tighten the tolerance, or declare "
    "it, such as precision.legal: [fp16].",
    BASELINE: "Every submission is timed beside the baseline: it must load, and be right in every case.",
}
TF32: Final = "tf32"
NO_ROOM: Final = (
    "with these inputs and outputs too little of this hardware's memory is left for the judge and the reference; "
    "choose smaller sizes, or hardware with more memory"
)
ACCEPTS_HALF: Final = "accepts_half"
HALF_ACCEPTED: Final = (
    "The problem's own tolerance accepts half the inputs' precision. That is no fault, and its page says it. Write "
    "precision.strict: true to have the test refuse it."
)
LIKE_TF32: Final = "TF32 is legal here, and keeps as few digits as half precision does."
ACCEPTED: Final = "A problem that accepts this is refused: its cases or its check cannot tell it from an answer."
TOO_MUCH: Final = (
    "{case}: by what is declared no kernel here can take less than {least}, and the reference took {took}: declare "
    "fewer bytes or operations."
)
PUBLIC_ONLY: Final = (
    "Only public cases refuse this, and a submission knows those: let `fuzz` draw such data, or time a case with it."
)


@dataclass(frozen=True)
class Admission:
    """Result of an admission test. `margin`: the least multiple of its rounding error that honest code may have."""

    lines: tuple[Expectation, ...]
    marks: tuple[str, ...] = ()
    cases: int = 0
    margin: float | None = None

    @property
    def passed(self) -> bool:
        return bool(self.lines) and all(line.good is not False for line in self.lines)

    @property
    def sentence(self) -> str:
        bad = [line.name.removeprefix("admission/") for line in self.lines if line.good is False]
        return f"The admission test failed: {', '.join(bad)}." if bad else ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of Report.admission."""
        told = {"passed": self.passed, "marks": list(self.marks), "cases": self.cases, "margin": self.margin}
        return {**told, "lines": [line.to_json() for line in self.lines]}


@dataclass
class Tally(Count):
    """Results of a variant. `refused`: its first refusal, as a sentence; `shares`: each error over its limit."""

    refused: str = ""
    not_applicable: str = ""
    fault: str = ""
    held: set[str] = field(default_factory=set)
    shares: list[float] = field(default_factory=list)
    far: dict[str, float] = field(default_factory=dict)  # by timed case: relative L2 distance, the least seen
    own_check: bool = False  # whether the problem's own check decided; our figures are then no measure of its margin

    def judged(self, check: Check, held: set[str], timed: str) -> None:
        """Add an output. `timed`: the name of the timed case that it belongs to, if any."""
        self.add(wrong=not check.good, public=check.public)
        self.held |= held
        if not check.good:
            self.refused = self.refused or check.message
        for figures in () if self.own_check else check.figures:  # of its worst element, or as a whole
            self.shares += [] if figures["worst_share"] is None else [figures["worst_share"]]
            if figures["relative_l2"] is not None and figures["limit_l2"]:
                self.shares.append(figures["relative_l2"] / figures["limit_l2"])
        if timed:
            distances = [1.0 if one["relative_l2"] is None else one["relative_l2"] for one in check.figures]
            far = 0.0 if check.good else max(distances, default=1.0)
            self.far[timed] = max(self.far.get(timed, 0.0), far)

    def failed(self, fault: Fault, *, public: bool = True) -> None:
        if "NotApplicable: " in fault.message:
            self.not_applicable = fault.message.strip().rpartition("NotApplicable: ")[2][:SAID_CHARS]
            return
        self.add(wrong=fault.outcome == "wrong", public=public)
        if fault.outcome == "wrong":
            self.refused = self.refused or fault.message
        else:
            self.fault = self.fault or f"{fault.outcome} ({fault.reason}): {fault.message.strip()[-SAID_CHARS:]}"

    @property
    def margin(self) -> float | None:
        """Allowed multiple of the error of the working precision; None if every output was exact."""
        worst = max(self.shares, default=0.0)
        return MARGIN / worst if worst > 0 else None


def variants(problem: Problem) -> tuple[str, ...]:
    legal = problem.precision.legal if problem.precision else ()
    half_is_legal = not set(HALF_NAMES).isdisjoint(legal)
    return tuple(one for one in (*MUST_PASS, *MUST_FAIL) if one != "half" or not half_is_legal)


def source(problem: Problem, turns: tuple[str, ...]) -> str:
    """Return a submission whose calls are answered by `turns` in rotation."""
    reference, answer = problem.files["reference.py"], "model()" if problem.interface == MODEL else "kernel"
    legal = problem.precision.legal if problem.precision else ()
    text = SOURCE.read_text("utf-8")
    docstring = ast.parse(text).body[0]  # it describes the lines before it
    text = "\n".join(text.splitlines()[docstring.end_lineno :])
    return f"REFERENCE = {reference!r}\nTURNS = {turns!r}\nLEGAL = {legal!r}\n{text}\n{problem.entry} = {answer}\n"


def plan(problem: Problem, trial: Trial) -> list[Planned]:
    """Return the cases of a submission's check, then each timed case again: the last output must have its shape."""
    again = [Planned(dict(case), fresh_seed(trial.calls.chance), public=False) for case in problem.benchmarks]
    return plan_checks(problem, trial.calls.chance) + again


def examine(trial: Trial, hard_ns: Mapping[str, float] | None = None) -> Admission:
    """Load the problem and run every variant on every case.

    `hard_ns`: by timed case, the hard bound from the problem's speed of light, if it is known. Raises OracleFailed.
    """
    problem = trial.problem
    turns = variants(problem)
    tallies = {name: Tally() for name in turns}
    planned = plan(problem, trial)
    drawn: list[outputs.Drawn] = []
    beside = Tally() if A in trial.calls.sides else None
    each = EachOutput()
    limit_s = ADMISSION_CHECKS * problem.test_timeout_s
    stage = Stage("The admission test", limit_s, trial.calls.oracle.asked, CALL_S)
    try:
        trial.load(source(problem, turns))
        trial.load_oracle()
        drawn = [outputs.draw(trial, case) for case in problem.benchmarks]
        if beside is not None:
            try:
                trial.load_baseline()
            except OracleFailed as err:
                beside.fault = str(err)[:SAID_CHARS]
        for done, one in enumerate(planned):
            trial.emit("checking", "", {"done": done, "total": len(planned)})
            _take_turns(trial, one, tallies, each, beside, stage)
    except (NoMemory, OracleFull):
        raise TooLarge(NO_ROOM) from None
    except Fault as fault:  # the container is gone, or the time
        if not any(tally.fault for tally in tallies.values()):
            tallies["reference"].failed(fault)
    if beside is not None:
        tallies[BASELINE] = beside
    return conclude(problem, tallies, each, cases=len(planned), drawn=drawn, hard_ns=hard_ns)


def _take_turns(
    trial: Trial, one: Planned, tallies: dict[str, Tally], each: EachOutput, beside: Tally | None, stage: Stage
) -> None:
    """Run all variants on an input, then the baseline. Raises Fault if the tenant can take no more orders."""
    fp64 = trial.calls.rule(one.case).fp64(timed=False)
    given = trial.calls.oracle.make(one.case, one.seed, fp64=fp64)
    arguments = {**one.case, "seed": None}
    same = [case for case in trial.problem.benchmarks if {**case, "seed": None} == arguments]
    timed = case_name(same[0]) if same else ""
    each.look(trial.calls.memory, given)
    for name, tally in tallies.items():
        trial.recorder.take_findings()
        try:
            call, output = trial.calls.call(B, given, stage, 0, public=True)
        except Fault as fault:
            tally.failed(fault, public=one.public)
            if not faults.obeys_after(fault):
                raise
            continue
        check = trial.calls.judge_output(given, call, output, public=True)
        check.public = one.public
        tally.own_check = trial.calls.oracle.checks
        tally.judged(check, {finding.rule for finding in trial.recorder.take_findings()}, timed)
        if name == HONEST and check.good:
            each.ask(trial, given, call, output, public=one.public)
    if beside is not None and not beside.fault:
        try:  # it must only be right: no rule holds our own code
            call, output = trial.calls.call(A, given, stage, 0, public=True)
            beside.judged(trial.calls.judge_output(given, call, output, public=True, side=A), set(), "")
        except OracleFailed as err:
            beside.fault = f"Case {given.case}: {err}"[:SAID_CHARS]
    trial.calls.oracle.release(given)


def conclude(
    problem: Problem,
    tallies: dict[str, Tally],
    each: EachOutput | None = None,
    *,
    cases: int,
    drawn: Sequence[outputs.Drawn] = (),
    hard_ns: Mapping[str, float] | None = None,
) -> Admission:
    """Return the result. `drawn` has an entry for every timed case; it is empty if the draw was not tried."""
    tf32 = problem.precision is not None and TF32 in problem.precision.legal
    strict = problem.precision is not None and problem.precision.strict
    lines = (
        declared(problem, drawn, hard_ns or {}),
        outputs.seeded(drawn),
        outputs.repeatable(drawn),
        outputs.plain_stays(drawn),
        *outputs.fixed(drawn),
        *(
            line(name, tally, tf32=tf32, lenient=not strict and (tally.own_check or problem.tolerance is not None))
            for name, tally in tallies.items()
        ),
        *(each.lines() if each is not None else ()),
    )
    margin = tallies["margin"].margin if "margin" in tallies else None
    timed = {case_name(case) for case in problem.benchmarks}
    near = [any(tallies[guess].far.get(name, 1.0) <= NEAR for guess in GUESSES if guess in tallies) for name in timed]
    marks = [NEAR_CONSTANT] if near and all(near) else []
    if any(one.explained == HALF_ACCEPTED for one in lines):
        marks.append(ACCEPTS_HALF)
    return Admission(lines, tuple(marks), cases, margin)


def declared(problem: Problem, drawn: Sequence[outputs.Drawn], hard_ns: Mapping[str, float]) -> Expectation:
    """Check that the speed of light of each timed case can be computed from the problem's declaration, and that the
    reference itself did not beat it."""
    wrong = speed_of_light.faults(problem) if problem.speed_of_light else []
    for one in drawn:
        bound_ns = hard_ns.get(case_name(one.case), 0.0)
        if 0 < one.eager_ns < speed_of_light.CERTAIN * bound_ns:
            took, least = (f"{ns / 1e3:.3g} µs" for ns in (one.eager_ns, bound_ns))
            wrong.append(TOO_MUCH.format(case=case_name(one.case), took=took, least=least))
    got = "wrong" if wrong else "declared" if problem.speed_of_light else "not declared"
    return Expectation(
        "speed_of_light", "declared", got, not wrong if problem.speed_of_light else None, "; ".join(wrong)[:SAID_CHARS]
    )


def line(variant: str, tally: Tally, *, tf32: bool = False, lenient: bool = False) -> Expectation:
    """Return the line of a variant: its result against the requirement.

    `tf32`: it is legal, and indistinguishable from half precision. `lenient`: half precision that the problem's own
    tolerance accepts is a warning.
    """
    must_pass = variant in (*MUST_PASS, BASELINE)
    name, expected = f"admission/{variant}", "accepted" if must_pass else "wrong"
    figures = {"called": tally.called, "refused": tally.wrong, "margin": tally.margin if variant in MUST_PASS else None}
    if tally.fault:
        return Expectation(name, expected, "failed", False, tally.fault, figures)
    if not tally.called:
        why = tally.not_applicable or "it was never called: the test ended before"
        good = None if variant in MAY_NOT_APPLY and tally.not_applicable else False
        return Expectation(name, expected, "does not apply" if good is None else "not tried", good, why, figures)
    if variant == "half" and (tf32 or lenient) and not tally.is_refused:
        why = LIKE_TF32 if tf32 else HALF_ACCEPTED
        return Expectation(name, expected, _got(variant, tally), None, why, figures)
    good = not tally.wrong and not tally.held if must_pass else tally.is_refused
    why = PUBLIC_ONLY if variant in MUST_FAIL and tally.wrong else EXPLAINED.get(variant, ACCEPTED)
    why += f" It says: {tally.refused[:SAID_CHARS]}" if tally.refused else ""
    return Expectation(name, expected, _got(variant, tally), good, "" if good else why, figures)


def _got(variant: str, tally: Tally) -> str:
    if tally.wrong:
        return f"wrong in {tally.wrong} of {tally.called} cases"
    got = f"passed {tally.called} cases"
    if tally.held:
        got += f", held: {', '.join(sorted(tally.held))}"
    if variant == "margin" and not tally.own_check:
        got += f", margin {tally.margin:.3g}×" if tally.margin else ", nothing is rounded"
    return got
