"""Cost of a container's context beyond the baseline's, from calls of the harness's own kernel."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from runner.evidence import certificate
from runner.evidence.certificate import LEAST_OWN_CALLS
from runner.evidence.sample import Sample
from runner.judge.sides import tenant
from runner.judge.sides.tenant import OwnCalls
from sandbox import protocol

CHANCE = random.Random(5)


def samples(count: int, *, told: float, gap: float = 450_000) -> list[Sample]:
    """Samples with a stray in every tenth, like the first call after a thaw."""
    found = []
    for number in range(count):
        event = told + CHANCE.gauss(0, 40) + (900 if number % 10 == 0 else 0)
        found.append(Sample(event + gap, 0, 0, event, 0, 0, 0))
    return found


def test_it_is_the_difference_to_the_baseline() -> None:
    told = {"baseline": 3_600, "candidate": 3_900, "incumbent": 3_480}
    own = {name: samples(64, told=ns) for name, ns in told.items()}
    older = certificate.offsets(own, rules=certificate.CONTEXT_RULES - 1)["contexts"]
    assert older == {"candidate": pytest.approx(300, abs=40), "incumbent": pytest.approx(-120, abs=30)}
    beyond = {"candidate": older["candidate"] - certificate.OWN_STRAY_NS, "incumbent": 0.0}
    assert certificate.device_offsets(own) == beyond, "and since then, what is more than chance"
    faster = {"baseline": own["candidate"], "candidate": own["baseline"]}
    assert certificate.device_offsets(faster) == {"candidate": -beyond["candidate"]}


def test_so_is_what_lies_between_the_clocks() -> None:
    """The time of the kernel itself in either container does not matter."""
    found = {
        "baseline": samples(64, told=3_600),
        "candidate": samples(64, told=3_780, gap=452_000),
        "incumbent": samples(64, told=3_600, gap=449_500),
    }
    assert certificate.gap_offsets(found) == {
        "candidate": pytest.approx(2_000, abs=1),
        "incumbent": pytest.approx(-500, abs=1),
    }
    assert certificate.offsets(found) == {
        "contexts": certificate.device_offsets(found),
        "gaps": certificate.gap_offsets(found),
    }
    assert certificate.offsets({}) == {"contexts": {}, "gaps": {}}, "and nothing of lean calls"


def test_the_judges_own_copying_says_nothing_of_a_container() -> None:
    """From one of the judge's buffers it takes longer than from another, by chance."""
    found = {"baseline": samples(64, told=3_600), "candidate": samples(64, told=3_600, gap=450_500)}
    copied = {name: [call._replace(put_ns=168_000, take_ns=11_000) for call in calls] for name, calls in found.items()}
    longer = [call._replace(wall_ns=call.wall_ns + 1_600, put_ns=169_600) for call in copied["candidate"]]
    copied["candidate"] = longer
    own = {"candidate": pytest.approx(500, abs=1)}
    assert certificate.gap_offsets(copied) == certificate.gap_offsets(found) == own
    by_older_rules = certificate.offsets(copied, rules=certificate.GAP_RULES - 1)["gaps"]
    assert by_older_rules == {"candidate": pytest.approx(2_100, abs=1)}
    chance = random.Random(6)
    scattered = {
        name: [
            call._replace(wall_ns=call.wall_ns + ns, put_ns=call.put_ns + ns)
            for call, ns in ((call, chance.gauss(20_000, 6_000)) for call in calls)
        ]
        for name, calls in copied.items()
    }
    assert certificate.gap_offsets(scattered) == {"candidate": pytest.approx(500, abs=1)}, "nor does its scatter"
    assert certificate.gap_offsets(scattered, rules=certificate.GAP_RULES - 1) == {}


@pytest.mark.parametrize("sides", [{}, {"candidate": 64}, {"candidate": 64, "baseline": LEAST_OWN_CALLS - 1}])
def test_too_few_calls_say_nothing(sides: dict[str, int]) -> None:
    found = {name: samples(count, told=1) for name, count in sides.items()}
    assert certificate.device_offsets(found) == certificate.gap_offsets(found) == {}


