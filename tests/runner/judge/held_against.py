"""Outputs as the judge holds them, made from numpy arrays, for tests of comparing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from problems.spec import Precision, Tolerance
from runner.judge.data import compare
from runner.judge.data.compare import Rule
from runner.judge.data.device_arrays import TensorArrays
from runner.judge.data.layout import Layout, Slot

Array = np.ndarray[Any, Any]
MODEL = Rule()


@dataclass(frozen=True)
class Held:
    """The part of an input that comparing needs."""

    layout: Layout
    expected: Any
    expected64: Any = None
    terms: tuple[int, ...] = ()
    condition: tuple[tuple[float, float], ...] = ()


def held(
    expected: Array,
    *,
    dtype: str = "",
    truth: Array | None = None,
    spread: Array | float | None = None,
    terms: int = 0,
    inputs: tuple[tuple[int, ...], ...] = (),
) -> Held:
    """Outputs and truth as the judge holds them. `spread` is per real number: twice the elements of a complex output.
    `inputs`: shapes of float32 inputs."""
    expected = np.ascontiguousarray(expected)
    slots = [Slot("in", "float32", shape, (0,) * len(shape), 4 * int(np.prod(shape)), 0, -1) for shape in inputs]
    stride = tuple(int(np.prod(expected.shape[axis + 1 :])) for axis in range(expected.ndim))
    slots.append(Slot("out", dtype or expected.dtype.name, expected.shape, stride, expected.nbytes, -1, 0))
    layout = Layout(tuple(slots), 0, expected.nbytes, b"")
    wide = None
    if truth is not None:
        kind = np.complex128 if np.iscomplexobj(truth) else np.float64
        parts = _padded(np.ascontiguousarray(truth, kind).reshape(-1).view(np.float64))
        wide = [parts]
        if spread is not None:
            own = np.broadcast_to(
                np.asarray(spread, np.float64), (int(np.prod(expected.shape)) * (kind().nbytes // 8),)
            )
            wide.append(_padded(np.ascontiguousarray(own)))
        wide = np.concatenate(wide).view(np.uint8)
    return Held(layout, _bytes(expected), wide, (terms,))


def judged(given: Held, got: Array, rule: Rule = MODEL) -> compare.Figures:
    """Comparison by the host and by torch, which must agree."""
    (found,) = compare.compare(given, _bytes(got), rule)
    (there,) = compare.compare(tensors(given), torch.from_numpy(_bytes(got)), rule, TensorArrays(1000))
    agree(found, there)
    return found


def tensors(given: Held) -> Held:
    wide = None if given.expected64 is None else torch.from_numpy(given.expected64)
    return Held(given.layout, torch.from_numpy(given.expected), wide, given.terms, given.condition)


DENORMAL = 2e-38


def agree(host: compare.Figures, device: compare.Figures) -> None:
    """Check that verdict, counts, places and words are equal, and sums up to the order of addition."""
    for name, value in vars(host).items():
        other = getattr(device, name)
        if name == "relative_l2" and (host.worst_abs or 0.0) < DENORMAL:
            continue  # a library built for speed may have set this thread's processor to flush them to zero
        if isinstance(value, float) and isinstance(other, float):
            assert np.isclose(value, other, rtol=1e-5, atol=0), name
        else:
            assert value == other, name


def by_tolerance(rtol: float, atol: float, **precision: Any) -> Rule:
    return Rule(Tolerance(rtol, atol), Precision(("fp32",), **precision) if precision else None)


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy()


def _padded(array: Array) -> Array:
    return np.concatenate([array, np.zeros(-array.size % 32)])
