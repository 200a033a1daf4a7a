"""The clock that counts on a GPU: events, raised to the time that the judge's wall clock vouches for."""

import dataclasses
import math
import random
from typing import Any

import pytest

from runner.evidence import certificate, schedule
from runner.evidence.certificate import (
    LARGE_BYTES,
    LEAST_AT_ONE_PLACE_NS,
    LEAST_COMPARED_NS,
    LEAST_OF_RANKS_NS,
    LEAST_QUEUED_NS,
    LEAST_SMALL_NS,
    LEAST_SPREAD_NS,
    MANY_PLACES,
    SMALL_BYTES,
    SPARED_BY_HOST_NS,
    SPARED_EARLY_NS,
    SPARED_NS,
    TURN_NS,
    Certified,
)
from runner.evidence.sample import Sample
from tests.runner.evidence.whole import parsed, parsed_timing

GAP_NS = 300_000.0  # between the two clocks, on a device


def timing(
    event_b: float, *, event_a: float = 50_000.0, told_b: float | None = None, noise: float = 300.0
) -> dict[str, Any]:
    """Ten quads; the candidate truly takes `event_b` and reports `told_b`. The gap between the clocks is noisy."""
    chance = random.Random(3)

    def block(side: str, true: float, told: float) -> dict[str, Any]:
        calls = [[true + GAP_NS + chance.gauss(0, noise), 0, 0, told, 0, 0, 0] for _ in range(5)]
        return {"side": side, "calls": calls}

    told = event_b if told_b is None else told_b

    def quad() -> dict[str, Any]:
        a, b = ("baseline", event_a, event_a), ("candidate", event_b, told)
        return {"void": "", "charged": "", "blocks": [block(*a), block(*b), block(*b), block(*a)]}

    return {"quads": [quad() for _ in range(10)]}


def certify(case: dict[str, Any], side: str = "candidate") -> Certified:
    given = {"gaps": None} | case  # of a timing that an older runner wrote
    return certificate.certify(*parsed_timing(given, clock="event"), side)


def judged(**given: Any) -> Certified:
    return certify(timing(**given))


def test_honest_events_count_as_they_are() -> None:
    found = judged(event_b=40_000.0)
    assert not found.mismatch
    assert [quad[1] for quad in found.quads] == pytest.approx([40_000.0] * 10, rel=0.05)


def test_a_forged_event_is_raised_to_what_the_wall_clock_vouches_for() -> None:
    found = judged(event_b=40_000.0, told_b=1_000.0)
    assert found.mismatch
    assert min(time for quad in found.quads for time in quad[1:3]) > 34_000


def test_a_small_forgery_gains_at_most_the_spread() -> None:
    found = judged(event_b=40_000.0, told_b=33_500.0)
    gained = 40_000 - min(time for quad in found.quads for time in quad[1:3])
    assert 0 < gained <= LEAST_SPREAD_NS + 500
    assert found.spread_ns == LEAST_SPREAD_NS + SPARED_BY_HOST_NS


def test_where_calls_were_queued_less_can_be_forged() -> None:
    case = timing(event_b=40_000.0, told_b=36_000.0) | {"queued": True, "places": 16}
    found = certify(case)
    assert found.spread_ns == LEAST_QUEUED_NS + SPARED_NS
    assert min(time for quad in found.quads for time in quad[1:3]) > 40_000 - LEAST_QUEUED_NS - 500
    assert certify({**case, "queued": False}).spread_ns == LEAST_SPREAD_NS + SPARED_BY_HOST_NS


def test_newer_rules_allow_for_an_early_echo_of_queued_calls() -> None:
    case = timing(event_b=40_000.0) | {"gaps": None, "places": 16}

    def spread_ns(rules: int, *, queued: bool) -> float:
        given = parsed_timing(case | {"queued": queued}, clock="event", rules=rules)
        return certificate.certify(*given, "candidate").spread_ns

    assert [spread_ns(rules, queued=True) for rules in (1, 2)] == [LEAST_QUEUED_NS + SPARED_NS] * 2
    assert spread_ns(3, queued=True) == LEAST_QUEUED_NS + SPARED_EARLY_NS
    assert spread_ns(3, queued=False) == LEAST_SPREAD_NS + SPARED_BY_HOST_NS


def test_data_that_stay_in_one_place_are_known_less_well() -> None:
    case = timing(event_b=40_000.0) | {"queued": True}
    assert certify(case).spread_ns == LEAST_AT_ONE_PLACE_NS + SPARED_NS
    assert certify({**case, "places": MANY_PLACES}).spread_ns == LEAST_QUEUED_NS + SPARED_NS


