"""`lang: cu` on a host without a GPU: the real harness compiles a file as C++, loads it and calls it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from problems.spec import Build
from runner.judge.data.faults import Fault
from runner.judge.data.memory import Memory
from runner.judge.sides.oracle import Oracle
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import LIMIT_S, Moving, agrees, output_of, tenant_of

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

REFERENCE = """
import torch

def generate_input(*, rows, cols, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-9, 9, (cols, rows), generator=g).float().t()
    return {"x": x, "scale": 3, "shift": (0.5, True), "count": torch.empty(rows, dtype=torch.int64)}

def ref_kernel(data):
    x = data["x"]
    data["count"].copy_((x > 0).sum(1))
    return x * data["scale"] + data["shift"][0], data["count"]
"""
GOOD = """
#include "photofinish.h"
#include "more.h"

extern "C" int custom_kernel(const pf_call* call) {
  const pf_tensor& x = call->inputs[0];
  if (call->input_count != 2 || call->output_count != 2 || call->number_count != 3) return 1;
  if (x.rank != 2 || x.dtype != PF_FLOAT32 || call->outputs[1].dtype != PF_INT64 || call->stream) return 2;
  const pf_tensor& y = call->outputs[0];
  float* out = (float*)y.data;
  int64_t* count = (int64_t*)call->outputs[1].data;
  if (count != call->inputs[1].data || call->numbers[2].whole != 1 || call->numbers[1].whole != 0) return 3;
  for (int64_t i = 0; i < x.shape[0]; i++) {
    count[i] = 0;
    for (int64_t j = 0; j < x.shape[1]; j++) {
      const float v = ((const float*)x.data)[i * x.stride[0] + j * x.stride[1]];
      count[i] += v > 0;
      const float w = v * call->numbers[0].whole + (float)call->numbers[1].real + EXTRA + more();
      out[i * y.stride[0] + j * y.stride[1]] = w;
    }
  }
  return 0;
}
"""
HELPERS = {"more.h": "#pragma once\nint more();\n", "more.cpp": '#include "more.h"\nint more() { return 0; }\n'}
CASE: dict[str, Any] = {"rows": 5, "cols": 7}


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(REFERENCE, tmp_path_factory.mktemp("native")) as oracle:
        yield oracle


def build(limit_s: float = LIMIT_S, **config: Any) -> dict[str, Any]:
    config = {"sources": ["submission.cu", "more.cpp"], "defines": {"EXTRA": 0}} | config
    made = Build.from_config(config, "submission.cu")
    return {"compiler": "g++", "sources": list(made.sources), "flags": made.flags("g++"), "limit_s": limit_s}


def load(tenant: Any, source: str, **changes: Any) -> None:
    files = {**HELPERS, "submission.cu": source}
    tenant.load(files, "submission.cu", "custom_kernel", "function", LIMIT_S, build(**changes))


@pytest.mark.parametrize("memory", [Memory, Moving])
def test_it_is_compiled_and_called_with_every_tensor_and_number(
    oracle: Oracle, tmp_path: Path, memory: type[Memory]
) -> None:
    with tenant_of(tmp_path, 8 << 20, memory()) as tenant:
        load(tenant, GOOD)
        for given in (oracle.make(CASE, 1), oracle.make({"rows": 8, "cols": 3}, 2), oracle.make(CASE, 3)):
            for _ in range(3):
                assert agrees(given, output_of(tenant, given))


def test_what_it_leaves_out_stays_as_the_judge_filled_it(oracle: Oracle, tmp_path: Path) -> None:
    with tenant_of(tmp_path) as tenant:
        load(tenant, GOOD.replace("count[i] += v > 0;", "").replace("count[i] = 0;", ""))
        given = oracle.make(CASE, 1)
        output = output_of(tenant, given)
        counts = next(slot for slot in given.layout.outputs if slot.dtype == "int64")
        assert len(np.unique(output[counts.output :][: counts.nbytes].view(np.uint64))) == 1


@pytest.mark.parametrize(
    ("source", "reason", "said"),
    [
        (GOOD.replace("return 3", "return three"), "compile", "submission.cu:12:"),
        (
            GOOD.replace("custom_kernel", "another"),
            "missing_entry",
            'extern "C" int custom_kernel(const pf_call* call)',
        ),
        (GOOD.replace('extern "C" ', ""), "missing_entry", "defines no custom_kernel"),
        (
            GOOD.replace("return 0;", "return missing();").replace("#include", "int missing();\n#include", 1),
            "compile",
            "",
        ),
    ],
)
def test_a_file_that_cannot_be_built_is_told_why(tmp_path: Path, source: str, reason: str, said: str) -> None:
    with tenant_of(tmp_path) as tenant, pytest.raises(Fault) as fault:
        load(tenant, source)
    assert (fault.value.outcome, fault.value.reason) == ("build_error", reason)
    assert said in fault.value.message


def test_many_errors_are_cut_where_a_line_ends(tmp_path: Path) -> None:
    lines = "\n".join(f"int wrong_{n} = {'undeclared_name_' * 20}{n};" for n in range(200))
    with tenant_of(tmp_path) as tenant, pytest.raises(Fault) as fault:
        load(tenant, GOOD + lines)
    *whole, last = fault.value.message.splitlines()
    assert len(fault.value.message) < 8000
    assert last.endswith("characters left out")
    assert all(not line.strip().startswith("undeclared") for line in whole)


def test_the_compiler_has_a_time_limit_of_its_own(tmp_path: Path) -> None:
    with tenant_of(tmp_path) as tenant, pytest.raises(Fault) as fault:
        load(tenant, GOOD, limit_s=0.005)
    assert fault.value.reason == "compile"
    assert "was not compiled within 0.005 s" in fault.value.message


def test_a_status_that_is_not_zero_is_an_error(oracle: Oracle, tmp_path: Path) -> None:
    with tenant_of(tmp_path) as tenant:
        load(tenant, GOOD.replace("return 0;", "return 77;"))
        with pytest.raises(Fault, match="custom_kernel returned 77") as fault:
            output_of(tenant, oracle.make(CASE, 1))
    assert fault.value.reason == "raised"


def test_what_an_inline_extension_s_compiler_says_is_a_build_error_too(tmp_path: Path) -> None:
    source = "raise RuntimeError(\"Error building extension 'x': a.cpp:3: error: no\\n\")\n"
    with tenant_of(tmp_path) as tenant, pytest.raises(Fault) as fault:
        tenant.load({"submission.py": source}, "submission.py", "custom_kernel", "function", LIMIT_S)
    assert (fault.value.outcome, fault.value.reason) == ("build_error", "compile")
    assert fault.value.message.startswith("Error building extension 'x': a.cpp:3: error")
