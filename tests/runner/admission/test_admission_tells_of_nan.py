"""NaN in a reference's answer may be intended; its author gets a notice."""

from pathlib import Path

import numpy as np
import pytest

from runner.judge.data import compare
from runner.judge.data.layout import Slot
from tests.runner.admission_here import INPUTS, examined, problem

LOGARITHM = INPUTS + "def ref_kernel(data):\n    return torch.exp(data[0]) + data[1], torch.log(data[0])\n"
CLOSE = """
def check_implementation(data, output):
    return all(torch.allclose(one, other) for one, other in zip(output, ref_kernel(data))), "far off"
"""


def slot(dtype: str, count: int, nbytes: int, at: int = 0) -> Slot:
    return Slot("out", dtype, (count,), (1,), nbytes, -1, at)


@pytest.mark.parametrize(
    ("dtype", "bits", "expected"),
    [
        ("float32", np.array([0x7FC00000, 0xFFC00001, 0x7F800000, 0], np.uint32), 2),
        ("float64", np.array([0x7FF8000000000000, 0], np.uint64), 1),
        ("bfloat16", np.array([0x7FC0, 0x7F80, 0x3F80, 0xFFFF], np.uint16), 2),
        ("float8_e4m3fn", np.array([0x7F, 0xFF, 0x7E, 0], np.uint8), 2),
        ("complex64", np.array([0x7FC00000, 0, 0, 0x7FC00000], np.uint32), 2),
    ],
)
def test_numbers_that_are_none_are_counted(dtype: str, bits: np.ndarray, expected: int) -> None:
    count = len(bits) // (2 if dtype == "complex64" else 1)
    region = np.zeros(512, np.uint8)
    region[256 : 256 + bits.nbytes] = bits.view(np.uint8)
    assert compare.nans(slot(dtype, count, bits.nbytes, 256), region) == expected
    assert compare.nans(slot(dtype, count, bits.nbytes, 0), region) == 0


def test_all_of_an_output_is_counted() -> None:
    count = 2 * compare.HOST.chunk + 3
    region = np.zeros(4 * count, np.uint8)
    region.view(np.float32)[[0, compare.HOST.chunk, count - 1]] = np.nan
    assert compare.nans(slot("float32", count, 4 * count), region) == 3


@pytest.mark.parametrize("check", ["", CLOSE])
def test_the_author_is_told_of_the_first_case(tmp_path: Path, check: str) -> None:
    """This holds even if the problem's own check rejects NaN, and therefore the reference."""
    pytest.importorskip("torch")
    (told,) = [line for line in examined(problem(LOGARITHM + check), tmp_path).lines if line.name == "admission/nan"]
    assert (told.good, told.got) == (None, "NaN in 13 of 13 cases")
    assert told.explained.startswith("Case size=33: ")
    assert "of 33 numbers of float32 [33], which the reference returns, are NaN" in told.explained
