"""Measure this host's ceilings: our own kernels on the calibration problems, through the judge's own way.

The same containers, copies, freezes and clock as for any submission; the library's kernel is both sides, so that twice
as many blocks count. A rate comes from the fastest block of a case (itself a median over calls): a ceiling is what was
reached once, and a disturbed block says nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from problems.formats.gpumode import load_problem
from problems.spec import Case, Problem, case_name
from runner import once
from runner.config import JudgeSettings
from runner.epochs import device_name, keep_ceilings, stored_ceilings
from runner.errors import RunnerError
from runner.judge import certificate, datasheet
from runner.judge.ceilings import UNKNOWN_CACHE_BYTES, Ceilings
from runner.wire import Event, Report

__all__ = ["BenchFailed", "Judge", "Measured", "keep_ceilings", "measure_ceilings", "plan", "stored_ceilings"]

FOLDER: Final = once.LIBRARY / "calibration"
CPUS: Final = Path("/sys/devices/system/cpu")

CPU_ENGINES: Final = ("fp32", "fp64", "bf16_tc", "int8_tc")  # what the libraries have fast products for on a cpu
GPU_ENGINES: Final = ("fp64", "fp32", "tf32", "fp16_tc", "bf16_tc", "int8_tc")
UNKNOWN_GPU_ENGINES: Final = ("fp32", "fp16_tc")
PRODUCT_S: Final = 2e-3  # a product on a GPU takes about this long, so that its start and its end hardly count
SIZES: Final = (8192, 4096, 2048)

Judge = Callable[[Problem, Path], Report]


class BenchFailed(RunnerError):
    """Nothing could be measured; the text says what the judge said."""


@dataclass(frozen=True)
class Calibration:
    """One job: a problem of the calibration folder with the cases that fit this hardware. `label`: for a person."""

    label: str
    problem: str
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Measured:
    """The ceilings, and why each calibration that gave nothing did not, by label."""

    ceilings: Ceilings
    missing: dict[str, str]


def measure_ceilings(
    settings: JudgeSettings, *, when: str, judge: Judge | None = None, tell: Callable[[str], None] = lambda label: None
) -> Measured:
    """Judges every calibration; `when` is stored (UTC, ISO 8601), `tell` hears each label before it is judged.

    Raises BenchFailed where not even memory could be timed, DeviceBusy.
    """
    hardware = settings.runner_hardware
    device = device_name(hardware, once.accelerators.fingerprint(hardware))
    found: dict[str, dict[str, float]] = {}
    missing: dict[str, str] = {}
    report = None
    for calibration in plan(hardware, device):
        tell(calibration.label)
        problem = replace(load_problem(FOLDER / calibration.problem), benchmarks=calibration.cases)
        report = (judge or _judge(settings))(problem, FOLDER / calibration.problem / "baseline.py")
        times = dict(best_ns(report.evidence))
        found[calibration.label] = times
        if not times:
            missing[calibration.label] = f"{report.outcome} ({report.reason}): {report.message or 'no block was timed'}"
    if report is None or not (found["copy"] or found["read"]):
        raise BenchFailed("; ".join(f"{label}: {why}" for label, why in missing.items()))
    base = Ceilings(
        hardware=hardware,
        device=device,
        epoch=report.epoch,
        when=when,
        how="runner bench: the library's own kernels in the judge's containers, fastest block of each case",
        swept=hardware != "cpu",
        cache_bytes=UNKNOWN_CACHE_BYTES if hardware != "cpu" else last_level_cache_bytes(),
    )
    fingerprint = report.evidence.get("fingerprint", {})
    return Measured(fold(base, found).with_hard(int(fingerprint.get("max_sm_mhz") or 0)), missing)


def plan(hardware: str, device: str) -> list[Calibration]:
    """What to judge here. Sizes: beyond any cache, and long enough to time; on a GPU also short of its memory."""
    if hardware == "cpu":
        copies: tuple[Case, ...] = ({"words": 1 << 24, "rounds": 1}, {"words": 1 << 16, "rounds": 512})
        reads: tuple[Case, ...] = ({"size": 1 << 24},)
        sizes = {engine: 1024 for engine in CPU_ENGINES}
    else:
        copies, reads = ({"words": 1 << 28, "rounds": 1},), ({"size": 1 << 28},)
        sizes = _product_sizes(device)
    products = [
        Calibration(engine, "matmul", tuple({"n": n, "engine": engine, "fill": fill} for fill in ("random", "zeros")))
        for engine, n in sizes.items()
    ]
    return [Calibration("copy", "copy", copies), Calibration("read", "read", reads), *products, LAUNCH]


LAUNCH: Final = Calibration("launch", "empty", ({},))


def _product_sizes(device: str) -> dict[str, int]:
    """Engines of this GPU that our kernels reach → the largest size whose product takes no longer than it must."""
    sheet = datasheet.find(device)
    if sheet is None:
        return {engine: SIZES[-1] for engine in UNKNOWN_GPU_ENGINES}
    rates = sheet.flops()
    return {
        engine: next((n for n in SIZES if 2 * n**3 / rates[engine] <= PRODUCT_S), SIZES[-1])
        for engine in GPU_ENGINES
        if engine in rates
    }


def best_ns(evidence: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Name of each timed case → its fastest block. Both sides are ours, so both count."""
    for timing in evidence.get("timing", ()):
        if timing["quads"]:
            certified = certificate.certify(timing, clock=evidence["clock"], certified=evidence["certified"])
            blocks = [block for quad in certified.quads for block in quad if block > 0 and math.isfinite(block)]
            if blocks:
                yield timing["case"], min(blocks)


