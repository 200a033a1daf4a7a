"""Lean calls certify a GPU's times: next to nothing of them can be spared."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from runner.evidence import certificate, replay, schema, throttle
from runner.evidence.certificate import (
    LEAST_COMPARED_NS,
    LEAST_LEAN,
    LEAST_QUEUED_NS,
    SHORT_NS,
    SMALL_BYTES,
    SPARED_EARLY_NS,
    SPARED_LEAN_NS,
    Certified,
)
from runner.evidence.sample import Sample
from runner.evidence.schedule import ABIIBA, CPU, GPU, A, B, I, Run, Schedule
from runner.evidence.throttle import VALID, Ruling
from tests.runner.evidence.whole import parsed, parsed_timing
from tests.runner.judge.simulated import FakeSide, Race

GAP_NS, SAVES_NS = 300_000.0, 7_500.0  # between the clocks in calls with events; what lean calls save of it
PUT_NS, TAKE_NS = 160_000.0, 35_000.0  # the judge's copying, before and after
HONEST_NS = 40_000.0
OWN_NS = GAP_NS - SAVES_NS  # the gap of own lean calls
LEAN = {"queued": True, "places": 16, "gaps": {B: 0.0}, "lean_gaps": {A: OWN_NS, B: OWN_NS}}
RIGHT = Ruling(VALID)


def case(
    told_ns: float = HONEST_NS,
    *,
    true_ns: float = HONEST_NS,
    blocks: tuple[int, ...] = (0, 1),
    ours_in_events_ns: float = 0.0,
    ours_slower_ns: float = 0.0,
    spared_ns: float = 0.0,
    copying_ns: float = 0.0,
    blur: Callable[[random.Random], float] = lambda chance: 0.0,
    quads: int = 12,
    lean: int = 4,
    **more: Any,
) -> dict[str, Any]:
    """The candidate takes `true_ns` and reports `told_ns` in these blocks of a quad. `ours_in_events_ns`: events make
    the
    baseline longer, and show it; `ours_slower_ns`: its calls take longer, unseen by events. `spared_ns`, `copying_ns`
    and `blur` change the candidate's lean calls."""
    chance = random.Random(3)

    def call(spent_ns: float, told: float, more_copying_ns: float = 0.0) -> list[float]:
        put_ns, spent_ns = PUT_NS + more_copying_ns, spent_ns + chance.gauss(0, 300)
        return [put_ns + spent_ns + TAKE_NS, put_ns, TAKE_NS, told, 0, 0, 0]

    def ours() -> dict[str, Any]:
        slow, told = HONEST_NS + ours_slower_ns, HONEST_NS + ours_in_events_ns
        with_events = [call(slow + ours_in_events_ns + GAP_NS, told) for _ in range(8)]
        return {"side": A, "calls": with_events, "lean": [call(slow + OWN_NS, 0) for _ in range(lean)]}

    def theirs(number: int) -> dict[str, Any]:
        told = told_ns if number in blocks else true_ns
        with_events = [call(true_ns + GAP_NS, told) for _ in range(8)]
        made = [call(true_ns + OWN_NS - spared_ns + blur(chance), 0, copying_ns) for _ in range(lean)]
        return {"side": B, "calls": with_events, "lean": made}

    found = [{"void": "", "charged": "", "blocks": [ours(), theirs(0), theirs(1), ours()]} for _ in range(quads)]
    return LEAN | {"input_bytes": SMALL_BYTES, "output_bytes": 0, "quads": found} | more


def certify(given: dict[str, Any], rules: int = schema.RULES, **more: Any) -> Certified:
    timing, evidence = parsed_timing(given, clock="event", rules=rules, **more)
    return certificate.certify(timing, evidence.model_copy(update={"profile": GPU}))


def about(spread_ns: float) -> Any:
    """Chance alone lets the baseline's gap drift by some ns."""
    return pytest.approx(spread_ns, abs=50)


def times(found: Certified) -> list[float]:
    return [time for quad in found.quads for time in quad[1:3]]


def test_an_honest_time_stands_and_little_of_it_could_be_forged() -> None:
    found = certify(case())
    assert not found.mismatch
    assert set(times(found)) == {HONEST_NS}
    assert found.spread_ns == about(LEAST_COMPARED_NS + SPARED_LEAN_NS)


@pytest.mark.parametrize("told_ns", [38_500.0, 37_000.0, 30_000.0])
@pytest.mark.parametrize("spared_ns", [0.0, 1_300.0])
def test_a_forgery_gains_no_more_than_is_stated(told_ns: float, spared_ns: float) -> None:
    found = certify(case(told_ns, spared_ns=spared_ns))
    assert HONEST_NS - min(times(found)) <= found.spread_ns + 300
    assert found.mismatch == (told_ns < 34_000)


