"""Slow imports of a first call happen before it: a call has less time than the load of a submission."""

from pathlib import Path

import pytest

from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import LIMIT_S, agrees, output_of, tenant_of

REFERENCE = """
import torch
from utils import DeterministicContext

def generate_input(n, seed):
    return torch.randn(n)

def ref_kernel(data):
    with DeterministicContext():
        return data * 2
"""
UTILS = """
import torch

class DeterministicContext:
    def __enter__(self):
        torch.use_deterministic_algorithms(True)

    def __exit__(self, *error):
        torch.use_deterministic_algorithms(False)
"""
ASKS = "import sys\ndef custom_kernel(data):\n    return data * (2 if 'torch._inductor.config' in sys.modules else 3)\n"


@pytest.mark.parametrize(
    ("source", "is_there"),
    [
        ("from utils import DeterministicContext\n" + ASKS, True),
        ("from reference import ref_kernel\n" + ASKS, True),
        ("def later():\n    torch.use_deterministic_algorithms(True)\n" + ASKS, True),
        (ASKS, False),
    ],
)
def test_the_compiler_is_imported_ahead_where_it_will_be(tmp_path: Path, source: str, is_there: bool) -> None:
    files = {"utils.py": UTILS} | ({"reference.py": REFERENCE} if "reference" in source else {})
    (tmp_path / "oracle").mkdir()
    with (
        oracle_of(REFERENCE, tmp_path / "oracle", utils=UTILS) as oracle,
        tenant_of(tmp_path / "tenant") as tenant,
    ):
        tenant.load({**files, "submission.py": source}, "submission.py", "custom_kernel", "function", LIMIT_S)
        given = oracle.make({"n": 4}, 1)
        assert agrees(given, output_of(tenant, given)) == is_there
