"""Comparison of an output with the reference, element by element, from bytes in the judge's private memory.

No foreign code runs here. Finite masks come first (a NaN or an infinity must be where the reference has it, whatever
the tolerance), then every element against its allowed error, then the output as a whole: relative L2 shows the
precision really used. The allowed error of an element is atol + rtol · |expected| if the problem declares a tolerance,
else the error model's around the reference in float64. If reference and float64 disagree by more than is allowed (the
reference rounds on purpose, or chooses between near-equal values) the element is *disputed* and may be near either.

The arithmetic is written once for arrays in host memory (numpy, `Arrays`) and on a device (torch, device_arrays.py).
Results are explained to the author of a submission and to a reviewer: for a public case with all details, for a secret
case with our own figures and its size class only, never the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final, Literal

import numpy as np

from problems.arithmetic import LimitError, evaluate
from problems.spec import Case, Precision, Problem, Tolerance
from runner.evidence.schema import Finding
from runner.judge.data import error_model, hints
from runner.judge.data.call import Input
from runner.judge.data.faults import OracleFailed
from runner.judge.data.layout import DTYPES, Buffer, Layout, Slot, values

# The reference alone; outputs in double precision; also the condition of each element; or the condition of the case,
# from an earlier input.
Fp64 = Literal["", "values", "spread", "condition"]
Array = Any  # of numpy or torch, as the Arrays in use make them
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Far = np.ndarray[Any, np.dtype[np.bool_]]  # which elements are wrong
Element = tuple[list[int], str, str]  # index, expected, got

TINY: Final = 1e-12  # mean square of values whose errors' squares may leave the range of float32
REFERENCES_OWN: Final = 4.0  # an output as a whole may be this many times as far off as the reference itself
STORED: Final = 1 / 8  # of that, for storage: sqrt(4² + 1²) are 4.12, if the reference is off by rounding alone
SAMPLE: Final = 1 << 16  # elements from which an output's usual size is taken


@dataclass(frozen=True)
class Rule:
    """Rule for judging a case's outputs. A declared `tolerance` decides element by element, else the error model
    (error_model.py).

    `reduction`: terms behind an output element as declared, 0 if the judge finds out. `own_check`: the problem's
    `check_implementation` decides; the comparison is for the report, except for `precision.max_relative_l2`.
    """

    tolerance: Tolerance | None = None
    precision: Precision | None = None
    reduction: int = 0
    own_check: bool = False

    @classmethod
    def of(cls, problem: Problem, case: Case, *, own_check: bool) -> Rule:
        """Return the rule of a case. Raises OracleFailed if the declared reduction is no number for this case."""
        declared = problem.precision.reduction if problem.precision else ""
        try:
            reduction = evaluate(declared, case, "precision.reduction") if declared else 0
        except LimitError as error:
            raise OracleFailed(str(error)) from None
        if declared and reduction < 1:
            raise OracleFailed(f"precision.reduction: {declared} is {reduction} for {case}; it must be at least 1")
        return cls(problem.tolerance, problem.precision, reduction, own_check)

    @property
    def by_model(self) -> bool:
        return self.tolerance is None and not self.own_check

    def fp64(self, *, timed: bool) -> Fp64:
        """Return the data to request from the oracle. A check is worth several runs of the reference, a timed call is
        not."""
        if timed:
            return "condition" if self.by_model else ""
        return "spread" if self.by_model else "values"


class Arrays:
    """Array operations, on numpy's arrays in host memory; a subclass has all of them for memory elsewhere.

    `xp`: the module of the functions that numpy and torch share by name.
    """

    xp: Any = np
    chunk: int = 1 << 16  # elements at a time; so many fit in a core's cache

    def values(self, slot: Slot, region: Buffer) -> Array:
        """Return the values flat, in memory order; parts of complex numbers one after the other; float8 widened."""
        return values(slot, region)

    def doubles(self, region: Buffer, offset: int, count: int) -> Array:
        return region[offset : offset + 8 * count].view(np.float64)

    def single(self, array: Array) -> Array:
        """Return at least float32: narrower numbers widened."""
        return array if array.dtype.itemsize >= 4 else array.astype(np.float32)

    def double(self, array: Array) -> Array:
        return array.astype(np.float64)

    def row_squares(self, array: Array, width: int) -> Array:
        """Return the sum of squares of each row, in float64."""
        rows = array.reshape(-1, width)
        return np.einsum("ij,ij->i", rows, rows).astype(np.float64) if width > 1 else np.square(self.double(rows[:, 0]))

    def same(self, slot: Slot, left: Buffer, right: Buffer) -> bool:
        """Return whether the bytes are the same."""
        place = slice(slot.output, slot.output + slot.nbytes)
        return bool(np.array_equal(left[place], right[place]))

    def numbers(self, *single: Array) -> list[float]:
        """Return these single values, with one wait for a device."""
        return [float(one) for one in single]

    def mask(self, array: Array) -> Far:
        """Return the mask in host memory."""
        return np.asarray(array)

    def sample(self, array: Array) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the array in host memory and float64."""
        return np.asarray(array, np.float64)

    def host(self, slot: Slot, region: Buffer) -> tuple[Slot, Bytes]:
        """Return this output alone in host memory: its slot there, and the bytes."""
        return slot.at(0), region[slot.output : slot.output + slot.nbytes]


