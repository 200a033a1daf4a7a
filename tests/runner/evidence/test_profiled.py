"""What bounds a kernel: the rule, the reader of Nsight Compute's table, and the limits of a profile's contents."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from runner.evidence import profiled
from runner.evidence.profiled import COMPUTE, LATENCY, MEMORY, OCCUPANCY, Counted, Kernel, Row, Traced
from runner.job import profile

TABLE = (Path(__file__).parent / "ncu-details.csv").read_text()  # of an H100, trimmed
MUL = "void vectorized_elementwise_kernel<4, AUnaryFunctor<float, float, float, MulFunctor<float>>"


def traced(outside: float = 0.1, cpu_us: float = 100.0, cores: int = 1) -> Traced:
    operators = (Row(name="aten::exp", calls=3, us=20.0), Row(name="aten::mul", calls=3, us=60.0))
    return Traced(wall_us=100.0, cpu_us=cpu_us, cores=cores, outside=outside, operators=operators)


@pytest.mark.parametrize(
    ("memory", "compute", "occupancy", "bound"),
    [
        (79.0, 6.0, 80.0, MEMORY),
        (60.0, 60.0, 10.0, MEMORY),
        (59.9, 60.0, 10.0, COMPUTE),
        (59.9, 59.9, 50.0, LATENCY),
        (59.9, 59.9, 49.9, OCCUPANCY),
        (0.0, 0.0, 0.0, OCCUPANCY),
    ],
)
def test_bound_on_a_gpu_follows_throughputs_then_occupancy(
    memory: float, compute: float, occupancy: float, bound: str
) -> None:
    assert profiled.bound_on_gpu(memory, compute, occupancy) == bound


@pytest.mark.parametrize(
    ("memory", "inside", "cores", "bound"),
    [
        (60.0, 10.0, 10.0, MEMORY),
        (59.9, 49.9, 99.0, LATENCY),
        (59.9, 50.0, 50.0, COMPUTE),
        (None, 50.0, 50.0, ""),
        (None, 50.0, 49.9, OCCUPANCY),
    ],
)
def test_bound_on_a_cpu_is_the_first_that_holds(memory: float | None, inside: float, cores: float, bound: str) -> None:
    assert profiled.bound_on_cpu(memory, inside, cores) == bound


def test_table_of_nsight_compute_is_read() -> None:
    (kernel,) = profiled.kernels_of(TABLE)
    assert kernel.name.startswith(MUL)
    assert (kernel.launches, kernel.us) == (1, pytest.approx(43.072))
    assert (kernel.memory, kernel.compute, kernel.occupancy) == (78.97, 6.0, 80.46)


def test_refusal_of_the_driver_is_a_sentence_that_names_the_way_out() -> None:
    said = (Path(__file__).parent / "ncu-forbidden.txt").read_text()  # then Nsight Compute leaves no report
    with pytest.raises(profile._Failed, match=r"^This host's driver refuses .* \(docs/gpu-hosts\.md\)"):
        profile._kernels(Counted(said=said))
    with pytest.raises(profile._Failed, match=r"(?s)measured no kernel\. .*No kernels were profiled"):
        profile._kernels(Counted(said=said.replace(profiled.FORBIDDEN, "")))


def test_launches_of_one_kernel_count_by_their_time() -> None:
    once = [line for line in TABLE.splitlines() if line.startswith('"0"')]
    again = "\n".join(f'"1"{line[3:]}' for line in once).replace("43,072", "129,216").replace("78.97", "38.97")
    (kernel,) = profiled.kernels_of(f"{TABLE}{again}\n")
    assert (kernel.launches, kernel.us) == (2, pytest.approx(4 * 43.072))
    assert kernel.memory == pytest.approx(48.97)


@pytest.mark.parametrize("forged", ["nan", "inf", "-1", "much", ""])
def test_table_with_impossible_numbers_is_refused(forged: str) -> None:
    with pytest.raises(ValueError):
        profiled.kernels_of(TABLE.replace("43,072", forged))


@pytest.mark.parametrize("table", ["", "==ERROR== ERR_NVGPUCTRPERM", '"ID","Kernel Name"\n"0","x"\n', '"ID"' + '"' * 9])
def test_text_without_a_table_has_no_kernels(table: str) -> None:
    try:
        assert profiled.kernels_of(table) == []
    except ValueError:
        assert table.startswith('"ID"')


def test_longest_kernel_of_a_gpu_gives_sentence_and_figures() -> None:
    kernels = [Kernel("short", 1, 10.0, 90.0, 5.0, 90.0), Kernel("long", 2, 30.0, 20.0, 10.0, 12.0)]
    found = profiled.on_gpu("n=1", traced(), kernels)
    assert found.bound == OCCUPANCY
    assert found.sentence == (
        "Occupancy bounds long, 75 % of the device's time: only 12 % of the places for warps are taken, "
        "too few to use more than 20 % of the memory's throughput and 10 % of the processors'."
    )
    assert [figure.percent for figure in found.figures] == [20.0, 10.0, 12.0]
    assert [(row.name, row.share) for row in found.rows] == [("aten::mul", 0.75), ("aten::exp", 0.25)]


def test_gpu_without_counters_says_why_and_keeps_the_trace() -> None:
    found = profiled.on_gpu("n=1", traced(), [], ["The host forbids them."])
    assert (found.bound, found.figures, found.notes) == ("", (), ("The host forbids them.",))
    assert len(found.rows) == 2


def test_device_that_idles_is_noted() -> None:
    idle = traced().model_copy(update={"wall_us": 400.0})
    (note,) = profiled.on_gpu("n=1", idle, [Kernel("k", 1, 10.0, 90.0, 5.0, 90.0)]).notes
    assert note.startswith("The device works for only 20 % of a call")


def test_cpu_names_the_share_of_the_bandwidth_where_it_is_known() -> None:
    found = profiled.on_cpu("n=1", traced(), 70.0)
    assert (found.bound, found.figures[0].percent) == (MEMORY, 70.0)
    assert profiled.on_cpu("n=1", traced(), None).figures[0].percent is None
    assert "40 % of 4 cores" in profiled.on_cpu("n=1", traced(cpu_us=160.0, cores=4), None).sentence
    assert "70 % of its time passes outside" in profiled.on_cpu("n=1", traced(outside=0.7), None).sentence


def test_profile_survives_the_wire() -> None:
    found = profiled.on_cpu("n=1", traced(), 70.0).model_copy(update={"files": {"operators.txt": "aGk="}})
    assert profiled.read(json.loads(json.dumps(found.model_dump(mode="json")))) == found


@pytest.mark.parametrize(
    "forged",
    [
        {"files": {"../../etc/passwd": "aGk="}},
        {"files": {"operators.txt": "no base64\x00"}},
        {"files": {"operators.txt": "A" * 4_000_001}},
        {"rows": [{"name": "x", "calls": 1, "us": 1e99}]},
        {"rows": [{"name": "x" * 301, "calls": 1, "us": 1.0}]},
        {"rows": [{"name": "x", "calls": 1, "us": 1.0}] * 21},
        {"figures": [{"name": "x", "percent": 101.0, "about": ""}]},
        {"bound": "luck"},
        {"more": 1},
    ],
)
def test_profile_outside_its_limits_is_not_shown(forged: dict[str, object]) -> None:
    assert profiled.read({"case": "n=1", "sentence": "x"} | forged) is None


def test_name_that_steers_a_reader_is_marked() -> None:
    assert Row(name="a\u202eb\x00\x1b[2J", calls=1, us=1.0).name == "a\ufffdb\ufffd\ufffd[2J"
    with pytest.raises(ValidationError):
        Row(name="a", calls=1, us=float("nan"))
