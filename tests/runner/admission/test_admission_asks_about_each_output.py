"""The admission test removes each output in turn: an output that only the remaining outputs make wrong need not be
computed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from problems.spec import MODEL, Fuzz, IntRange, Tolerance
from runner.admission import outputs
from runner.judge.data.call import Input
from runner.judge.data.faults import OracleFailed
from runner.judge.data.layout import DTYPES, Slot
from runner.judge.data.memory import NoMemory
from runner.judge.sides import oracle
from runner.judge.trial import Trial
from runner.wire import Expectation
from tests.runner.admission_here import INPUTS, SUM, examined, problem

TWO = INPUTS + "def ref_kernel(data):\n    return torch.exp(data[0]) + data[1], data[0] * data[1]\n"
CLOSE = "torch.allclose({0}, {1}, rtol=1e-4, atol=1e-5)"
CHECK = """
def check_implementation(data, output):
    first, second = ref_kernel(data)
    return {}, "not the same"
"""
BOTH = TWO + CHECK.format(CLOSE.format("first", "output[0]") + " and " + CLOSE.format("second", "output[1]"))
FIRST_ALONE = TWO + CHECK.format(CLOSE.format("first", "output[0]"))
TINY = TWO.replace("data[0] * data[1]", "1e-9 * data[0] * data[1]")
SCRATCH = """
import torch
def generate_input(*, size, seed):
    x = torch.randn(size, generator=torch.Generator().manual_seed(seed))
    return x, torch.zeros(size), torch.zeros(size)
def ref_kernel(data):
    x, scratch, out = data
    scratch.copy_(torch.exp(x))
    out.copy_(scratch + x)
    return out
"""
LOOKS_AT_OUT = """
def check_implementation(data, output):
    return torch.allclose(output, torch.exp(data[0]) + data[0], rtol=1e-4, atol=1e-5), "not the same"
"""
MANY = INPUTS + "def ref_kernel(data):\n    return [data[0] * (1 + number) for number in range(20)]\n"
NEVER = INPUTS + "def ref_kernel(data):\n    return torch.exp(data[0]) + data[1], torch.zeros(len(data[0]))\n"
PUBLIC_ALONE = """
import torch
def generate_input(*, size, live, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=generator), live * torch.randn(size, generator=generator)
def ref_kernel(data):
    return torch.exp(data[0]), 3 * data[1]
"""
LAYER = """
import torch
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("seen", torch.zeros(width))
    def forward(self, x):
        self.seen.add_(SCALE * x.mean(0))
        return torch.exp(x)
def get_inputs():
    return [torch.randn(64, 8)]
def get_init_inputs():
    return [8]
"""
CAREFUL = """
def check_implementation(data, output):
    if not output[0].any():
        raise ValueError("nothing there")
    first, second = ref_kernel(data)
    return torch.allclose(torch.cat(output), torch.cat((first, second)), rtol=1e-4, atol=1e-5), "other"
"""
LEAVES = CAREFUL.replace('raise ValueError("nothing there")', "__import__('os')._exit(3)")
HALVES = """
import torch
def generate_input(*, size, seed):
    out = torch.empty(2, size)
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)), out, out[0], out[1]
def ref_kernel(data):
    x, _, first, second = data
    return torch.exp(x, out=first), torch.mul(x, x, out=second)
def check_implementation(data, output):
    return torch.allclose(output[0], torch.exp(data[0]), rtol=1e-4, atol=1e-5), "not the same"
