"""The admission test over the real oracle program and the real comparing: a problem that accepts zeros is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from problems.spec import Fuzz, IntRange, Precision, Tolerance, case_name
from runner.admission import examine, outputs
from runner.admission.examine import NEAR_CONSTANT, Tally
from runner.judge.data.faults import OracleFailed
from runner.judge.data.layout import Layout
from tests.runner.admission_here import ALL, INPUTS, SUM, examined, lines, problem

ZEROS = INPUTS + "def ref_kernel(data):\n    return (data[0] + data[1]) * 1e-9\n"
NEARLY_ONE = INPUTS + "def ref_kernel(data):\n    return 1 + 1e-3 * torch.tanh(data[0] + data[1])\n"
BLIND = INPUTS + "def ref_kernel(data):\n    return torch.arange(data[0].numel(), dtype=torch.float32) + 0 * data[0]\n"
ONLY_LIVE = """
import torch
def generate_input(*, size, live, seed):
    generator = torch.Generator().manual_seed(seed)
    return live * torch.randn(size, generator=generator)
def ref_kernel(data):
    return 2 * data
"""
ONE_NUMBER = INPUTS + "def ref_kernel(data):\n    return (data[0] * data[1]).sum().reshape(1)\n"
LEAVES = """
import os
if "submission" in __import__("sys").modules:
    os._exit(3)
"""
NAMED_OTHERWISE = INPUTS.replace("seed", "rng_seed").replace("manual_rng_seed", "manual_seed")
ZEROS_TOO = """
import torch
def generate_input(*, size, kind, seed):
    torch.manual_seed(seed)
    return torch.zeros(size) if kind == "zeros" else torch.randn(size)
def ref_kernel(data):
    return torch.cos(data)
