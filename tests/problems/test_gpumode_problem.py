"""A folder in GPU MODE's convention becomes a Problem: fields that are read, left out or refused."""

from pathlib import Path

import pytest

from problems.fields import ProblemError
from problems.formats.gpumode import load_problem
from problems.spec import COMPILED, IntRange, Precision, Problem, Tolerance
from tests.problems.conftest import TASK

MARKED = '{name: answer.py, source: "@SUBMISSION@"}'
WITH_EVALUATOR = """
files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: reference.py, source: reference.py}
  - {name: eval.py, source: eval.py}
config: {main: eval.py}
benchmarks:
  - {size: 4, seed: 1}
"""


def test_a_title_may_end_with_a_line_break_and_join_letters(write_problem) -> None:
    assert load_problem(write_problem(extra="title: |\n  Two words\n")).title == "Two words"
    assert load_problem(write_problem(extra='title: "می\u200cخواهم"\n')).title == "می\u200cخواهم"


def test_a_plain_problem_is_read_with_the_conventions_defaults(write_problem) -> None:
    problem = load_problem(write_problem())
    assert (problem.slug, problem.title, problem.entry) == ("scale", "Scale", "custom_kernel")
    assert (problem.ranking_by, problem.test_timeout_s) == ("last", 180)
    assert list(problem.files) == ["reference.py"]
    assert problem.benchmarks == ({"size": 4, "seed": 1},)
    assert (problem.unsupported, problem.warnings) == ("", ())
    assert Problem.from_bundle(problem.to_bundle()) == problem


def test_the_keys_that_this_project_adds_are_read(write_problem) -> None:
    extra = """
    title: Scale a vector
    fuzz:
      size: {int: [1, 99], odd: true, log: true}
      distribution: [normal, zeros]
      cases: 7
    tolerance: {rtol: 1e-5, atol: 1.0e-6}
    precision: {legal: [fp32], max_relative_l2: 2e-5, reduction: size * 2}
    baseline: tuned.py
    speed_of_light: {read_bytes: 4 * size, flops: {fp32: size}}
    ranking_by: geom
    ranked_timeout: 90
    level: 1
    tags: [memory-bound]
    gpus: [cpu, H100]
    """
    problem = load_problem(write_problem(extra=extra, **{"tuned.py": "BASELINE"}))
    assert problem.fuzz is not None
    assert problem.fuzz.cases == 7
    assert problem.fuzz.args == {"size": IntRange(1, 99, odd=True, log=True), "distribution": ("normal", "zeros")}
    assert problem.tolerance == Tolerance(rtol=1e-5, atol=1e-6)
    assert problem.precision == Precision(legal=("fp32",), max_relative_l2=2e-5, reduction="size * 2")
    assert problem.baseline == "BASELINE"
    assert "tuned.py" not in problem.files
    assert problem.speed_of_light == {"read_bytes": "4 * size", "flops": {"fp32": "size"}}
    assert (problem.title, problem.ranking_by, problem.ranked_timeout_s) == ("Scale a vector", "geom", 90)
    assert (problem.level, problem.tags, problem.gpus) == (1, ("memory-bound",), ("cpu", "H100"))
    assert problem.warnings == ()


def test_timed_cases_of_a_hardware_are_read_and_take_the_place_of_the_others_there(write_problem) -> None:
    extra = "gpus: [cpu, H100, H200]\nbenchmarks_on:\n  H200: &large [{size: 999999, seed: 7}]\n  H100: *large\n"
    problem = load_problem(write_problem(extra=extra))
    assert problem.warnings == ()
    assert problem.on("H200").benchmarks == ({"size": 999999, "seed": 7},)
    assert problem.on("H200").digest == problem.on("H100").digest
    assert problem.on("cpu") == load_problem(write_problem(extra="gpus: [cpu, H100, H200]\n"))


def test_hardware_on_which_nobody_tuned_the_baseline_is_read(write_problem) -> None:
    extra = "gpus: [cpu, H200]\nbaseline: baseline.py\nuntuned_on: [H200]\n"
    problem = load_problem(write_problem(extra=extra, **{"baseline.py": "def custom_kernel(data): ...\n"}))
    assert problem.warnings == ()
    assert (problem.is_tuned_on("cpu"), problem.is_tuned_on("H200")) == (True, False)


