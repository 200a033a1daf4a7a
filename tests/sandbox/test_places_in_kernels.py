"""An error of Triton's compiler gets its place in the submission's file."""

import ast
import importlib
import traceback
from pathlib import Path
from types import ModuleType

import pytest

INSIDE = Path(__file__).parents[2] / "sandbox" / "inside"
SOURCE = """import triton

class Kernels:
    @triton.jit
    def inner(x):
        return x + missing

@triton.jit
def outer(x, n):
    # a kernel
    y = inner(x)
"""
INNER, OUTER = "def inner(x):\n    return x + missing\n", "def outer(x, n):\n    # a kernel\n    y = inner(x)\n"


class CompilationError(Exception):
    """As Triton's: the kernel's source without its indentation, and the place in its syntax tree."""

    def __init__(self, src: str, node: ast.AST | None, error_message: str | None) -> None:
        self.src, self.node, self.error_message = src, node, error_message
        super().__init__(f"at 2:15:\n{src}")


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for folder in (INSIDE, INSIDE.parent):
        monkeypatch.syspath_prepend(folder)
    found = importlib.import_module("harness")
    monkeypatch.setattr(found, "WORK", str(tmp_path))
    (tmp_path / "submission.py").write_text(SOURCE)
    return found


def node_of(source: str, name: str) -> ast.AST:
    return next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and node.id == name)


def explained(harness: ModuleType, err: CompilationError, cause: CompilationError | None = None) -> str:
    try:
        raise err from cause
    except CompilationError as raised:
        text: str = harness.explain(raised, harness.protocol.CALL, "submission.py")[1]
        return text


def test_a_place_in_a_kernel_has_the_files_line_and_column(harness: ModuleType) -> None:
    cause = CompilationError(INNER, node_of(INNER, "missing"), "NameError('missing is not defined')")
    lines = explained(harness, CompilationError(OUTER, node_of(OUTER, "inner"), None), cause).splitlines()
    assert lines[0] == "submission.py, line 6, column 20: NameError('missing is not defined')"
    assert lines[1] == "submission.py, line 11, column 9: the kernel that is called here does not compile"
    shown = SOURCE.splitlines()
    assert (shown[5][19:26], shown[10][8:13]) == ("missing", "inner")


def test_a_kernel_of_another_file_has_no_place(harness: ModuleType) -> None:
    other = "def other(x):\n    return x + missing\n"
    err = CompilationError(other, node_of(other, "missing"), "NameError('missing is not defined')")
    assert "column" not in explained(harness, err)
    assert "column" not in explained(harness, CompilationError(INNER, None, None))


def test_frames_of_the_harness_are_left_out(harness: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    names = (f"{INSIDE}/on_cuda.py", f"{harness.WORK}/submission.py", "/usr/lib/torch/nn.py")
    frames = [traceback.FrameSummary(name, 1, "f", lookup_line=False) for name in names]
    monkeypatch.setattr(traceback, "extract_tb", lambda tb: frames)
    text = explained(harness, CompilationError("", None, None))
    assert "on_cuda.py" not in text
    assert 'File "submission.py", line 1' in text
    assert 'File "/usr/lib/torch/nn.py", line 1' in text