def test_one_that_spares_what_lies_around_its_kernel_gains_no_more_than_it_says() -> None:
    """The candidate has its own graph behind the gate, as in g16: its gap is smaller, and its event time by as much."""
    case = timing(event_b=40_000.0 - SPARED_NS, told_b=40_000.0 - SPARED_NS - 4_000) | {"queued": True, "places": 16}
    found = certify(case)
    assert not found.mismatch
    more = timing(event_b=40_000.0 - SPARED_NS, told_b=40_000.0 - SPARED_NS - 9_000) | {"queued": True, "places": 16}
    assert certify(more).mismatch, "what is spared widens no limit"
    gained = 40_000 - min(time for quad in found.quads for time in quad[1:3])
    assert SPARED_NS + LEAST_QUEUED_NS - 500 < gained <= found.spread_ns + 500


def by_the_host(*, forged_ns: float = 0.0, idle_ns: float = GAP_NS) -> dict[str, Any]:
    """A baseline that ends on the host, so that its events include the device's turn back to the judge; the candidate
    hands out its kernel, truly takes 40 µs and returns."""
    case = timing(event_b=40_000.0, told_b=40_000.0 - forged_ns, event_a=800_000.0)
    for block in (block for quad in case["quads"] for block in quad["blocks"] if block["side"] == "baseline"):
        for call in block["calls"]:
            call[0] -= TURN
    return case | {"idle": [[idle_ns + 20_000.0 * number, 0, 0, 1_000.0, 0, 0, 0] for number in range(5)]}


TURN = 125_000.0  # as on an H200


def test_a_baseline_that_ends_on_the_host_makes_no_honest_kernel_a_forgery() -> None:
    found = certify(by_the_host())
    assert not found.mismatch
    assert [quad[1] for quad in found.quads] == pytest.approx([40_000.0] * 10, rel=0.05)
    assert found.spread_ns == pytest.approx(TURN + LEAST_SPREAD_NS + SPARED_BY_HOST_NS, abs=2_000), "it is said"
    shortest = by_the_host(idle_ns=GAP_NS - TURN + TURN_NS[0] - 5_000)  # idle calls stray, too
    assert certify(shortest).mismatch
    assert certify(by_the_host() | {"idle": []}).mismatch


def test_what_is_forged_beyond_that_turn_is_raised() -> None:
    found = certify(by_the_host(forged_ns=39_000.0))
    assert min(time for quad in found.quads for time in quad[1:3]) > 30_000
    late = certify(by_the_host(idle_ns=9e6))  # a neighbour's work was in their way
    assert late.spread_ns <= TURN_NS[1] + LEAST_SPREAD_NS + SPARED_BY_HOST_NS + 1
    busy = by_the_host(idle_ns=GAP_NS + 60_000) | {"probe_limit_ns": 600_000.0}
    for call in busy["idle"]:
        call[4] = 2_400_000  # a turn of the device: a neighbour's kernel was still there, and no idle call shows it
    assert certify(busy).mismatch
    queued = by_the_host() | {"queued": True, "places": 16}
    assert certify(queued).mismatch, "with every host thread frozen all end alike"


def apart(*, told_ns: float, queued: bool = True) -> dict[str, Any]:
    """The candidate truly takes 40 µs. Its context makes events longer by `told_ns`, as our own calls showed."""
    return timing(event_b=40_000.0 + told_ns) | {"queued": queued, "contexts": {"candidate": told_ns}}


@pytest.mark.parametrize("told_ns", [-300.0, 400.0])
def test_what_a_context_costs_by_itself_is_taken_off(told_ns: float) -> None:
    found = certify(apart(told_ns=told_ns))
    assert {time for quad in found.quads for time in quad[1:3]} == {40_000.0}
    assert {quad[0] for quad in found.quads} == {50_000.0}


def test_a_candidate_that_finds_a_better_place_than_its_context_had_stays_within_the_spread() -> None:
    """Our calls took 0.4 µs more there; the submission's do not, and hide the rest besides."""
    case = timing(event_b=40_000.0, told_b=39_000.0) | {"queued": True, "places": 16, "contexts": {"candidate": 400.0}}
    found = certify(case)
    assert {time for quad in found.quads for time in quad[1:3]} == {38_600.0}
    assert found.spread_ns == LEAST_QUEUED_NS + 400 + SPARED_NS