HOST: Final = Arrays()


def nans(slot: Slot, region: Buffer, arrays: Arrays = HOST) -> int:
    """Return how many numbers of this output are NaN; parts of complex numbers count each."""
    values, xp = arrays.values(slot, region), arrays.xp
    starts = range(0, len(values), arrays.chunk)
    return sum(int(xp.count_nonzero(xp.isnan(values[start : start + arrays.chunk]))) for start in starts)


@dataclass(frozen=True)
class Figures:
    """Result of comparing an output tensor. `first` and `worst` are None if no element differs.

    `basis` names the comparison: "bits", "expected" (the reference as it is) or "fp64". `worst_share`: the largest
    error as a share of its allowed error. `limit_l2`: the limit of `relative_l2`, None without a limit.
    `references_own`: the limit is not the declared limit, which the reference itself comes too near to.
    """

    elements: int
    different: int
    reason: str  # "" when right, else "nan", "inf", "mismatch" or "precision"
    basis: str
    relative_l2: float | None = None
    limit_l2: float | None = None
    worst_abs: float | None = None
    worst_row: float | None = None  # relative L2 of the worst row
    worst_share: float | None = None
    disputed: int = 0
    references_own: bool = False
    first: Element | None = None
    worst: Element | None = None
    hints: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return not self.reason

    def to_json(self, *, public: bool) -> dict[str, Any]:
        """Return the figures as JSON. A secret case keeps counts and errors only: never an index, a value or the
        data."""
        kept = asdict(self)
        if not public:
            for key in ("first", "worst", "hints"):
                kept.pop(key)
        return kept


def compare(given: Input, got: Buffer, rule: Rule, arrays: Arrays = HOST) -> list[Figures]:
    """Return the figures of every output tensor that has elements, in the order of the slots."""
    return [
        _compare(given, number, got, rule, arrays) for number, slot in enumerate(given.layout.outputs) if slot.nbytes
    ]


def _compare(given: Input, number: int, got: Buffer, rule: Rule, arrays: Arrays) -> Figures:
    slot = given.layout.outputs[number]
    far: Callable[[], Far]
    if slot.dtype not in error_model.UNIT:
        expected, came = (arrays.values(slot, region) for region in (given.expected, got))
        unlike = expected != came
        different, far = int(arrays.xp.count_nonzero(unlike)), partial(arrays.mask, unlike)
        first = _element(slot, expected, came, _first(unlike), 0) if different else None
        reason = "mismatch" if different and not rule.own_check else ""
        found = Figures(len(unlike), different, reason, "bits", first=first)
    elif given.expected64 is None and arrays.same(slot, given.expected, got):
        return Figures(math.prod(slot.shape), 0, "", "expected", relative_l2=0.0, worst_abs=0.0, worst_share=0.0)
    else:
        comparison = _Comparison(given, number, rule, arrays)
        found, far = comparison.of(got), comparison.far
    if found.good or math.prod(slot.shape) > hints.MOST_ELEMENTS:
        return found
    expected, came = (values(*arrays.host(slot, region)) for region in (given.expected, got))
    return replace(found, hints=hints.of(slot, expected, came, far(), arrays.host(slot, got)[1]))