def test_timed_cases_of_a_hardware_are_named_like_any_other(write_problem) -> None:
    extra = "gpus: [cpu, H200]\nbenchmarks_on: {H200: [{rows: 1, seed:}]}\n"
    reference = "def generate_input(size, seed=0): ...\ndef ref_kernel(data): ...\n"
    problem = load_problem(write_problem(extra=extra, **{"reference.py": reference}))
    assert problem.warnings == ("benchmarks_on.H200[0].seed: is empty and left out",)
    assert "generate_input needs size, which benchmarks_on.H200[0] does not give" in problem.unsupported
    with pytest.raises(ProblemError, match="H200 is not among gpus"):
        load_problem(write_problem(extra=extra.replace("gpus: [cpu, H200]", "gpus: [cpu]")))


def test_booleans_stay_booleans(write_problem) -> None:
    task = """
    files: [{name: reference.py, source: reference.py}]
    benchmarks: [{causal: False, masked: true, dtype: "False", shape: [1, 2]}]
    """
    (case,) = load_problem(write_problem(task)).benchmarks
    assert case == {"causal": False, "masked": True, "dtype": "False", "shape": [1, 2]}
    assert case["causal"] is False


def test_an_unknown_key_warns_and_a_foreign_but_known_one_does_not(write_problem) -> None:
    problem = load_problem(write_problem(extra="milestones: []\nlibraries: [cuda]\nseed: 3\n"))
    assert problem.warnings == ("unknown key milestones",)


def test_a_validation_script_warns_that_it_is_not_used(write_problem) -> None:
    (warning,) = load_problem(write_problem(extra="validation: {version: 1, script: check.py}\n")).warnings
    assert warning.startswith("validation: is not used; check_implementation and fuzz decide")


def test_a_missing_template_warns_and_is_left_out(write_problem) -> None:
    extra = "templates: {Python: start.py, CUDA: gone.py}\n"
    problem = load_problem(write_problem(extra=extra, **{"start.py": "START"}))
    assert problem.templates == {"Python": "START"}
    assert problem.warnings == ("templates.CUDA: there is no file 'gone.py'",)


def test_a_template_without_a_value_warns_and_is_left_out(write_problem) -> None:
    problem = load_problem(write_problem(extra="templates: {Python: start.py, CUDA: }\n", **{"start.py": "START"}))
    assert problem.templates == {"Python": "START"}
    assert problem.warnings == ("templates.CUDA: is empty and left out",)


def test_what_a_file_says_beyond_name_and_source_warns(write_problem) -> None:
    task = TASK.replace("source: reference.py}", "source: reference.py, optional: true}")
    assert load_problem(write_problem(task)).warnings == ("unknown key files[1].optional",)


def test_a_task_without_a_place_for_the_submission_warns(write_problem) -> None:
    problem = load_problem(write_problem(TASK.replace('  - {name: submission.py, source: "@SUBMISSION@"}\n', "")))
    assert problem.submission_name == "submission.py"
    assert problem.warnings == ("files: none has the source @SUBMISSION@; submission.py is taken for it",)


@pytest.mark.parametrize(("extra", "made"), [("true", True), ("false", False), ("", False)])
def test_a_compiled_baseline_is_a_template(write_problem, extra: str, made: bool) -> None:
    problem = load_problem(write_problem(extra=f"compile_baseline: {extra}\nentry: solve\n"))
    assert (COMPILED in problem.templates) == made
    if made:
        assert problem.templates[COMPILED].endswith("\nsolve = torch.compile(ref_kernel)\n")
        assert problem.warnings == ()


def test_the_sets_own_evaluator_is_left_out_of_the_files(write_problem) -> None:
    problem = load_problem(write_problem(WITH_EVALUATOR, **{"eval.py": "from submission import custom_kernel"}))
    assert list(problem.files) == ["reference.py"]


def test_the_entry_is_what_the_evaluator_imports(write_problem) -> None:
    problem = load_problem(write_problem(WITH_EVALUATOR, **{"eval.py": "from submission import my_sort"}))
    assert (problem.entry, problem.unsupported) == ("my_sort", "")