def test_contexts_say_nothing_of_calls_that_could_not_be_queued() -> None:
    found = certify(apart(told_ns=400.0, queued=False))
    assert {time for quad in found.quads for time in quad[1:3]} == {40_400.0}
    assert found.spread_ns == LEAST_SPREAD_NS + SPARED_BY_HOST_NS


def gaps_apart(gap_ns: float, *, told_b: float = 40_000.0, **more: Any) -> dict[str, Any]:
    """The candidate truly takes 40 µs; its container makes the gap longer by `gap_ns`, as our own calls showed."""
    case = timing(event_b=40_000.0 + gap_ns, told_b=told_b)
    known = {"queued": True, "places": MANY_PLACES, "gaps": {"candidate": gap_ns}}
    return case | known | {"input_bytes": SMALL_BYTES, "output_bytes": 0} | more


@pytest.mark.parametrize("gap_ns", [-2_400.0, 2_400.0])
def test_a_container_whose_gap_is_longer_hides_nothing_by_itself(gap_ns: float) -> None:
    found = certify(gaps_apart(gap_ns))
    assert {time for quad in found.quads for time in quad[1:3]} == {40_000.0}
    assert found.spread_ns == LEAST_COMPARED_NS + max(0.0, gap_ns) + SPARED_NS, "it might find a way around it"


@pytest.mark.parametrize("gap_ns", [-2_400.0, 0.0, 2_400.0])
def test_what_is_forged_is_found_whatever_containers_differ_by(gap_ns: float) -> None:
    found = certify(gaps_apart(gap_ns, told_b=37_000.0))
    times = [time for quad in found.quads for time in quad[1:3]]
    assert 40_000 - LEAST_COMPARED_NS - 500 < min(times) <= max(times) < 40_000 - LEAST_COMPARED_NS + 500
    nobody_asked = certify(gaps_apart(gap_ns, told_b=37_000.0, gaps=None))
    raised = max(0.0, 3_000 + gap_ns - LEAST_QUEUED_NS)
    assert [quad[1] for quad in nobody_asked.quads] == pytest.approx([37_000 + raised] * 10, abs=500)


@pytest.mark.parametrize(
    ("more", "least_ns"),
    [
        ({}, LEAST_COMPARED_NS),
        ({"gaps": {}}, LEAST_QUEUED_NS),
        ({"gaps": {"incumbent": 0.0}}, LEAST_QUEUED_NS),
        ({"gaps": None}, LEAST_QUEUED_NS),
        ({"input_bytes": SMALL_BYTES - 2, "output_bytes": 1}, LEAST_SMALL_NS),
        ({"input_bytes": SMALL_BYTES - 2, "output_bytes": 2}, LEAST_COMPARED_NS),
        ({"output_bytes": LARGE_BYTES - SMALL_BYTES - 1}, LEAST_COMPARED_NS),
        ({"output_bytes": LARGE_BYTES - SMALL_BYTES}, LEAST_QUEUED_NS),
        ({"places": MANY_PLACES - 1}, LEAST_AT_ONE_PLACE_NS),
    ],
)
def test_how_well_gaps_are_known(more: dict[str, Any], least_ns: float) -> None:
    found = certify(gaps_apart(0.0, **more))
    assert found.spread_ns == least_ns + SPARED_NS


@pytest.mark.parametrize("more", [{"queued": False}, {"places": MANY_PLACES - 1}])
def test_where_gaps_depend_on_the_kernel_nothing_is_taken_off(more: dict[str, Any]) -> None:
    found = certify(gaps_apart(9_000.0, **more))
    assert min(time for quad in found.quads for time in quad[1:3]) > 43_000
    assert found.spread_ns <= LEAST_SPREAD_NS + SPARED_BY_HOST_NS


@pytest.mark.parametrize("gap_ns", [-2_400.0, 0.0, 2_400.0])
@pytest.mark.parametrize(("hidden_ns", "mismatch"), [(4_700.0, False), (5_800.0, True)])
def test_nobody_is_called_a_forger_by_what_own_calls_told(hidden_ns: float, mismatch: bool, gap_ns: float) -> None:
    """The job's own blocks decide, by their excess over the stray of honest code with unknown gaps."""
    case = gaps_apart(gap_ns, told_b=40_000.0 - hidden_ns + min(0.0, gap_ns))
    assert certify(case).mismatch == mismatch
    found = certify(gaps_apart(gap_ns, told_b=40_000.0 - hidden_ns))
    assert min(time for quad in found.quads for time in quad[1:3]) > 40_000 - LEAST_COMPARED_NS - 500


