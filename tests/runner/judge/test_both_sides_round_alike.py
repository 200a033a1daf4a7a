"""A reference sent as a submission computes in the same formats as the expected outputs."""

from pathlib import Path

from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import LIMIT_S, agrees, output_of, tenant_of

FLAGS = """
import torch

def generate_input(*, seed):
    return torch.ones(4)

def {name}(x):
    return x * torch.backends.cudnn.allow_tf32 + 2 * torch.backends.cuda.matmul.allow_tf32
"""


def test_products_are_no_narrower_on_one_side_than_on_the_other(tmp_path: Path) -> None:
    (tmp_path / "oracle").mkdir()
    with oracle_of(FLAGS.format(name="ref_kernel"), tmp_path / "oracle") as oracle:
        given = oracle.make({}, 1)
    with tenant_of(tmp_path / "tenant") as tenant:
        source = FLAGS.format(name="custom_kernel")
        tenant.load({"submission.py": source}, "submission.py", "custom_kernel", "function", LIMIT_S)
        assert agrees(given, output_of(tenant, given))
