"""Plan of the judge's memory for a case. Pure.

Where memory is short, the judge gives up in this order, and refuses only then (docs/how-it-measures.md#room):

1. buffers that it would keep for the next inputs while the oracle works. This costs time outside the clocks alone;
2. calls of a block, down to one call;
3. near-duplicates of inputs (`near`);
4. comparisons of timed outputs with double precision (`strict`);
5. exact repeats of inputs (`repeats`).

The evidence names 3 to 5, which weaken a defence. Places need no memory of their own: they lie in the part of a region
that the data leave free.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Final

from runner.judge.data.layout import Layout
from sandbox.protocol import WIDE_MOST_BYTES

PLACES: Final = 16  # of a case's data in the two regions of a container
SPARE: Final = 1 / 16  # of the free memory stays free: allocators round up, and code grows
CODE: Final = 1 / 16  # of the memory that was free before any code ran: a side's libraries and workspaces
MOST_AT_ONCE: Final = 1 << 20  # calls of a block where nothing else bounds them
GIB: Final = 1 << 30


@dataclass(frozen=True)
class Sizes:
    """Bytes of a call's inputs and outputs, of a block's outputs in double precision, and of what else each call holds
    until it is compared: data of the oracle for the problem's own check, outputs in double precision where all calls
    are compared with them."""

    inputs: int = 0
    outputs: int = 0
    doubles: int = 0
    held: int = 0

    @classmethod
    def of(cls, layout: Layout, *, own_check: bool, all_doubles: bool = False) -> Sizes:
        """Return the sizes of a call. With `own_check` the oracle keeps the data: inputs, and places of outputs. With
        `all_doubles` each call is compared with double precision, else one of a block."""
        once = layout.wide_places()[1]
        fitting = [size for size in (2 * once, once) if size <= WIDE_MOST_BYTES]  # with their spreads, without, or none
        held = layout.input_bytes + sum(slot.nbytes for slot in layout.outputs if slot.input < 0)
        doubles, held = max(fitting, default=0), held if own_check else 0
        if all_doubles:
            doubles, held = 0, held + doubles
        return cls(layout.input_bytes, layout.output_bytes, doubles, held)

    def most(self, other: Sizes) -> Sizes:
        """Return sizes that hold both."""
        return Sizes(*map(max, astuple(self), astuple(other)))

    @property
    def kept(self) -> int:
        """Bytes of one call until its block is compared: the judge's inputs, expected outputs and outputs, and what
        else it holds."""
        return self.inputs + 2 * self.outputs + self.held

    def of_a_side(self, start: int) -> int:
        """Return the bytes that honest code may take beside its regions, of `start` that were free before it ran: a
        copy of the inputs, a result, as much in between, and libraries."""
        return self.inputs + 2 * self.outputs + int(start * CODE)


@dataclass(frozen=True)
class Plan:
    """Blocks of a case: calls at most, further calls on inputs that come again, and strict comparisons.

    `keeps`: buffers wait for the next inputs while the oracle works; else the judge frees them first.
    """

    calls: int
    near: bool = True
    strict: bool = True
    repeats: bool = True
    keeps: bool = True

    @property
    def given_up(self) -> list[str]:
        """Defences that the case does without, as the evidence names them."""
        return [name for name in ("near", "strict", "repeats") if not getattr(self, name)]

    def needs(self, sizes: Sizes) -> int:
        """Return the bytes of a whole block, with one input staged for its call."""
        inputs = self.calls + self.near
        calls = inputs + self.repeats
        drawn = inputs * (sizes.inputs + sizes.outputs + sizes.held) + self.strict * sizes.doubles
        return drawn + calls * sizes.outputs + sizes.inputs


BARE: Final = Plan(1, near=False, strict=False, repeats=False, keeps=False)
CHECKED: Final = replace(BARE, strict=True)  # a call of a check


class NoRoom(Exception):
    """A case needs more than is there: `need` and `free` in bytes."""

    def __init__(self, need: int, free: int) -> None:
        super().__init__(f"{in_gib(need)} are needed, {in_gib(free)} are free")
        self.need = need
        self.free = free


def most_calls(each_bytes: int, snapshot_bytes: int) -> int:
    """Return the number of calls of a block that `snapshot_bytes` hold, if `each_bytes` of a call are kept."""
    return int(max(snapshot_bytes // max(each_bytes, 1) - 1, 1))


def plan(
    sizes: Sizes,
    *,
    free: int | None,
    snapshot_bytes: int,
    calls: int = MOST_AT_ONCE,
    oracle_bytes: int = 0,
    check_bytes: int = 0,
) -> Plan:
    """Return the plan of a case, or raise NoRoom.

    `free`: bytes that the judge may take, of which SPARE stays free; None: unknown, and nothing is given up. `calls`:
    of a block, at most. `oracle_bytes`: what the oracle takes at most while it makes an input. `check_bytes`: what the
    problem's own check takes at most, while the judge holds a block.
    """
    full = Plan(min(calls, most_calls(sizes.kept, snapshot_bytes)))
    if free is None:
        return full
    room = int(free * (1 - SPARE)) - check_bytes
    fitting = (room - Plan(0).needs(sizes)) // max(sizes.kept, 1)  # what does not grow with the calls comes first
    if fitting >= 1:
        found = replace(full, calls=min(full.calls, fitting))
    else:
        without_near = Plan(1, near=False)
        without_strict = Plan(1, near=False, strict=False)
        without_repeats = Plan(1, near=False, strict=not sizes.doubles, repeats=False)
        steps = (without_near, without_strict, without_repeats)
        least = next((step for step in steps if step.needs(sizes) <= room), None)
        if least is None:
            raise NoRoom(without_repeats.needs(sizes) + check_bytes, free)
        found = least
    return replace(found, keeps=found.needs(sizes) + oracle_bytes <= room)


def places(units: tuple[int, int]) -> int:
    """Return how many places a case's data have, if they may begin at so many units of each of the two regions.

    certificate.py allows for fewer than MANY_PLACES; the least is one.
    """
    return min(PLACES, max(units[0], 1) * max(units[1], 1))


def is_submissions_fault(need: int, *, taken: int, allowed: int, others: int, start: int) -> bool:
    """Return whether the submission left too little memory.

    It did if it took more than `allowed`, and if the need would have had room beside `allowed` and what `others` took,
    in the memory that was free before any code ran (`start`).
    """
    return taken > allowed and need + allowed + others <= start


def left_too_little(need: int, taken: int, free: int) -> str:
    """Return the sentence for the author of a submission that is at fault."""
    return (
        f"Your code left too little memory for the judge: it took {in_gib(taken)} beside its inputs and outputs, "
        f"{in_gib(free)} are free, and this case needs {in_gib(need)}; allocate less."
    )


def refusal(need: int, free: int, start: int, *, where: str) -> str:
    """Return the sentence for organisers and operators about a case without room."""
    return (
        f"this case needs {in_gib(need)} of the {where}'s memory beside what all code holds there, {in_gib(free)} are "
        f"free, and {in_gib(start)} were before the job: choose smaller sizes, or hardware with more memory"
    )


def in_gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
