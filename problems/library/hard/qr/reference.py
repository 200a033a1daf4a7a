"""Inputs of batched QR, a factorisation, and the check by which any other is judged. Runs in the oracle."""

import torch
from task import input_t, output_t

UNIT = 2.0**-24  # unit roundoff of float32
SHARE, LEAST = 8, 8  # errors may reach SHARE · (n + LEAST) units
SMALLEST = 2.0**-126  # what a device may flush to zero
CLOSE = 2.0**-10  # columns of `close` differ by about this share

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, batch: int, n: int, seed: int, distribution: str = "normal") -> input_t:
    """`q` and `r` are the outputs' places; they hold nothing yet."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    a = draw((batch, n, n), generator, distribution)
    return a, torch.empty_like(a), torch.empty_like(a)


def ref_kernel(data: input_t) -> output_t:
    """One of many: Q moves with every rounding where columns depend on each other. So float64's is no truth either."""
    a, q, r = data
    if a.dtype == torch.float64:
        raise NotImplementedError("a factorisation is judged by its residuals, not by its distance to another one")
    factors = _on_device(a.float()) if a.is_cuda else torch.linalg.qr(a.float())
    q.copy_(factors[0])
    r.copy_(factors[1])
    return q, r


def _on_device(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where columns repeat, what reflections leave gets so small that its squares are zero: the library for GPUs,
    which does not scale, gives a Q that is not orthogonal. Those matrices are done again on the host."""
    q, r = _reflected(a)
    lost = ~(orthogonality(q.double()) <= SHARE * (a.shape[-1] + LEAST) * UNIT)
    if lost.any():
        q[lost], r[lost] = (factor.to(a.device) for factor in torch.linalg.qr(a[lost].cpu()))
    return q, r


def _reflected(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The library's reflections, multiplied for all matrices at once: torch.linalg.qr on a GPU does one after another.

    Q = I - V T Vᵀ, where T⁻¹ has the reflections' 1 / τ on its diagonal and VᵀV above it.
    """
    packed, tau = torch.geqrf(a)
    v = packed.tril(-1)
    v.diagonal(dim1=-2, dim2=-1).fill_(1)
    tied = tau.unsqueeze(-1) * (v.mT @ v).triu(1)
    turned = torch.linalg.solve_triangular(tied, tau.unsqueeze(-1) * v.mT, upper=True, unitriangular=True)
    return torch.eye(a.shape[-1], device=a.device) - v @ turned, packed.triu()


def check_implementation(data: input_t, output: output_t) -> tuple[bool, str]:
    """Is Q r a QR factorisation of `a`? Neither the signs of R's diagonal nor the reference's answer matter.

    In float64, of which the products' own rounding is a billionth of the limits. What holds all four is a factorisation
    to float32's precision, however it was found. Written so that a NaN, wherever it comes from, fails.
    """
    a, q, r = (tensor.double() for tensor in (data[0], *output))
    n = a.shape[-1]
    if not (q.shape == r.shape == a.shape):
        return False, f"Q and R must have the shape {tuple(a.shape)}"
    for name, factor in (("Q", q), ("R", r)):
        good = factor.isfinite().flatten(1).all(1)
        if not good.all():
            return False, f"{name} of matrix {_first(~good)} holds a NaN or an infinity"
    good = (r.tril(-1) == 0).flatten(1).all(1)
    if not good.all():
        return False, f"R of matrix {_first(~good)} is not exactly zero below its diagonal"
    off, limit = orthogonality(q), SHARE * (n + LEAST) * UNIT
    if not (off <= limit).all():
        worst = int(off.argmax())
        return False, f"Q of matrix {worst} is not orthogonal: ‖QᵀQ − I‖ is {off[worst]:.3g}, at most {limit:.3g}"
    left, limits = residual(a, q, r), limit * norms(a) + n * SMALLEST
    if not (left <= limits).all():
        worst = int((left / limits).argmax())
        matrix, column = divmod(worst, n)
        return False, (
            f"Column {column} of matrix {matrix} is not Q R: ‖a − Q r‖ is {left.flatten()[worst]:.3g}, "
            f"at most {limits.flatten()[worst]:.3g}"
        )
    return True, ""


def orthogonality(q: torch.Tensor) -> torch.Tensor:
    """‖QᵀQ − I‖ of every matrix (Frobenius)."""
    gram = q.mT @ q
    gram.diagonal(dim1=-2, dim2=-1).sub_(1)
    return gram.flatten(1).norm(dim=1)


def residual(a: torch.Tensor, q: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """‖a − Q r‖ of every column: by columns, since one large column must not hide what became of a small one."""
    return norms(torch.baddbmm(a, q, r, alpha=-1))


def norms(a: torch.Tensor) -> torch.Tensor:
    return a.square().sum(dim=-2).sqrt()


def draw(shape: tuple[int, int, int], generator: torch.Generator, distribution: str) -> torch.Tensor:
    batch, n, _ = shape
    normal = torch.randn(shape, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "uniform":
        return torch.rand(shape, generator=generator, device=DEVICE)  # all positive: columns lean one way
    if distribution == "wide":  # columns from a millionth to a million
        exponent = torch.randint(-20, 21, (batch, 1, n), generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "close":  # columns that are nearly the same: what is left of them after the first is small
        return normal[:, :, :1] + CLOSE * normal
    if distribution == "repeated":  # few different columns: what is left of the others is rounding
        source = torch.randint(0, (n + 1) // 2, (batch, 1, n), generator=generator, device=DEVICE)
        return normal.gather(2, source.expand(shape))
    if distribution == "zero_columns":  # a third of the columns, in other places in every matrix
        kept = torch.rand((batch, 1, n), generator=generator, device=DEVICE) > 1 / 3
        return normal * kept
    if distribution == "triangular":  # there is nothing left to do, and much to divide by zero
        return normal.triu_(1)
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")


def _first(mask: torch.Tensor) -> int:
    return int(mask.int().argmax())
