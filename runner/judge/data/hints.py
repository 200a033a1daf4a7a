"""Common patterns of an output's wrong elements: sentences for the author of a submission. Pure.

Every sentence is computed from all elements and true of them as it stands; without a matching pattern there is no
sentence. Sentences contain values and places, and are for public cases only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from runner.judge.data.layout import Slot

Array = np.ndarray[Any, Any]

MOST: Final = 3  # sentences
MOST_ELEMENTS: Final = 6 << 20  # beyond it the search would take seconds, for each variant of the admission test, too
CLOSE: Final = 1e-3  # relative: "the same factor", "the same offset"
ENOUGH: Final = 4  # elements that a pattern of values must show in
# Low bits of a float32 that are 0 after rounding to a narrower format.
ROUNDED: Final = (("bfloat16", 0xFFFF), ("float16 or TF32", 0x1FFF))


@dataclass(frozen=True)
class View:
    """An output as its author indexes it: expected values, received values, and a mask of the wrong elements."""

    expected: Array
    got: Array
    wrong: Array

    @property
    def pairs(self) -> tuple[Array, Array]:
        """Expected and received values of the wrong elements that are finite in both."""
        expected, got = self.expected[self.wrong], self.got[self.wrong]
        finite = np.isfinite(expected) & np.isfinite(got)
        return expected[finite], got[finite]


def of(slot: Slot, expected: Array, got: Array, wrong: Array, raw: Array) -> tuple[str, ...]:
    """Return hints, at most MOST. `expected`, `got`, `wrong`: flat and in memory order (complex numbers as two); `raw`:
    the received bytes."""
    if not 0 < len(expected) <= MOST_ELEMENTS:
        return ()
    if slot.dtype.startswith("complex"):
        wrong = np.asarray(wrong.reshape(-1, 2).any(axis=1))
        expected, got = (array.view(f"c{2 * array.dtype.itemsize}") for array in (expected, got))

    def indexed(flat: Array) -> Array:
        """Return the elements in the order of indices, whatever the order in memory."""
        steps = zip(slot.stride, slot.shape, strict=True)  # of an axis of length 1 the step may be any number
        strides = [step * flat.dtype.itemsize if length > 1 else 0 for step, length in steps]
        return np.lib.stride_tricks.as_strided(flat, slot.shape, strides, writeable=False)

    view = View(indexed(expected), indexed(got), indexed(wrong))
    with np.errstate(all="ignore"):
        if not wrong.any():
            said = [_rounded(view.expected, view.got)]
        elif unwritten := _unwritten(wrong, raw):
            said = [unwritten, _where(view.wrong)]
        else:
            said = [_where(view.wrong), *_what(view)]
    return tuple(filter(None, said))[:MOST]


def _unwritten(wrong: Array, raw: Array) -> str:
    """Return a hint on elements never written. Before a call a random word of eight bytes fills the output."""
    size = len(raw) // len(wrong)
    if size >= 8:
        return ""  # a repeated number is a pattern of values: see _what
    each = 8 // size
    words = raw[: len(raw) // 8 * 8].view(np.uint64)
    left = words[wrong[: len(words) * each].reshape(-1, each).all(axis=1)]
    if not len(left):
        return ""
    halves = np.array([left[-1]]).view(f"u{size}")
    count = int(np.count_nonzero(left == left[-1]))
    if count <= 2 or 2 * count < len(left) or len(set(halves.tolist())) == 1:
        return ""
    return (
        f"At least {count * each} of them still hold what the output was filled with before the call: "
        "they were never written."
    )


# -- places -----------------------------------------------------------------------------------------------------------


def _where(wrong: Array) -> str:
    """Return a sentence on the places of the wrong elements, the simplest that holds."""
    if wrong.all():
        return "Every element is wrong." if wrong.size > 1 else "It is the only element."
    if wrong.ndim > 1 and (said := _along_axes(wrong)):
        return said
    places = np.flatnonzero(wrong)
    first, last, count = int(places[0]), int(places[-1]), len(places)
    step = int(np.gcd.reduce(np.diff(places))) if count > 2 else 0
    index = [int(part) for part in np.unravel_index(first, wrong.shape)]
    if 2 * count <= wrong.size and last - first + 1 == count:
        if count == 1:
            return f"It is the only wrong one of {wrong.size}."
        if last == wrong.size - 1:
            return f"They are the last {count} of {wrong.size} elements, from {index} on: a tail that no block covers?"
        if first == 0:
            return f"They are the first {count} of {wrong.size} elements."
        return f"They lie in one piece of {count} elements, from {index} on."
    if step > 1 and count == len(range(first, wrong.size, step)):
        return f"Every {_ordinal(step)} element is wrong, from {index} on, and no other."
    return ""


def _along_axes(wrong: Array) -> str:
    """Return a sentence on the axis along which the fewest indices are touched, if that is at most half of them."""
    touched = {
        axis: np.flatnonzero(wrong.any(axis=tuple(other for other in range(wrong.ndim) if other != axis)))
        for axis in range(wrong.ndim)
    }
    axis = min(touched, key=lambda axis: len(touched[axis]) / wrong.shape[axis])
    indices, size = touched[axis], wrong.shape[axis]
    if 2 * len(indices) > size:
        return ""
    name = {wrong.ndim - 1: "column", wrong.ndim - 2: "row"}.get(axis, f"index of axis {axis}")
    whole = "all of it" if wrong.take(indices, axis=axis).all() else "not all of it"
    if len(indices) == 1:
        return f"Only {name} {indices[0]} of {size} is wrong, {whole}."
    first, count = int(indices[0]), len(indices)
    step = int(np.gcd.reduce(np.diff(indices)))
    names = f"{name[:5]}es{name[5:]}" if name.startswith("index") else f"{name}s"
    if first + count == size and step == 1:
        return f"Only the last {count} of {size} {names} are wrong: a tail that no block covers?"
    if step > 1 and count == len(range(first, size, step)):
        return f"Only every {_ordinal(step)} {name} is wrong, from {first} on."
    return f"Only {count} of {size} {names} are wrong, the first is {first}."


# -- values -----------------------------------------------------------------------------------------------------------


def _what(view: View) -> Iterator[str]:
    """Yield sentences on the values of the wrong elements."""
    bad = np.isnan(view.got) & ~np.isnan(view.expected)
    if view.got.ndim > 1 and bad.any() and view.expected.shape[-1] > 1:
        rows = bad.any(axis=-1)
        flat = view.expected.max(axis=-1) == view.expected.min(axis=-1)
        if flat[rows].all() and not flat.all():  # a quotient by a range or variance of 0
            rows_alike = "NaNs come only in rows whose expected values are all equal"
            yield f"{rows_alike}: is something divided by a row's own spread?"
    expected, got = view.pairs
    if len(expected) < ENOUGH:
        return
    if (got == got[0]).all() and not (expected == expected[0]).all():
        yield f"All wrong elements are {got[0]:.9g}." if got[0] else "All wrong elements are 0."
        return
    yield _moved(view) or _change(expected, got) or _rounded(expected, got) or _by_size(view)


def _moved(view: View) -> str:
    """Return a hint on right values in wrong places."""
    expected, got = view.expected, view.got
    if got.ndim > 1 and _is(got, expected.swapaxes(-1, -2).reshape(got.shape), expected):
        return "The result is right but transposed (its last two axes)."
    if got.ndim and got.shape[-1] > 2:
        if _is(got[..., 1:], expected[..., :-1], expected[..., 1:]):
            return "The result is shifted by one place along its last axis, towards the end."
        if _is(got[..., :-1], expected[..., 1:], expected[..., :-1]):
            return "The result is shifted by one place along its last axis, towards the start."
    return ""


def _is(got: Array, other: Array, expected: Array) -> bool:
    """Return whether `got` is `other`, and `other` differs from `expected`."""
    near = np.allclose(got, other, rtol=CLOSE, atol=0, equal_nan=True)
    return near and not np.allclose(other, expected, rtol=CLOSE, atol=0, equal_nan=True)


def _change(expected: Array, got: Array) -> str:
    """Return a hint on a factor or an offset that all wrong elements have in common."""
    told = expected != 0
    if np.count_nonzero(told) >= ENOUGH and not (got[~told] != 0).any():
        factor = _common(got[told].astype(np.complex128) / expected[told])
        if factor and abs(factor + 1) <= CLOSE:
            return "All wrong elements have the wrong sign and nothing else."
        if factor and abs(factor - 1) > 10 * CLOSE:
            return f"All wrong elements are {factor:.4g} times what is expected."
    offset = 0.0 if expected.dtype == bool else _common(got.astype(np.complex128) - expected)
    return f"All wrong elements are off by {offset:+.4g}." if offset else ""


def _common(numbers: Array) -> float:
    """Return the real number that all of these nearly are; 0 if there is none."""
    middle = complex(numbers[len(numbers) // 2])
    is_common = middle.imag == 0 and (abs(numbers - middle) <= CLOSE * abs(middle)).all()
    return middle.real if is_common else 0.0


def _rounded(expected: Array, got: Array) -> str:
    """Return a hint on rounded values, unless the expected values are rounded in the same way."""
    if got.dtype == np.float32 and got.size >= ENOUGH:
        bits, expected_bits = (np.ascontiguousarray(array).view(np.uint32) for array in (got, expected))
        for name, low in ROUNDED:
            if not (bits & low).any() and (expected_bits & low).any():
                return f"Every one of these values looks rounded to {name}; the output is float32."
    return ""


def _by_size(view: View) -> str:
    """Return a hint if all wrong elements are larger, or all are smaller, than any right element."""
    size = np.abs(view.expected)
    wrong, right = size[view.wrong], size[~view.wrong]
    if len(right) and np.isfinite(wrong).all() and np.isfinite(right).all():
        if wrong.min() > right.max():
            return f"Only elements with |expected| ≥ {wrong.min():.4g} are wrong: does something overflow?"
        if wrong.max() < right.min():
            return f"Only elements with |expected| ≤ {wrong.max():.4g} are wrong: does something underflow or cancel?"
    return ""


def _ordinal(number: int) -> str:
    if number in (2, 3):
        return ("second", "third")[number - 2]
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
