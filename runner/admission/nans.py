"""Search for NaN in a reference's outputs.

A NaN may come from a fault in the problem's data or formula. Every kernel must then copy it, or the problem's own check
refuses even the reference. It may also be intended: it is reported and never fails the test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from runner.admission.report_line import Line
from runner.admission.seeds import as_told
from runner.judge.data.call import Input
from runner.judge.data.error_model import UNIT
from runner.judge.data.layout import returned
from runner.judge.data.memory import Memory

SAID: Final = (
    "Case {case}: {count} of {of} numbers of {what}, which the reference returns, are NaN. A right answer's must be, "
    "too, unless the problem's own check says otherwise. If that is not meant, choose other data, or guard the formula."
)


@dataclass
class Nans:
    """Count of cases with NaN. Call `look` on each case, then `lines`."""

    _cases: int = 0
    _found: int = 0
    _said: str = ""

    def look(self, memory: Memory, given: Input) -> None:
        """Examine a case's expected outputs. Raises NoMemory, OracleFailed."""
        self._cases += 1
        for slot in returned(given.layout):
            if slot.dtype in UNIT and slot.nbytes and (count := memory.nans(slot, given.expected)):
                self._found += 1
                of = math.prod(slot.shape) * (2 if slot.dtype.startswith("complex") else 1)
                self._said = self._said or SAID.format(case=given.case, count=count, of=of, what=as_told(slot))
                return

    def lines(self) -> list[Line]:
        """Return the line about NaN; empty if there is none."""
        if not self._found:
            return []
        return [Line("admission/nan", "numbers", f"NaN in {self._found} of {self._cases} cases", None, self._said)]
