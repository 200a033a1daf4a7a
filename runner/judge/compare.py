"""Is this output right? Element by element, from bytes in the judge's private memory; nothing here runs foreign code.

Order: finite masks first (a NaN that is not expected is a mismatch whatever the tolerance says), then every element
against atol + rtol · |expected|, then the figures that a report keeps: how many differ, the worst element, the worst
row, the relative L2 error, which shows the precision really used.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from problems.tolerance import Tolerance
from runner.judge.layout import DTYPES, Layout, Slot, values

Values = np.ndarray[Any, Any]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Element = tuple[list[int], str, str]  # index, expected, got

CHUNK: Final = 1 << 16  # elements at a time

# Without a declared tolerance: a few roundings of the output's own type. (rtol, atol)
DEFAULTS: Final = {
    "float64": Tolerance(1e-9, 1e-11),
    "float32": Tolerance(1e-5, 1e-6),
    "float16": Tolerance(2e-3, 1e-4),
    "bfloat16": Tolerance(1.6e-2, 1e-3),
    "complex64": Tolerance(1e-5, 1e-6),
    "complex128": Tolerance(1e-9, 1e-11),
}
EXACT: Final = Tolerance(0.0, 0.0)


@dataclass(frozen=True)
class Figures:
    """What comparing one output tensor found. `first` and `worst` are None where nothing differs."""

    elements: int
    different: int
    reason: str  # "" when right, else "nan", "inf" or "mismatch"
    relative_l2: float | None
    worst_abs: float | None
    worst_row: float | None  # relative L2 of the worst row
    first: Element | None = None
    worst: Element | None = None

    @property
    def good(self) -> bool:
        return not self.different

    def to_json(self, *, public: bool) -> dict[str, Any]:
        """A secret case keeps counts and errors only: never an index, a value or the data."""
        kept = asdict(self)
        if not public:
            kept.pop("first")
            kept.pop("worst")
        return kept


def compare(layout: Layout, expected: Bytes, got: Bytes, tolerance: Tolerance | None) -> list[Figures]:
    """Figures of every output tensor, in the order of the slots."""
    return [
        _compare(slot, values(slot, expected), values(slot, got), tolerance) for slot in layout.outputs if slot.nbytes
    ]


def _compare(slot: Slot, expected: Values, got: Values, tolerance: Tolerance | None) -> Figures:
    if expected.dtype.kind not in "fc":
        return _exact(slot, expected, got)
    if np.array_equal(expected.view(np.uint8), got.view(np.uint8)):
        return Figures(expected.size, 0, "", 0.0, 0.0, 0.0 if len(slot.shape) > 1 else None)
    allowed = tolerance or DEFAULTS[slot.dtype]
    sums = _Sums(slot)
    with np.errstate(all="ignore"):
        for start in range(0, expected.size, sums.step):
            sums.add(start, expected[start : start + sums.step], got[start : start + sums.step], allowed)
    return sums.figures()


def _exact(slot: Slot, expected: Values, got: Values) -> Figures:
    far = expected != got
    different = int(np.count_nonzero(far))
    first = _element(slot, expected, got, int(np.argmax(far)), 0) if different else None
    return Figures(far.size, different, "mismatch" if different else "", None, None, None, first)


class _Sums:
    """What accumulates over a tensor, some rows at a time: chunks stay in the cache, no large temporary is made."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._width = slot.shape[-1] if slot.shape and slot.stride[-1] == 1 else 1
        self.step = max(CHUNK // max(self._width, 1), 1) * max(self._width, 1)
        self._elements = self._different = 0
        self._error_squared = self._size_squared = self._worst_abs = self._worst_row = 0.0
        self._nan = self._inf = False
        self._first: Element | None = None
        self._worst: tuple[float, Element] | None = None

    def add(self, start: int, expected: Values, got: Values, allowed: Tolerance) -> None:
        if expected.dtype.itemsize < 4:
            expected, got = expected.astype(np.float32), got.astype(np.float32)
        error, size = np.abs(got - expected), np.abs(expected)
        limit = allowed.rtol * size + allowed.atol
        far = ~(error <= limit) | np.isinf(limit)  # NaN anywhere is far, and so is whatever an infinity would allow
        if far.any():
            far &= ~((expected == got) | (np.isnan(expected) & np.isnan(got)))  # equal infinities, expected NaNs
        self._elements += far.size
        errors, sizes = self._squares(error), self._squares(size)
        self._error_squared += float(errors.sum())
        self._size_squared += float(sizes.sum())
        self._worst_row = _larger(self._worst_row, float((errors / np.maximum(sizes, 1e-300)).max()))
        self._worst_abs = _larger(self._worst_abs, float(error.max()))
        if far.any():
            self._note(start, expected, got, error, far)

    def _squares(self, values: Values) -> Values:
        """Sum of squares of each row."""
        rows = values.reshape(-1, self._width)
        return np.einsum("ij,ij->i", rows, rows).astype(np.float64) if self._width > 1 else np.square(rows[:, 0])

    def _note(self, start: int, expected: Values, got: Values, error: Values, far: Values) -> None:
        self._different += int(np.count_nonzero(far))
        self._nan |= bool((np.isnan(got) & ~np.isnan(expected)).any())
        self._inf |= bool((np.isinf(got) & ~np.isinf(expected)).any())
        if self._first is None:
            self._first = _element(self._slot, expected, got, int(np.argmax(far)), start)
        distance = np.where(far, np.where(np.isnan(error), np.inf, error), -1)
        at = int(np.argmax(distance))
        if self._worst is None or distance[at] > self._worst[0]:
            self._worst = float(distance[at]), _element(self._slot, expected, got, at, start)

    def figures(self) -> Figures:
        reason = ("nan" if self._nan else "inf" if self._inf else "mismatch") if self._different else ""
        relative = math.sqrt(self._error_squared / self._size_squared) if self._size_squared else None
        row = math.sqrt(self._worst_row) if self._width > 1 else None
        worst = self._worst[1] if self._worst else None
        return Figures(
            self._elements,
            self._different,
            reason,
            finite(relative),
            finite(self._worst_abs),
            finite(row),
            self._first,
            worst,
        )


def _larger(so_far: float, value: float) -> float:
    return value if not value <= so_far else so_far  # a NaN stays


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _element(slot: Slot, expected: Values, got: Values, at: int, start: int) -> Element:
    parts = 2 if slot.dtype.startswith("complex") else 1  # real and imaginary, each an element here
    return slot.index_of((start + at) // parts), _shown(slot, expected[at]), _shown(slot, got[at])


def _shown(slot: Slot, value: Any) -> str:
    if slot.dtype == "bool":
        return str(bool(value))
    return f"{value:.9g}" if isinstance(value, np.floating) else str(value)


def explain(case: str, found: Figures, output: int, of: int) -> str:
    """For the author of a submission, about a public case: what differs, where first, where most."""
    which = "" if of == 1 else f", output {output}"
    lines = [f"Case {case}{which}: {found.different} of {found.elements} elements are wrong."]
    for label, element in (("First", found.first), ("Worst", found.worst)):
        if element is not None and not (label == "Worst" and element == found.first):
            index, expected, got = element
            lines.append(f"{label} at {index}: expected {expected}, got {got}.")
    if found.reason == "nan":
        lines.append("There are NaNs where finite values are expected.")
    return " ".join(lines)


def size_class(layout: Layout) -> int:
    """Output elements to the nearest power of two: what may be said of a secret case."""
    return _about(sum(slot.nbytes // DTYPES[slot.dtype][0] for slot in layout.outputs))


def _about(elements: int) -> int:
    return int(2 ** round(math.log2(max(elements, 1))))


def explain_secret(found: Figures) -> str:
    """About a secret case: our own figures and the size class, nothing that tells the data."""
    share = 100 * found.different / max(found.elements, 1)
    text = f"A secret case with about {_about(found.elements)} output elements: {share:.3g} % of them are wrong"
    if found.worst_abs is not None:
        text += f", the worst by {found.worst_abs:.3g}"
    return text + ". Try odd sizes, large and tiny values, and constant rows."
