"""Every problem of the library is complete, its samples match their folders, and no wrong sample passes."""

import ast
import fcntl
import json
import os
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

from problems.spec import Case, IntRange, Problem
from runner.evidence import speed_of_light
from tests import forks
from tests.problems.conftest import load_set

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "problems" / "library"
FOLDERS = {
    path.parent.name: path.parent for path in sorted(LIBRARY.glob("*/*/task.yml")) if path.parts[-3] != "calibration"
}
SETS = sorted(LIBRARY.glob("*.yaml"))
SLUGS = sorted(FOLDERS)
FIRST_STEPS = ("vectoradd", "softmax", "layernorm", "matmul", "prefixsum", "histogram")
KINDS = ("accepted", "wrong", "slow", "cheating")
STARTERS = {"Python", "Triton", "CUDA"}
HONEST = ("accepted/", "slow/", "template/", "baseline", "answer/reference", "answer/margin")
WORKLESS = ("zeros", "ones", "constant", "input", "previous")  # answers that need no work
DOES_NOT_APPLY = "does not apply"
SIZES = {  # dimension in which an odd size is odd
    **dict.fromkeys(("vectoradd", "prefixsum", "histogram"), ("size",)),
    **dict.fromkeys(("softmax", "layernorm"), ("rows", "cols")),
    "matmul": ("m", "k", "n"),
    "conv_relu": ("batch", "channels", "filters", "height", "width"),
    "cross_entropy": ("rows", "vocab"),
    **dict.fromkeys(("int8_matmul", "linear_gelu"), ("rows", "inner", "cols")),
    "rmsnorm_rotary": ("tokens", "heads", "half"),
    "attention": ("batch", "heads", "seq"),
    "groupedgemm": ("rows", "groups", "k", "n"),
    "moerouting": ("tokens", "experts", "k"),
    "qr": ("batch", "n"),
    "topk": ("rows", "n", "k"),
}
LEAST_US = {"conv_relu": 20, "moerouting": 10, "qr": 1}  # most of the time is spent elsewhere
H200_BYTES_A_US, H200_FP32_A_US = 4.8e6, 67e6
TIMEOUT_S = 300
JUDGED = "import runpy; runpy.run_module('tests.problems.judged_here', run_name='__main__', alter_sys=True)"

Verdicts = dict[str, dict[str, str]]


@cache
def load(slug: str) -> Problem:
    found = [entry for path in SETS for entry in load_set(path).entries if entry.slug == slug]
    assert len(found) == 1, f"{slug} is in {len(found)} sets of the library"
    return found[0].problem


def builds() -> Path:
    """Folder of load_inline's builds. A killed build leaves a lock on which all later builds wait forever: a lock older
    than any build of ours may take is removed."""
    folder = Path(tempfile.gettempdir()) / f"photofinish_extensions_{os.getuid()}"
    for lock in folder.glob("**/lock"):
        if time.time() - lock.stat().st_mtime > TIMEOUT_S:
            lock.unlink(missing_ok=True)
    return folder


@cache
def judged(slug: str, *options: str) -> Verdicts:
    """Verdicts from judged_here.py, made once per test run. While another process makes them, this process judges the
    next problems."""
    found = _judged_once(slug, *options, wait=False)
    for other in SLUGS[SLUGS.index(slug) + 1 :]:
        if found is None:
            _judged_once(other, *options, wait=False)
            found = _judged_once(slug, *options, wait=False)
    return found or _judged_once(slug, *options, wait=True) or {}


def _judged_once(slug: str, *options: str, wait: bool) -> Verdicts | None:
    """Verdicts, or None while another process makes them and `wait` is false."""
    kept = Path(os.environ["PHOTOFINISH_TEST_JUDGE_LOCK"]).with_name("-".join(("judged", slug, *options)) + ".json")
    with kept.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return None
        file.seek(0)
        if not (text := file.read()):
            text = _judged(slug, *options)
            file.write(text)
    verdicts: Verdicts = json.loads(text)
    return verdicts


def _judged(slug: str, *options: str) -> str:
    inside = [str(ROOT), str(ROOT / "sandbox" / "inside"), str(ROOT / "sandbox")]
    env = {
        "TORCH_EXTENSIONS_DIR": str(builds()),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], os.defpath]),
        "HOME": os.environ.get("HOME", "/tmp"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(inside),
        "OMP_NUM_THREADS": "1",
        forks.ADDRESS: forks.address(),
    }
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = forks.Forked(JUDGED, [str(FOLDERS[slug]), *options], env, errors.fileno(), output.fileno())
        try:
            code = child.wait(TIMEOUT_S)
        finally:
            child.kill()
        errors.seek(0)
        assert code == 0, errors.read()[-4000:]
        output.seek(0)
        return output.read()


def failures(verdicts: dict[str, str]) -> dict[str, str]:
    return {case: why for case, why in verdicts.items() if why not in ("", DOES_NOT_APPLY)}


def elements(case: Case) -> int:
    total = 1
    for name, value in case.items():
        if name != "seed" and isinstance(value, int):
            total *= value
    return total


def least_us(work: speed_of_light.Work) -> float:
    """Least time of an H200 at its datasheet's rates."""
    return max((work.read_bytes + work.write_bytes) / H200_BYTES_A_US, work.flops.get("fp32", 0) / H200_FP32_A_US)


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_a_set_loads_without_a_warning(path: Path) -> None:
    found = load_set(path)
    assert found.warnings == ()
    assert found.entries
    for entry in found.entries:
        assert entry.slug in FOLDERS, "the board is named as its folder"