@pytest.mark.parametrize("told_ns", [36_000.0, 33_000.0, 20_000.0])
@pytest.mark.parametrize("share", [0.3, 0.55, 1.0])
def test_forging_one_block_of_some_quads_gains_no_more(told_ns: float, share: float) -> None:
    """What ranks is the median over quads of their two blocks together."""
    given, honest = case(told_ns, blocks=(1,)), case()
    quads = honest["quads"][: round(12 * (1 - share))] + given["quads"][: round(12 * share)]
    found = certify({**given, "quads": quads})
    middle = sorted(first * second for _, first, second, _ in found.quads)[len(found.quads) // 2] ** 0.5
    assert found.mismatch or HONEST_NS - middle <= found.spread_ns + 300


def test_told_times_that_differ_within_a_block_are_compared_as_they_rank() -> None:
    """Half of the blocks report 8 µs less six times; the others nearly 0 four times and nearly twice as much twice.
    Two further calls of each report far too much. The midmean of every block is 32 µs, and of all calls it is 40."""
    given = case(quads=20)
    shapes = [[32_000.0] * 6 + [2e5] * 2, [1_000.0] * 4 + [63_000.0] * 2 + [2e5] * 2]
    for quad in given["quads"]:
        for block, told in zip(quad["blocks"][1:3], shapes, strict=True):
            block["calls"] = [[*call[:3], ns, 0, 0, 0] for call, ns in zip(block["calls"], told, strict=True)]
    assert certify(given).mismatch


def test_a_baseline_that_was_made_slow_counts_only_as_far_as_gaps_drift() -> None:
    """Else a candidate that disturbs the baseline's lean calls could hide as much."""
    found = certify(case(told_ns=34_000.0, ours_slower_ns=6_000.0))
    assert found.mismatch or HONEST_NS - min(times(found)) <= found.spread_ns + certificate.DRIFT_NS


@pytest.mark.parametrize(("rules", "lean", "raised_ns"), [(6, 4, 400), (7, 4, 0), (7, 0, 400)])
def test_calls_with_events_raise_less_where_lean_calls_bound_a_time(rules: int, lean: int, raised_ns: float) -> None:
    """Own calls predict the difference of gaps badly now and then: here 1.4 µs that no call of the case shows."""
    found = certify(case(lean=lean, gaps={B: -1_400.0}), rules)
    assert not found.mismatch
    assert max(times(found)) == pytest.approx(HONEST_NS + raised_ns, abs=200)
    assert (max(times(found)) == HONEST_NS) == (raised_ns == 0)


@pytest.mark.parametrize(("grown_ns", "mismatch"), [(800.0, False), (24_000.0, True)])
def test_nor_does_it_count_for_calls_with_events(grown_ns: float, mismatch: bool) -> None:
    """The candidate spoils a lean call of its own, so that calls with events bound its times, and hides as much as it
    slows the baseline."""
    given = case(told_ns=HONEST_NS - grown_ns, ours_slower_ns=grown_ns)
    given["quads"][0]["blocks"][1]["unready"] = 1
    own_long = {A: [[18_000 + GAP_NS, 0, 0, 18_000, 0, 0, 0]] * 64}
    assert certify(given, own_long=own_long).mismatch is mismatch
    assert not certify(given, rules=3, own_long=own_long).mismatch, "older rules did not know"
    assert not certify(case(), own_long=own_long).mismatch


@pytest.mark.parametrize("alone", [True, False])
def test_calls_that_no_other_follows_are_compared_with_the_gap_of_such_calls(alone: bool) -> None:
    """Where own calls were followed by others, their gap is longer; it must not cover a baseline that was slowed."""
    own_long = {A: [[18_000 + GAP_NS + 5_500, 0, 0, 18_000, 0, 0, 0]] * 64}
    given = case(told_ns=HONEST_NS - 9_000, ours_slower_ns=9_000)
    given["quads"][0]["blocks"][1]["unready"] = 1
    honest = case()
    for block in (block for made in (given, honest) for quad in made["quads"] for block in quad["blocks"]):
        block["alone"] = alone
    assert certify(given, own_long=own_long).mismatch is alone
    assert not certify(honest, own_long=own_long).mismatch


@pytest.mark.parametrize("followed", [0, 3, 6, 9, 12])
def test_series_that_end_midway_slow_nobodys_baseline(followed: int) -> None:
    """Calls of the first quads were followed by others, like own calls, and the rest were single ones."""
    own_long = {A: [[18_000 + GAP_NS + 5_500, 0, 0, 18_000, 0, 0, 0]] * 64}
    given = case()
    for number, quad in enumerate(given["quads"]):
        for block in quad["blocks"]:
            block["alone"] = number >= followed
            more = 5_500 if number < followed else 0
            block["calls"] = [[call[0] + more, *call[1:]] for call in block["calls"]]
    given["quads"][0]["blocks"][1]["unready"] = 1
    assert set(times(certify(given, own_long=own_long))) == {HONEST_NS}


def test_events_between_the_baselines_kernels_accuse_nobody() -> None:
    """Events make a call of several kernels longer and show it; the candidate has a single kernel."""
    found = certify(case(ours_in_events_ns=8_000.0))
    assert not found.mismatch
    assert set(times(found)) == {HONEST_NS}


def test_a_candidate_of_several_kernels_hides_nothing() -> None:
    found = certify(case(HONEST_NS + 6_000.0))
    assert not found.mismatch
    assert set(times(found)) == {HONEST_NS + 6_000.0}


def test_blurred_lean_calls_add_no_more_than_the_stated_error() -> None:
    """One lean call in five takes up to 20 µs longer."""
    found = certify(case(34_000.0, blur=lambda chance: chance.uniform(0, 20_000) * (chance.random() < 0.2), quads=20))
    assert found.mismatch or HONEST_NS - min(times(found)) <= found.spread_ns


def test_slow_lean_calls_gain_nothing() -> None:
    assert certify(case(blur=lambda chance: 30_000.0)).mismatch


def test_copying_does_not_count_unless_other_work_makes_it_longer() -> None:
    """Two containers' memory differs by half a per cent."""
    apart = 0.005 * (PUT_NS + TAKE_NS)
    assert set(times(certify(case(copying_ns=apart)))) == {HONEST_NS}
    assert set(times(certify(case(copying_ns=-9_000.0)))) == {HONEST_NS}
    assert certify(case(copying_ns=30_000.0)).mismatch


def test_of_a_short_call_more_could_be_forged() -> None:
    """Its gap is shorter by itself."""
    short_ns = SHORT_NS - 4_000.0
    honest = certify(case(short_ns, true_ns=short_ns, spared_ns=1_500.0))
    assert (honest.mismatch, set(times(honest))) == (False, {short_ns})
    assert honest.spread_ns == about(LEAST_COMPARED_NS + SPARED_LEAN_NS + 2_000.0)
    forged = certify(case(short_ns, true_ns=SHORT_NS + 4_000.0, spared_ns=1_500.0))
    assert forged.mismatch or SHORT_NS + 4_000.0 - min(times(forged)) <= forged.spread_ns + 300


def test_data_in_few_places_count_as_such_beside_lean_calls() -> None:
    given = {"spared_ns": 2_100.0, "places": certificate.MANY_PLACES - 1}
    assert set(times(certify(case(HONEST_NS - 2_100.0, **given)))) == {HONEST_NS - 2_100.0}


@pytest.mark.parametrize(("rules", "spread_ns"), [(6, 2_500.0), (7, 3_200.0)])
def test_what_counts_of_the_baselines_drift_could_be_forged(rules: int, spread_ns: float) -> None:
    """A tenant that slows the baseline's lean calls and spares work in its own hides both, up to what is stated."""
    found = certify(case(HONEST_NS - 3_000.0, ours_slower_ns=1_000.0, spared_ns=1_500.0), rules)
    assert not found.mismatch
    assert found.spread_ns == about(spread_ns)
    assert HONEST_NS - min(times(found)) <= found.spread_ns


@pytest.mark.parametrize(("rules", "hides"), [(6, True), (7, False)])
def test_nor_does_copying_that_only_the_baselines_calls_show(rules: int, hides: bool) -> None:
    """The candidate spoils a lean call of its own, slows the judge's copying in the baseline's calls, and hides as
    much."""
    given = case(HONEST_NS - 24_000.0)
    given["quads"][0]["blocks"][1]["unready"] = 1
    for quad in given["quads"]:
        for block in (quad["blocks"][0], quad["blocks"][3]):
            block["calls"] = [[wall + 24_000, put + 24_000, *rest] for wall, put, *rest in block["calls"]]
    found = certify(given, rules)
    assert (HONEST_NS - min(times(found)) > found.spread_ns) == hides
    assert found.mismatch is not hides


def test_what_could_be_forged_is_never_more_than_by_calls_with_events() -> None:
    more = {"lean_gaps": {A: OWN_NS, B: OWN_NS + 2_900.0}}
    found = certify(case(1_000.0, true_ns=1_000.0, spared_ns=3_000.0, **more))
    assert found.spread_ns <= LEAST_QUEUED_NS + SPARED_EARLY_NS


def test_a_single_place_makes_lean_calls_less_exact() -> None:
    found = certify(case(places=1))
    assert found.spread_ns == about(certificate.LEAST_AT_ONE_PLACE_NS + SPARED_LEAN_NS)


@pytest.mark.parametrize(
    "more", [{"queued": False}, {"lean_gaps": {}}, {"lean_gaps": {A: OWN_NS}}, {"lean_gaps": None}], ids=str
)
def test_where_lean_calls_certify_nothing_other_calls_do(more: dict[str, Any]) -> None:
    given = case()
    assert certify({**given, **more}).spread_ns >= LEAST_COMPARED_NS + SPARED_EARLY_NS


@pytest.mark.parametrize("void", ["", "memory_clock"])
@pytest.mark.parametrize("place", [0, 1])
def test_one_output_that_was_not_there_leaves_all_to_other_calls(place: int, void: str) -> None:
    """Else a candidate could choose the calls that count."""
    given = case()
    given["quads"][-1]["void"] = void
    given["quads"][-1]["blocks"][place]["unready"] = 1
    assert certify(given).spread_ns == LEAST_COMPARED_NS + SPARED_EARLY_NS


def test_so_does_a_block_without_lean_calls() -> None:
    given = case()
    given["quads"][3]["blocks"][2]["lean"] = []
    assert certify(given).spread_ns == LEAST_COMPARED_NS + SPARED_EARLY_NS


def test_and_copying_that_outlasts_a_turn() -> None:
    given = case()
    for quad in given["quads"]:
        for block in quad["blocks"]:
            for call in block["calls"] + block["lean"]:
                call[0], call[1] = call[0] + 2_000_000, call[1] + 2_000_000
    assert certify(given).spread_ns == LEAST_COMPARED_NS + SPARED_EARLY_NS


@pytest.mark.parametrize("apart_ns", [3_000.0, 6_000.0, 8_000.0])
def test_blocks_that_balance_each_other_are_compared_by_the_mean_that_ranks(apart_ns: float) -> None:
    """The two blocks of a quad report as much less and more: their sum stays, their product falls."""
    true_ns = 12_000.0
    given = case(true_ns=true_ns, told_ns=true_ns)
    for quad in given["quads"]:
        for block, sign in zip(quad["blocks"][1:3], (-1, 1), strict=True):
            block["calls"] = [[*call[:3], call[3] - 2_300.0 + sign * apart_ns, 0, 0, 0] for call in block["calls"]]
    found = certify(given)
    middle = sorted(first * second for _, first, second, _ in found.quads)[len(found.quads) // 2] ** 0.5
    assert found.mismatch or true_ns - middle <= found.spread_ns + 300


def test_a_device_of_two_speeds_accuses_and_raises_nobody() -> None:
    """The second part of a case is two per cent slower, for both sides."""
    true_ns, chance = 800_000.0, random.Random(7)
    given = case(true_ns=true_ns, told_ns=true_ns, quads=40)
    for number, quad in enumerate(given["quads"]):
        slow = 1.02 if number >= 22 else 1.0
        for block in quad["blocks"]:
            told = true_ns * slow + chance.gauss(0, 300)
            block["calls"] = [
                [PUT_NS + told + GAP_NS + TAKE_NS, PUT_NS, TAKE_NS, told, 0, 0, 0] for _ in block["calls"]
            ]
            block["lean"] = [[PUT_NS + told + OWN_NS + TAKE_NS, PUT_NS, TAKE_NS, 0, 0, 0, 0] for _ in block["lean"]]
    found = certify(given)
    assert not found.mismatch
    timing, _ = parsed_timing(given, clock="event", rules=4)
    assert certificate.lean_hidden_of_case(timing, timing.quads, B).beyond == 0


def test_own_calls_too_far_apart_certify_nothing() -> None:
    apart = certificate.MOST_GAP_OFFSET_NS + 100
    found = certify(case(lean_gaps={A: OWN_NS, B: OWN_NS + apart}))
    assert found.spread_ns == LEAST_COMPARED_NS + SPARED_EARLY_NS


def test_few_lean_calls_certify_nothing() -> None:
    few = LEAST_LEAN // 8 - 1  # quads of two blocks of four
    assert certify(case(quads=few)).spread_ns >= LEAST_COMPARED_NS + SPARED_EARLY_NS
    assert certify(case(quads=few + 1)).spread_ns < LEAST_COMPARED_NS + SPARED_EARLY_NS


def test_older_rules_leave_lean_calls_aside() -> None:
    assert certify(case(), rules=3).spread_ns == LEAST_COMPARED_NS + SPARED_EARLY_NS


# -- offsets -----------------------------------------------------------------------------------------------------------


def own(wall_ns: float, told_ns: float = 0.0, calls: int = 64, scatter_ns: float = 100.0) -> list[Sample]:
    chance = random.Random(5)
    return [Sample(wall_ns + chance.gauss(0, scatter_ns), 0, 0, told_ns, 0, 0, 0) for _ in range(calls)]


def test_own_calls_show_the_gap_of_lean_calls() -> None:
    with_events = {A: own(300_000, 18_000), B: own(301_000, 18_200)}
    found = certificate.offsets({}, with_events, {A: own(292_500), B: own(294_200)})
    assert found["lean_gaps"] == {A: pytest.approx(274_500, abs=20), B: pytest.approx(276_000, abs=20)}


@pytest.mark.parametrize(
    "lean", [{}, {B: own(292_500, calls=8)}, {B: own(292_500, scatter_ns=9_000)}], ids=["none", "few", "scattered"]
)
def test_own_calls_that_show_nothing_leave_a_gap_unknown(lean: dict[str, list[Sample]]) -> None:
    with_events = {A: own(300_000, 18_000), B: own(300_000, 18_000)}
    assert set(certificate.lean_gaps(with_events, {A: own(292_500), **lean})) == {A}
    assert certificate.lean_gaps({B: with_events[B]}, {A: own(292_500)}) == {}


# -- the schedule ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours_ns", "theirs_ns", "lean"),
    [
        (3_000.0, 40_000.0, GPU.lean_calls),
        (GPU.lean_to_ns, 40_000.0, GPU.lean_calls),
        (GPU.lean_to_ns + 1, 40_000.0, 0),
        (40_000.0, 1.0, GPU.lean_calls),
        (40_000.0, 1e9, GPU.lean_calls),
    ],
)
def test_the_baselines_time_decides_whether_calls_are_lean(ours_ns: float, theirs_ns: float, lean: int) -> None:
    """A candidate's would be its own word."""
    plan = Schedule(GPU, ABIIBA)
    while isinstance(command := plan.next(), Run) and command.warm:
        assert command.lean == 0
        plan.ran([ours_ns if command.side == A else theirs_ns], 0.1, RIGHT)
    assert isinstance(command, Run)
    assert (command.side, command.lean) == (A, lean)
    assert plan.expected == Run(B, command.calls, lean=lean)


def test_lean_calls_need_room_beside_the_others() -> None:
    plan = Schedule(GPU, most_calls=9)
    while isinstance(command := plan.next(), Run) and command.warm:
        plan.ran([40_000.0], 0.01, RIGHT)
    assert isinstance(command, Run)
    assert (command.calls, command.lean) == (8, 1)


def test_no_call_of_a_processor_is_lean() -> None:
    assert (CPU.lean_calls, GPU.lean_calls > 0) == (0, True)


# -- a case as a whole -------------------------------------------------------------------------------------------------


def raced(**more: Any) -> schema.Evidence:
    race = Race(profile=GPU, rules=4, order=ABIIBA, **more)
    race.sides = {name: FakeSide(race, name, ns) for name, ns in ((A, 50_000.0), (B, 40_000.0), (I, 45_000.0))}
    race.run()
    return parsed(race.evidence())


def test_a_replay_runs_the_schedule_again_on_blocks_with_lean_calls() -> None:
    evidence = raced()
    (timing,) = evidence.timing
    blocks = [block for quad in timing.quads for block in quad.blocks]
    assert {(len(block.calls), len(block.lean)) for block in blocks} == {(8, GPU.lean_calls)}
    assert replay.rerun(timing, evidence) == []
    assert schema.parse_run(evidence.model_dump(mode="json")) == evidence


def test_a_lean_call_that_finds_the_device_busy_voids_its_block() -> None:
    evidence = raced(probe_ns=lambda race: 1e7 if 10 < len(race.blocks) < 14 else 1e5)
    (timing,) = evidence.timing
    assert throttle.BUSY in {quad.void for quad in timing.quads}
    assert replay.rerun(timing, evidence) == []
