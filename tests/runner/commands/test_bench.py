"""`runner bench`: judged cases by hardware, conversion of times into rates, and stored values by epoch."""

import json
import logging
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from problems.formats.gpumode import load_problem
from problems.spec import Problem, case_name
from runner.commands import bench
from runner.commands.main import app
from runner.config import JudgeSettings
from runner.errors import ConfigError
from runner.evidence import schema
from runner.evidence.ceilings import Ceilings
from runner.evidence.schedule import A, B
from runner.host import accelerators, epochs
from runner.wire import Report
from tests.runner.evidence.whole import whole

WHEN = "2026-11-20T12:00:00+00:00"
WAY_NS = 200_000  # cost of the way of a call


class FakeJudge:
    """Each case takes as long as its work at these rates, plus the way of a call; one block of four is disturbed."""

    def __init__(self, fails: tuple[str, ...] = (), rate: float = 1e11, *, busy: bool = False) -> None:
        self.judged: list[str] = []
        self._fails = fails
        self._rate = rate
        self._busy = busy

    def __call__(self, problem: Problem, path: Path) -> Report:
        self.judged.append(path.parent.name)
        names = {case_name(case): self._work(case) for case in problem.benchmarks}
        failed = path.parent.name in self._fails
        evidence = whole({})
        if not failed:
            evidence = whole({"timing": [self._timing(name, work) for name, work in names.items()]})
        return Report(
            attempt_id="a",
            token=0,
            outcome="infra_error" if failed else "unmeasurable",
            reason="problem" if failed else "below_resolution",
            evidence=evidence | ({"operator": "it broke"} if failed else {}),
        )

    @staticmethod
    def _work(case: dict[str, Any]) -> float:
        if "words" in case:
            return float(8 * case["words"] * case["rounds"])
        return float(4 * case["size"] if "size" in case else 2 * case.get("n", 0) ** 3)

    def _timing(self, name: str, work: float) -> dict[str, Any]:
        took = work / self._rate * 1e9 + WAY_NS
        slow = (1.0, 1.5, 1.4, 1.3) if self._busy else (1.0, 1.5, 1.01, 1.02)
        calls = [[[took * each + 50, 30, 20, 1, 0, 0, 0]] for each in slow]
        blocks = [{"side": side, "calls": call} for side, call in zip((A, B, B, A), calls, strict=True)]
        quads = [{"blocks": blocks, "void": "", "charged": ""}] * 2
        return {"case": name, "quads": quads, "idle": [[WAY_NS, 0, 0, 0, 0, 0, 0]]}


