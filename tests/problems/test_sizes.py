"""Sizes of inputs are read from a reference's text, so that an import can warn before a runner tries."""

import time
from dataclasses import replace

import pytest

from problems.formats import kernelbench
from problems.sizes import room_for_inputs, too_large
from problems.spec import Problem

MODEL = """
import torch
import torch.nn as nn
batch, width = 64, 1024 * 4
shape = (width, 512)
class Model(nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    x = torch.rand(batch, *shape)
    return [x, torch.randint(0, 9, (batch,)), torch.ones(7, dtype=torch.float16)]
def get_init_inputs():
    return []
"""
REFERENCE = """
import torch
def generate_input(size, seed, channels=3):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    half = size // 2
    unknown = size if seed else 1
    torch.empty(unknown, 10**9)
    return torch.rand(size, size, channels, generator=generator), torch.empty(half, 2 * half, dtype=torch.int8)
def ref_kernel(data):
    return data
"""


def problem(reference: str = REFERENCE, *sizes: int) -> Problem:
    cases = tuple({"size": size, "seed": 1} for size in sizes)
    return Problem(
        slug="p",
        title="P",
        description="",
        files={"reference.py": reference},
        benchmarks=cases,
        ranking_by="geom",
        gpus=("cpu",),
    )


def why_too_large(problem: Problem, hardware: str) -> str:
    return "".join(too_large(problem, [hardware]))


def test_sizes_of_a_model_files_inputs_are_read_from_its_constants() -> None:
    found = kernelbench.parse(MODEL, "1_Wide.py", 1)
    assert why_too_large(found, "cpu").startswith(
        "cpu: its inputs take about 513 MiB, and a judge there has room for 256 MiB"
    )
    assert why_too_large(found, "H200") == ""
    assert why_too_large(found, "unheard-of") == "", "nothing is said of a memory that nobody knows"


def test_sizes_of_a_case_follow_its_arguments() -> None:
    said = why_too_large(problem(REFERENCE, 64, 8192, 16384), "cpu")
    assert "the inputs of the case size=16384 take about 3,200 MiB" in said
    assert "(and 1 more such cases)" in said
    assert why_too_large(problem(REFERENCE, 64), "cpu") == ""
    assert why_too_large(problem(REFERENCE, 16384), "T4") != ""
    assert why_too_large(problem(REFERENCE, 16384), "H200") == ""


@pytest.mark.parametrize(
    "body", ["torch.rand(9 ** 9 ** 9)", "torch.rand(" + "(" * 500, "torch.rand(*[size] * 10**9)", "1"]
)
def test_sizes_that_cannot_be_read_are_not_guessed(body: str) -> None:
    source = f"import torch\ndef generate_input(size, seed):\n    return {body}\ndef ref_kernel(data): ...\n"
    assert why_too_large(problem(source, 4), "cpu") == ""


@pytest.mark.parametrize(
    ("made", "mib"),
    [
        ("torch.randint(0, 10**12, (size, 1024))", 512),
        ("torch.randint(10**12, shape)", 512),
        ("torch.full((size, 1024), 10**12)", 256),
        ("torch.normal(0.0, 1.0, shape)", 256),
    ],
)
def test_sizes_are_read_from_the_shape_and_not_from_the_numbers_beside_it(made: str, mib: int) -> None:
    body = f"    shape = (size, 1024)\n    return {made}, torch.empty(1, dtype=torch.int8)\n"
    source = f"import torch\ndef generate_input(size, seed):\n{body}def ref_kernel(data): ...\n"
    assert f"take about {mib + 1} MiB" in why_too_large(problem(source, 65_536), "cpu")


def test_sizes_of_a_hostile_reference_are_read_once_or_not_at_all() -> None:
    """The cost grows with neither cases nor hardware, and an estimate of so much text is no use."""
    made, sizes = "    a = torch.rand(size, size)\n", range(16_384, 16_484)
    few, many = (problem(f"import torch\ndef generate_input(size, seed):\n{made * n}", *sizes) for n in (40, 20_000))
    hardware = ["cpu", "T4", "L4", "A100", "H100", "H200"] * 5
    began = time.process_time()
    assert len(too_large(few, hardware)) == len(hardware)
    assert too_large(many, hardware) == []
    nested = "torch.rand(" * 80 + "size" + ")" * 80
    deep = problem(f"import torch\ndef generate_input(size, seed):\n    return {nested}\n", *sizes)
    assert too_large(deep, hardware) == []
    assert time.process_time() - began < 5.0


def test_long_names_that_nothing_gives_a_value_cost_little() -> None:
    long = "n" * 3_300
    constants = "\n".join(f"{long}{number} = 1" for number in range(250))
    unknown = ", ".join(f"y{number}" for number in range(450))
    text = f"{constants}\ndef generate_input(size, seed):\n    x = ({unknown})\n    return torch.rand(x)\n"
    began = time.process_time()
    assert too_large(problem(text, *range(64)), ["H200"]) == []
    assert time.process_time() - began < 5, "it took a minute"


def test_sizes_beyond_all_memory_are_no_endless_numbers() -> None:
    shape = ", ".join("*shape" for _ in range(300))
    source = f"import torch\ndef generate_input(size, seed):\n    shape = {[2**62] * 60}\n    torch.rand({shape})\n"
    assert f"take about {(4 << 64) >> 20:,} MiB" in why_too_large(problem(source, 1), "H200")


def test_room_for_inputs_is_a_share_of_a_gpus_memory() -> None:
    assert room_for_inputs("h100") == (80 << 30) // 16
    assert room_for_inputs("cpu") == 256 << 20
    assert room_for_inputs("abacus") is None
    assert why_too_large(replace(problem(REFERENCE, 16384), files={}), "cpu") == ""
