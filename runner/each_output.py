"""Each output alone: does a problem refuse an answer of which a part was never computed?

The admission test's variants replace all outputs at once; what refuses the one says nothing of another, which the
problem's own check may never look at, or whose numbers are so small that the tolerance takes zeros for them. Here one
output after the other of the reference's own answer is zeros, in the judge's memory: no call is needed for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from problems.spec import MODEL
from runner.judge.call import Call, Input
from runner.judge.layout import ALIGN, Slot, returned
from runner.judge.memory import Buffer
from runner.line import Line

if TYPE_CHECKING:
    from runner.judge.trial import Trial

NAME: Final = "admission/each_output"
IN_PLACE: Final = "admission/in_place"
MOST: Final = 8  # outputs of one case: each is checked by itself
PLACE: Final = 1  # of the judge's buffer for what was changed; 0 has the answer
ACCEPTED: Final = (
    "Of output {number} of {count} ({shape}) zeros are accepted, as long as the others are right: nobody need compute "
    "it. Let the check look at it, tighten the tolerance, or return it no more."
)
CHANGED: Final = (
    "The reference changes this part of its data and does not return it: every kernel must change it in the same way. "
    "If that is not meant, let the reference work on a copy."
)


@dataclass
class _Asked:
    """One output, over all cases. `secret`: of the times it was asked about, on data that no submission knows;
    `was_more`: was it ever anything but zeros?"""

    said: str
    was_more: bool = False
    wrong: int = 0
    secret: int = 0
    secret_wrong: int = 0

    @property
    def is_refused(self) -> bool:
        return self.secret_wrong > 0 if self.secret else self.wrong > 0


@dataclass
class EachOutput:
    """`ask` after each right answer of the reference, then `lines`."""

    _in_place: str = ""  # what is changed and not returned, though something is
    _asked: dict[int, _Asked] = field(default_factory=dict)  # by the output's number among the layout's

    def ask(self, trial: Trial, given: Input, call: Call, output: Buffer, *, public: bool) -> None:
        """Raises OracleFailed."""
        candidates = _answers(trial, given)
        self._in_place = self._in_place or _unreturned(trial, given)
        if len(candidates) < 2:
            return  # the variants themselves ask about it
        for number in sorted(trial.chance.sample(sorted(candidates), min(MOST, len(candidates)))):
            slot = candidates[number]
            said = ACCEPTED.format(number=number + 1, count=len(given.layout.outputs), shape=_shape(slot))
            one = self._asked.setdefault(number, _Asked(said))
            is_zero = not int(output[slot.output : slot.output + slot.nbytes].max())
            is_wrong = not is_zero and not self._is_right_without(slot, trial, given, call, output)
            one.was_more |= not is_zero
            one.wrong += is_wrong
            one.secret += not public
            one.secret_wrong += is_wrong and not public

    def _is_right_without(self, slot: Slot, trial: Trial, given: Input, call: Call, output: Buffer) -> bool:
        changed = trial.buffer(PLACE, given.layout.output_bytes)
        trial.memory.copy(changed, output, given.layout.output_bytes)
        trial.memory.fill(changed[slot.output :], -(-slot.nbytes // ALIGN) * ALIGN, 0)
        return trial.judge_output(given, call, changed, public=True)["good"] is True

    def lines(self) -> list[Line]:
        """None where there was never more than one output that is not always zeros, and nothing else is changed."""
        return self._each() + self._by_the_way()

    def _by_the_way(self) -> list[Line]:
        got = f"changed, not returned: {self._in_place}"
        return [Line(IN_PLACE, "returned", got, None, CHANGED)] if self._in_place else []

    def _each(self) -> list[Line]:
        asked = {number: one for number, one in sorted(self._asked.items()) if one.was_more}
        if not asked:
            return []
        accepted = [number for number, one in asked.items() if not one.is_refused]
        got = f"wrong, each of {len(asked)}"
        if accepted:
            got = f"accepted without output {', '.join(str(number + 1) for number in accepted)}"
        explained = asked[accepted[0]].said if accepted else ""
        return [Line(NAME, "wrong", got, not accepted, explained)]


def _answers(trial: Trial, given: Input) -> dict[int, Slot]:
    """The outputs that a kernel must compute, by their numbers. What is changed in place and not returned is scratch
    where the problem has a check of its own, which never sees it."""
    outputs = {number: slot for number, slot in enumerate(given.layout.outputs) if slot.nbytes}
    if not trial.oracle.checks:
        return outputs
    wanted = returned(given.layout)
    return {number: slot for number, slot in outputs.items() if slot.output in wanted}


def _unreturned(trial: Trial, given: Input) -> str:
    """What a function changes in place while its result is something else; a Model's own state is no accident."""
    wanted = returned(given.layout)
    if not wanted or trial.oracle.checks or trial.problem.interface == MODEL:
        return ""
    return next((_shape(slot) for slot in given.layout.outputs if slot.nbytes and slot.output not in wanted), "")


def _shape(slot: Slot) -> str:
    return f"{slot.dtype} {list(slot.shape)}"