def fold(base: Ceilings, found: Mapping[str, Mapping[str, float]]) -> Ceilings:
    """Rates from times: ns by case, by label."""
    calibrations = {one.label: one for one in plan(base.hardware, base.device)}
    flops: dict[str, dict[str, float]] = {"random": {}, "zeros": {}}
    rates: dict[str, float] = {}
    for label, times in found.items():
        for case in calibrations[label].cases:
            taken = times.get(case_name(case))
            if taken is None:
                continue
            if label == "copy":
                field = "copy_bytes_per_s" if case["rounds"] == 1 else "cache_bytes_per_s"
                rates[field] = 8 * _int(case, "words") * _int(case, "rounds") / taken * 1e9
            elif label == "read":
                rates["read_bytes_per_s"] = 4 * _int(case, "size") / taken * 1e9
            elif label == "launch":
                rates["launch_ns"] = taken
            else:
                flops[str(case["fill"])][label] = 2 * _int(case, "n") ** 3 / taken * 1e9
    return replace(base, flops=flops["random"], flops_zeros=flops["zeros"], **rates)  # type: ignore[arg-type]


def _int(case: Case, name: str) -> int:
    value = case[name]
    assert isinstance(value, int)
    return value


def _judge(settings: JudgeSettings) -> Judge:
    def judge(problem: Problem, path: Path) -> Report:
        return once.judge_once(problem, path, "benchmark", settings, _ignore)

    return judge


def _ignore(event: Event) -> None:
    """Nobody watches a calibration."""


def last_level_cache_bytes(cpus: Path = CPUS) -> int:
    """All last-level caches of this host together: what one core has written may lie in any of them.

    Where the kernel does not tell, more than any host has: then memory bounds nothing, which is safe.
    """
    sizes: dict[str, tuple[int, int]] = {}  # the cores that share it → level, bytes
    for index in cpus.glob("cpu[0-9]*/cache/index*"):
        try:
            level, kind, shared, size = (_line(index / name) for name in ("level", "type", "shared_cpu_list", "size"))
            if kind in ("Unified", "Data"):
                sizes[f"{level} {shared}"] = int(level), _bytes(size)
        except (OSError, ValueError):
            continue
    last = max((level for level, _ in sizes.values()), default=0)
    return sum(size for level, size in sizes.values() if level == last) or 1 << 40


def _line(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()


def _bytes(text: str) -> int:
    """Such as 32768K."""
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * unit


def lines(ceilings: Ceilings) -> Iterable[tuple[str, str, str]]:
    """What a person reads: name, measured, hard; rates in the largest fitting unit."""
    hard = ceilings.hard
    yield "copy, memory", _per_s(ceilings.copy_bytes_per_s, "B/s"), _per_s(hard.memory_bytes_per_s, "B/s")
    yield "read, memory", _per_s(ceilings.read_bytes_per_s, "B/s"), _per_s(hard.memory_bytes_per_s, "B/s")
    yield "copy, cache", _per_s(ceilings.cache_bytes_per_s, "B/s"), _per_s(hard.cache_bytes_per_s, "B/s")
    for engine in sorted(ceilings.flops.keys() | ceilings.flops_zeros.keys() | hard.flops.keys()):
        for name, rates in (("random", ceilings.flops), ("zeros", ceilings.flops_zeros)):
            if engine in rates:
                yield f"{engine}, {name}", _per_s(rates[engine], "op/s"), _per_s(hard.flops.get(engine), "op/s")
    launch = f"{ceilings.launch_ns / 1e3:.3g} µs" if ceilings.launch_ns is not None else "-"
    yield "launch floor", launch, "-"


def _per_s(rate: float | None, unit: str) -> str:
    if rate is None:
        return "-"
    for prefix, size in (("P", 1e15), ("T", 1e12), ("G", 1e9)):
        if rate >= size:
            return f"{rate / size:.3g} {prefix}{unit}"
    return f"{rate / 1e6:.3g} M{unit}"