def copied(
    a_ns: float, b_ns: float, *, told_ns: float = 4_000_000.0, after: dict[str, list[list[float]]] | None = None
) -> dict[str, Any]:
    """The judge's own copying lies in every call, with these times for the baseline and the candidate."""
    case = timing(event_b=4_000_000.0, event_a=4_000_000.0, told_b=told_ns) | {"queued": True}
    for block in (block for quad in case["quads"] for block in quad["blocks"]):
        copies_ns = a_ns if block["side"] == "baseline" else b_ns
        for sample in block["calls"]:
            sample[:3] = [sample[0] + copies_ns, copies_ns - 4_000, 4_000]
    usual = {"baseline": [[round(a_ns) - 4_000, 4_000]] * 8, "candidate": [[round(b_ns) - 4_000, 4_000]] * 8}
    given = usual if after is None else after
    copies = {side: [list(map(round, times)) for times in found] for side, found in given.items()}
    return case | {"copies": copies}


@pytest.mark.parametrize(("a_ns", "b_ns"), [(1_592_000.0, 1_599_700.0), (7_290_000.0, 7_220_000.0)])
def test_copies_that_take_longer_at_one_side_are_nobodys_hidden_time(a_ns: float, b_ns: float) -> None:
    """An H200 showed this: 2.7 GB reach one container 8 µs faster than a second container, 12 GB 70 µs faster."""
    found = certify(copied(a_ns, b_ns))
    assert not found.mismatch
    assert {time for quad in found.quads for time in quad} == {4_000_000.0}
    without = certify(copied(a_ns, b_ns, after={}))
    assert without.mismatch == (b_ns > a_ns), "or else it would be an honest one's fault"


def test_work_that_is_done_while_inputs_come_is_hidden_time_all_the_same() -> None:
    """The copies are timed when the candidate is dead: they lack the cause of the longer copies in its calls."""
    after = copied(1_592_000.0, 1_592_000.0)["copies"]
    case = copied(1_592_000.0, 1_642_000.0, told_ns=3_950_000.0, after=after)
    for block in (block for quad in case["quads"] for block in quad["blocks"] if block["side"] == "candidate"):
        for sample in block["calls"]:
            sample[0] -= 50_000  # the kernel then saved this time
    assert certify(case).mismatch


@pytest.mark.parametrize("more_ns", [100_000.0, 1_000_000.0])
def test_who_slows_the_copies_down_when_they_count_for_him_gains_nothing(more_ns: float) -> None:
    a_ns = 1_592_000.0
    after = {"baseline": [[a_ns - 4_000, 4_000]] * 8, "candidate": [[a_ns - 4_000 + more_ns, 4_000]] * 8}
    assert certify(copied(a_ns, a_ns, told_ns=4e6 - more_ns, after=after)).mismatch
    slowed = copied(a_ns, a_ns + more_ns, told_ns=4e6 - more_ns, after=after)  # within calls, too
    for block in (block for quad in slowed["quads"] for block in quad["blocks"] if block["side"] == "candidate"):
        for sample in block["calls"]:
            sample[0] -= more_ns
    found = certify(slowed)
    gained = 4e6 - min(time for quad in found.quads for time in quad[1:3])
    assert found.mismatch or gained <= a_ns / 50 + LEAST_AT_ONE_PLACE_NS + 5_000


def test_copies_that_were_disturbed_are_known_less_well_and_refuse_nobody() -> None:
    chance = random.Random(5)
    a_ns = 1_592_000.0
    after = {
        side: [[a_ns - 4_000 + abs(chance.gauss(0, 20_000)), 4_000] for _ in range(8)]
        for side in ("baseline", "candidate")
    }
    found = certify(copied(a_ns, a_ns, after=after))
    assert not found.mismatch
    assert 2_000 + SPARED_NS + LEAST_AT_ONE_PLACE_NS < found.spread_ns < a_ns / 50 + SPARED_NS + 10_000


def test_what_a_device_does_elsewhere_while_inputs_come_could_be_spared() -> None:
    """Bringing 6 GB takes longer than a time slice: the device looks whether the tenant's work is ready."""
    alone = copied(3_580_000.0, 3_580_000.0)
    within = copied(3_957_000.0, 3_957_000.0, after=alone["copies"])
    spread_ns = certify(alone).spread_ns
    found = certify(within)
    assert not found.mismatch
    assert found.spread_ns == pytest.approx(spread_ns + 377_000, abs=1.0)


def test_copies_are_known_to_a_thousandth() -> None:
    found = certify(copied(1_592_000.0, 1_592_000.0))
    assert found.spread_ns == pytest.approx(LEAST_AT_ONE_PLACE_NS + 1_592 + SPARED_NS, abs=1.0)