def test_a_difference_beyond_what_contexts_have_says_nothing() -> None:
    found = certificate.device_offsets(
        {
            "baseline": samples(64, told=3_600),
            "candidate": samples(64, told=6_000),
            "incumbent": samples(64, told=3_600),
        }
    )
    assert set(found) == {"incumbent"}
    gaps = {"baseline": 450_000.0, "candidate": 453_500.0, "incumbent": 447_500.0}
    apart = certificate.gap_offsets({name: samples(64, told=3_600, gap=gap) for name, gap in gaps.items()})
    assert set(apart) == {"incumbent"}


def test_gaps_that_scatter_too_much_say_nothing() -> None:
    """The number of calls is that of a job; the error is that of 64, half of which count."""
    chance = random.Random(8)

    def scattered(by_ns: float) -> list[Sample]:
        return [Sample(453_600 + chance.gauss(0, by_ns), 0, 0, 3_600, 0, 0, 0) for _ in range(64)]

    found = {"baseline": scattered(500), "candidate": scattered(500), "incumbent": scattered(6_000)}
    assert set(certificate.gap_offsets(found)) == {"candidate"}
    assert set(certificate.device_offsets(found)) == {"candidate", "incumbent"}, "what they tell is known all the same"
    assert certificate.gap_offsets({"baseline": scattered(6_000), "candidate": scattered(500)}) == {}
    drifting = [call._replace(wall_ns=call.wall_ns + 60 * number) for number, call in enumerate(scattered(500))]
    assert certificate.gap_offsets({"baseline": scattered(500), "candidate": drifting}) == {}


def test_where_no_result_can_rank_the_fewest_calls_still_allow_a_comparison() -> None:
    assert tenant.FEW_OWN_ROUNDS * min(tenant.FEW_OWN_CALLS.values()) >= 1.5 * LEAST_OWN_CALLS


def test_sides_take_turns_and_calls_that_were_not_queued_are_left_out() -> None:
    order: list[tuple[int, str]] = []

    def side(name: str, queued: bool = True, leans: bool = True) -> Any:
        def own_calls(kind: int, count: int) -> list[Any]:
            order.append((kind, name))
            return [SimpleNamespace(sample=[1] * 7, queued=queued or at > 2) for at in range(count)]

        return SimpleNamespace(own_calls=own_calls, queues=True, leans=leans)

    found = tenant.own_calls({"candidate": side("candidate", queued=False), "baseline": side("baseline")})
    sides = ["candidate", "baseline", "baseline", "candidate", "candidate", "baseline"]
    assert order[:6] == [(protocol.OWN, name) for name in sides]
    kinds = {protocol.OWN: found.own_calls, protocol.OWN_LONG: found.own_long, protocol.OWN_LEAN: found.own_lean}
    for kind, samples in kinds.items():
        assert len(samples["baseline"]) == tenant.OWN_ROUNDS * tenant.OWN_CALLS[kind]
        assert len(samples["candidate"]) == tenant.OWN_ROUNDS * (tenant.OWN_CALLS[kind] - 3)
    assert order[-4:] == [
        (kind, name) for kind in (protocol.OWN_LONG, protocol.OWN_LEAN) for name in ("candidate", "baseline")
    ], "the two kinds that are compared take turns"
    few = tenant.own_calls({"candidate": side("candidate"), "baseline": side("baseline")}, few=True)
    assert len(few.own_lean["baseline"]) == tenant.FEW_OWN_ROUNDS * 4 < len(found.own_lean["baseline"]) / 2
    found = tenant.own_calls({"candidate": side("candidate"), "baseline": side("baseline", leans=False)})
    assert (len(found.own_calls), found.own_long, found.own_lean) == (2, {}, {})


def test_where_no_device_does_calls_by_itself_none_is_made() -> None:
    assert tenant.own_calls({"candidate": SimpleNamespace(queues=False)}) == OwnCalls()  # type: ignore[dict-item]
