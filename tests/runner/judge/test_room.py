"""Where memory is short, the plan of a case gives up step by step, and refuses last."""

from pathlib import Path

import pytest

from runner.evidence.certificate import MANY_PLACES
from runner.judge.data import memory, room
from runner.judge.data.memory import Memory
from runner.judge.data.room import BARE, CHECKED, PLACES, NoRoom, Plan, Sizes, plan

GIB = 1 << 30
SNAPSHOTS = 24 * GIB
CASE = Sizes(8 * GIB, 8 * GIB)


def free_for(wanted: Plan, sizes: Sizes) -> int:
    """Return the least free memory that holds this plan."""
    return -(-wanted.needs(sizes) * 16 // 15)


def test_a_case_with_room_for_everything_gives_up_nothing() -> None:
    found = plan(Sizes(1 << 20, 1 << 20), free=70 * GIB, snapshot_bytes=SNAPSHOTS, calls=8)
    assert found == Plan(8)
    assert found.given_up == []


def test_without_a_figure_of_free_memory_snapshots_alone_bound_the_calls() -> None:
    assert plan(Sizes(GIB, GIB), free=None, snapshot_bytes=SNAPSHOTS, calls=8) == Plan(7)


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_calls_of_a_block_are_given_up_before_any_defence(calls: int) -> None:
    sizes = Sizes(GIB, GIB, GIB)
    free = free_for(Plan(calls), sizes)
    found = plan(sizes, free=free, snapshot_bytes=SNAPSHOTS, calls=8)
    assert (found.calls, found.given_up) == (calls, [])


@pytest.mark.parametrize(
    ("wanted", "given_up"),
    [
        (Plan(1), []),
        (Plan(1, near=False), ["near"]),
        (Plan(1, near=False, strict=False), ["near", "strict"]),
        (BARE, ["near", "strict", "repeats"]),
    ],
)
def test_defences_are_given_up_in_the_order_of_the_documents(wanted: Plan, given_up: list[str]) -> None:
    sizes = Sizes(2 * GIB, 2 * GIB, 4 * GIB)
    free = free_for(wanted, sizes)
    assert plan(sizes, free=free, snapshot_bytes=SNAPSHOTS).given_up == given_up
    if wanted == BARE:
        with pytest.raises(NoRoom) as refused:
            plan(sizes, free=free - 2, snapshot_bytes=SNAPSHOTS)
        assert (refused.value.need, refused.value.free) == (BARE.needs(sizes), free - 2)
    else:
        assert len(plan(sizes, free=free - 2, snapshot_bytes=SNAPSHOTS).given_up) > len(given_up)


def test_strict_comparisons_that_need_no_memory_are_never_given_up() -> None:
    """Outputs too large for double precision have none."""
    assert plan(CASE, free=free_for(BARE, CASE), snapshot_bytes=SNAPSHOTS).given_up == ["near", "repeats"]


def test_a_call_of_eight_gib_in_and_out_still_comes_twice() -> None:
    """KernelBench's level1/39 in what an H200 leaves: exact repeats stay."""
    found = plan(CASE, free=46 * GIB, snapshot_bytes=SNAPSHOTS, calls=8, oracle_bytes=24 * GIB)
    assert (found.calls, found.given_up, found.keeps) == (1, ["near"], False)


@pytest.mark.parametrize(("oracle_bytes", "keeps"), [(0, True), (60 * GIB, False)])
def test_buffers_wait_only_where_the_oracle_has_room_beside_them(oracle_bytes: int, keeps: bool) -> None:
    found = plan(Sizes(GIB, GIB), free=64 * GIB, snapshot_bytes=SNAPSHOTS, calls=8, oracle_bytes=oracle_bytes)
    assert (found.keeps, found.given_up) == (keeps, [])


@pytest.mark.parametrize(
    ("units", "count"), [((1, 1), 1), ((1, 5), 5), ((4, 4), PLACES), ((9_000, 9_000), PLACES), ((0, 0), 1)]
)
def test_places_are_as_many_as_the_regions_leave(units: tuple[int, int], count: int) -> None:
    assert room.places(units) == count
    assert MANY_PLACES <= PLACES


@pytest.mark.parametrize(
    ("taken", "others", "is_fault"), [(40, 0, True), (10, 0, False), (40, 75, False)], ids=["took", "did not", "others"]
)
def test_the_submission_is_at_fault_only_for_what_would_have_fitted(taken: int, others: int, is_fault: bool) -> None:
    assert room.is_submissions_fault(20, taken=taken, allowed=10, others=others, start=100) is is_fault


def test_data_kept_for_the_problems_check_are_part_of_the_plan() -> None:
    """GPU MODE's vectoradd_v2 on 80 GB: a block of eight left 0.9 GiB to the check."""
    sizes = Sizes(GIB, GIB // 2, held=3 * GIB // 2)
    found = plan(sizes, free=28 * GIB, snapshot_bytes=SNAPSHOTS, calls=8, check_bytes=4 * GIB)
    assert (found.calls, found.given_up) == (4, [])
    with pytest.raises(NoRoom) as refused:
        plan(sizes, free=8 * GIB, snapshot_bytes=SNAPSHOTS, check_bytes=4 * GIB)
    assert refused.value.need == BARE.needs(sizes) + 4 * GIB


def test_sentences_name_need_rest_and_way_out() -> None:
    said = room.refusal(32 * GIB, 2 * GIB, 75 * GIB, where="device")
    assert said == (
        "this case needs 32.0 GiB of the device's memory beside what all code holds there, 2.0 GiB are free, and "
        "75.0 GiB were before the job: choose smaller sizes, or hardware with more memory"
    )
    assert "it took 40.0 GiB" in room.left_too_little(GIB, 40 * GIB, 0)


def test_a_check_needs_double_precision_beside_a_bare_call() -> None:
    sizes = Sizes(GIB, GIB, 3 * GIB)
    assert CHECKED.needs(sizes) == BARE.needs(sizes) + 3 * GIB


def test_free_memory_of_the_host_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "MEMINFO", file)
    assert Memory().free_bytes() is None
    file.write_text("MemTotal:        8000000 kB\nMemAvailable:    2097152 kB\n")
    assert Memory().free_bytes() == 2 * GIB