@pytest.mark.parametrize(
    ("evaluator", "entry"),
    [
        ("from submission import warm, f\nwarm()\ny = f(1)", "f"),
        ("from submission import f, warm\ny = f(1)", "f"),
        ("from submission import f, warm as w\nf(1)\nw()\nrun(f)", "f"),
        ("def a():\n    from submission import f, warm\n    warm()\n    return f(1)\n", "f"),
    ],
)
def test_a_hook_whose_result_is_dropped_is_no_second_entry(write_problem, evaluator, entry) -> None:
    problem = load_problem(write_problem(WITH_EVALUATOR, **{"eval.py": evaluator}))
    assert (problem.entry, problem.unsupported) == (entry, "")


def test_a_missing_evaluator_warns_since_it_is_not_used(write_problem) -> None:
    problem = load_problem(write_problem(WITH_EVALUATOR))
    assert (problem.entry, problem.unsupported, list(problem.files)) == ("custom_kernel", "", ["reference.py"])
    assert problem.warnings == ("files[2].source: there is no file 'eval.py'; it is not used",)


def test_the_submissions_name_is_the_tasks(write_problem) -> None:
    task = """
    files: [{name: answer.py, source: "@SUBMISSION@"}, {name: reference.py, source: reference.py}]
    benchmarks: [{size: 4}]
    """
    assert load_problem(write_problem(task)).submission_name == "answer.py"


def test_a_reference_that_does_not_parse_is_an_error_with_its_line(write_problem) -> None:
    folder = write_problem(WITH_EVALUATOR, **{"eval.py": "", "reference.py": "x = 1\ndef ("})
    with pytest.raises(ProblemError, match=r"files\[1\].*: does not parse as Python: .* \(line 2\)"):
        load_problem(folder)


RANKED = "def generate_input(size, seed, rank, world_size): ...\ndef ref_kernel(data): return data\n"


@pytest.mark.parametrize(
    ("extra", "ranks"),
    [
        ("n_gpus: 2\n", 2),
        ("n_gpus: 4\ntests: [{size: 1, world_size: 4}]\n", 4),
        ("tests: [{size: 1, world_size: 8}]\n", 8),
    ],
)
def test_a_problem_for_several_gpus_has_as_many_ranks(write_problem, extra: str, ranks: int) -> None:
    problem = load_problem(write_problem(extra=f"multi_gpu: true\n{extra}", **{"reference.py": RANKED}))
    assert (problem.unsupported, problem.ranks) == ("", ranks)
    assert Problem.from_bundle(problem.to_bundle()) == problem


def test_cases_for_another_number_of_gpus_are_refused(write_problem) -> None:
    extra = "multi_gpu: true\nn_gpus: 2\ntests: [{size: 1, world_size: 8}]\n"
    folder = write_problem(extra=extra, **{"reference.py": RANKED})
    with pytest.raises(ProblemError, match=r"tests\[0\].world_size: 8, and the problem is for 2 GPUs"):
        load_problem(folder)


@pytest.mark.parametrize(
    ("files", "extra", "reason"),
    [
        ({"eval.py": "from submission import f, g"}, "", "(f, g); this judge calls one. docs/problems.md, section 6"),
        ({"eval.py": "from submission import f, g\ny = f(1), g(2)"}, "", "several functions of a submission (f, g)"),
        ({"eval.py": ""}, "multi_gpu: true\nn_gpus: 2\n", "takes no rank"),
        ({"eval.py": "", "reference.py": "def ref_kernel(d): ..."}, "", "makes inputs; docs/problems.md, section 6"),
        ({"eval.py": "", "reference.py": "def generate_input(): ..."}, "", "no ref_kernel"),
    ],
)
def test_what_cannot_be_judged_is_marked_with_the_reason(write_problem, files, extra, reason) -> None:
    problem = load_problem(write_problem(WITH_EVALUATOR, extra=extra, **files))
    assert reason in problem.unsupported


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("size, seed", ""),
        ("size, seed, case='plain'", ""),
        ("size, **others", ""),
        ("*, size, seed=0", ""),
        ("rank, world_size, size, seed", "generate_input needs rank, world_size, which benchmarks[0] does not give"),
        ("size", "generate_input does not take seed, which benchmarks[0] gives"),
        ("seed", "generate_input does not take size, which benchmarks[0] gives"),
        ("size, seed, *, rank", "generate_input needs rank"),
    ],
)
def test_cases_that_generate_input_cannot_take_are_the_reason(write_problem, signature: str, reason: str) -> None:
    reference = f"def generate_input({signature}): ...\ndef ref_kernel(data): ...\n"
    unsupported = load_problem(write_problem(**{"reference.py": reference})).unsupported
    assert reason in unsupported
    assert bool(reason) == bool(unsupported)


