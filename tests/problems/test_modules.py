"""Any PyTorch module with inputs becomes a KernelBench file, and a compiler's code the answer to it."""

import ast
from pathlib import Path

import pytest

from problems.fields import ProblemError
from problems.formats import modules

MODEL = '''from __future__ import annotations
import torch
from torch import nn

SIZE = 8


class Helper(nn.Module):
    def forward(self, x):
        return x


class Model(nn.Module):
  """Two spaces."""

  def __init__(self, size):
    super(Model, self).__init__()
    self.helper = Helper()

  def forward(self, x):
    return self.helper(x)


def get_inputs():
    return [torch.rand(SIZE)]


def get_init_inputs():
    return [SIZE]
'''
CODE = '''import torch
name = """
def get_args():
"""


def call(args):
    return (args[0],)


def get_args():
    return []


def benchmark_compiled_module(args, times=10):
    return 1


if __name__ == "__main__":
    get_args()
'''
BOOK = """import torch
import torch.nn as nn

class First(nn.Module):
    pass

class Last(nn.Module):
    def __init__(self, n, scale=1):
        super().__init__()

def get_inputs():
    return [torch.rand(4)]

def get_init_inputs():
    return [[], {'n': 4}]
"""


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_load_takes_a_file_of_any_name(tmp_path: Path) -> None:
    assert modules.load(put(tmp_path, "some_net.py", MODEL)).slug == "kb1-000-some-net"
    assert modules.load(put(tmp_path, "12_Net.py", MODEL)).slug == "kb1-012-net"


def test_load_takes_the_last_module_with_keyword_arguments_as_in_kernelbook(tmp_path: Path) -> None:
    problem = modules.load(put(tmp_path, "book.py", BOOK))
    assert problem.unsupported == ""
    assert "class Model(Last):" in problem.files["reference.py"]
    assert "super().__init__(*arguments, **(options or {}))" in problem.files["reference.py"]


def test_load_adds_constructor_arguments_that_are_missing(tmp_path: Path) -> None:
    text = BOOK.partition("def get_init_inputs")[0].replace("n, scale=1", "")
    reference = modules.load(put(tmp_path, "plain.py", text)).files["reference.py"]
    assert "def get_init_inputs():\n    return []" in reference
    assert "class Model(Last):\n    pass" in reference


def test_load_names_what_a_file_lacks(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="line 1"):
        modules.load(put(tmp_path, "broken.py", "def f(:\n"))
    assert modules.load(put(tmp_path, "none.py", "x = 1\n")).unsupported == "It defines no class Model."


def test_answer_has_the_code_and_classes_whose_forward_calls_it() -> None:
    found = modules.answer(MODEL, CODE, ["self.helper.weight", "inputs[0]"], "found[0]", "Made by a test.")
    tree = ast.parse(found)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert names == ["call", "Helper", "ModelNew"]
    assert found.startswith("# Made by a test.\nimport torch\n")
    assert 'name = """\ndef get_args():\n"""' in found, "text in a literal is no function"
    assert "super(ModelNew, self)" in found
    assert (
        "  @torch.no_grad()\n"
        "  def forward(self, *inputs):\n"
        "      found = inductor_call([self.helper.weight, inputs[0]])\n"
        "      return found[0]\n"
    ) in found
    assert "__future__" not in found
    assert "__main__" not in found


def test_answer_refuses_constants_that_its_text_does_not_hold() -> None:
    with pytest.raises(ProblemError, match="_tensor_constant0"):
        modules.answer(MODEL, f"_tensor_constant0 = None  # device(type='cpu')\n{CODE}", [], "found[0]", "")


def test_answer_wants_a_class_body_on_lines_of_its_own() -> None:
    text = "import torch\nclass Model(torch.nn.Module): pass\n"
    with pytest.raises(ProblemError, match="line 2"):
        modules.answer(text, CODE, [], "found[0]", "")
