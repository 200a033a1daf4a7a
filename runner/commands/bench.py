"""Measurement of this host's ceilings: our own kernels on the calibration problems, called by the judge.

The containers, copies, freezes and clock are the same as for any submission. The library's kernel is both sides: twice
as many blocks count. A rate comes from the fastest block of a case (itself a median over calls): a ceiling is a rate
that was reached at least once, and a disturbed block is no evidence of it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from problems.formats.gpumode import load_problem
from problems.spec import Case, Problem, case_name
from runner.commands import local
from runner.config import JudgeSettings
from runner.daemon.loan import Patience, borrowed
from runner.errors import RunnerError
from runner.evidence import schema, stats
from runner.evidence.ceilings import UNKNOWN_CACHE_BYTES, Ceilings, find_sheet
from runner.evidence.estimates import TimedCase
from runner.evidence.schedule import A, B
from runner.evidence.schema import Evidence, Timing
from runner.host import accelerators
from runner.host.epochs import device_name
from runner.job import cleanup, prepare
from runner.job.execute import execute
from runner.wire import Report
from sandbox.container import SandboxError

FOLDER: Final = local.LIBRARY / "calibration"
CPUS: Final = Path("/sys/devices/system/cpu")

CPU_ENGINES: Final = ("fp32", "fp64", "bf16_tc", "int8_tc")  # engines for which the library has fast products on a cpu
CPU_PRODUCT: Final = 1024  # rows: 2 GFLOP, some milliseconds on one core
GPU_ENGINES: Final = ("fp64", "fp32", "tf32", "fp16_tc", "bf16_tc", "int8_tc")
UNKNOWN_GPU: Final = {"fp32": 1.0, "fp16_tc": 1.0}  # operations a second: so few that the smallest product is taken
GPU_PRODUCTS: Final = (8192, 4096, 2048)  # rows, to choose from
PRODUCT_S: Final = 5e-3  # a product takes up to this long: its start and its end then hardly count
DISTURBED: Final = 0.25  # a usual block is slower than the fastest by this: foreign work ran on the machine
MEMORY: Final = frozenset({"copy", "read"})
BRIEF: Final[dict[str, Any]] = {  # of the profile of a timing: a ceiling needs no narrow interval of a ratio
    "first_look": 4,
    "most_quads": 4,
    "noisy_quads": 0,
    "least_calls": 2,
    "most_calls": 5,
    "most_windows": 2,
    "idle_calls": 3,
    "most_void": 1.0,
}

Judge = Callable[[Problem, Path], Report]


class BenchFailed(RunnerError):
    """The measurement failed; the text has the judge's reason."""


@dataclass(frozen=True)
class Timed:
    """Case with its amount of work: bytes that move, or operations. A launch has an amount of 0: its time counts."""

    name: str  # of its result: a field of Ceilings, or an engine
    case: Case
    amount: int


@dataclass(frozen=True)
class Calibration:
    """Job of the measurement: a problem of the calibration folder with the cases that fit this hardware. `label` is for
    a person."""

    label: str
    problem: str
    timed: tuple[Timed, ...]


@dataclass(frozen=True)
class Measured:
    """Measured ceilings.

    By label: why a calibration gave no rate, and by how much the usual block of a disturbed calibration was slower than
    its fastest.
    """

    ceilings: Ceilings
    missing: dict[str, str]
    disturbed: dict[str, float]


def measure_ceilings(
    settings: JudgeSettings, judge: Judge, *, when: str, tell: Callable[[str], None] = lambda label: None
) -> Measured:
    """Judge every calibration. `when` is stored (UTC, ISO 8601); `tell` receives each label before it is judged.

    Raises BenchFailed if no container could be prepared or memory not be timed, ConfigError, DeviceBusy.
    """
    hardware = settings.runner_hardware
    on_host = accelerators.make_of(hardware).on_host
    fingerprint, epoch = accelerators.fingerprint(hardware, settings.runner_gpu), ""
    device = device_name(hardware, fingerprint)
    found: dict[str, float] = {}
    missing: dict[str, str] = {}
    disturbed: dict[str, float] = {}
    for calibration in plan(hardware, device):
        tell(calibration.label)
        folder, cases = FOLDER / calibration.problem, tuple(timed.case for timed in calibration.timed)
        report = judge(replace(load_problem(folder), benchmarks=cases), folder / "baseline.py")
        epoch = epoch or report.epoch
        evidence = schema.parse_run(report.evidence) if "version" in report.evidence else None
        rates = rates_of(calibration, evidence) if evidence else {}
        found |= rates
        if not rates:
            why = str(report.evidence.get("operator", "")) or report.message or "no block was timed"
            missing[calibration.label] = f"{report.outcome} ({report.reason}): {why}"
        if evidence and (slower := usually_slower(evidence)) > DISTURBED:
            disturbed[calibration.label] = slower
        if missing.keys() >= MEMORY:  # memory comes first: no later calibration would go better
            raise BenchFailed(f"memory could not be timed: {missing[calibration.label]}")

    def by_engine(field: str) -> dict[str, float]:
        return {name.partition(".")[2]: rate for name, rate in found.items() if name.startswith(f"{field}.")}

    ceilings = Ceilings(
        hardware=hardware,
        device=device,
        epoch=epoch or accelerators.epoch(fingerprint),
        when=when,
        how="runner bench: the library's own kernels in the judge's containers, fastest block of each case",
        swept=not on_host,
        cache_bytes=last_level_cache_bytes() if on_host else UNKNOWN_CACHE_BYTES,
        copy_bytes_per_s=found.get("copy_bytes_per_s"),
        read_bytes_per_s=found.get("read_bytes_per_s"),
        cache_bytes_per_s=found.get("cache_bytes_per_s"),
        flops=by_engine("flops"),
        flops_zeros=by_engine("flops_zeros"),
        launch_ns=found.get("launch_ns"),
    )
    return Measured(ceilings.with_hard(int(fingerprint.get("max_sm_mhz") or 0)), missing, disturbed)