class _Comparison:
    """Comparison of an output tensor, some rows or a part of a row at a time: no large temporary is made."""

    def __init__(self, given: Input, number: int, rule: Rule, arrays: Arrays) -> None:
        slot = given.layout.outputs[number]
        self._slot, self._rule, self._arrays = slot, rule, arrays
        self._expected = arrays.values(slot, given.expected)
        self._truth: Array | None = None
        self._spread: Array | None = None
        if given.expected64 is not None:
            places, size = given.layout.wide_places()
            self._truth = arrays.doubles(given.expected64, places[number], len(self._expected))
            if len(given.expected64) >= 2 * size:
                self._spread = arrays.doubles(given.expected64, size + places[number], len(self._expected))
        self._width = (slot.shape[-1] if slot.shape and slot.stride[-1] == 1 else 1) * _parts(slot)
        self._row = [0.0, 0.0]  # sums of squares of errors and sizes, of the begun row that is longer than a chunk
        self._model: error_model.Model | None = None
        self._leeway = 1.0
        if rule.tolerance is None:
            self._model = _model(given, number, rule)
            # The 90th percentile of |true values| that are neither 0 nor infinite, from evenly spaced elements.
            source = self._expected if self._truth is None else self._truth
            sample = np.abs(arrays.sample(source[:: len(source) // SAMPLE | 1]))
            sample = sample[np.isfinite(sample) & (sample > 0)]
            rank = int(0.9 * (len(sample) - 1))
            self._usual = float(np.partition(sample, rank)[rank]) if len(sample) else 0.0
            spread, relative = given.condition[number] if number < len(given.condition) else (0.0, 1.0)
            self._other = relative * self._usual or spread or self._usual
            self._leeway = error_model.leeway(self._reference_share() if self._truth is not None else 1.0)
        self._different = self._disputed = 0
        self._errors = self._sizes = self._allowed = self._own = 0.0  # sums of squares; own: the reference's errors
        self._worst_abs = self._worst_row = self._worst_share = 0.0
        self._nan = self._inf = False
        self._far: list[tuple[int, Far]] = []
        self._first: Element | None = None
        self._worst: tuple[float, Element] | None = None

    def of(self, got: Buffer) -> Figures:
        values = self._arrays.values(self._slot, got)
        with np.errstate(all="ignore"):
            for start, end in self._pieces():
                self._add(start, values[start:end])
        return self._figures(len(values))

    def far(self) -> Far:
        """Return a mask of the wrong elements: real and imaginary parts one after the other."""
        found = np.zeros(len(self._expected), dtype=np.bool_)
        for start, some in self._far:
            found[start : start + len(some)] = some
        return found

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Yield begin and end of each piece: whole rows, as many as fit in a chunk, or a part of a row."""
        elements, width, chunk = len(self._expected), self._width, self._arrays.chunk
        step = max(chunk // width, 1) * width
        for begin in range(0, elements, step):
            end = min(begin + step, elements)
            yield from ((at, min(at + chunk, end)) for at in range(begin, end, chunk))

    def _add(self, start: int, got: Array) -> None:
        arrays, xp = self._arrays, self._arrays.xp
        end = start + len(got)
        expected, got = arrays.single(self._expected[start:end]), arrays.single(got)
        truth = None
        if self._truth is not None:
            expected, got = arrays.double(expected), arrays.double(got)
            truth = self._truth[start:end]
            truth = xp.where(xp.isfinite(truth), truth, expected)
        limit = self._limit(expected, truth, start, end)
        from_expected = abs(got - expected)
        error = judged = from_expected  # the actual error; the error that is judged
        if truth is not None:
            disputed = ~(abs(expected - truth) <= limit)
            self._disputed += int(xp.count_nonzero(disputed & xp.isfinite(expected)))
            error = xp.where(disputed, xp.minimum(abs(got - truth), from_expected), abs(got - truth))
            judged = from_expected if self._rule.tolerance else error
        shares, size = judged / limit, expected if truth is None else truth
        share, widest, *sums = arrays.numbers(shares.max(), limit.max(), *self._sums(error, size, limit))
        if not share <= 1 or math.isinf(widest):  # otherwise every element is near: no NaN, no infinity
            far = ~(judged <= limit) | xp.isinf(limit)  # a NaN is far, and any error that an infinity would allow
            far &= ~((expected == got) | (xp.isnan(expected) & xp.isnan(got)))  # equal infinities, expected NaNs
            share = float(xp.where(judged > 0, shares, 0.0).max())
            if bool(far.any()):
                self._note(start, expected, got, judged, far)
        self._worst_share = _larger(self._worst_share, share)
        if not (math.isfinite(sums[0]) and TINY * len(error) < sums[1] < math.inf):
            # Elements that are expected to be no number count in no sum.
            error, size, limit = (xp.where(xp.isfinite(expected), array, 0.0) for array in (error, size, limit))
            sums = arrays.numbers(*self._sums(arrays.double(error), arrays.double(size), limit))
        self._count(*sums, is_last=end % self._width == 0)
        if truth is not None:
            own = xp.where(xp.isfinite(expected), expected - truth, 0.0)
            self._own += float(self._squares(arrays.double(own)).sum())

    def _limit(self, expected: Array, truth: Array | None, start: int, end: int) -> Array:
        """Return the allowed error of each element."""
        if self._model is None:
            assert self._rule.tolerance is not None
            return abs(expected) * self._rule.tolerance.rtol + self._rule.tolerance.atol
        size = abs(expected if truth is None else truth)
        other = self._other if self._spread is None else self._spread[start:end]
        factor, cap = self._model.share * self._leeway, self._model.cap
        rest = factor * other + self._model.floor * self._leeway * self._usual
        if self._usual == 0 or (self._spread is None and factor <= cap and rest <= cap * self._usual):
            return size * factor + (rest + self._model.least)  # always below the cap: a large output is read less often
        return self._arrays.xp.minimum(size * factor + rest, (size + self._usual) * cap) + self._model.least

    def _sums(self, error: Array, size: Array, limit: Array) -> list[Array]:
        """Return the sums of squares of a part, as single values: of the errors, the sizes and, for the model, the
        allowed errors; the largest relative square of a row, if there are whole rows; the largest error."""
        errors, sizes = self._squares(error), self._squares(size)
        allowed = errors if self._model is None else self._squares(limit)
        rows = errors if self._width == 1 else self._arrays.xp.where(sizes > 0, errors / sizes, 0.0)
        return [errors.sum(), sizes.sum(), allowed.sum(), rows.max(), error.max()]

    def _count(self, errors: float, sizes: float, allowed: float, row: float, largest: float, *, is_last: bool) -> None:
        """Count the sums of a part. A row that is longer than a part is complete with its last part."""
        self._errors += errors
        self._sizes += sizes
        self._allowed += allowed
        if self._width > self._arrays.chunk:
            errors, sizes = self._row[0] + errors, self._row[1] + sizes
            row = errors / sizes if is_last and sizes > 0 else 0.0
            self._row = [0.0, 0.0] if is_last else [errors, sizes]
        if self._width > 1:
            self._worst_row = _larger(self._worst_row, row)
        self._worst_abs = _larger(self._worst_abs, largest)

    def _squares(self, array: Array) -> Array:
        return self._arrays.row_squares(array, min(self._width, len(array)))

    def _note(self, start: int, expected: Array, got: Array, judged: Array, far: Array) -> None:
        xp = self._arrays.xp
        self._different += int(xp.count_nonzero(far))
        self._far.append((start, self._arrays.mask(far)))
        self._nan |= bool((xp.isnan(got) & ~xp.isnan(expected)).any())
        self._inf |= bool((xp.isinf(got) & ~xp.isinf(expected)).any())
        if self._first is None:
            self._first = _element(self._slot, expected, got, _first(far), start)
        distance = xp.where(far, xp.where(xp.isnan(judged), math.inf, judged), -1.0)
        at = int(distance.argmax())
        if self._worst is None or float(distance[at]) > self._worst[0]:
            self._worst = float(distance[at]), _element(self._slot, expected, got, at, start)

    def _reference_share(self) -> float:
        """Return the reference's own largest error as a share of the allowed error."""
        assert self._truth is not None
        arrays, xp, most = self._arrays, self._arrays.xp, 0.0
        with np.errstate(all="ignore"):
            for start, end in self._pieces():
                expected, truth = arrays.double(arrays.single(self._expected[start:end])), self._truth[start:end]
                share = abs(expected - truth) / self._limit(expected, truth, start, end)
                most = max(most, float(xp.where(xp.isfinite(share), share, 0.0).max()))
        return most

    def _figures(self, elements: int) -> Figures:
        # Squares of the largest numbers leave the range of float64: such an output is judged by its elements alone.
        relative = math.sqrt(self._errors / self._sizes) if 0 < self._sizes < math.inf else None
        precision, limits = self._rule.precision, []
        if precision and precision.max_relative_l2 is not None:
            limits.append(max(precision.max_relative_l2, self._references_l2()))
        if self._model is not None and self._rule.by_model and relative is not None:
            limits.append(self._model.whole(elements) * math.sqrt(self._allowed / self._sizes))
        limit = min(limits, default=None)
        reason = ("nan" if self._nan else "inf" if self._inf else "mismatch") if self._different else ""
        if self._rule.own_check:
            reason = ""
        if not reason and limit is not None and relative is not None and not relative <= limit:
            reason = "precision"
        return Figures(
            elements=elements // _parts(self._slot),
            different=self._different,
            reason=reason,
            basis="expected" if self._truth is None else "fp64",
            relative_l2=finite(relative),
            limit_l2=finite(limit),
            worst_abs=finite(self._worst_abs),
            worst_row=finite(math.sqrt(self._worst_row)) if self._width > 1 else None,
            worst_share=finite(self._worst_share),
            disputed=self._disputed,
            references_own=limit is not None and limit == self._references_l2(),
            first=self._first,
            worst=self._worst[1] if self._worst else None,
        )

    def _references_l2(self) -> float:
        """Return the L2 limit for code that cancels as the reference does: the mean of centred data is pure rounding.

        A result at that distance is rounded again when it is stored, in coarse formats by as much as the reference is
        off.
        """
        if not self._sizes:
            return 0.0
        own = math.sqrt(self._own / self._sizes)
        return REFERENCES_OWN * own + min(error_model.UNIT[self._slot.dtype], STORED * own)


def _model(given: Input, number: int, rule: Rule) -> error_model.Model:
    slot = given.layout.outputs[number]
    seen = given.terms[number] if number < len(given.terms) else 0
    shapes = error_model.additions([one.shape for one in given.layout.slots if one.input >= 0], slot.shape)
    additions = rule.reduction or min(shapes, seen or shapes, error_model.LONGEST)
    wide = DTYPES[slot.dtype][0] // _parts(slot) == 8  # float64 is no truer than its reference
    return error_model.model(slot.dtype, additions, rule.precision, true_is_computed=wide or given.expected64 is None)


def _parts(slot: Slot) -> int:
    """Return the numbers per element: real and imaginary part are judged separately."""
    return 2 if slot.dtype.startswith("complex") else 1


def _first(mask: Array) -> int:
    return int((mask * 1).argmax())


def _larger(so_far: float, value: float) -> float:
    return so_far if math.isnan(so_far) or value <= so_far else value  # a NaN stays


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _element(slot: Slot, expected: Array, got: Array, at: int, start: int) -> Element:
    return slot.index_of((start + at) // _parts(slot)), _shown(slot, expected[at]), _shown(slot, got[at])


def _shown(slot: Slot, value: Any) -> str:
    number = value.item()
    if slot.dtype == "bool":
        return str(bool(number))
    if slot.dtype == "uint64":
        number %= 2**64  # a device's arrays have it as int64
    return f"{number:.9g}" if isinstance(number, float) else str(number)


# -- in words -------------------------------------------------------------------------------------------------------


def explain(case: str, found: Figures, output: int, of: int) -> str:
    """Explain a public case to the author of a submission: which elements differ, the first, the worst, and their
    pattern."""
    which = "" if of == 1 else f", output {output}"
    if found.reason == "precision":
        return " ".join([f"Case {case}{which}: {_imprecise(found)}", *found.hints])
    lines = [f"Case {case}{which}: {found.different} of {found.elements} elements are wrong."]
    for label, element in (("First", found.first), ("Worst", found.worst)):
        if element is not None and not (label == "Worst" and element == found.first):
            lines.append("{} at {}: expected {}, got {}.".format(label, *element))
    if found.reason == "nan":
        lines.append("There are NaNs where finite values are expected.")
    return " ".join([*lines, *found.hints])


def explain_secret(found: Figures) -> str:
    """Explain a secret case: our own figures and the size class, without any hint of the data."""
    text = f"A secret case with about {_about(found.elements)} output elements: "
    if found.reason == "precision":
        return text + _imprecise(found)
    text += f"{100 * found.different / max(found.elements, 1):.3g} % of them are wrong"
    if found.worst_abs is not None:
        text += f", the worst by {found.worst_abs:.3g}"
    return text + ". Try odd sizes, large and tiny values, and constant rows."


def _imprecise(found: Figures) -> str:
    error, limit = ("not finite" if one is None else f"{one:.2g}" for one in (found.relative_l2, found.limit_l2))
    return (
        "each element is near enough, but all together they are less precise than they must be: "
        f"relative L2 error {error}, at most {limit}. "
        "Is a part of it computed in a narrower number format?"
    )


def size_class(layout: Layout) -> int:
    """Return the output elements to the nearest power of two, the only size that may be shown of a secret case."""
    return _about(sum(slot.nbytes // DTYPES[slot.dtype][0] for slot in layout.outputs))


def _about(elements: int) -> int:
    return int(2 ** round(math.log2(max(elements, 1))))


def precision_findings(case: str, layout: Layout, found: list[Figures], rule: Rule) -> list[Finding]:
    """Return findings for a reviewer: right outputs with the error of a cheaper format than the problem's
    `precision.legal`.

    A finding does not reject by itself: an unstable algorithm in a legal format can be as far off. An author who wants
    it rejected declares `max_relative_l2`; without a tolerance the error model has the legal formats in its bound.
    """
    cheaper = error_model.cheaper(rule.precision)
    outputs = [slot for slot in layout.outputs if slot.nbytes]
    findings = []
    for slot, figures in zip(outputs, found, strict=True):
        if cheaper is None or slot.dtype not in error_model.UNIT or not figures.good or figures.relative_l2 is None:
            continue
        if figures.references_own:  # rounding alone identifies no format
            continue
        name, least = cheaper[0], max(cheaper[1], error_model.UNIT[slot.dtype])
        if figures.relative_l2 >= least:
            sentence = (
                f"The relative L2 error is {figures.relative_l2:.2g}; computing in {name} leaves {least:.2g} and more, "
                f"the legal formats ({', '.join(rule.precision.legal if rule.precision else ())}) far less."
            )
            told = {"relative_l2": figures.relative_l2, "least": least, "basis": figures.basis}
            findings.append(Finding(rule="cheaper_precision", case=case, figures=told, sentence=sentence))
    return findings
