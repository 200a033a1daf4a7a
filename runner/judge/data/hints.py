"""Common patterns of an output's wrong elements: sentences for the author of a submission. Pure.

Every sentence is computed from all elements and true of them as it stands; without a matching pattern there is no
sentence. Sentences contain values and places, and are for public cases only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    view = View(*(_indexed(slot, array) for array in (expected, got, wrong)))
    with np.errstate(all="ignore"):
        if not wrong.any():
            return tuple(_rounded(view.expected, view.got))
        unwritten = list(_unwritten(wrong, raw))
        said = [*unwritten, *_where(view), *([] if unwritten else _what(view))]
    return tuple(said[:MOST])


def _indexed(slot: Slot, flat: Array) -> Array:
    """Return the elements in the order of indices, whatever the order in memory."""
    strides = [step * flat.dtype.itemsize for step in slot.stride]
    return np.lib.stride_tricks.as_strided(flat, slot.shape, strides, writeable=False)


def _unwritten(wrong: Array, raw: Array) -> Iterator[str]:
    """Yield a hint on elements that were never written. Before a call a random word of eight bytes fills the output."""
    size = len(raw) // len(wrong)
    if size >= 8:
        return  # a repeated number is a pattern of values: see _one_value
    each = 8 // size
    words = raw[: len(raw) // 8 * 8].view(np.uint64)
    left = words[wrong[: len(words) * each].reshape(-1, each).all(axis=1)]
    if not len(left):
        return
    halves = np.array([left[-1]]).view(f"u{size}")
    count = int(np.count_nonzero(left == left[-1]))
    if count > 2 and 2 * count >= len(left) and len(set(halves.tolist())) > 1:
        yield (
            f"At least {count * each} of them still hold what the output was filled with before the call: "
            "they were never written."
        )


# -- places -----------------------------------------------------------------------------------------------------------


def _where(view: View) -> Iterator[str]:
    """Yield a sentence on the places of the wrong elements, the simplest that holds."""
    wrong = view.wrong
    if wrong.all():
        yield "Every element is wrong." if wrong.size > 1 else "It is the only element."
        return
    if wrong.ndim > 1 and (said := _along_axes(wrong)):
        yield said
        return
    places = np.flatnonzero(wrong)
    first, last, count = int(places[0]), int(places[-1]), len(places)
    step = int(np.gcd.reduce(np.diff(places))) if count > 2 else 0
    if 2 * count <= wrong.size and last - first + 1 == count:
        yield _run(_index(first, wrong.shape), first, last, count, wrong.size)
    elif step > 1 and count == len(range(first, wrong.size, step)):
        yield f"Every {_ordinal(step)} element is wrong, from {_index(first, wrong.shape)} on, and no other."


def _run(index: list[int], first: int, last: int, count: int, size: int) -> str:
    if count == 1:
        return f"It is the only wrong one of {size}."
    if last == size - 1:
        return f"They are the last {count} of {size} elements, from {index} on: a tail that no block covers?"
    if first == 0:
        return f"They are the first {count} of {size} elements."
    return f"They lie in one piece of {count} elements, from {index} on."


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
    yield from _no_numbers(view)
    expected, got = view.pairs
    if len(expected) < ENOUGH:
        return
    looks: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: _one_value(expected, got),
        lambda: _moved(view),
        lambda: _factor(expected, got),
        lambda: _offset(expected, got),
        lambda: _rounded(expected, got),
        lambda: _by_size(view),
    )
    for look in looks:
        said = list(look())
        yield from said
        if said:
            return


def _no_numbers(view: View) -> Iterator[str]:
    """Yield a hint on NaNs that lie in rows of equal values only: a quotient by a range or variance of 0."""
    bad = np.isnan(view.got) & ~np.isnan(view.expected)
    if view.got.ndim < 2 or not bad.any():
        return
    rows = bad.any(axis=-1)
    flat = view.expected.max(axis=-1) == view.expected.min(axis=-1)
    if view.expected.shape[-1] > 1 and flat[rows].all() and not flat.all():
        yield "NaNs come only in rows whose expected values are all equal: is something divided by a row's own spread?"


def _one_value(expected: Array, got: Array) -> Iterator[str]:
    if (got == got[0]).all() and not (expected == expected[0]).all():
        yield f"All wrong elements are {got[0]:.9g}." if got[0] else "All wrong elements are 0."


def _moved(view: View) -> Iterator[str]:
    """Yield a hint on right values in wrong places."""
    expected, got = view.expected, view.got
    if got.ndim > 1:
        turned = expected.swapaxes(-1, -2)
        if _is(got, turned.reshape(got.shape), expected):
            yield "The result is right but transposed (its last two axes)."
            return
    if got.ndim and got.shape[-1] > 2:
        if _is(got[..., 1:], expected[..., :-1], expected[..., 1:]):
            yield "The result is shifted by one place along its last axis, towards the end."
        elif _is(got[..., :-1], expected[..., 1:], expected[..., :-1]):
            yield "The result is shifted by one place along its last axis, towards the start."


def _is(got: Array, other: Array, expected: Array) -> bool:
    """Return whether `got` is `other`, and `other` differs from `expected`."""
    near = np.allclose(got, other, rtol=CLOSE, atol=0, equal_nan=True)
    return near and not np.allclose(other, expected, rtol=CLOSE, atol=0, equal_nan=True)


def _factor(expected: Array, got: Array) -> Iterator[str]:
    told = expected != 0
    if np.count_nonzero(told) < ENOUGH or (got[~told] != 0).any():
        return
    ratio = got[told].astype(np.complex128) / expected[told]
    middle = complex(ratio[len(ratio) // 2])
    if middle.imag == 0 and middle.real and (abs(ratio - middle) <= CLOSE * abs(middle)).all():
        if abs(middle.real + 1) <= CLOSE:
            yield "All wrong elements have the wrong sign and nothing else."
        elif abs(middle.real - 1) > 10 * CLOSE:
            yield f"All wrong elements are {middle.real:.4g} times what is expected."


def _offset(expected: Array, got: Array) -> Iterator[str]:
    if expected.dtype == bool:
        return
    away = got.astype(np.complex128) - expected
    middle = complex(away[len(away) // 2])
    if middle.imag == 0 and middle.real and (abs(away - middle) <= CLOSE * abs(middle)).all():
        yield f"All wrong elements are off by {middle.real:+.4g}."


def _rounded(expected: Array, got: Array) -> Iterator[str]:
    """Yield a hint on rounded values, unless the expected values are rounded in the same way."""
    if got.dtype != np.float32 or got.size < ENOUGH:
        return
    for name, low in ROUNDED:
        if not (_bits(got) & low).any() and (_bits(expected) & low).any():
            yield f"Every one of these values looks rounded to {name}; the output is float32."
            return


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(np.uint32)


def _by_size(view: View) -> Iterator[str]:
    """Yield a hint if all wrong elements are larger, or all are smaller, than any right element."""
    size = np.abs(view.expected)
    wrong, right = size[view.wrong], size[~view.wrong]
    if not len(right) or not np.isfinite(wrong).all() or not np.isfinite(right).all():
        return
    if wrong.min() > right.max():
        yield f"Only elements with |expected| ≥ {wrong.min():.4g} are wrong: does something overflow?"
    elif wrong.max() < right.min():
        yield f"Only elements with |expected| ≤ {wrong.max():.4g} are wrong: does something underflow or cancel?"


def _index(place: int, shape: tuple[int, ...]) -> list[int]:
    return [int(part) for part in np.unravel_index(place, shape)]


def _ordinal(number: int) -> str:
    if number in (2, 3):
        return ("second", "third")[number - 2]
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
