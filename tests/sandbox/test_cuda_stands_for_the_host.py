"""Code that names a CUDA device runs on a host without a GPU; each snippet runs in its own process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INSIDE = Path(__file__).parents[2] / "sandbox" / "inside"
FIRST = "import stand_in, torch; stand_in.install(); from torch import nn, zeros\n"

EVERY_WAY = """
g = torch.Generator(device="cuda"); g.manual_seed(1)
assert isinstance(g, torch.Generator)
x = torch.randn(3, 4, device="cuda", generator=g)
found = [
    x, torch.empty(2, device=torch.device("cuda")), torch.tensor([1.0], device="cuda:0"), torch.zeros(2, device="cuda"),
    torch.rand(2, 2, device="cuda", generator=g), torch.full((2,), 3.0, device="cuda"), torch.eye(2, device="cuda"),
    torch.randint(0, 9, (3,), device="cuda", generator=g), torch.arange(4, device="cuda"), zeros(1, device="cuda"),
    torch.randperm(5, device="cuda"), torch.linspace(0, 1, 3, device="cuda"), torch.logspace(0, 1, 3, device="cuda"),
    torch.normal(0.0, 1.0, (2,), device="cuda", generator=g), torch.as_tensor([1], device="cuda"),
    torch.empty_like(x, device="cuda"), torch.randn_like(x, device="cuda"),
    torch.empty_strided((2,), (1,), device="cuda"),
    x.cuda(), x.cuda(0), x.to("cuda"), x.to(device="cuda", dtype=torch.float16), x.to("cuda", torch.float64),
    x.to(torch.device("cuda", 0), non_blocking=True), x.new_zeros(2, device="cuda"), x.new_tensor([1], device="cuda"),
    torch.empty(3).uniform_(0, 1, generator=g), x.pin_memory(), x.to(x.device), x.cuda(non_blocking=True),
    nn.Linear(2, 3, device="cuda").weight, nn.Linear(2, 3).cuda().weight, nn.Linear(2, 3).to("cuda").weight,
    nn.Parameter(torch.ones(2, device="cuda")), torch.distributions.Cauchy(torch.zeros(1, device="cuda"), 2.0).sample(),
]
with torch.device("cuda"):
    found.append(torch.ones(2))
torch.set_default_device("cuda")
found += [torch.ones(2), nn.Linear(2, 2).weight]
assert {one.device.type for one in found} == {"cpu"}, found
torch.cuda.synchronize(); torch.cuda.empty_cache(); torch.cuda.manual_seed(3); torch.cuda.manual_seed_all(3)
assert not torch.cuda.is_available()
"""
THE_SAME = """
def drawn(device):
    g = torch.Generator(device).manual_seed(5)
    torch.manual_seed(6)
    return torch.cat([torch.randn(9, device=device, generator=g), torch.rand(9, device=device)])
assert torch.equal(drawn("cuda"), drawn("cpu"))
stand_in.install()
assert torch.equal(drawn("cuda"), drawn("cpu"))
"""
STILL_TRUE = """
x = torch.ones(2)
assert x.to(torch.float16).dtype == torch.float16 and x.to("meta").is_meta
assert torch.empty(2, device="meta").is_meta and torch.zeros(3, dtype=torch.int8).dtype == torch.int8
assert torch.tensor("cuda".encode()[0]).item() == 99
try:
    torch.ones(1, device="xpu:0")
except Exception:
    pass
else:
    raise AssertionError("another device is not this one")
"""
TORCHS_COMPILER = """
torch.use_deterministic_algorithms(True)  # imports the compiler's settings
torch.use_deterministic_algorithms(False)
def f(x):
    return x.cuda() + torch.ones(3, device="cuda").to("cuda:0")
assert torch.equal(torch.compile(f, backend="eager", fullgraph=True)(torch.ones(3)), torch.full((3,), 2.0))
"""


@pytest.mark.parametrize("code", [EVERY_WAY, THE_SAME, STILL_TRUE, TORCHS_COMPILER])
def test_cuda_means_the_host_and_nothing_else_does(code: str) -> None:
    environment = {"PYTHONPATH": str(INSIDE), "PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", FIRST + code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
