"""What the import of a submission compiled in a container without a device, its tenant need not compile again."""

import gzip
import io
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from problems.formats.gpumode import load_problem
from problems.spec import case_name
from runner import config
from runner.commands.local import LIBRARY, job_from, job_of, replace_id
from runner.evidence import profiled
from runner.job.build import Builder, NotBuilt, likely_cases
from runner.job.execute import execute
from runner.wire import Job, Report
from tests.conftest import SANDBOX_IMAGE

VECTORADD = LIBRARY / "kernels101" / "vectoradd"
CU = Path(__file__).parents[2] / "problems" / "scale_cu"
RIGHT = (VECTORADD / "submissions" / "accepted" / "torch_out.py").read_text()
SPY = """
import os, shutil
os.makedirs("/tmp/kept")
open("/tmp/kept/deep", "w").write("here")
os.symlink("/etc/passwd", "/tmp/kept/link")
open("/tmp/cores", "w").write(repr(os.sched_getaffinity(0)))
shutil.copy("/tmp/cores", "/tmp/work/submission.py")
raise SystemExit
"""
INLINE = VECTORADD / "submissions" / "accepted" / "cpp_inline.py"


pytestmark = pytest.mark.docker


def settings() -> config.JudgeSettings:
    return replace_id(config.JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu"))


def job(tmp_path: Path, source: str) -> Job:
    file = tmp_path / "submission.py"
    file.write_text(source)
    return job_of(load_problem(VECTORADD), file, "test", "cpu")


def build(sent: Job) -> bytes:
    with Builder(settings(), [0]) as builder:
        return builder.build(sent)


def judged(of: Job, built: bytes = b"") -> Report:
    return execute(of, settings(), lambda event: None, built=built)


def members(built: bytes) -> list[tarfile.TarInfo]:
    return sorted(tarfile.open(fileobj=io.BytesIO(built)).getmembers(), key=lambda info: info.name)


def test_an_extension_that_was_built_ahead_is_not_compiled_again(tmp_path: Path) -> None:
    sent = job(tmp_path, INLINE.read_text())
    assert sent.compiles
    built = build(sent)
    first, second = judged(sent), judged(sent, built)
    assert first.outcome == second.outcome == "passed"
    seconds = [one.evidence["phases_s"]["building"] for one in (first, second)]
    assert seconds[1] < seconds[0] / 3, seconds


def test_a_profiler_finds_what_was_built_ahead(tmp_path: Path) -> None:
    problem = load_problem(VECTORADD)
    small = replace(problem, benchmarks=problem.benchmarks[:1])
    sent = job_from(small.on("cpu"), INLINE.read_text(), "submission.py", "profile", "cpu")
    first, second = judged(sent), judged(sent, build(sent))
    assert profiled.read(first.profile).notes == profiled.read(second.profile).notes == ()
    seconds = [one.evidence["phases_s"]["profiling"] for one in (first, second)]
    assert seconds[1] < seconds[0] / 2, seconds


def test_a_file_in_cpp_that_was_built_ahead_is_not_compiled_again() -> None:
    problem = load_problem(CU).on("cpu")
    source = (CU / "template.cu").read_text()
    sent = job_from(problem, source, "submission.cu", "test", "cpu")
    built = build(sent)
    assert judged(sent, built).outcome == "passed"
    assert {Path(info.name).name for info in members(built)} >= {"submission.so", "compiler.log"}


def test_an_archive_holds_no_source_and_no_bytecode(tmp_path: Path) -> None:
    built = build(job(tmp_path, SPY))
    assert [info.name for info in members(built)] == ["cores", "kept/deep"]


@pytest.mark.parametrize(
    "source", ["import os; os._exit(3)", "import os; open('/tmp/large', 'wb').write(os.urandom(90 << 20))"]
)
def test_an_import_that_cannot_be_kept_is_told(tmp_path: Path, source: str) -> None:
    with pytest.raises(NotBuilt, match="ended without an answer"):
        build(job(tmp_path, source))


def test_an_import_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.job.build.LIMIT_S", 5.0)
    with pytest.raises(NotBuilt, match="did not end within 5 s"):
        build(job(tmp_path, "while True: pass"))


def test_a_container_of_an_image_before_builds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Builder(settings(), [0]) as builder:
        monkeypatch.setattr("runner.job.build.chosen_image", lambda client, settings: ("another", ()))
        with pytest.raises(NotBuilt, match="the image has changed"):
            builder.build(job(tmp_path, RIGHT))


def test_where_triton_is_missing_the_files_of_the_import_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.judge.device.make.Cpu.building", lambda self, index: ("g++", (9, 0), 132))
    built = build(job(tmp_path, f"# not in triton\nopen('/tmp/kept', 'w').write('here')\n{RIGHT}"))
    assert [info.name for info in members(built)] == ["kept"]


def test_likely_cases_are_timed_shapes_first_each_once() -> None:
    problem = load_problem(VECTORADD)
    found = [case_name(case) for case in likely_cases(problem)]
    timed = list(dict.fromkeys(map(case_name, problem.benchmarks)))
    assert found[: len(timed)] == timed
    assert len(set(found)) == len(found) > len(timed)


def test_an_archive_replaces_a_file_that_is_in_use(tmp_path: Path) -> None:
    packed, there, archive = tmp_path / "packed", tmp_path / "there", tmp_path / "archive"
    for folder, content in ((packed, "new"), (there, "old")):
        folder.mkdir()
        (folder / "library.so").write_text(content)
    run = "import sys; sys.path.insert(0, sys.argv[1]); import os, built\n"
    for act in (
        "with built.Archive(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT), sys.argv[3]) as one: one.add(sys.argv[3])",
        "loaded = open(sys.argv[4] + '/library.so'); built.unpack(os.open(sys.argv[2], os.O_RDONLY), sys.argv[4]); "
        "assert loaded.read() == 'old'",
    ):
        inside = Path(__file__).parents[3] / "sandbox" / "inside"
        subprocess.run([sys.executable, "-c", run + act, *map(str, (inside, archive, packed, there))], check=True)
    assert (there / "library.so").read_text() == "new"


@pytest.mark.parametrize("built", [b"junk", gzip.compress(b"\0" * 10_000_000), b"\x1f\x8b" + bytes(100)])
def test_an_archive_that_cannot_be_read_costs_nothing(tmp_path: Path, built: bytes) -> None:
    assert judged(job(tmp_path, RIGHT), built).outcome == "passed"
