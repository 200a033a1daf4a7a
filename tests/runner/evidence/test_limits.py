"""Least possible time of a case: the binding resource, the certain part, and no honest way forgotten."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import problems
from problems.arithmetic import LimitError
from problems.fields import ProblemError
from problems.formats.gpumode import load_problem
from problems.spec import Precision
from runner.evidence import speed_of_light as limits
from runner.evidence.ceilings import MEASURED_MARGIN, Ceilings, Rates, find_sheet, unmeasured
from runner.evidence.speed_of_light import Bound

GB = 1e9
COPY = {"read_bytes": "4 * n", "write_bytes": "4 * n"}
PRODUCT = {"read_bytes": "8 * n * n", "write_bytes": "4 * n * n", "flops": {"fp32": "2 * n ** 3"}}


def cpu(**changes: Any) -> Ceilings:
    found = Ceilings(
        hardware="cpu",
        device="a processor",
        epoch="sha256:0123",
        cache_bytes=32 << 20,
        copy_bytes_per_s=10 * GB,
        read_bytes_per_s=8 * GB,
        cache_bytes_per_s=50 * GB,
        flops={"fp32": 100 * GB, "fp64": 50 * GB},
        flops_zeros={"fp32": 110 * GB},
        launch_ns=2000.0,
    )
    return replace(found, **changes).with_hard()


def gpu(device: str = "NVIDIA H200") -> Ceilings:
    found = unmeasured("gpu", device)
    assert found is not None
    return found


def hard(speed_of_light: dict[str, Any], ceilings: Ceilings, precision: Precision | None = None, **case: Any) -> Bound:
    found = limits.limits(speed_of_light, [case], ceilings, precision).cases[0].hard
    assert found is not None
    return found


# -- memory ----------------------------------------------------------------------------------------------------------


def test_on_a_cpu_what_fits_the_cache_is_bounded_by_the_cache_alone() -> None:
    found = hard(COPY, cpu(), n=1 << 20)
    assert found.resource == "cache"
    assert found.ns == pytest.approx(8 * (1 << 20) / (50 * MEASURED_MARGIN))


def test_on_a_cpu_only_what_exceeds_the_cache_must_come_from_memory() -> None:
    found = hard(COPY, cpu(), n=1 << 26)
    assert found.resource == "memory"
    assert found.ns == pytest.approx((8 * (1 << 26) - (32 << 20)) / (10 * MEASURED_MARGIN))


def test_after_a_sweep_even_small_inputs_come_from_memory_and_small_outputs_may_stay_in_the_cache() -> None:
    found = hard(COPY, gpu(), n=1 << 20)
    assert found == Bound("memory", pytest.approx((4 << 20) * (1 - 8 / 256) / 4800))


def test_after_a_sweep_outputs_beyond_the_cache_count() -> None:
    found = hard(COPY, gpu(), n=1 << 28)
    assert found.ns == pytest.approx(((4 << 28) * (1 - 8 / 256) + (4 << 28) - (50 << 20)) / 4800)


def test_what_was_timed_on_an_h200_is_possible_there() -> None:
    """docs/lab-notebook, events in µs: add of 64 MB and 1 GB, a bf16 product of 4096³."""
    for n, measured_us in ((16777216, 39.20), (268435456, 506.69)):
        assert not hard(COPY, gpu(), n=n).forbids(measured_us * 1e3)
    product = {"flops": {"bf16_tc": "2 * n ** 3"}}
    bound = hard(product, gpu(), Precision(("bf16",), 1e-2), n=4096)
    assert not bound.forbids(179_300)
    assert bound.forbids(60_000)


def test_impossible_is_beyond_the_bound_by_more_than_its_own_uncertainty() -> None:
    assert Bound("memory", 100.0).forbids(97.9)
    assert not Bound("memory", 100.0).forbids(98.1)


# -- arithmetic ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_relative_l2", "fastest", "products"),
    [
        (1e-7, "fp16_tc", 3),  # 23.3 bits: two pieces of 11
        (5e-5, "int8_tc", 3),  # 14.3 bits: two pieces of 8
        (2e-3, "int8_tc", 1),  # 9 bits: one piece of 8, rounded to nearest
        (None, "int8_tc", 1),
    ],
)
def test_an_honest_fp32_product_may_be_made_of_cheaper_ones(
    max_relative_l2: float | None, fastest: str, products: int
) -> None:
    ceilings = gpu()
    bound = hard(PRODUCT, ceilings, Precision(("fp32",), max_relative_l2), n=8192)
    assert bound == Bound("fp32", pytest.approx(2 * 8192**3 * products / ceilings.hard.flops[fastest] * 1e9))


def test_splitting_never_slows_an_engine_down() -> None:
    """fp64 to the last bit takes many int8 products: then the fp64 units themselves are the fastest."""
    ceilings = replace(gpu(), hard=Rates(flops={"fp64": 40e12, "int8_tc": 60e12}))
    bound = hard({"flops": {"fp64": "n"}}, ceilings, Precision(("fp64",), 1e-15), n=40)
    assert bound == Bound("fp64", pytest.approx(1e-3))


def test_the_slowest_of_several_engines_binds() -> None:
    ceilings = replace(gpu(), hard=Rates(1e12, None, {"fp16_tc": 100e12, "fp32": 10e12}))
    work = {"read_bytes": "1000", "flops": {"fp32": "n", "fp16_tc": "n"}}
    assert hard(work, ceilings, Precision(("fp32",), 1e-7), n=10**9).resource == "fp32"


def test_an_engine_that_nobody_measured_bounds_nothing() -> None:
    ceilings = replace(cpu(), flops={}, flops_zeros={}).with_hard()
    assert hard(PRODUCT, ceilings, n=4096).resource == "memory"


# -- ceilings --------------------------------------------------------------------------------------------------------


def test_ceilings_come_back_from_json_as_they_were() -> None:
    for ceilings in (cpu(), gpu(), cpu(cache_bytes_per_s=None, launch_ns=None)):
        assert Ceilings.from_json(json.loads(json.dumps(ceilings.to_json()))) == ceilings


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"copy_bytes_per_s": -1}, "ceilings.copy_bytes_per_s"),
        ({"copy_bytes_per_s": "fast"}, "ceilings.copy_bytes_per_s"),
        ({"flops": {"fp33": 1e12}}, "fp33 is no engine; known are fp64"),
        ({"flops": {"fp32": float("inf")}}, "ceilings.flops.fp32"),
        ({"hard": {"memory_bytes_per_s": 0}}, "ceilings.hard.memory_bytes_per_s"),
        ({"swept": "yes"}, "ceilings.swept"),
        ({"cache_bytes": 1.5}, "ceilings.cache_bytes"),
        ({"speed": 1}, "ceilings.speed"),
        ({"device": None}, "ceilings.device"),
    ],
)
def test_stored_ceilings_that_are_none_are_refused_by_field(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ProblemError, match=named):
        Ceilings.from_json(cpu().to_json() | changes)


def test_a_gpu_of_the_table_has_a_hard_ceiling_before_anything_was_measured_and_a_cpu_has_none() -> None:
    assert gpu().source == "data sheet of the H200"
    assert unmeasured("cpu", "NVIDIA H200") is None
    assert unmeasured("gpu", "NVIDIA Unheard-Of") is None


def test_an_unknown_gpu_is_bounded_by_what_was_measured_on_it_with_a_margin() -> None:
    found = cpu(hardware="gpu", device="NVIDIA Unheard-Of", swept=True)
    assert found.hard == found.measured.times(MEASURED_MARGIN)
    assert found.source == "measured here, times 4"


# Dense figures as the data sheets print them, in TFLOP/s (sparse ones halved) and TB/s.
@pytest.mark.parametrize(
    ("device", "memory", "printed"),
    [
        ("NVIDIA H200", 4.8, {"fp64": 34, "fp64_tc": 67, "fp32": 67, "tf32": 494, "bf16_tc": 989, "int8_tc": 1979}),
        ("NVIDIA H100 80GB HBM3", 3.35, {"fp64": 34, "fp32": 67, "tf32": 494, "fp16_tc": 989, "fp8_tc": 1979}),
        ("NVIDIA H100 PCIe", 2.0, {"fp64": 26, "fp32": 51, "tf32": 378, "fp16_tc": 756, "fp8_tc": 1513}),
        ("NVIDIA A100-SXM4-80GB", 2.039, {"fp64": 9.7, "fp64_tc": 19.5, "fp32": 19.5, "tf32": 156, "fp16_tc": 312}),
        ("NVIDIA A100-SXM4-40GB", 1.555, {"bf16_tc": 312, "int8_tc": 624}),
        ("NVIDIA L4", 0.3, {"fp32": 30.3, "tf32": 60, "fp16_tc": 121, "fp8_tc": 242.5, "int8_tc": 242.5}),
        ("Tesla T4", 0.32, {"fp32": 8.1, "fp16_tc": 65, "int8_tc": 130}),
        ("NVIDIA B200", 7.7, {"fp64": 37, "fp32": 75, "tf32": 1125, "bf16_tc": 2250, "fp8_tc": 4500, "fp4_tc": 9000}),
    ],
)
def test_no_hard_ceiling_lies_below_the_data_sheet_or_far_above_it(
    device: str, memory: float, printed: dict[str, float]
) -> None:
    rates = gpu(device).hard
    assert memory * 0.999 <= (rates.memory_bytes_per_s or 0) / 1e12 <= memory * 1.05
    for engine, tera in printed.items():
        assert tera * 0.98 <= rates.flops[engine] / 1e12 <= tera * 1.16, engine


def test_a_faster_clock_than_the_table_knows_raises_the_ceiling() -> None:
    sheet = find_sheet("NVIDIA H200")
    assert sheet is not None
    assert sheet.flops(2100)["fp32"] == pytest.approx(sheet.flops()["fp32"] * 2100 / 1980)
    assert sheet.flops(1000) == sheet.flops()


# -- our own problems ------------------------------------------------------------------------------------------------

LIBRARY = Path(problems.__file__).parent / "library"
PLAIN = ("vectoradd", "softmax", "add", "copy", "read", "prefixsum")
DECLARED = sorted(path.parent for path in LIBRARY.glob("*/*/task.yml") if "speed_of_light" in path.read_text())


@pytest.mark.parametrize("folder", DECLARED, ids=lambda folder: folder.name)
def test_every_case_of_our_own_problems_has_a_bound(folder: Path) -> None:
    problem = load_problem(folder)
    assert limits.faults(problem) == []
    for found in limits.limits(problem.speed_of_light, problem.benchmarks, gpu(), problem.precision).cases:
        assert found.work
        assert found.work.read_bytes > 0
        assert found.work.write_bytes > 0
        assert found.hard is not None


@pytest.mark.parametrize("folder", [one for one in DECLARED if one.name in PLAIN], ids=lambda folder: folder.name)
def test_what_only_reads_and_writes_moves_its_tensors_once(folder: Path) -> None:
    problem = load_problem(folder)
    for case in problem.benchmarks:
        work = limits.Work.of(problem.speed_of_light, case)
        words = math.prod(case[name] for name in ("rows", "cols", "size", "words") if name in case)  # type: ignore[misc]
        inputs, outputs = {"vectoradd": (2, words), "read": (1, 1)}.get(folder.name, (1, words))
        assert (work.read_bytes, work.write_bytes) == (4 * words * inputs, 4 * outputs)


# -- evidence --------------------------------------------------------------------------------------------------------


def test_the_evidence_holds_both_bounds_of_each_case() -> None:
    found = limits.limits(PRODUCT, [{"n": 64, "seed": 1}, {"n": 2048, "seed": 2}], cpu(), Precision(("fp32",), 1e-6))
    adapter = TypeAdapter(limits.Limits)
    assert adapter.validate_json(adapter.dump_json(found)) == found
    small, large = found.cases
    assert (small.case, large.case) == ("n=64", "n=2048")
    assert large.work == limits.Work(8 << 22, 4 << 22, {"fp32": 2 << 33})
    assert large.measured == Bound("fp32", pytest.approx((2 << 33) / 110))  # zeros were faster
    assert large.hard.ns == pytest.approx(large.measured.ns / MEASURED_MARGIN)
    assert large.legal.ns == pytest.approx((2 << 33) / (110 * MEASURED_MARGIN))
    assert found.ceilings == cpu()
    assert found.legal == ["fp32"]


def test_the_measured_bound_knows_legal_precisions_and_no_tricks() -> None:
    ceilings = replace(gpu(), flops={"fp32": 50e12, "tf32": 400e12, "bf16_tc": 700e12})
    for legal, rate in ((("fp32",), 50e12), (("fp32", "tf32"), 400e12), (("bf16",), 700e12)):
        case = limits.limits(PRODUCT, [{"n": 8192}], ceilings, Precision(legal, 2e-3)).cases[0]
        assert case.measured.ns == pytest.approx(2 * 8192**3 / rate * 1e9)


def test_without_ceilings_or_a_declaration_there_is_no_bound_and_no_error() -> None:
    without = limits.limits(COPY, [{"n": 5}], None)
    assert without.ceilings is None
    assert replace(without.cases[0], work=None) == limits.CaseLimits("n=5")
    assert limits.limits({}, [{"n": 5}], cpu()).cases[0].hard is None


def test_a_faulty_expression_spoils_no_run_and_is_told_to_its_author() -> None:
    case = limits.limits({"read_bytes": "size * 4"}, [{"n": 5}], cpu()).cases[0]
    assert case.hard is None
    assert "size is no argument" in case.error


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"flops": {"fp33": "1"}}, "fp33 is no engine; known are fp64"),
        ({"read_bytes": "n - 9"}, "is -4 for this case; an amount of work is 0 or more"),
    ],
)
def test_work_that_is_none_is_refused(declared: dict[str, Any], told: str) -> None:
    with pytest.raises(LimitError, match=told):
        limits.Work.of(declared, {"n": 5})


def test_another_name_of_an_engine_counts_as_that_engine() -> None:
    assert limits.Work.of({"flops": {"tf32_tc": "1", "tf32": "n"}}, {"n": 5}).flops == {"tf32": 6}
