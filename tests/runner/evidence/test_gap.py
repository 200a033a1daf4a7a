"""The judge's clock beyond the events, with gaps like an H200's: a sharp lower edge, a long tail."""

import random
from collections.abc import Callable

import pytest

from runner.evidence import certificate

DEVICE_NS, EDGE_NS = 40_000.0, 560_000.0
QUADS, CALLS = 20, 25


def quads(
    chance: random.Random, *, told: float = 1.0, forged_calls: float = 1.0, blocks: tuple[int, ...] = (0, 1)
) -> list[certificate.Calls]:
    """The candidate's blocks named by `blocks` report the share `told` of their time in that share of their calls."""

    def block(forged: float) -> list[certificate.Call]:
        drift = chance.gauss(0, 10_000)  # of a whole block
        calls = []
        for _ in range(CALLS):
            true = DEVICE_NS * chance.gauss(1, 0.01)
            wait = (
                EDGE_NS
                + drift
                + chance.expovariate(1 / 20_000)
                + (chance.random() < 0.4) * chance.gauss(150_000, 40_000)
            )
            calls.append((true + wait, true * (told if chance.random() < forged else 1.0)))
        return calls

    return [
        ([block(0), block(0)], [block(forged_calls if number in blocks else 0) for number in range(2)])
        for _ in range(QUADS)
    ]


def both(given: list[certificate.Calls]) -> tuple[certificate.Hidden, certificate.Hidden]:
    everywhere, fastest = (
        certificate.hidden(given, fastest=only, least_ns=certificate.LEAST_SPREAD_NS, exact=True)
        for only in (False, True)
    )
    return everywhere, fastest


def test_an_honest_candidate_hides_nothing() -> None:
    found = [both(quads(random.Random(seed))) for seed in range(20)]
    assert sum(max(one.beyond for one in pair) > 2_000 for pair in found) <= 1
    assert max(abs(everywhere.value) for everywhere, _ in found) < 20_000


@pytest.mark.parametrize(
    ("calls", "blocks"),
    [(1.0, (0, 1)), (0.6, (0, 1)), (1.0, (1,)), (0.6, (1,))],
    ids=["all", "most calls", "one block of each quad", "most calls of one block of each quad"],
)
def test_what_is_told_too_short_is_found(calls: float, blocks: tuple[int, ...]) -> None:
    """Enough calls to move a quad's ratio, by 30 µs each."""
    found = [both(quads(random.Random(seed), told=0.25, forged_calls=calls, blocks=blocks)) for seed in range(5)]
    assert min(max(one.value for one in pair) for pair in found) > 15_000


def test_a_candidate_that_varies_by_itself_is_honest() -> None:
    chance = random.Random(1)

    def block(spread: float) -> list[certificate.Call]:
        times = [DEVICE_NS * (1 + spread * chance.random()) for _ in range(CALLS)]
        return [(time + EDGE_NS + chance.expovariate(1 / 20_000), time) for time in times]

    everywhere, fastest = both([([block(0), block(0)], [block(2), block(2)]) for _ in range(QUADS)])
    assert everywhere.beyond == fastest.beyond == 0


def test_one_quad_says_nothing_about_its_own_error() -> None:
    assert (
        certificate.hidden(
            quads(random.Random(2))[:1], fastest=False, least_ns=certificate.LEAST_QUEUED_NS, exact=True
        ).beyond
        == 0
    )


def test_told_times_are_not_believed_where_the_tenant_makes_the_wall_clock_blind() -> None:
    """The tenant hands out its work late in two calls of five, where host time lies in the gap, and forges only
    there."""
    chance = random.Random(4)

    def call(forges: bool) -> certificate.Call:
        late = forges and chance.random() < 0.4
        wall = DEVICE_NS + EDGE_NS + chance.gauss(0, 700) + (chance.uniform(150_000, 400_000) if late else 0.0)
        return wall, DEVICE_NS * (0.1 if late else 1.0)

    def block(forges: bool) -> list[certificate.Call]:
        return [call(forges) for _ in range(CALLS)]

    given = [([block(False), block(False)], [block(True), block(True)]) for _ in range(QUADS)]
    everywhere, fastest = (
        certificate.hidden(given, fastest=only, least_ns=certificate.LEAST_QUEUED_NS, exact=True)
        for only in (False, True)
    )
    assert max(everywhere.beyond, fastest.beyond) > 0.7 * DEVICE_NS


@pytest.mark.parametrize("told", [float(1 << 63), float(1 << 62), float(1 << 53)])
def test_times_told_beyond_what_floats_tell_apart_end_the_search(told: float) -> None:
    """A tenant may report any number."""
    chance = random.Random(6)
    ours = [(DEVICE_NS + EDGE_NS + chance.gauss(0, 700), DEVICE_NS) for _ in range(CALLS)]
    theirs = [(DEVICE_NS + EDGE_NS, told - told * number / 1e15) for number in range(CALLS)]
    for fastest in (False, True):
        assert (
            certificate.hidden(
                [([ours, ours], [theirs, theirs])] * QUADS,
                fastest=fastest,
                least_ns=certificate.LEAST_QUEUED_NS,
                exact=True,
            ).beyond
            == 0
        )


GAPS: dict[str, Callable[[random.Random], float]] = {
    "even": lambda chance: 20_000 + chance.gauss(0, 300),
    "wide": lambda chance: 20_000 + chance.gauss(0, 2_000),
    "with a tail": lambda chance: 20_000 + chance.expovariate(1 / 20_000),
}


def wavering(
    number: int, calls: int, time_ns: float, gap: str, seed: int, forged_ns: float = 0.0
) -> tuple[certificate.Hidden, certificate.Hidden]:
    """Calls that waver by 2 % and tell `forged_ns` too little."""
    chance = random.Random(seed)

    def blocks(less_ns: float) -> list[list[certificate.Call]]:
        times = [time_ns * chance.lognormvariate(0, 0.02) for _ in range(2 * calls)]
        made = [(time + GAPS[gap](chance), time - less_ns) for time in times]
        return [made[:calls], made[calls:]]

    given = [(blocks(0.0), blocks(forged_ns)) for _ in range(number)]
    return both(given)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize(("number", "calls", "time_ns"), [(13, 1, 4e8), (8, 3, 2e7), (90, 3, 2e7), (8, 8, 5e4)])
def test_honest_calls_that_waver_are_no_mismatch(number: int, calls: int, time_ns: float, gap: str) -> None:
    for seed in range(10):
        found = wavering(number, calls, time_ns, gap, seed)
        assert all(one.value <= certificate.MISMATCH_SPREADS * one.spread for one in found)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize(("number", "calls", "time_ns"), [(13, 1, 4e8), (90, 3, 2e7), (8, 8, 5e4)])
def test_what_wavering_calls_hide_is_found_or_counts_as_forgeable(
    number: int, calls: int, time_ns: float, gap: str
) -> None:
    for seed in range(10):
        everywhere, _ = wavering(number, calls, time_ns, gap, seed, forged_ns=60_000.0)
        assert everywhere.value > 45_000
        assert everywhere.beyond + everywhere.spread > 45_000
