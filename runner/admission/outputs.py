"""Tests of a problem's timed data and of each of its outputs.

Seeds: new data for each seed, in tensors only, and the same data again.

Outputs: a problem must refuse an answer of which a part was never computed. The admission test's variants replace all
outputs at once, so their refusal does not prove that each output is checked. Here each output of the reference's own
answer in turn becomes zeros, in the judge's memory: no call is needed. A NaN in the reference's outputs may come from a
fault in the problem's data or formula, or be intended: it is reported and never fails the test.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from problems.spec import MODEL, Case, case_name
from runner.judge.cases import fresh_seed
from runner.judge.data.call import Call, Input
from runner.judge.data.error_model import UNIT
from runner.judge.data.layout import DTYPES, Buffer, Layout, Slot, blaming_the_problem, returned, slots_of
from runner.judge.data.memory import Memory
from runner.judge.data.ranks import part_of
from runner.judge.trial import Trial
from runner.wire import Expectation

NAME: Final = "admission/each_output"
IN_PLACE: Final = "admission/in_place"
MOST: Final = 8  # outputs of a case: each is checked by itself
# Bytes of a number whose highest bit is the sign of a zero, too.
SIGNED_ZERO: Final = {
    **dict.fromkeys(("float64", "complex128"), 8),
    **dict.fromkeys(("float32", "complex64"), 4),
    **dict.fromkeys(("float16", "bfloat16", "complex32"), 2),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2"), 1),
}
PLACE: Final = 1  # of the judge's buffer for the changed answer; 0 has the answer
ACCEPTED: Final = (
    "Of output {number} of {count} ({shape}) zeros are accepted, as long as the others are right: nobody need compute "
    "it. Let the check look at it, tighten the tolerance, or return it no more."
)
CHANGED: Final = (
    "The reference changes this part of its data and does not return it: every kernel must change it in the same way. "
    "If that is not meant, let the reference work on a copy."
)
NAN: Final = (
    "Case {case}: {count} of {of} numbers of {what}, which the reference returns, are NaN. A right answer's must be, "
    "too, unless the problem's own check says otherwise. If that is not meant, choose other data, or guard the formula."
)


@dataclass
class Count:
    """Count of answers: all, wrong answers, answers on secret data, and wrong answers among them."""

    called: int = 0
    wrong: int = 0
    secret: int = 0
    secret_wrong: int = 0

    def add(self, *, wrong: bool, public: bool) -> None:
        self.called += 1
        self.wrong += wrong
        self.secret += not public
        self.secret_wrong += wrong and not public

    @property
    def is_refused(self) -> bool:
        return self.secret_wrong > 0 if self.secret else self.wrong > 0


@dataclass
class _Asked(Count):
    """Result of an output, its `number` from 0, over all cases. `was_more`: whether it ever differed from zeros."""

    number: int = 0
    said: str = ""
    was_more: bool = False


@dataclass
class EachOutput:
    """Test of each output. Call `look` on each case, `ask` after each right reference answer, then `lines`."""

    _cases: int = 0
    _nan_cases: int = 0
    _nan: str = ""  # the first NaN, as a sentence
    _in_place: str = ""  # data that are changed and not returned, though the function returns a result
    _asked: dict[tuple[str, int, int], _Asked] = field(default_factory=dict)  # by kind, number and count

    def look(self, memory: Memory, given: Input) -> None:
        """Look for NaN in a case's expected outputs. Raises NoMemory, OracleFailed."""
        self._cases += 1
        for slot in returned(given.layout):
            if slot.dtype in UNIT and slot.nbytes and (count := memory.nans(slot, given.expected)):
                self._nan_cases += 1
                of = math.prod(slot.shape) * (2 if slot.dtype.startswith("complex") else 1)
                self._nan = self._nan or NAN.format(case=given.case, count=count, of=of, what=described(slot))
                return

    def ask(self, trial: Trial, given: Input, call: Call, output: Buffer, *, public: bool) -> None:
        """Test the outputs of a right answer with zeros. Raises OracleFailed."""
        wanted = [slot for slot in returned(given.layout) if slot.nbytes]
        changed = [slot for slot in given.layout.outputs if not any(slot.overlaps(other) for other in wanted)]
        if wanted and not trial.calls.oracle.checks and trial.problem.interface != MODEL:
            self._in_place = self._in_place or _first_changed(trial, given, changed)
        # The problem's own check never sees data that are changed in place and not returned.
        if not trial.calls.oracle.checks:
            wanted += [slot for slot in changed if slot.nbytes]
        if len(wanted) < 2:
            return  # the variants themselves test a single output
        for number in sorted(trial.calls.chance.sample(range(len(wanted)), min(MOST, len(wanted)))):
            slot = wanted[number]
            said = ACCEPTED.format(number=number + 1, count=len(wanted), shape=described(slot))
            kind = f"{slot.dtype} {len(slot.shape)}"
            one = self._asked.setdefault((kind, number, len(wanted)), _Asked(number=number, said=said))
            was_zero, is_wrong = is_zero(slot, output), False
            if not was_zero:
                changed_output = trial.calls.buffer(PLACE, given.layout.output_bytes)
                trial.calls.memory.copy(changed_output, output, given.layout.output_bytes)
                part_of(changed_output, slot.rank)[slot.output : slot.output + slot.nbytes] = 0
                is_wrong = trial.calls.judge_output(given, call, changed_output, public=True).good is not True
            one.was_more |= not was_zero
            one.add(wrong=is_wrong, public=public)

    def lines(self) -> list[Expectation]:
        """Return the results; empty if no case has a second output that is not always zeros, no other data are changed,
        and no number is NaN."""
        found = []
        if asked := [one for one in self._asked.values() if one.was_more]:
            accepted = sorted((one for one in asked if not one.is_refused), key=lambda one: one.number)
            got = f"wrong, each of {len({one.number for one in asked})}"
            if accepted:
                got = f"accepted without output {', '.join(str(one.number + 1) for one in accepted)}"
            found.append(Expectation(NAME, "wrong", got, not accepted, accepted[0].said if accepted else ""))
        if self._in_place:
            got = f"changed, not returned: {self._in_place}"
            found.append(Expectation(IN_PLACE, "returned", got, None, CHANGED))
        if self._nan:
            got = f"NaN in {self._nan_cases} of {self._cases} cases"
            found.append(Expectation("admission/nan", "numbers", got, None, self._nan))
        return found


