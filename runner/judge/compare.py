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
from runner.judge.arena import Bytes
from runner.judge.layout import DTYPES, Layout, Slot, values

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
    first: tuple[list[int], str, str] | None = None  # index, expected, got
    worst: tuple[list[int], str, str] | None = None

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


def _compare(
    slot: Slot, expected: np.ndarray[Any, Any], got: np.ndarray[Any, Any], tolerance: Tolerance | None
) -> Figures:
    if expected.dtype.kind not in "fc":
        return _figures(slot, expected, got, expected != got, reason="mismatch", floating=False)
    allowed = tolerance or DEFAULTS[slot.dtype]
    with np.errstate(all="ignore"):
        if expected.dtype.itemsize < 4:
            expected, got = expected.astype(np.float32), got.astype(np.float32)
        error = np.abs(got - expected)
        np.subtract(error, allowed.rtol * np.abs(expected), out=error)
        far = ~(error <= allowed.atol)  # NaN anywhere is far
        if far.any():
            far &= ~((expected == got) | (np.isnan(expected) & np.isnan(got)))  # equal infinities, expected NaNs
        return _figures(slot, expected, got, far, reason=_reason(expected, got, far), floating=True)


def _reason(expected: np.ndarray[Any, Any], got: np.ndarray[Any, Any], far: np.ndarray[Any, Any]) -> str:
    if not far.any():
        return ""
    if (np.isnan(got) & ~np.isnan(expected)).any():
        return "nan"
    return "inf" if (np.isinf(got) & ~np.isinf(expected)).any() else "mismatch"


def _figures(
    slot: Slot,
    expected: np.ndarray[Any, Any],
    got: np.ndarray[Any, Any],
    far: np.ndarray[Any, Any],
    *,
    reason: str,
    floating: bool,
) -> Figures:
    different = int(np.count_nonzero(far))
    relative_l2, worst_row, worst_abs = _errors(slot, expected, got) if floating else (None, None, None)
    first = worst = None
    if different:
        at = int(np.argmax(far))
        first = _element(slot, expected, got, at)
        if floating:
            distance = np.where(far, np.abs(got - expected), -1)
            worst = _element(slot, expected, got, int(np.argmax(np.where(np.isnan(distance), np.inf, distance))))
    return Figures(far.size, different, reason if different else "", relative_l2, worst_abs, worst_row, first, worst)


def _errors(
    slot: Slot, expected: np.ndarray[Any, Any], got: np.ndarray[Any, Any]
) -> tuple[float | None, float | None, float | None]:
    """Relative L2 error of the whole and of the worst row, and the worst absolute error; None where not finite."""
    difference = np.abs(got - expected)
    size = np.abs(expected)
    norm = float(np.sqrt(np.vdot(size, size)))
    relative = float(np.sqrt(np.vdot(difference, difference))) / norm if norm else None
    row = None
    if slot.shape and slot.shape[-1] > 1 and difference.size > slot.shape[-1]:
        rows, sizes = difference.reshape(-1, slot.shape[-1]), size.reshape(-1, slot.shape[-1])
        squared = np.einsum("ij,ij->i", rows, rows) / np.maximum(np.einsum("ij,ij->i", sizes, sizes), 1e-300)
        row = float(np.sqrt(squared.max()))
    return _finite(relative), _finite(row), _finite(float(difference.max()))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _element(
    slot: Slot, expected: np.ndarray[Any, Any], got: np.ndarray[Any, Any], at: int
) -> tuple[list[int], str, str]:
    return slot.index_of(at), _shown(slot, expected[at]), _shown(slot, got[at])


def _shown(slot: Slot, value: Any) -> str:
    if slot.dtype == "bool":
        return str(bool(value))
    return f"{value:.9g}" if DTYPES[slot.dtype][1][1:2] == "f" or slot.dtype == "bfloat16" else str(value)


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