"""
OTHER_PLACES = TWO.replace("return torch.exp", "answer = torch.exp").replace(
    "data[0] * data[1]", "1e-9 * data[0] * data[1]"
) + ("    return answer if len(data[0]) % 2 else (answer[1].view(1, -1), answer[0])\n")
ALWAYS = "def check_implementation(data, output):\n    raise ValueError('no')\n"


@pytest.fixture(autouse=True)
def torch() -> None:
    pytest.importorskip("torch")


def line(reference: str, folder: Path, name: str = outputs.NAME, **changes: object) -> Expectation | None:
    """The line about outputs alone, or the line of that name; the rest of the test passes."""
    changes = {"tolerance": None} | changes if "def check" in reference else changes
    found = examined(problem(reference, **changes), folder)
    lines = {one.name: one for one in found.lines}
    mine = lines.pop(name, None)
    assert not [one for one in lines.values() if one.good is False], lines
    assert found.passed is (mine is None or mine.good is not False)
    return mine


def test_where_there_is_one_output_nothing_is_said(tmp_path: Path) -> None:
    assert line(SUM, tmp_path) is None


@pytest.mark.parametrize("reference", [TWO, BOTH], ids=["compared", "by its own check"])
def test_outputs_that_each_make_an_answer_wrong_pass(tmp_path: Path, reference: str) -> None:
    told = line(reference, tmp_path)
    assert told is not None
    assert (told.good, told.got) == (True, "wrong, each of 2")


@pytest.mark.parametrize("reference", [FIRST_ALONE, TINY], ids=["its own check looks away", "smaller than allowed"])
def test_an_output_that_nobody_need_compute_is_found(tmp_path: Path, reference: str) -> None:
    told = line(reference, tmp_path)
    assert told is not None
    assert (told.good, told.got) == (False, "accepted without output 2")
    assert "Of output 2 of 2 (float32 [33]) zeros are accepted" in told.explained


def test_scratch_that_a_problems_own_check_leaves_alone_may_hold_anything(tmp_path: Path) -> None:
    assert line(SCRATCH + LOOKS_AT_OUT, tmp_path) is None
    told = line(SCRATCH, tmp_path / "compared")
    assert told is not None
    assert told.got == "wrong, each of 2", "without a check of its own a kernel must fill it alike"


def test_what_a_reference_changes_by_the_way_is_told(tmp_path: Path) -> None:
    told = line(SCRATCH, tmp_path / "compared", outputs.IN_PLACE)
    assert told is not None
    assert (told.good, told.got) == (None, "changed, not returned: float32 [33]")
    for number, reference in enumerate((TWO, SCRATCH + LOOKS_AT_OUT, SCRATCH.replace("    return out\n", ""))):
        assert line(reference, tmp_path / str(number), outputs.IN_PLACE) is None


def test_parts_of_one_tensor_are_asked_about_each(tmp_path: Path) -> None:
    told = line(HALVES, tmp_path)
    assert told is not None
    assert told.got == "accepted without output 2"


def test_an_output_with_another_meaning_in_another_case_is_another(tmp_path: Path) -> None:
    told = line(OTHER_PLACES, tmp_path)
    assert told is not None
    assert told.got == "accepted without output 1"


def test_of_many_outputs_some_are_drawn_for_each_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ask = [], outputs.EachOutput.ask

    def counted(self: outputs.EachOutput, trial: Trial, given: Input, *told: Any, public: bool) -> None:
        judged: list[Any] = []
        wrong = SimpleNamespace(good=False)
        monkeypatch.setattr(trial.calls, "judge_output", lambda *told, **named: judged.append(told) or wrong)
        ask(self, trial, given, *told, public=public)
        monkeypatch.undo()
        asked.append(len(judged))

    with monkeypatch.context() as patched:
        patched.setattr(outputs.EachOutput, "ask", counted)
        told = line(MANY, tmp_path)
    assert told is not None
    assert told.good
    assert set(asked) == {outputs.MOST}


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_output_of_zeros_is_not_asked_about(tmp_path: Path, sign: str) -> None:
    told = line(NEVER.replace("torch.zeros", f"{sign}torch.zeros"), tmp_path)
    assert told is not None
    assert told.got == "wrong, each of 1"


def test_what_only_public_data_tell_counts_for_nothing(tmp_path: Path) -> None:
    asked = problem(
        PUBLIC_ALONE,
        tests=({"size": 33, "live": 1, "seed": 1},),
        benchmarks=({"size": 64, "live": 0, "seed": 2},),
        fuzz=Fuzz(cases=4, args={"size": IntRange(2, 64), "live": (0,)}),
    )
    told = {one.name: one for one in examined(asked, tmp_path).lines}[outputs.NAME]
    assert told.got == "accepted without output 2"


@pytest.mark.parametrize(("scale", "good"), [("1", True), ("1e-12", False)])
def test_what_a_model_changes_in_place_is_an_answer(tmp_path: Path, scale: str, good: bool) -> None:
    loose = {
        "tolerance": Tolerance(rtol=1e-4, atol=1e-6),
        "interface": MODEL,
        "tests": (),
        "benchmarks": ({"seed": 1},),
    }
    told = line(LAYER.replace("SCALE", scale), tmp_path, **loose)
    assert told is not None
    assert told.good is good


def test_a_check_that_raises_on_what_is_wrong_refuses_it(tmp_path: Path) -> None:
    told = line(TWO + CAREFUL, tmp_path)
    assert told is not None
    assert told.good


def test_a_check_that_raises_on_the_references_own_answer_is_told(tmp_path: Path) -> None:
    with pytest.raises(OracleFailed, match="ValueError: no"):
        line(TWO + ALWAYS, tmp_path)


def test_a_check_that_ends_its_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(OracleFailed, match="exit status 3"):
        line(TWO + LEAVES, tmp_path)


def test_a_check_that_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "ANSWER_S", 10)
    with pytest.raises(OracleFailed, match="gave no answer within 10 s"):
        line(TWO + LEAVES.replace("__import__('os')._exit(3)", "__import__('time').sleep(12)"), tmp_path)


def test_where_memory_runs_out_the_sizes_are_to_blame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*told: Any, **named: Any) -> None:
        raise NoMemory("no bytes are left")

    monkeypatch.setattr(outputs.EachOutput, "ask", no_room)
    with pytest.raises(OracleFailed, match="choose smaller sizes"):
        line(TWO, tmp_path)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("dtype", [*outputs.SIGNED_ZERO, "int64", "bool"])
def test_zero_is_told_from_all_else(dtype: str, signed: bool) -> None:
    import torch

    bits = torch.zeros(6 * DTYPES[dtype][0], dtype=torch.uint8)
    step = outputs.SIGNED_ZERO.get(dtype, 0)
    if step and signed:
        bits[step - 1 :: step] = 0x80
    slot = Slot("out", dtype, (6,), (1,), len(bits), 0, 0)
    for region in (bits, bits.numpy()):
        assert outputs.is_zero(slot, region)
    bits[-1] = 0x40
    for region in (bits, bits.numpy()):
        assert not outputs.is_zero(slot, region)
    if step > 1:
        bits[-1], bits[0] = 0, 1
        assert not outputs.is_zero(slot, bits)