def is_zero(slot: Slot, output: Buffer) -> bool:
    """Return whether the output is all zeros, including -0.0."""
    whole = part_of(output, slot.rank)[slot.output : slot.output + slot.nbytes]
    if slot.dtype not in SIGNED_ZERO:
        return not int(whole.max())
    parts = whole.reshape(-1, SIGNED_ZERO[slot.dtype])
    return not int((parts[:, -1] & 0x7F).max()) and (parts.shape[1] == 1 or not int(parts[:, :-1].max()))


def _first_changed(trial: Trial, given: Input, changed: Sequence[Slot]) -> str:
    """Return the data that a function changes while its result lies elsewhere; not a place that it might have
    filled."""
    for slot in changed:
        words = slot.nbytes // WORD * WORD
        inputs, expected = (part_of(buffer, slot.rank) for buffer in (given.inputs, given.expected))
        before, after, memory = inputs[max(slot.input, 0) :], expected[slot.output :], trial.calls.memory.of(slot.rank)
        if slot.input < 0 or (words and not memory.same(before, after, words)):
            return described(slot)
    return ""


SAID_CHARS: Final = 400
SAME_DATA, OTHER_DATA = "the same data", "other data"
WORD: Final = 8  # bytes compared at a time
SAME: Final = (
    "Every timed case gives the same data whatever the seed, such as {case}: what is known beforehand need not be "
    "computed. Let generate_input take a parameter `seed` and draw from it."
)
VALUES: Final = frozenset(("value", "special"))  # kinds of node: see sandbox/inside/tree.py
KEYED: Final = frozenset(("dict", "ordered"))
ABSENT: Final = {"kind": "absent"}
PLAIN: Final = (
    "Of the timed case {case}, {place} is not in a tensor and differs from seed to seed: it is handed over before the "
    "clock starts, and what follows from it alone could be computed then. Put it into a tensor."
)
UNSEEDED: Final = (
    "Of the timed case {case}, nothing that changes with the seed comes again with the same one: what became of a "
    "result could not be looked into. Draw from generators that `seed` was put into."
)
FIXED: Final = (
    "In the timed case {case} this part of the data was the same with three seeds: what follows from it alone may be "
    "kept from call to call, or known beforehand. If that is not meant, draw it from `seed`, too."
)
FIXED_TOLD: Final = 4  # tensors


@dataclass(frozen=True)
class Drawn:
    """Effect of two seeds on a timed case.

    `plain`: the place of a value outside tensors that differs; else "". `again`: whether any data that change with the
    seed came again with the same seed; None if no data changed. `eager_ns`: the reference's own time, the least seen.
    `fixed`: read-only tensors that are the same although other tensors change; first the tensors that near-duplicates
    never change.
    """

    case: Case
    varied: bool
    plain: str
    again: bool | None = None
    eager_ns: int = 0
    fixed: tuple[Slot, ...] = ()


def draw(trial: Trial, case: Case) -> Drawn:
    """Draw two seeds, and the first of them again; a third if a tensor seems to follow no seed. Raises OracleFailed."""
    oracle, memory, seed = trial.calls.oracle, trial.calls.memory, fresh_seed(trial.calls.chance)
    one, other = (oracle.make(case, number) for number in (seed, fresh_seed(trial.calls.chance)))
    alike = one.layout == other.layout and memory.same(one.inputs, other.inputs, one.layout.input_bytes)
    plain, changed = moved(one.layout, other.layout), set(_unlike(memory, one, other))
    oracle.release(other)
    eager_ns = min(one.eager_ns, other.eager_ns)
    if alike:
        oracle.release(one)
        return Drawn(case, varied=False, plain="", eager_ns=eager_ns)
    again = oracle.make(case, seed)
    followed = not changed <= set(_unlike(memory, one, again))
    oracle.release(again)
    fixed = _given(one.layout, trial.problem.interface) - changed
    if fixed:
        third = oracle.make(case, fresh_seed(trial.calls.chance))
        fixed -= set(_unlike(memory, one, third))
        oracle.release(third)
    oracle.release(one)
    same = [one.layout.slots[number] for number in sorted(fixed)]  # first, what sandbox/inside/oracle.py never changes
    same.sort(key=lambda slot: slot.dtype in UNIT and DTYPES[slot.dtype][0] > 1)
    eager_ns = min(eager_ns, again.eager_ns)
    return Drawn(case, varied=True, plain=plain, again=followed, eager_ns=eager_ns, fixed=tuple(same))


