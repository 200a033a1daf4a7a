"""Allowed distance of an honest output from the true output, if a problem declares no tolerance. Pure formulas.

Independent rounding errors with mean zero grow like √n over the n terms of a sum, in whatever order (Higham & Mary, A
new approach to probabilistic rounding error analysis, 2019). e is the true value (the reference in float64), c how far
it moves when every input is off by a relative 1, each in its own direction (√Σ(x_k ∂e/∂x_k)², estimated by
sandbox/inside/widen.py), s the output's usual size (the 90th percentile of |e|), u_a and u_s the unit roundoffs of the
arithmetic and the stored format:

    unit = (√n u_a + √STORES u_s) (|e| + c) + STORES u_a s         an element:    |got − e| ≤ ELEMENT · unit
                                                                   all elements:  ‖got − e‖₂ ≤ WHOLE(N) · ‖unit‖₂

The last term covers intermediate results larger than the element, as in the tail of x (1 + erf x) / 2.
docs/how-it-measures.md has the reasons, docs/lab-notebook/2026-11-20.md the errors of honest kernels.
"""

import math
from dataclasses import dataclass
from typing import Final

from problems.spec import Precision

ELEMENT: Final = 4.0
EVERYWHERE: Final = 1.5
MARGIN: Final = 4.0  # of the reference inside its own limits
MOST_LEEWAY: Final = 8.0
STORES: Final = 4
CAP: Final = 1 / 16
LONGEST: Final = 1 << 16  # terms that count at most, if a problem does not declare how many; fast code adds up in parts

# dtype → unit roundoff, half the distance from 1 to the next number; and the loss below the range of normal numbers: a
# whole small number if devices flush it to zero, else a rounding.
_FLOATS: Final = {
    "float64": (2.0**-53, 2.0**-1022),
    "float32": (2.0**-24, 2.0**-126),
    "float16": (2.0**-11, 2.0**-24),
    "bfloat16": (2.0**-8, 2.0**-126),
    "float8_e4m3fn": (2.0**-4, 2.0**-9),
    "float8_e5m2": (2.0**-3, 2.0**-16),
    "float8_e4m3fnuz": (2.0**-4, 2.0**-10),
    "float8_e5m2fnuz": (2.0**-3, 2.0**-17),
    "complex32": (2.0**-11, 2.0**-24),
    "complex64": (2.0**-24, 2.0**-126),
    "complex128": (2.0**-53, 2.0**-1022),
}
UNIT: Final = {name: unit for name, (unit, _) in _FLOATS.items()}

# Names in a problem's `precision.legal`: unit roundoff of one rounding to that format.
FORMATS: Final = {
    "fp64": 2.0**-53,
    "fp32": 2.0**-24,
    "tf32": 2.0**-11,
    "fp16": 2.0**-11,
    "bf16": 2.0**-8,
    "fp8": 2.0**-4,
    "fp8_e4m3": 2.0**-4,
    "fp8_e5m2": 2.0**-3,
    "fp4": 2.0**-2,
}


@dataclass(frozen=True)
class Model:
    """Allowed errors of an output tensor: min(`share` · (|e| + c) + `floor` · s, `cap` · (|e| + s)) + `least`.

    The cap keeps zeros, a constant or half of every value wrong, whatever n and c are. The cost of s: elements a
    million times smaller than the usual element are not examined closely.
    """

    share: float
    floor: float
    cap: float
    least: float

    def whole(self, elements: int) -> float:
        """Return the share of the allowed errors' L2 norm that the actual errors' norm may reach, over this many
        elements."""
        return (EVERYWHERE + (ELEMENT - EVERYWHERE) / math.sqrt(max(elements, 1))) / ELEMENT


def model(dtype: str, additions: int, precision: Precision | None = None, *, true_is_computed: bool = False) -> Model:
    """Return the model for outputs of this dtype, each with about this many additions behind it.

    The arithmetic is that of the coarsest format in `precision.legal`; by default float64 for 64-bit outputs and
    float32 for all other dtypes, since every library and tensor core adds up 16-bit products in float32.
    `true_is_computed`: the comparison uses a computed value of the same precision, which is as far off itself: float64
    outputs, and outputs of a reference that does not run in float64.
    """
    stored = UNIT[dtype]
    arithmetic = _coarsest(precision) or (stored if stored < FORMATS["fp32"] else FORMATS["fp32"])
    unit = math.sqrt(max(additions, 1)) * arithmetic + math.sqrt(STORES) * max(stored, arithmetic)
    twice = 2 if true_is_computed else 1
    return Model(
        share=twice * ELEMENT * unit,
        floor=twice * ELEMENT * STORES * arithmetic,
        cap=max(CAP, 2 * stored),
        least=_FLOATS[dtype][1],
    )


def leeway(reference_share: float) -> float:
    """Return the factor by which limits grow if the reference's largest error is this share of a limit.

    The reference shows effects that the formula leaves out, like softmax over scores of thousands, whose near-ties
    follow the last bit. Beyond MOST_LEEWAY it is not rounding any more: compare.py calls the element disputed.
    """
    return min(max(MARGIN * reference_share, 1.0), MOST_LEEWAY)


def _coarsest(precision: Precision | None) -> float | None:
    """Return the unit roundoff of the coarsest legal format; None if no known format is named."""
    known = [FORMATS[name] for name in precision.legal if name in FORMATS] if precision else []
    return max(known, default=None)


def additions(inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> int:
    """Return the approximate number of terms behind an output element, at most, as far as the shapes show it.

    An input's dimensions beyond the output's are summed over (a matrix's rows, a filter), and a sum along one of the
    output's own dimensions (softmax, a norm, a square product) is as long as that. A problem that sums over more, for
    example over several of its output's dimensions at once, declares it in `precision.reduction`.
    """
    longest = max((size for shape in (*inputs, output) for size in shape), default=1)
    for shape in inputs:
        summed_over, left = 1, list(output)
        for size in shape:
            if size in left:
                left.remove(size)
            else:
                summed_over *= size
        longest = max(longest, summed_over)
    return max(longest, 1)


def cheaper(precision: Precision | None) -> tuple[str, float] | None:
    """Return the next format below the coarsest legal format, and the relative L2 error from which it was probably
    used.

    Rounding to nearest in a format of unit roundoff u is off by about 0.4 u in the root mean square, cutting by 0.8 u;
    a quarter of u is less than either leaves, and far more than the legal format's error: 16 units and above.
    """
    legal = _coarsest(precision)
    if legal is None:
        return None
    below = [(unit, name) for name, unit in FORMATS.items() if unit > legal]
    if not below:
        return None
    unit = min(unit for unit, _ in below)
    return "/".join(name for found, name in below if found == unit), unit / 4
