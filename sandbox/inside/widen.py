"""The reference in double precision: the true outputs, and how much of the input's rounding reaches each element.

The reference runs unchanged on inputs upcast to float64. It may name narrower formats itself (`x.float()`,
`dtype=torch.float32`): while `Widened` is active these mean float64. A reference that cannot be widened (it looks at
bits with `view`, its result stays narrow, it refuses) raises NotWidened with the reason, and there is no truth.

`spread`: by how much an output element moves when every input element is off by one unit roundoff. It is estimated,
not bounded: the reference runs again on inputs x·(1 ± η) with random signs, and (f(x') − f(x))/η has mean 0 and
standard deviation √Σ(x_k ∂f/∂x_k)² (small-sample statistical condition estimation, Kenney & Laub 1994).

`terms`: the number of input elements behind one output element. Changing a share p of the inputs reveals it: an output
of n terms stays as it is with probability (1 − p)ⁿ. It distinguishes an elementwise kernel from a sum where shapes
cannot.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import slots
import torch
from torch.overrides import TorchFunctionMode

ETA = 2.0**-24  # relative size of a perturbation: linear for nearly any function, far above float64's own rounding
SAMPLES, FEW_SAMPLES = 2, 8
SLACK = 1.125  # of an estimate of memory: the container's limit ends the program without an error
PERTURBED = 2.375  # bytes for each byte of a tensor while it is perturbed
FEW = 4096  # output elements; up to this number FEW_SAMPLES are drawn, and each element stands for itself

SHARES = (2.0**-6, 2.0**-12, 2.0**-18)  # of the inputs changed, to count the inputs that stand behind an output element
PROBE = 2.0**-12  # relative size of that change
MANY_FOLD = 4  # outputs may differ: with a causal mask they have one to all terms
SAMPLE = 1 << 16  # elements from which an output's condition is taken
SURE = 0.95  # above this share of moved outputs there is no estimate

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
NARROW = {
    **dict.fromkeys((torch.float32, torch.float16, torch.bfloat16, *FLOAT8), torch.float64),
    **dict.fromkeys((torch.complex32, torch.complex64), torch.complex128),
}
WIDE = (torch.float64, torch.complex128)
CASTS = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}

Run = Callable[[list[torch.Tensor]], dict[int, torch.Tensor]]  # inputs, which it may change → dense outputs by slot


class NotWidened(Exception):
    """The reference has no result in double precision; the text gives the reason."""


class Widened(TorchFunctionMode):
    """While active, torch's narrow floating-point formats mean float64 and complex128."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = (*args, *(kwargs or {}).values())
        if getattr(func, "__name__", "") == "view" and any(isinstance(one, torch.dtype) for one in given[1:]):
            raise NotWidened("the reference looks at the bits of a tensor (view as another dtype)")
        if func in CASTS and not args[0].is_complex():
            return args[0].to(torch.float64, copy=True)
        result = func(*map(_wider, args), **{key: _wider(value) for key, value in (kwargs or {}).items()})
        narrowed = any(isinstance(one, torch.dtype) and one in NARROW for one in given)
        if narrowed and any(result is one for one in args):
            return result.clone()  # a cast that would have copied
        return result


def _wider(argument: Any) -> Any:
    return NARROW.get(argument, argument) if isinstance(argument, torch.dtype) else argument


@contextmanager
def doubled() -> Iterator[None]:
    """Let the code inside compute in double precision. Raises NotWidened where it cannot."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Widened():
            yield
    except NotWidened:
        raise
    except Exception as err:
        raise NotWidened(f"the reference does not run in float64: {type(err).__name__}: {err}") from err
    finally:
        torch.set_default_dtype(default)


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor in double precision; non-floating formats stay."""
    dtype = NARROW.get(tensor.dtype)
    copied: torch.Tensor = slots.clone(tensor) if dtype is None else tensor.to(dtype)
    return copied


def needed_bytes(tensors: list[torch.Tensor], outputs: int, *, with_spread: bool) -> int:
    """Return the bytes that double precision takes at the same time, if the reference copies its inputs once.

    `outputs`: their bytes in double precision. A run needs the inputs, the reference's copy (a cast makes it) and a
    dense copy of its result; a run on perturbed inputs needs these beside the inputs, the true outputs and the sum of
    squares. To perturb a tensor takes a copy, a factor of each element and the bits behind the factors. Freed memory
    that fits no later tensor is in SLACK.
    """
    formats = [NARROW.get(tensor.dtype, tensor.dtype) for tensor in tensors]
    sizes = [tensor.numel() * dtype.itemsize for tensor, dtype in zip(tensors, formats, strict=True)]
    largest = max((size for size, dtype in zip(sizes, formats, strict=True) if dtype in WIDE), default=0)
    beside = max(2 * sum(sizes) + 3 * outputs, PERTURBED * largest + 2 * outputs)
    return int(SLACK * (sum(sizes) + (beside if with_spread else sum(sizes) + outputs)))