def test_copies_of_several_devices_at_once_take_no_longer_than_within_calls() -> None:
    """With two H200 the judge copied 268 MB in 67 µs within calls and in 72 afterwards, for either side."""
    after = copied(72_000.0, 72_000.0)["copies"]
    alone, both = (certify(copied(67_000.0, 67_000.0, after=after) | {"ranks": ranks}) for ranks in (1, 2))
    assert min(time for quad in alone.quads for time in quad[1:3]) > 4_000_000.0
    assert {time for quad in both.quads for time in quad} == {4_000_000.0}
    assert both.spread_ns == pytest.approx(LEAST_OF_RANKS_NS + 72 + SPARED_NS, abs=80.0)


def test_copies_of_one_side_alone_say_nothing() -> None:
    case = copied(1_592_000.0, 1_599_700.0)
    del case["copies"]["baseline"]
    assert certify(case).mismatch


def test_the_baselines_events_are_ours_and_never_raised() -> None:
    assert {quad[0] for quad in judged(event_b=40_000.0).quads} == {50_000.0}


def test_a_noisy_gap_biases_no_honest_event() -> None:
    """An H200 showed this: gaps of single blocks stray by 200 µs, events of 4 µs by hundredths."""
    found = judged(event_b=4_000.0, event_a=4_000.0, noise=300_000.0)
    assert not found.mismatch
    assert {quad[1] for quad in found.quads} == {4_000.0}


def test_one_stray_block_is_no_mismatch() -> None:
    given = timing(event_b=40_000.0)
    for sample in given["quads"][4]["blocks"][1]["calls"]:
        sample[0] += 200_000
    assert not certify(given).mismatch


def test_void_quads_count_for_nothing() -> None:
    given = timing(event_b=40_000.0)
    given["quads"][3]["void"] = "sw_thermal"
    for block in given["quads"][3]["blocks"]:
        block["calls"] = [[9e9, 0, 0, 8e9, 0, 0, 0]]
    found = certify(given)
    assert len(found.quads) == 9
    assert max(max(quad) for quad in found.quads) < 60_000


def test_an_incumbent_is_certified_by_the_same_rule_where_it_was_in_the_quad() -> None:
    given = timing(event_b=40_000.0)
    for quad in given["quads"][:6]:
        a, b, b_again, a_again = quad["blocks"]
        third = [dict(block, side="incumbent") for block in (b, b_again)]
        quad["blocks"] = [a, b, *third, b_again, a_again]
    assert len(certify(given, side="incumbent").quads) == 6
    assert len(certify(given).quads) == 10


@pytest.mark.parametrize(
    "sample",
    [
        [0, 0, 0, 1, 0, 0, 0],
        [-5, 0, 0, 1, 0, 0, 0],
        [100, 80, 30, 1, 0, 0, 0],
        [100, -1, 0, 1, 0, 0, 0],
        [math.nan, 0, 0, 1, 0, 0, 0],
        [100, 0, 0, math.inf, 0, 0, 0],
    ],
)
def test_a_clock_that_misbehaves_is_seen(sample: list[float]) -> None:
    assert not Sample._make(sample).is_sane
    assert Sample(100, 30, 30, 90, 0, 0, 0).is_sane


@pytest.mark.parametrize("left_honest", [0, 1, 4])
def test_forging_one_block_of_most_quads_is_found(left_honest: int) -> None:
    """Fewer than half of all blocks are forged, so no median over them shows it; but each moves its quad's ratio."""
    case = timing(event_b=40_000.0)
    for quad in case["quads"][left_honest:]:
        for call in quad["blocks"][2]["calls"]:
            call[3] = 10_000.0
    found = certify(case)
    assert found.mismatch


@pytest.mark.parametrize(
    ("event_us", "is_long"), [([1001, 2000], True), ([2000, 999], False), ([], False), ([2000, None], False)]
)
def test_offsets_of_containers_are_lost_where_each_case_takes_long(event_us: list[int | None], is_long: bool) -> None:
    """A case that was not timed is not known to be long."""
    cases = [timing(50_000.0, event_a=us * 1000.0) if us else {"quads": []} for us in event_us]
    profile = dataclasses.asdict(schedule.GPU)
    assert certificate.is_long(parsed({"timing": cases, "profile": profile})) is is_long
    assert not certificate.is_long(parsed({"timing": cases, "profile": dataclasses.asdict(schedule.CPU)}))