@pytest.mark.parametrize(
    ("signature", "fuzz", "reason"),
    [
        ("size, seed", "size", ""),
        ("size, seed", "sise", "generate_input does not take sise, which fuzz gives"),
        ("size, seed, **others", "sise", ""),
    ],
)
def test_a_secret_case_that_generate_input_cannot_take_is_the_reason(
    write_problem, signature: str, fuzz: str, reason: str
) -> None:
    reference = f"def generate_input({signature}): ...\ndef ref_kernel(data): ...\n"
    extra = f"fuzz: {{{fuzz}: [3], cases: 2}}\n"
    unsupported = load_problem(write_problem(extra=extra, **{"reference.py": reference})).unsupported
    assert reason in unsupported
    assert bool(reason) == bool(unsupported)


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("import numpy.random, math\nfrom torch import nn\nfrom __future__ import annotations", ""),
        ("import helper\nfrom helper import x", ""),
        ("from warp_tiles.moe import fused as f\nimport tiles", "Its reference.py imports tiles, warp_tiles, which "),
        ("from . import tiles\nfrom ..far import x", "Its reference.py imports ..far, .tiles, which "),
        ("import other", "Its other.py imports warp_tiles, which the judge's containers do not have."),
        ("try:\n    import warp_tiles\nexcept ImportError:\n    warp_tiles = None", ""),
        ("def late():\n    import warp_tiles", ""),
        ("if False:\n    import warp_tiles", ""),
        ("import transformers, warp_tiles", "Its reference.py imports warp_tiles, which "),
    ],
)
def test_what_the_containers_do_not_have_is_the_reason(write_problem, first: str, reason: str) -> None:
    names = ("reference.py", "helper.py", "other.py", "unused.py")
    listed = [f"  - {{name: {name}, source: {name}}}\n" for name in names]
    task = 'files:\n  - {name: submission.py, source: "@SUBMISSION@"}\n' + "".join(listed) + "benchmarks: [{size: 4}]\n"
    files = {
        "reference.py": f"{first}\ndef generate_input(size): ...\ndef ref_kernel(data): ...\n",
        "helper.py": "import reference, random\nx = 1\n",
        "other.py": "import helper\nimport warp_tiles\n",
        "unused.py": "import anything",
    }
    unsupported = load_problem(write_problem(task, **files)).unsupported
    assert reason in unsupported
    assert bool(reason) == bool(unsupported)


@pytest.mark.parametrize(
    ("check", "name"),
    [
        ("def solve(data): ...\ncheck_implementation = make_match(solve, rtol=1e-3)", "solve"),
        ("def solve(data): ...\ncheck_implementation = make_match(rtol=1e-3, reference=solve)", "solve"),
        ("def custom_kernel(data): ...\ndef check_implementation(data, output): ...", "custom_kernel"),
        ("def solve(data): ...\ndef check_implementation(data, output): ...", ""),
        ("check_implementation = make_match(solve)", ""),
    ],
)
def test_a_reference_of_another_name_is_found_where_the_check_is_made(write_problem, check: str, name: str) -> None:
    reference = f"def generate_input(size, seed): ...\n{check}\n"
    problem = load_problem(write_problem(**{"reference.py": reference}))
    if name:
        assert problem.files["reference.py"] == f"{reference}\n\nref_kernel = {name}\n"
        assert problem.warnings == (f"reference.py: it has no ref_kernel; {name} is taken for it",)
    assert bool(name) == (not problem.unsupported)


def test_an_argument_without_a_value_is_not_given(write_problem) -> None:
    case = '&shape {"size": 4, "seed":}'
    files = '{name: submission.py, source: "@SUBMISSION@"}, {name: reference.py, source: reference.py}'
    problem = load_problem(write_problem(f"files: [{files}]\nbenchmarks: [{case}]\ntests: [*shape]\n"))
    assert problem.benchmarks == problem.tests == ({"size": 4},)
    assert problem.warnings == ("tests[0].seed: is empty and left out", "benchmarks[0].seed: is empty and left out")
    assert problem.unsupported == ""  # the judge supplies its own seed