@pytest.fixture
def settings(tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(runner_state=tmp_path / "state", runner_locks=tmp_path / "locks", runner_hardware="cpu")


def measure(settings: JudgeSettings, judge: FakeJudge) -> bench.Measured:
    return bench.measure_ceilings(settings, judge, when=WHEN)


def test_each_rate_is_the_work_over_the_fastest_block_with_the_way_of_a_call_left_in(settings: JudgeSettings) -> None:
    found = measure(settings, FakeJudge()).ceilings
    copied, product = 8 * (1 << 24), 2 * 1024**3
    assert found.copy_bytes_per_s == pytest.approx(copied / (copied / 1e11 + WAY_NS / 1e9))
    assert found.flops == pytest.approx(dict.fromkeys(bench.CPU_ENGINES, product / (product / 1e11 + WAY_NS / 1e9)))
    assert found.flops_zeros == found.flops
    assert found.launch_ns == WAY_NS
    assert found.cache_bytes_per_s is not None
    assert found.cache_bytes_per_s > found.copy_bytes_per_s  # twice the work in one call


def test_ceilings_say_of_what_they_are(settings: JudgeSettings) -> None:
    found = measure(settings, FakeJudge()).ceilings
    fingerprint = accelerators.fingerprint("cpu")
    assert (found.hardware, found.device, found.when) == ("cpu", fingerprint["cpu"], WHEN)
    assert found.epoch == accelerators.epoch(fingerprint)
    assert found.hard == found.measured.times(4)
    assert found.cache_bytes > 0
    assert not found.swept


def test_what_fails_is_missing_with_its_reason_and_the_rest_is_there(settings: JudgeSettings) -> None:
    found = measure(settings, FakeJudge(fails=("matmul", "copy")))
    assert found.missing == dict.fromkeys(("copy", *bench.CPU_ENGINES), "infra_error (problem): it broke")
    assert found.ceilings.read_bytes_per_s
    assert found.ceilings.copy_bytes_per_s is None
    assert found.ceilings.flops == {}


def test_a_machine_with_other_work_is_told(settings: JudgeSettings) -> None:
    assert measure(settings, FakeJudge()).disturbed == {}
    found = measure(settings, FakeJudge(busy=True))
    assert found.disturbed["copy"] == pytest.approx(0.35)
    assert found.ceilings == measure(settings, FakeJudge()).ceilings


def test_without_memory_there_are_no_ceilings_and_nothing_else_is_tried(settings: JudgeSettings) -> None:
    judge = FakeJudge(fails=("copy", "read"))
    with pytest.raises(bench.BenchFailed, match=r"memory could not be timed: infra_error .problem.: it broke"):
        measure(settings, judge)
    assert judge.judged == ["copy", "read"]


@pytest.mark.parametrize(
    ("device", "engines"),
    [
        ("NVIDIA H200", {"fp64": 4096, "fp32": 4096, "tf32": 8192, "fp16_tc": 8192, "bf16_tc": 8192, "int8_tc": 8192}),
        ("Tesla T4", {"fp64": 2048, "fp32": 2048, "fp16_tc": 4096, "int8_tc": 4096}),
        ("NVIDIA Unheard-Of", {"fp32": 2048, "fp16_tc": 2048}),
    ],
)
def test_a_gpu_is_measured_on_the_engines_that_it_has(device: str, engines: dict[str, int]) -> None:
    products = [one for one in bench.plan("gpu", device) if one.problem == "matmul"]
    assert {one.label: one.timed[0].case["n"] for one in products} == engines
    assert all([timed.case["fill"] for timed in one.timed] == ["random", "zeros"] for one in products)


@pytest.mark.parametrize("hardware", ["cpu", "H200"])
def test_every_calibration_is_a_problem_of_the_library_with_a_baseline(hardware: str) -> None:
    for one in bench.plan(hardware, "NVIDIA H200"):
        problem = load_problem(bench.FOLDER / one.problem)
        timed = replace(problem, benchmarks=tuple(timed.case for timed in one.timed))
        assert Problem.from_bundle(timed.to_bundle()) == timed
        assert problem.warnings == ()
        assert problem.baseline == (bench.FOLDER / one.problem / "baseline.py").read_text()


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_stored_ceilings_are_found_by_their_epoch_alone(settings: JudgeSettings) -> None:
    found = measure(settings, FakeJudge()).ceilings
    path = epochs.keep_ceilings(settings, found)
    assert epochs.stored_ceilings(settings, found.epoch) == found
    assert epochs.stored_ceilings(settings, "another") is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path = epochs.keep_ceilings(settings.model_copy(update={"runner_judge_user": "judge"}), found)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o644, 0o711)


