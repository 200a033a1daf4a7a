"""Inputs and expected output of a square matrix product: `engine` names the number format, as speed of light does."""

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "fp16_tc": torch.float16,
    "bf16_tc": torch.bfloat16,
    "int8_tc": torch.int8,
}
Data = tuple[torch.Tensor, torch.Tensor, torch.Tensor, str]


def generate_input(*, n: int, seed: int, engine: str = "bf16_tc", fill: str = "random") -> Data:
    """`fill`: "random", or "zeros", which toggle fewer transistors and so leave more power for the clock."""
    dtype = DTYPES[engine]
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    a, b = (one(n, dtype, generator) for _ in range(2))
    if fill == "zeros":
        a.zero_()
        b.zero_()
    out = torch.empty(n, n, dtype=torch.int32 if dtype == torch.int8 else dtype, device=DEVICE)
    return a, b, out, engine


def one(n: int, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    if dtype == torch.int8:
        return torch.randint(-128, 128, (n, n), dtype=dtype, generator=generator, device=DEVICE)
    return torch.randn(n, n, generator=generator, device=DEVICE, dtype=dtype)


def ref_kernel(data: Data) -> torch.Tensor:
    a, b, out, engine = data
    if engine == "int8_tc":
        return torch._int_mm(a, b, out=out)
    torch.backends.cuda.matmul.allow_tf32 = engine == "tf32"
    return torch.mm(a, b, out=out)