def test_a_function_made_by_assignment_or_import_counts_as_one(write_problem) -> None:
    reference = "from inputs import generate_input\nfrom utils import make\nref_kernel = make(1)\n"
    task = """
    files:
      - {name: submission.py, source: "@SUBMISSION@"}
      - {name: reference.py, source: reference.py}
      - {name: inputs.py, source: inputs.py}
      - {name: utils.py, source: inputs.py}
    benchmarks: [{size: 4}]
    """
    assert load_problem(write_problem(task, **{"reference.py": reference, "inputs.py": ""})).unsupported == ""


def test_a_mark_of_byte_order_is_no_part_of_a_reference(write_problem) -> None:
    folder = write_problem()
    plain = load_problem(folder)
    (folder / "reference.py").write_bytes(b"\xef\xbb\xbf" + (folder / "reference.py").read_bytes())
    assert load_problem(folder) == plain


def test_problem_code_is_not_executed(write_problem, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    reference = f"open({str(mark)!r}, 'w')\ndef generate_input(): ...\ndef ref_kernel(d): ...\n"
    load_problem(write_problem(**{"reference.py": reference}))
    assert not mark.exists()


@pytest.mark.parametrize(
    ("task", "field", "says"),
    [
        ("- a\n- b\n", "task.yml", "mapping"),
        ("files: [", "task.yml", "not valid YAML"),
        ("files: !!python/object/apply:os.system ['true']\n", "task.yml", "not valid YAML"),
        ("lang: py\nlang: cu\n", "task.yml", "stands twice"),
        ("lang: py\n", "files", "missing"),
        ("files: [{name: a.py}]\n", "files[0].source", "missing"),
        ("files: [{name: a.py, source: gone.py}]\n", "files[0].source", "no file 'gone.py'"),
        ("files: [{name: a.py, source: .}]\n", "files[0].source", "not a plain file"),
        ("files: [{name: ../a.py, source: reference.py}]\n", "files", "no folder"),
        ("files: [{name: reference.py, source: reference.py}]\n", "benchmarks", "at least one"),
        ("files: [{name: reference.py, source: reference.py}]\nbenchmarks: [3]\n", "benchmarks[0]", "mapping"),
        ("files: []\nfuzz: {size: [1]}\n", "fuzz.cases", "missing"),
        ("files: []\nmulti_gpu: maybe\n", "multi_gpu", "true or false"),
        ("files: []\nmulti_gpu: true\n", "n_gpus", "missing"),
        ("files: []\nmulti_gpu: true\nn_gpus: 2\nbenchmarks: 3\n", "benchmarks", "list"),
        ("files: []\nmulti_gpu: true\nn_gpus: 9\n", "n_gpus", "9"),
        ("files: []\ncompile_baseline: maybe\n", "compile_baseline", "true or false"),
        ("files: []\nranked_timeout: 7200\n", "ranked_timeout", "outside"),
        ('files: []\ntest_timeout: "180"\n', "test_timeout", "write it without quotes"),
        ("files: []\nbenchmarks: [{size: .inf}]\n", "benchmarks[0].size", "finite number, got inf"),
        ("files: []\ntests: [{size: 4, seed: .nan}]\n", "tests[0].seed", "whole number, got nan"),
        ("files: []\nbenchmarks: [{on: 1}]\n", "benchmarks[0]", "YAML reads on, off, yes and no as true or false"),
        (f"files: [{MARKED}, {MARKED}]\n", "files[1].source", "@SUBMISSION@ stands twice"),
    ],
)
def test_a_bad_task_names_the_field(write_problem, task: str, field: str, says: str) -> None:
    with pytest.raises(ProblemError) as refused:
        load_problem(write_problem(task))
    assert refused.value.field == field
    assert says in refused.value.message


def test_a_yaml_file_that_unfolds_without_end_is_refused(write_problem) -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    with pytest.raises(ProblemError, match="aliases"):
        load_problem(write_problem(bomb))


def test_a_file_over_a_megabyte_or_not_utf8_is_refused(write_problem) -> None:
    folder = write_problem(**{"reference.py": "#" * 1_000_001})
    with pytest.raises(ProblemError, match="more than 1000000 bytes"):
        load_problem(folder)
    (folder / "reference.py").write_bytes(b"\xff\xfe")
    with pytest.raises(ProblemError, match="not UTF-8"):
        load_problem(folder)
