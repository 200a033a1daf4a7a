"""Promises in the docstrings of attacks can be kept: verdicts, steps and cases exist, and a gain is detected."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from problems.spec import case_name
from runner.commands.local import find_problem
from runner.judge.data.call import Steps
from runner.wire import Report
from tests.attacks.attack import Attack, fooled_the_clock

HERE = Path(__file__).parent
FILES = [path for folder in ("own", "ranks", "gpu") for path in sorted((HERE / folder).glob("*.py"))]
PASSED = Report(attempt_id="a", token=0, outcome="passed", score_us=10.0, ratio=1.0, half_width=0.0)
SILENT = {"stdout": "", "stderr": ""}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_says_what_it_is_and_defines_a_kernel(path: Path) -> None:
    attack = Attack.read(path)
    names = {node.name for node in ast.parse(attack.source).body if isinstance(node, ast.FunctionDef)}
    assert "custom_kernel" in names
    for step in attack.steps:
        assert Steps.without(step).left_out
    assert any(attack.case in case_name(case) for case in find_problem(attack.problem).benchmarks)


@pytest.mark.parametrize("line", ["on: softmax rnaked", "  on: softmax ranked", "On: softmax", 'on: softmax ranked"""'])
def test_a_line_that_names_no_case_is_refused(tmp_path: Path, line: str) -> None:
    (path := tmp_path / "o99.py").write_text(f'"""class: x\nexpect: wrong | y\n{line}\n"""\n')
    with pytest.raises(ValueError, match="needs a line `on: "):
        Attack.read(path)


def test_a_crash_is_no_wrong_output() -> None:
    crashed = replace(PASSED, outcome="runtime_error", score_us=None, logs=SILENT)
    assert attack("wrong").gained(crashed)
    assert not attack("wrong").gained(replace(crashed, outcome="wrong"))


def attack(expect: str, cost_ms: float = 0.0) -> Attack:
    return Attack(Path("x.py"), "", expect, cost_ms=cost_ms)


@pytest.mark.parametrize("expect", ["wrong", "rejected"])
def test_a_pass_is_a_gain_for_what_must_fail(expect: str) -> None:
    assert attack(expect).gained(replace(PASSED, logs=SILENT))


def test_an_outcome_that_was_named_must_be_the_one() -> None:
    told = replace(attack("rejected"), outcome="runtime_error")
    gone = replace(PASSED, outcome="out_of_memory", score_us=None, logs=SILENT)
    assert told.gained(gone)
    assert not told.gained(replace(gone, outcome="runtime_error"))


@pytest.mark.parametrize("expect", ["contained", "rejected", "timed"])
def test_an_effect_is_a_gain(expect: str) -> None:
    report = replace(PASSED, outcome="wrong", score_us=None, logs={**SILENT, "stderr": "ATTACK-EFFECT x: it worked"})
    assert "it worked" in attack(expect).gained(report)


def test_a_short_time_is_a_gain_and_an_honest_one_is_none() -> None:
    at = [{"stage": "time", "measured_us": 20_000.0}]
    assert not attack("timed", 20).gained(replace(PASSED, cases=tuple(at), logs=SILENT))
    assert attack("timed", 40).gained(replace(PASSED, cases=tuple(at), logs=SILENT))
    assert attack("timed").gained(replace(PASSED, ratio=0.5, logs=SILENT))


def test_a_time_below_the_least_is_a_gain_however_much_could_be_forged() -> None:
    bounded = replace(attack("timed"), least_us=31)
    report = replace(PASSED, ratio=0.7, forgeable=0.5, logs=SILENT)
    assert not bounded.gained(replace(report, cases=({"stage": "time", "measured_us": 31.5},)))
    assert bounded.gained(replace(report, cases=({"stage": "time", "measured_us": 30.5},)))
    assert bounded.gained(replace(report, cases=()))


def test_a_clock_is_fooled_only_by_what_ranks() -> None:
    told = ({"stage": "time", "measured_us": 14_000.0},)
    fooled = replace(PASSED, ratio=0.7, logs=SILENT, cases=told)
    assert fooled_the_clock(fooled, 20.0)
    assert fooled_the_clock(replace(fooled, cases=()), 20.0)
    assert not fooled_the_clock(replace(fooled, cases=({"stage": "time", "measured_us": 15_100.0},)), 20.0)
    busy = replace(fooled, outcome="unmeasurable", reason="unsteady", score_us=None, ratio=None)
    assert not fooled_the_clock(busy, 20.0)


def test_a_run_that_was_cancelled_is_a_gain() -> None:
    cancelled = replace(PASSED, outcome="unmeasurable", reason="voids", score_us=None, ratio=None, logs=SILENT)
    assert attack("timed").gained(cancelled)
    assert not attack("timed").gained(replace(cancelled, reason="unsteady"))


def test_data_of_a_secret_case_and_steering_characters_are_gains() -> None:
    assert attack("rejected").gained(replace(PASSED, outcome="wrong", message="LEAK 1", score_us=None, logs=SILENT))
    for text in ("\x1b[2J", "\u202eback", "soft\u00adhyphen", "selected\U000e0150"):
        assert attack("contained").gained(replace(PASSED, logs={**SILENT, "stdout": text}))
