"""Test of each output alone: a problem must refuse an answer of which a part was never computed.

The admission test's variants replace all outputs at once. A refusal of one output does not prove that each output is
checked: the problem's own check may never look at it, or its numbers may be so small that the tolerance takes zeros for
them. Here each output of the reference's own answer in turn becomes zeros, in the judge's memory: no call is needed.

A NaN in the reference's outputs may come from a fault in the problem's data or formula. Every kernel must then copy it,
or the problem's own check refuses even the reference. It may also be intended: it is reported and never fails the test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from problems.spec import MODEL
from runner.admission.seeds import WORD, described
from runner.judge.data.call import Call, Input
from runner.judge.data.error_model import UNIT
from runner.judge.data.layout import Buffer, Slot, returned
from runner.judge.data.memory import Memory
from runner.wire import Expectation

if TYPE_CHECKING:
    from runner.judge.trial import Trial

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
                changed_output[slot.output : slot.output + slot.nbytes] = 0
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
    whole = output[slot.output : slot.output + slot.nbytes]
    if slot.dtype not in SIGNED_ZERO:
        return not int(whole.max())
    parts = whole.reshape(-1, SIGNED_ZERO[slot.dtype])
    return not int((parts[:, -1] & 0x7F).max()) and (parts.shape[1] == 1 or not int(parts[:, :-1].max()))


def _first_changed(trial: Trial, given: Input, changed: Sequence[Slot]) -> str:
    """Return the data that a function changes while its result lies elsewhere; not a place that it might have
    filled."""
    for slot in changed:
        words = slot.nbytes // WORD * WORD
        before, after = given.inputs[max(slot.input, 0) :], given.expected[slot.output :]
        if slot.input < 0 or (words and not trial.calls.memory.same(before, after, words)):
            return described(slot)
    return ""
