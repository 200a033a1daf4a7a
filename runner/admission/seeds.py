"""Tests of seeds on a problem's timed cases: new data for each seed, in tensors only, and the same data again.

Pure, except `draw`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from problems.spec import MODEL, Case, case_name
from runner.judge.cases import fresh_seed
from runner.judge.data.call import Input
from runner.judge.data.error_model import UNIT
from runner.judge.data.layout import DTYPES, Layout, Slot, blaming_the_problem, slots_of
from runner.judge.data.memory import Memory
from runner.judge.trial import Trial
from runner.wire import Expectation

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
            left, right = (given.inputs[slot.input :] for given in (one, other))
            whole = not words or memory.same(left, right, words)
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