def spread(
    reference: Run, tensors: list[torch.Tensor], truth: dict[int, torch.Tensor], seed: int
) -> dict[int, torch.Tensor]:
    """Return by slot, like `truth`, each real number's movement divided by the relative size of the perturbation.

    A value that a perturbation makes non-finite counts as moving without bound. Raises NotWidened.
    """
    few = sum(tensor.numel() for tensor in truth.values()) <= FEW
    samples = FEW_SAMPLES if few else SAMPLES
    generator = _generator(tensors, seed)
    squares = {slot: torch.zeros_like(_parts(tensor)) for slot, tensor in truth.items()}
    for _ in range(samples):
        moved = reference([_perturbed(tensor, generator) for tensor in tensors])
        for slot, tensor in truth.items():
            step = (_parts(moved[slot]) - _parts(tensor)).div_(ETA)
            squares[slot] += step.square_()
    found = {slot: _without_nan((total / samples).sqrt_()) for slot, total in squares.items()}
    return found if few else {slot: torch.maximum(own, _nearby(own)) for slot, own in found.items()}


def _without_nan(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.nan_to_num_(nan=torch.inf) if bool(tensor.sum().isnan()) else tensor


def condition(outputs: dict[int, torch.Tensor], spreads: dict[int, torch.Tensor]) -> dict[int, tuple[float, float]]:
    """Return by slot the spread that one element in a thousand exceeds: absolute, and over the outputs' usual size.

    It stands for the spreads of further data of the same case. The usual size is the 90th percentile of |e| > 0, as in
    the judge (compare.py); the second number is 0 where all outputs are.
    """
    found = {}
    for slot, spread in spreads.items():
        step = spread.numel() // SAMPLE | 1
        own, size = spread[::step], _parts(outputs[slot])[::step].double().abs()
        own, size = own[own.isfinite()], size[size.isfinite() & (size > 0)]
        if own.numel():
            most = float(own.quantile(0.999))
            found[slot] = most, most / float(size.quantile(0.9)) if size.numel() else 0.0
    return found


def terms(reference: Run, tensors: list[torch.Tensor], truth: dict[int, torch.Tensor], seed: int) -> dict[int, int]:
    """Estimate terms by slot from above. A slot with too few outputs or more terms than 10⁶ is missing."""
    generator = _generator(tensors, seed)
    found: dict[int, int] = {}
    for share in SHARES:
        moved = reference([_changed_here_and_there(tensor, share, generator) for tensor in tensors])
        for slot, tensor in truth.items():
            if slot not in found and tensor.numel():
                count = int(torch.count_nonzero(_parts(moved[slot]) != _parts(tensor)))
                most = (count + 3 * math.sqrt(count) + 3) / _parts(tensor).numel()
                if most < SURE:
                    found[slot] = max(math.ceil(MANY_FOLD * math.log1p(-most) / math.log1p(-share)), 1)
        if len(found) == len(truth):
            break
    return found


def _changed_here_and_there(tensor: torch.Tensor, share: float, generator: torch.Generator) -> torch.Tensor:
    changed: torch.Tensor = slots.clone(tensor)
    if tensor.dtype in (torch.float64, torch.complex128):
        parts = _parts(changed)
        chosen = torch.rand(parts.shape, generator=generator, device=tensor.device) < share
        parts.mul_(chosen.double().mul_(PROBE).add_(1))
    return changed


def _generator(tensors: list[torch.Tensor], seed: int) -> torch.Generator:
    return torch.Generator(tensors[0].device if tensors else "cpu").manual_seed(seed)


def _parts(tensor: torch.Tensor) -> torch.Tensor:
    """Return real and imaginary parts one after the other, in memory order: each is an element to the judge."""
    flat: torch.Tensor = slots.elements(tensor)
    return torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat


def _perturbed(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return the tensor with each real number off by ±η relative; tensors that are not in double precision stay."""
    if tensor.dtype not in (torch.float64, torch.complex128):
        same: torch.Tensor = slots.clone(tensor)
        return same
    moved = tensor.clone()
    parts = _parts(moved)  # a view
    words = torch.randint(0, 256, (-(-parts.numel() // 8), 1), generator=generator, device=tensor.device).byte()
    bits = (words >> torch.arange(8, dtype=torch.uint8, device=tensor.device)) & 1
    factor = bits.view(-1)[: parts.numel()].double().mul_(2 * ETA).add_(1 - ETA)
    parts.mul_(factor)
    return moved


def _nearby(own: torch.Tensor) -> torch.Tensor:
    """Return, by element, the estimate that its neighbours on both sides reach, one or two places off.

    It backs an estimate that is near 0 by chance. A single large neighbour, as in the next row, does not count.
    """
    around = torch.nn.functional.pad(own, (2, 2))
    near, next_to_near = torch.minimum(around[1:-3], around[3:-1]), torch.minimum(around[:-4], around[4:])
    return torch.maximum(near, next_to_near)