def test_kernels_101_are_the_first_steps_also_on_the_hardware_that_everybody_has() -> None:
    found = load_set(LIBRARY / "kernels101.yaml")
    assert found.name == "Kernels 101"
    assert tuple(entry.slug for entry in found.entries) == FIRST_STEPS
    assert {entry.gpus for entry in found.entries} == {("cpu", "H200")}


@pytest.mark.parametrize("slug", SLUGS)
def test_a_problem_is_complete_and_supported(slug: str) -> None:
    problem = load(slug)
    assert problem.unsupported == ""
    assert problem.ranking_by == "geom"
    assert set(problem.templates) >= STARTERS
    assert problem.benchmarks
    assert problem.baseline is not None
    assert problem.tolerance is not None or "def check_implementation" in problem.files["reference.py"]
    assert problem.level in (1, 2, 3)
    assert problem.tags
    assert "$" in problem.description
    assert Problem.from_bundle(json.loads(json.dumps(problem.to_bundle()))) == problem


@pytest.mark.parametrize("slug", SLUGS)
def test_secret_cases_have_odd_sizes_and_several_kinds_of_data(slug: str) -> None:
    fuzz = load(slug).fuzz
    assert fuzz is not None
    assert fuzz.cases >= 8
    assert any(isinstance(choice, IntRange) and choice.odd for choice in fuzz.args.values())
    texts = [c for c in fuzz.args.values() if not isinstance(c, IntRange) and all(isinstance(v, str) for v in c)]
    assert any(len(choice) >= 3 for choice in texts)


@pytest.mark.parametrize("slug", SLUGS)
def test_the_speed_of_light_of_every_timed_case_can_be_worked_out(slug: str) -> None:
    for problem in map(load(slug).on, load(slug).gpus):
        assert speed_of_light.faults(problem) == []
        for case in problem.benchmarks:
            work = speed_of_light.Work.of(problem.speed_of_light, case)
            assert work.read_bytes > 0
            assert work.write_bytes > 0


@pytest.mark.parametrize("slug", SLUGS)
def test_a_gpu_is_timed_by_work_of_its_own_size_also_at_odd_sizes(slug: str) -> None:
    problem = load(slug)
    assert set(problem.benchmarks_on) == set(problem.gpus) - {"cpu"}
    for timed in problem.benchmarks_on.values():
        assert len(timed) >= 2
        assert any(all(value % 2 for name, value in case.items() if name in SIZES[slug]) for case in timed)
        light_us = [least_us(speed_of_light.Work.of(problem.speed_of_light, case)) for case in timed]
        assert all(LEAST_US.get(slug, 30) <= each <= 1500 for each in light_us)


@pytest.mark.parametrize("slug", FIRST_STEPS)
def test_one_case_is_a_large_power_of_two_which_special_cases_like(slug: str) -> None:
    sizes = [elements(case) for case in (*load(slug).tests, *load(slug).benchmarks)]
    assert any(size >= 1 << 16 and size & (size - 1) == 0 for size in sizes)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_sample_says_what_it_is(slug: str) -> None:
    samples = sorted((FOLDERS[slug] / "submissions").glob("*/*.py"))
    kinds = [path.parent.name for path in samples]
    assert set(kinds) == set(KINDS)
    assert kinds.count("accepted") >= 2
    for path in samples:
        first, *rest = path.read_text().splitlines()
        assert first.startswith("# ")
        directives = [line for line in rest if line.startswith("#!PHOTOFINISH leaderboard")]
        assert directives in ([], [f"#!PHOTOFINISH leaderboard {slug}"])


@pytest.mark.parametrize("slug", SLUGS)
def test_every_starter_names_its_board_and_defines_the_entry(slug: str) -> None:
    problem = load(slug)
    for language, text in problem.templates.items():
        assert f"#!PHOTOFINISH leaderboard {slug}" in text.splitlines(), language
        defined = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        assert problem.entry in defined, language


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_honest_code_passes_every_case_also_with_four_times_the_rounding(slug: str) -> None:
    verdicts = judged(slug)
    honest = {name: failures(found) for name, found in verdicts.items() if name.startswith(HONEST)}
    assert {"answer/reference", "answer/margin"} <= set(honest)
    assert {name: found for name, found in honest.items() if found} == {}


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_a_wrong_element_at_a_random_place_is_found_in_every_case(slug: str) -> None:
    planted = judged(slug)["planted"]
    assert len(planted) >= 12
    assert [case for case, why in planted.items() if not why] == []


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_wrong_samples_fail_a_public_or_secret_case(slug: str) -> None:
    verdicts = judged(slug)
    for name, found in verdicts.items():
        if name.startswith("wrong/"):
            assert failures(found), name


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("answer", WORKLESS)
def test_an_answer_that_needs_no_work_fails_every_timed_case(slug: str, answer: str) -> None:
    found = judged(slug)[f"answer/{answer}"]
    timed = list(found.items())[-2 * len(load(slug).benchmarks) :]
    again = timed[1::2]  # the first of each pair is the call that `previous` remembers
    assert [case for case, why in again if not why] == []


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_half_precision_fails_unless_it_is_legal(slug: str) -> None:
    found = judged(slug).get("answer/half")
    if found is not None and set(found.values()) != {DOES_NOT_APPLY}:
        assert failures(found)


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_what_load_inline_builds_is_what_its_folder_says(slug: str) -> None:
    compiled = judged(slug, "compiled")
    assert ("baseline" in compiled) != ("baseline" in judged(slug))
    for name, found in compiled.items():
        if name.startswith(HONEST):
            assert failures(found) == {}, name
        elif name.startswith("wrong/"):
            assert failures(found), name