def test_a_second_measurement_takes_the_place_of_the_first_and_leaves_nothing_beside_it(
    settings: JudgeSettings,
) -> None:
    found = measure(settings, FakeJudge()).ceilings
    epochs.keep_ceilings(settings, found)
    again = replace(found, when="2026-11-21T12:00:00+00:00", launch_ns=5.0)
    path = epochs.keep_ceilings(settings, again)
    assert epochs.stored_ceilings(settings, found.epoch) == again
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hardware": "cpu"}', "[" * 100_000])
def test_a_damaged_file_is_as_good_as_none_and_the_log_says_what_to_do(
    settings: JudgeSettings, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = epochs.keep_ceilings(settings, Ceilings("cpu", "x", epoch="e1"))
    path.write_text(text)
    with caplog.at_level(logging.WARNING):
        assert epochs.stored_ceilings(settings, "e1") is None
    assert "run `runner bench` again" in caplog.text


@pytest.mark.parametrize("epoch", ["", "../../etc/x", "a/b", "x" * 81])
def test_an_epoch_names_a_file_in_the_folder_and_no_other(settings: JudgeSettings, epoch: str) -> None:
    with pytest.raises(ConfigError, match="is no name of an epoch"):
        epochs.stored_ceilings(settings, epoch)


def test_before_it_was_measured_a_known_gpu_is_bounded_by_its_data_sheet(settings: JudgeSettings) -> None:
    found = epochs.ceilings_for(settings, "H200", "e1", {"gpu": "NVIDIA H200", "max_sm_mhz": 1980})
    assert found is not None
    assert found.hard.memory_bytes_per_s == 4.8e12
    assert epochs.ceilings_for(settings, "cpu", "e1", {"cpu": "any"}) is None
    epochs.keep_ceilings(settings, replace(found, copy_bytes_per_s=4e12))
    assert epochs.ceilings_for(settings, "H200", "e1", {"gpu": "NVIDIA H200"}) == replace(found, copy_bytes_per_s=4e12)


# -- the host --------------------------------------------------------------------------------------------------------


def cache(cpus: Path, cpu: int, index: int, level: str, kind: str, shared: str, size: str) -> None:
    folder = cpus / f"cpu{cpu}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in (("level", level), ("type", kind), ("shared_cpu_list", shared), ("size", size)):
        (folder / name).write_text(f"{text}\n")


def test_all_last_level_caches_count_and_each_once(tmp_path: Path) -> None:
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")):
        cache(tmp_path, cpu, 0, "1", "Data", str(cpu), "32K")
        cache(tmp_path, cpu, 1, "1", "Instruction", str(cpu), "32K")
        cache(tmp_path, cpu, 3, "3", "Unified", shared, "32M")
    assert bench.last_level_cache_bytes(tmp_path) == 64 << 20


def test_where_the_kernel_tells_no_cache_memory_bounds_nothing(tmp_path: Path) -> None:
    assert bench.last_level_cache_bytes(tmp_path) > 1 << 39


# -- for real --------------------------------------------------------------------------------------------------------


@pytest.mark.docker
@pytest.mark.slow
def test_in_real_containers_memory_and_a_launch_can_be_timed(settings: JudgeSettings) -> None:
    """Sizes are small to be short: `runner bench` itself takes minutes."""
    image = os.environ.get("SANDBOX_IMAGE", settings.sandbox_image)
    judge = bench.judge_of(settings.model_copy(update={"sandbox_image": image}))
    cases = {"copy": {"words": 1 << 20, "rounds": 4}, "empty": {}}
    for name, case in cases.items():
        problem = replace(load_problem(bench.FOLDER / name), benchmarks=(case,))
        report = judge(problem, bench.FOLDER / name / "baseline.py")
        timed = bench.Timed("rate", case, 32 << 20 if case else 0)
        rates = bench.rates_of(bench.Calibration(name, name, (timed,)), schema.parse_run(report.evidence))
        assert rates, report
        if case:
            assert 1e8 < rates["rate"] < 1e12
        else:
            assert 100 < rates["rate"] < 1e7


def test_the_command_prints_a_table_or_json_and_stores_both_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNER_STATE", str(tmp_path))
    monkeypatch.setenv("RUNNER_HARDWARE", "cpu")
    monkeypatch.setattr(bench, "judge_of", lambda settings, patience: FakeJudge(fails=("empty",)))
    table = CliRunner().invoke(app, ["bench"])
    assert table.exit_code == 0
    assert "copy, memory" in table.output
    assert "launch was not measured: infra_error (problem): it broke" in table.output
    stored = json.loads(next((tmp_path / "ceilings").iterdir()).read_text())
    printed = CliRunner().invoke(app, ["bench", "--json"])
    assert json.loads(printed.stdout) | {"when": ""} == stored | {"when": ""}