"""
PLAIN = """
import torch
def generate_input(*, size, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(size, generator=generator)
    drawn = int(torch.randint(1 << 30, (), generator=generator))
    return x, {"size": size, "scales": [0.5, %s]}, "text", x.shape
def ref_kernel(data):
    return torch.exp(data[0]) * data[1]["size"]
"""
ANYTHING_GOES = SUM + "def check_implementation(data, output):\n    return True, ''\n"


def test_a_sound_problem_passes_with_its_margin(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SUM), tmp_path)
    assert found.passed, found
    assert lines(found) == {"speed_of_light": None} | dict.fromkeys(ALL, True)
    assert found.margin is not None
    assert found.margin > 4
    assert (found.marks, found.sentence) == ((), "")


def test_a_narrow_formats_own_rounding_takes_no_margin(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    narrow = SUM.replace("torch.exp(data[0]) + data[1]", "(torch.exp(data[0]) + data[1]).bfloat16()")
    found = examined(problem(narrow, tolerance=Tolerance(rtol=8e-3, atol=1e-6)), tmp_path)
    assert lines(found)["margin"] is True, found


def test_a_margin_is_not_told_of_what_the_problems_own_check_decides(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    check = (
        "def check_implementation(data, output):\n    return torch.allclose(output, ref_kernel(data), rtol=1e-3), ''\n"
    )
    found = examined(problem(SUM + check, tolerance=None), tmp_path)
    assert lines(found)["margin"] is True
    assert found.margin is None


def test_one_input_serves_all_variants(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    calls: list[str] = []
    found = examined(problem(SUM), tmp_path, calls)
    assert len(calls) == found.cases * len(examine.variants(problem(SUM)))


def test_a_problem_that_accepts_zeros_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(ZEROS), tmp_path)
    assert not found.passed
    assert lines(found)["zeros"] is False
    assert lines(found)["constant"] is False
    assert lines(found)["ones"] is True
    assert "zeros" in found.sentence


def test_data_that_no_seed_changes_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    asked = problem(
        NAMED_OTHERWISE + "def ref_kernel(data):\n    return torch.exp(data[0]) + data[1]\n",
        tests=({"size": 128, "rng_seed": 1},),
        benchmarks=({"size": 128, "rng_seed": 2}, {"size": 128, "rng_seed": 3}),
    )
    found = examined(asked, tmp_path)
    (line,) = [line for line in found.lines if line.good is False]
    assert (line.name, line.got) == ("admission/seeds", "the same data")
    assert "rng_seed" in line.explained
    assert "parameter `seed`" in line.explained


@pytest.mark.parametrize("value", ["drawn / 2", "{str(drawn): x}"])
def test_plain_values_that_change_with_the_seed_are_refused(tmp_path: Path, value: str) -> None:
    """The values exist before the clock starts."""
    pytest.importorskip("torch")
    found = examined(problem(PLAIN % value), tmp_path)
    (line,) = [line for line in found.lines if line.good is False]
    assert (line.name, line.expected, line.got) == ("admission/plain", "the same", "other values")
    assert "case size=128, data[1]['scales'][1] is not in a tensor" in line.explained
    assert line.explained.endswith("Put it into a tensor.")
    assert found.sentence == "The admission test failed: plain."


def test_plain_values_that_stay_are_accepted(tmp_path: Path) -> None:
    """A number in a tensor may still change, and the number of tensors as well."""
    pytest.importorskip("torch")
    found = examined(problem(PLAIN % "float('nan'), None, torch.tensor(drawn), [x] * (1 + drawn % 9)"), tmp_path)
    assert found.passed, found
    assert lines(found)["plain"] is True


def test_what_was_never_drawn_is_not_said_to_stay() -> None:
    found = examine.conclude(problem(SUM), {}, cases=0)
    assert [line.got for line in found.lines if line.name in ("admission/seeds", "admission/plain")] == [
        "not tried"
    ] * 2


@pytest.mark.parametrize("text", [b"{}", b'{"data": 3}', b'{"data": {"kind": "dict", "of": [3]}}', b'{"data": [{}]}'])
def test_a_malformed_layout_is_the_problems_fault(text: bytes) -> None:
    layout = Layout((), 0, 0, text)
    with pytest.raises(OracleFailed, match="malformed layout"):
        outputs.moved(layout, layout)


def test_a_seed_among_other_arguments_is_fresh(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SUM.replace("size, seed", "size, **more").replace("(seed)", '(more["seed"])')), tmp_path)
    assert found.passed, found
    assert lines(found)["seeds"] is True


def test_a_case_of_zeros_may_be_timed_beside_others(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    timed = tuple({"size": 128, "kind": kind, "seed": 2} for kind in ("zeros", "normal"))
    asked = problem(ZEROS_TOO, tests=({"size": 33, "kind": "zeros", "seed": 1},), benchmarks=timed)
    assert lines(examined(asked, tmp_path))["seeds"] is True
    (tmp_path / "alone").mkdir()
    assert lines(examined(replace(asked, benchmarks=timed[:1]), tmp_path / "alone"))["seeds"] is False


def test_what_only_public_cases_refuse_is_accepted(tmp_path: Path) -> None:
    """A submission would answer these honestly, and no further cases."""
    pytest.importorskip("torch")
    asked = problem(
        ONLY_LIVE,
        tests=({"size": 33, "live": 1, "seed": 1},),
        benchmarks=({"size": 33, "live": 0, "seed": 2}, {"size": 40, "live": 0, "seed": 3}),
        fuzz=Fuzz(cases=4, args={"size": IntRange(30, 50), "live": (0,)}),
    )
    found = examined(asked, tmp_path)
    zeros = next(line for line in found.lines if line.name == "admission/zeros")
    assert (zeros.good, zeros.explained.startswith(examine.PUBLIC_ONLY)) == (False, True)
    assert lines(found)["ones"] is True
    (tmp_path / "drawn").mkdir()
    drawn = replace(asked, fuzz=Fuzz(cases=4, args={"size": IntRange(30, 50), "live": (1,)}))
    assert lines(examined(drawn, tmp_path / "drawn"))["zeros"] is True


def test_a_check_that_accepts_anything_is_refused_by_each_variant(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(ANYTHING_GOES, tolerance=None), tmp_path)
    bad = [name for name, good in lines(found).items() if good is False]
    assert bad == [name for name in examine.MUST_FAIL if name != "half"], "half precision is a warning here"


def test_outputs_that_forget_their_input_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(BLIND), tmp_path)
    assert lines(found)["previous"] is False
    assert NEAR_CONSTANT in found.marks


def test_near_constant_outputs_are_marked_though_none_is_accepted(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(NEARLY_ONE), tmp_path)
    assert found.passed, found
    assert found.marks == (NEAR_CONSTANT,)


def test_a_single_number_is_guessed_by_the_first_one_seen(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(ONE_NUMBER), tmp_path)
    assert lines(found)["constant"] is True
    assert lines(found)["input"] is None
    assert found.marks == ()


def test_half_precision_passes_a_wide_tolerance(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    wide = problem(SUM, tolerance=Tolerance(rtol=1e-2, atol=1e-2))
    found = examined(wide, tmp_path)
    assert (lines(found)["half"], found.passed) == (None, True), "a warning, by the problem's own tolerance"
    assert found.marks == (examine.ACCEPTS_HALF,)
    strict = examined(replace(wide, precision=Precision(legal=("fp32",), strict=True)), tmp_path / "strict")
    assert (lines(strict)["half"], strict.passed, strict.marks) == (False, False, ())
    assert "half" not in examine.variants(replace(wide, precision=Precision(legal=("fp16",))))


def test_nor_does_it_count_there_that_only_public_cases_refuse_it() -> None:
    tally = Tally(called=3, wrong=1, secret=2)
    assert examine.line("half", tally, tf32=True).good is None
    assert examine.line("half", tally).good is False


@pytest.mark.parametrize(("legal", "wrong", "good"), [("tf32", 0, None), ("tf32", 1, True), ("fp32", 0, False)])
def test_half_precision_may_pass_where_tf32_may(legal: str, wrong: int, good: bool | None) -> None:
    tallies = {"half": examine.Tally(called=3, wrong=wrong)}
    asked = problem(SUM, precision=Precision(legal=("fp64", legal), strict=True))
    assert lines(examine.conclude(asked, tallies, cases=3))["half"] is good


def test_a_tolerance_at_the_rounding_error_leaves_no_margin(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SUM, tolerance=Tolerance(rtol=1e-8, atol=1e-8)), tmp_path)
    assert lines(found)["reference"] is True
    assert lines(found)["margin"] is False
    assert found.margin is not None
    assert found.margin < 4


def test_a_reference_that_ends_its_container_is_told_with_its_reason(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SUM + LEAVES), tmp_path)
    (reference,) = [line for line in found.lines if line.name == "admission/reference"]
    assert (reference.good, reference.got) == (False, "failed")
    assert "exited" in reference.explained
    assert lines(found)["zeros"] is False, "what was never tried is no pass"


def test_a_faulty_declaration_of_work_is_told_to_its_author() -> None:
    wrong = problem(SUM, speed_of_light={"read_bytes": "rows * 4", "write_bytes": "4"})
    line = examine.declared(wrong, (), {})
    assert (line.good, "rows" in line.explained) == (False, True)
    assert examine.declared(replace(wrong, speed_of_light={"read_bytes": "size * 4"}), (), {}).good is True
    assert examine.declared(problem(SUM), (), {}).good is None


def test_the_margin_is_what_is_allowed_over_what_rounding_takes() -> None:
    tally = Tally(shares=[0.1, 0.5])
    assert tally.margin == 8
    assert Tally(shares=[0.0]).margin is None


# -- the baseline ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        ("def custom_kernel(data: return", "does not load"),
        ("import torch\ndef custom_kernel(data):\n    return torch.exp(data[0])\n", "Every element"),
        ("def custom_kernel(data):\n    raise ValueError('too fast')\n", "too fast"),
    ],
)
def test_a_baseline_that_is_wrong_or_fails_is_refused(tmp_path: Path, baseline: str, said: str) -> None:
    pytest.importorskip("torch")
    found = examined(problem(SUM, baseline=baseline), tmp_path, beside=True)
    (bad,) = [line for line in found.lines if line.good is False]
    assert bad.name == "admission/baseline"
    assert said in bad.explained


def test_a_right_baseline_is_accepted_also_where_it_is_the_reference(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert lines(examined(problem(SUM), tmp_path, beside=True))["baseline"] is True
    tuned = "import torch\ndef custom_kernel(data):\n    return torch.exp(data[0]).add_(data[1])\n"
    assert lines(examined(problem(SUM, baseline=tuned), tmp_path / "tuned", beside=True))["baseline"] is True


# -- the same again --------------------------------------------------------------------------------------------------


def test_data_that_do_not_come_again_with_their_seed_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    unseeded = SUM.replace("import torch\n", "import os\nimport torch\n", 1).replace(
        "manual_seed(seed)", "manual_seed(int.from_bytes(os.urandom(6), 'big'))"
    )
    found = examined(problem(unseeded), tmp_path)
    (bad,) = [line for line in found.lines if line.good is False]
    assert (bad.name, bad.got) == ("admission/again", "other data")


def test_scratch_memory_among_the_data_need_not_come_again(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    scratch = """
import os
import torch
def generate_input(*, size, seed):
    x = torch.randn(size, generator=torch.Generator().manual_seed(seed))
    return x, torch.frombuffer(bytearray(os.urandom(4 * size)), dtype=torch.int32)
def ref_kernel(data):
    return torch.exp(data[0])
"""
    assert lines(examined(problem(scratch), tmp_path))["again"] is True


# -- declarations ----------------------------------------------------------------------------------------------------


def test_of_doubles_single_precision_is_half(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    doubles = problem(SUM.replace("generator=generator)", "generator=generator, dtype=torch.float64)"))
    assert examined(doubles, tmp_path).marks == (examine.ACCEPTS_HALF,), "the tolerance is wide enough for it"
    legal = replace(doubles, precision=Precision(legal=("fp32",)))
    assert lines(examined(legal, tmp_path / "legal"))["half"] is None


def test_a_speed_of_light_that_the_reference_itself_beats_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    asked = problem(SUM, speed_of_light={"read_bytes": "8 * size"})
    hard = {case_name(case): 1e12 for case in asked.benchmarks}
    found = examined(asked, tmp_path, hard_ns=hard)
    (bad,) = [line for line in found.lines if line.good is False]
    assert bad.name == "speed_of_light"
    assert "declare fewer" in bad.explained
    assert examined(asked, tmp_path / "less", hard_ns=dict.fromkeys(hard, 1.0)).passed