def plan(hardware: str, device: str) -> list[Calibration]:
    """Return the calibrations for this hardware. Sizes: beyond any cache and long enough to time; a second copy stays
    inside a cpu's cache."""
    if accelerators.make_of(hardware).on_host:
        copies, read = [_copy(1 << 24), _copy(1 << 16, rounds=512)], 1 << 24
        products = dict.fromkeys(CPU_ENGINES, CPU_PRODUCT)
    else:
        copies, read = [_copy(1 << 28)], 1 << 28
        sheet = find_sheet(device)
        rates = sheet.flops() if sheet else UNKNOWN_GPU
        products = {  # engines that our kernels reach → the largest size whose product takes at most PRODUCT_S
            engine: next((n for n in GPU_PRODUCTS if 2 * n**3 / rates[engine] <= PRODUCT_S), GPU_PRODUCTS[-1])
            for engine in GPU_ENGINES
            if engine in rates
        }
    return [
        Calibration("copy", "copy", tuple(copies)),
        Calibration("read", "read", (Timed("read_bytes_per_s", {"size": read}, 4 * read),)),
        *(
            Calibration(engine, "matmul", (_product(engine, n, "random"), _product(engine, n, "zeros")))
            for engine, n in products.items()
        ),
        Calibration("launch", "empty", (Timed("launch_ns", {}, 0),)),
    ]


def _copy(words: int, rounds: int = 1) -> Timed:
    name = "copy_bytes_per_s" if rounds == 1 else "cache_bytes_per_s"
    return Timed(name, {"words": words, "rounds": rounds}, 2 * 4 * words * rounds)


def _product(engine: str, n: int, fill: str) -> Timed:
    name = "flops" if fill == "random" else "flops_zeros"
    return Timed(f"{name}.{engine}", {"n": n, "engine": engine, "fill": fill}, 2 * n**3)


def rates_of(calibration: Calibration, evidence: Evidence) -> dict[str, float]:
    """Return the rate of each case by its fastest block, in units a second; the launch in ns. Both sides are ours and
    count."""
    known = {case_name(timed.case): timed for timed in calibration.timed}
    found = {}
    for timing in evidence.timing:
        timed = known[timing.case]
        blocks = _blocks(timing, evidence)
        if blocks:
            found[timed.name] = timed.amount / min(blocks) * 1e9 if timed.amount else min(blocks)
    return found


def usually_slower(evidence: Evidence) -> float:
    """Return by how much the median block of a case is slower than its fastest, in the worst case; 0 without blocks."""
    found = [blocks for timing in evidence.timing if (blocks := _blocks(timing, evidence))]
    return max((stats.median(blocks) / min(blocks) - 1 for blocks in found), default=0.0)


def _blocks(timing: Timing, evidence: Evidence) -> list[float]:
    return [block for side in (A, B) for block in TimedCase(timing, evidence).blocks_ns(side)]


def judge_of(settings: JudgeSettings, patience: Patience = local.FOR_EVER) -> Judge:
    """Return the judge of every attempt, in less time."""
    own = local.replace_id(settings)
    device = accelerators.device_of(settings)

    def judge(problem: Problem, path: Path) -> Report:
        job = local.job_of(problem, path, "benchmark", settings.runner_hardware)
        try:
            with (
                borrowed(device, settings.runner_locks, patience, f"`runner bench` (pid {os.getpid()})"),
                cleanup.cleared(own.runner_id),
                prepare.prepared(own) as ready,
            ):
                brief = replace(ready.hardware.profile, **BRIEF)
                ready.hardware = replace(ready.hardware, profile=brief)
                return execute(job, own, lambda event: None, ready)
        except (SandboxError, OSError) as err:
            raise BenchFailed(str(err)) from None

    return judge


def last_level_cache_bytes(cpus: Path = CPUS) -> int:
    """Return the size of all last-level caches of this host together: data that a core has written may lie in any of
    them.

    If the kernel does not report them, more than any host has: memory then bounds no kernel, which is safe.
    """
    sizes: dict[str, tuple[int, int]] = {}  # the cores that share it → level, bytes
    for index in cpus.glob("cpu[0-9]*/cache/index*"):
        try:
            names = ("level", "type", "shared_cpu_list", "size")
            level, kind, shared, size = ((index / name).read_text(encoding="ascii").strip() for name in names)
            if kind in ("Unified", "Data"):
                unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(size[-1:], 1)
                sizes[f"{level} {shared}"] = int(level), int(size.rstrip("KMG")) * unit
        except (OSError, ValueError):
            continue
    last = max((level for level, _ in sizes.values()), default=0)
    return sum(size for level, size in sizes.values() if level == last) or 1 << 40