def _unlike(memory: Memory, one: Input, other: Input) -> Iterator[int]:
    """Yield the numbers of the tensors that differ in any bit. Unwritten tensors, such as scratch, always differ."""
    slots, others = one.layout.slots, other.layout.slots
    for number, slot in enumerate(slots):
        is_there = len(slots) == len(others) and slot == others[number]
        if not is_there:
            yield number
        elif slot.input >= 0:
            words, end = slot.nbytes // WORD * WORD, slot.nbytes
            left, right = (part_of(given.inputs, slot.rank)[slot.input :] for given in (one, other))
            whole = not words or memory.of(slot.rank).same(left, right, words)
            if not whole or not bool((left[words:end] == right[words:end]).all()):
                yield number


def _given(layout: Layout, interface: str) -> set[int]:
    """Return the slots that a submission reads and no code writes to. A model's weights are drawn anew for each run."""
    with blaming_the_problem():
        data = json.loads(layout.text)
        node = dict(data["data"]["of"])["inputs"] if interface == MODEL else data["data"]
        numbers = {data["slots"][number].get("of", number) for number in slots_of(node)}
        return {number for number in numbers if layout.slots[number].input >= 0 > layout.slots[number].output}


def described(slot: Slot) -> str:
    """Return a tensor's kind and shape for a sentence."""
    return f"{slot.dtype} {list(slot.shape)}"


def moved(one: Layout, other: Layout) -> str:
    """Return the place of the first value outside tensors, or key, that differs; "" if none does. Raises
    OracleFailed."""
    with blaming_the_problem():
        return _moved(json.loads(one.text)["data"], json.loads(other.text)["data"], "data")


def _moved(one: dict[str, Any], other: dict[str, Any], place: str) -> str:
    """Compare two nodes of sandbox/inside/tree.py. The number of tensors in a list is one of its sizes."""
    kinds, parts, others = {one["kind"], other["kind"]}, _parts(one), _parts(other)
    if (kinds & VALUES and one != other) or (kinds & KEYED and parts.keys() != others.keys()):
        return place
    found = (_moved(parts.get(key, ABSENT), others.get(key, ABSENT), f"{place}[{key!r:.40}]") for key in parts | others)
    return next(filter(None, found), "")


def _parts(node: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    of = node.get("of", [])
    return dict(enumerate(of)) if node["kind"] in ("tuple", "list", "size") else dict(of)


def seeded(drawn: Sequence[Drawn]) -> Expectation:
    """Check that timed data are fresh each time."""
    same = () if any(one.varied for one in drawn) else drawn
    return _line(
        "admission/seeds", OTHER_DATA, SAME_DATA, drawn, [SAME.format(case=case_name(one.case)) for one in same]
    )


def repeatable(drawn: Sequence[Drawn]) -> Expectation:
    """Check that the same data can be made again. Cases that no seed changes are left to `seeded`."""
    asked = [one for one in drawn if one.again is not None]
    lost = () if any(one.again for one in asked) else asked
    said = [UNSEEDED.format(case=case_name(one.case)) for one in lost]
    return _line("admission/again", SAME_DATA, OTHER_DATA, asked, said)


def plain_stays(drawn: Sequence[Drawn]) -> Expectation:
    """Check that no fresh value is known before the clock starts."""
    said = [PLAIN.format(case=case_name(one.case), place=one.plain[:SAID_CHARS]) for one in drawn if one.plain]
    return _line("admission/plain", "the same", "other values", drawn, said)


def fixed(drawn: Sequence[Drawn]) -> list[Expectation]:
    """Return a line on fixed tensors; empty if all tensors follow the seed, or none does."""
    for one in drawn:
        if one.fixed:
            told = ", ".join(map(described, one.fixed[:FIXED_TOLD])) + (", …" if len(one.fixed) > FIXED_TOLD else "")
            said = FIXED.format(case=case_name(one.case))
            return [Expectation("admission/fixed", OTHER_DATA, f"the same: {told}", None, said)]
    return []


def _line(name: str, wanted: str, unwanted: str, asked: Sequence[Drawn], said: Sequence[str]) -> Expectation:
    """Return a line. `said` holds the faults, of which the first is shown; empty if all is well."""
    if not asked:
        return Expectation(name, wanted, "not tried", None)
    return Expectation(name, wanted, unwanted if said else wanted, not said, "".join(said[:1]))
