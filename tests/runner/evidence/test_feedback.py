"""`feedback/1` of golden reports of every kind: schema, stages, diagnostics, secrets and the text's limit."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from runner.evidence.feedback import LEAST_TEXT, About, Feedback, as_text, feedback, schema_text
from tests.golden import store

SCHEMA = Path(__file__).parents[3] / "docs" / "feedback.schema.json"
REPORTS = [name for name in store.names() if "report" in store.read(name)]
STAGE_OF = {
    "passed-steady": "timed",
    "passed-test-mode": "correct",
    "fault-build_error-syntax": "sent",
    "fault-timeout-call": "ran",
    "fault-runtime_error-exception": "ran",
    "fault-while-timing": "correct",
    "infra-host": "sent",
    "wrong-mismatch": "ran",
    "wrong-nan": "ran",
    "policy-of-a-check": "ran",
    "impossible-beyond": "correct",
    "voids": "correct",
}
SECRET_SEED, SECRET_SIZE = 987654321, 123457


def report_of(name: str) -> dict[str, Any]:
    report: dict[str, Any] = store.read(name)["report"]
    return report


def loaded(outcome: str, reason: str, message: str) -> Feedback:
    return feedback({"outcome": outcome, "reason": reason, "message": message})


def test_the_published_schema_is_the_models() -> None:
    renew = "run python -m runner.evidence.feedback > docs/feedback.schema.json"
    assert SCHEMA.read_text() == schema_text(), renew


def test_feedback_on_every_golden_report_fits_the_schema() -> None:
    check, seen = Draft202012Validator(json.loads(SCHEMA.read_text())), set[str]()
    assert len(REPORTS) > 200
    for name in REPORTS:
        found = feedback(report_of(name))
        seen.add(found.stage)
        check.validate(json.loads(found.model_dump_json()))
        assert len(as_text(found, LEAST_TEXT)) <= LEAST_TEXT, name
        assert as_text(found, 20_000).startswith("Outcome: "), name
    assert seen == {"sent", "ran", "correct", "timed"}


@pytest.mark.parametrize(("name", "stage"), STAGE_OF.items())
def test_feedback_names_the_last_stage_that_was_reached(name: str, stage: str) -> None:
    assert feedback(report_of(name)).stage == stage


@pytest.mark.parametrize(
    ("outcome", "reason", "message", "stage"),
    [
        ("build_error", "syntax", "submission.py, line 3: invalid syntax", "sent"),
        ("build_error", "compile", "kernel.cu does not compile", "parsed"),
        ("timeout", "import", "", "parsed"),
        ("runtime_error", "crashed", "Your code's process died of SIGSEGV while it was being imported.", "parsed"),
        ("runtime_error", "crashed", "Your code's process died of SIGSEGV in a call of the kernel.", "built"),
        ("", "budget_spent", "", "sent"),
    ],
)
def test_feedback_without_a_checked_case_ends_before_it(outcome: str, reason: str, message: str, stage: str) -> None:
    assert loaded(outcome, reason, message).stage == stage


def test_compiler_errors_have_file_line_and_column() -> None:
    text = "kernel.cu does not compile:\n/work/kernel.cu:7:5: error: no member\nkernel.cu(12): error: expected a ;\n"
    found = loaded("build_error", "compile", text).diagnostics
    places = [(one.file, one.line, one.column, one.message) for one in found]
    assert places == [("kernel.cu", 7, 5, "no member"), ("kernel.cu", 12, None, "expected a ;")]
    (one,) = loaded("build_error", "syntax", "submission.py, line 3, column 9: invalid syntax\nx = = 1").diagnostics
    assert (one.line, one.column, one.message) == (3, 9, "invalid syntax")


def test_a_kernels_error_has_its_place_without_frames_of_libraries() -> None:
    text = (
        "Case size=1: submission.py, line 9, column 65: NameError('n is not defined')\n"
        '  File "submission.py", line 15, in custom_kernel\n    add[(1,)](x)\n'
        '  File "/opt/lib/python3.12/site-packages/triton/runtime/jit.py", line 370, in run\n    kernel = compile()\n'
        "triton.compiler.errors.CompilationError: at 4:64:\nNameError('n is not defined')\n"
    )
    found = loaded("runtime_error", "raised", text).diagnostics
    assert [(one.file, one.line, one.column) for one in found] == [
        ("submission.py", 9, 65),
        ("submission.py", 15, None),
    ]
    assert {one.message for one in found} == {"NameError('n is not defined')"}


def test_syntax_error_has_the_senders_file_name_and_is_printed_once() -> None:
    report = {"outcome": "build_error", "reason": "syntax"}
    report["message"] = "submission.py, line 3, column 9: invalid syntax\nx = = 1"
    about = dict.fromkeys(("board", "hardware", "mode", "status"), "") | {"filename": "mine.py", "submission": 1}
    about |= {"candidate": None, "arrival": None, "review": None, "published": False}
    text = as_text(feedback(report, about=About(**about)), 2_000)
    assert "mine.py, line 3, column 9: invalid syntax\nx = = 1" in text
    assert text.count("invalid syntax") == 1


def test_times_carry_interval_and_share_of_light() -> None:
    report = report_of("beyond_measured_ceiling-runner-within")
    found = feedback(report)
    (time,) = found.times
    hard = report["evidence"]["limits"]["cases"][0]["hard"]
    assert time.light_share == pytest.approx(hard["ns"] / 1e3 / time.measured_us)
    assert found.light_share == pytest.approx(min(1, time.light_share or 0))
    assert time.limited_by == hard["resource"]
    assert time.low < time.ratio < time.high
    assert found.ratio == pytest.approx(time.ratio)


@pytest.mark.parametrize(
    "figures",
    [
        {"half_width": -1000.0},
        {"half_width": 20.0, "ratio": 1e308},
        {"measured_us": 1e308, "baseline_us": 1e-300, "ratio": None},
        dict.fromkeys(("measured_us", "baseline_us", "ratio", "half_width"), 10**400),
        dict.fromkeys(("measured_us", "baseline_us", "ratio", "half_width"), "many"),
    ],
)
@pytest.mark.parametrize("light_ns", [-1.0, 1e308])
def test_nonsense_in_a_stored_case_leaves_finite_numbers(figures: dict[str, Any], light_ns: float) -> None:
    report = report_of("beyond_measured_ceiling-runner-within")
    report["cases"] = [case | figures for case in report["cases"]]
    report["evidence"]["limits"]["cases"][0]["hard"]["ns"] = light_ns
    json.dumps(feedback(report).model_dump(), allow_nan=False)


def with_figures(*, public: bool) -> dict[str, Any]:
    """Return a report of a wrong output, with everything that its judge knows about it."""
    report = report_of("wrong-nan")
    for check in report["evidence"]["checks"]:
        check |= {"public": public, "seed": SECRET_SEED, "arguments": {"size": SECRET_SIZE}, "good": False}
        element = [[SECRET_SIZE - 1, 2], "1.5", "nan"]
        figures = {"elements": SECRET_SIZE, "different": 3, "reason": "nan", "relative_l2": 0.25, "limit_l2": None}
        check["figures"] = [figures | {"first": element, "worst": element, "worst_abs": None, "worst_share": 9.0}]
    for case in report["cases"]:
        case |= {"public": public, "good": False}
    return report


def test_the_first_failing_public_case_shows_expected_and_got() -> None:
    found = feedback(with_figures(public=True))
    assert found.failing is not None
    assert found.failing.arguments == {"size": SECRET_SIZE}
    first = found.failing.first
    assert first is not None
    assert (first.output, first.index, first.expected, first.got) == (0, [SECRET_SIZE - 1, 2], "1.5", "nan")
    assert (found.errors[0].different, found.errors[0].relative_l2) == (3, 0.25)
    assert "expected 1.5, got nan" in as_text(found, 2_000)
    assert str(SECRET_SEED) not in found.model_dump_json()


def test_a_secret_case_shows_no_seed_size_or_element() -> None:
    found = feedback(with_figures(public=False))
    assert found.failing is not None
    assert (found.failing.public, found.failing.arguments, found.failing.first, found.errors) == (False, None, None, [])
    told = found.model_dump_json() + as_text(found, 20_000)
    assert str(SECRET_SEED) not in told
    assert str(SECRET_SIZE) not in told
    assert str(SECRET_SIZE - 1) not in told


def test_code_that_was_taken_down_leaves_no_text() -> None:
    report = report_of("wrong-mismatch") | {"message": "kernel.py, line 3: mine"}
    for case in report["cases"]:
        case["message"] = "mine"
    found = feedback(report, covered=True)
    assert "mine" not in found.model_dump_json()
    assert found.diagnostics == []
    assert found.stage == "ran"


def test_the_text_is_cut_at_its_limit() -> None:
    found = loaded("runtime_error", "raised", "x" * 5_000)
    assert len(as_text(found, 300)) == 300
    assert as_text(found, 300).endswith(" […]")
    assert as_text(found, 300).startswith("Outcome: runtime_error (raised). Stage reached: built.")
