"""Pure: places, ties and prizes. In any order of the lines, no cent is lost and no barred entrant wins."""

import random
from collections import Counter
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.awards.winners import Money, Outcome, TrackPlace, propose, split
from leaderboard.competitions.models import Prize, Track

FEW = settings(max_examples=50, deadline=None)
EUR = "EUR"


def line(entrant: int, rank: int, order: int | None = None) -> TrackPlace:
    return TrackPlace(entrant, rank, entrant if order is None else order, f"what {entrant} did")


def offer(place: int, amount: Decimal | None, currency: str = "", sponsor: str = "", text: str = "") -> Prize:
    return Prize(place=place, amount=amount, currency=currency, sponsor=sponsor, text=text)


@st.composite
def standings(draw: st.DrawFn) -> list[TrackPlace]:
    """Draw lines in groups of tied entrants, ranked as on a board: 1, 1, 3."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=6))
    lines: list[TrackPlace] = []
    for size in sizes:
        rank = len(lines) + 1
        lines += [line(entrant, rank) for entrant in range(rank, rank + size)]
    return lines


@st.composite
def prizes(draw: st.DrawFn) -> list[Prize]:
    places = draw(st.lists(st.integers(1, 6), unique=True, max_size=5))
    cents = st.integers(1, 1_000_000)
    return [
        offer(
            place,
            Decimal(draw(cents)) / 100,
            draw(st.sampled_from([EUR, "USD"])),
            "Acme",
            draw(st.sampled_from(["", "a card"])),
        )
        for place in sorted(places)
    ]


BARRED = st.sets(st.integers(1, 12), max_size=6).map(lambda some: dict.fromkeys(some, "division"))
RULES = st.sampled_from([Track.EARLIER, Track.SHARE])


def paid(outcome: Outcome) -> Counter[str]:
    total: Counter[str] = Counter()
    for winner in outcome.winners:
        for one in winner.money:
            total[one.currency] += one.amount  # type: ignore[assignment]
    return total


def taken(outcome: Outcome) -> int:
    return len(outcome.winners)


@FEW
@given(standings(), prizes(), RULES, BARRED, st.randoms(use_true_random=False))
def test_the_order_in_which_lines_come_says_nothing(
    lines: list[TrackPlace], offers: list[Prize], rule: str, barred: dict[int, str], chance: random.Random
) -> None:
    mixed = list(lines)
    chance.shuffle(mixed)
    one, other = (propose(some, prizes=offers, tie_rule=rule, barred=barred) for some in (lines, mixed))
    assert one == other


@FEW
@given(standings(), prizes(), RULES, BARRED)
def test_what_is_paid_is_what_is_given(
    lines: list[TrackPlace], offers: list[Prize], rule: str, barred: dict[int, str]
) -> None:
    outcome = propose(lines, prizes=offers, tie_rule=rule, barred=barred)
    given_places = [offer for offer in offers if offer.place <= taken(outcome)]
    expected: Counter[str] = Counter()
    for offer in given_places:
        assert offer.amount is not None
        expected[offer.currency] += offer.amount  # type: ignore[assignment]
    assert +paid(outcome) == expected
    things = [thing for winner in outcome.winners for thing in winner.things]
    assert things == [offer.text for offer in given_places if offer.text]
    assert all(one.amount == one.amount.quantize(Decimal("0.01")) > 0 for w in outcome.winners for one in w.money)


@FEW
@given(standings(), prizes(), RULES, BARRED)
def test_nobody_wins_who_may_not(
    lines: list[TrackPlace], offers: list[Prize], rule: str, barred: dict[int, str]
) -> None:
    outcome = propose(lines, prizes=offers, tie_rule=rule, barred=barred)
    assert not {winner.entrant_id for winner in outcome.winners} & set(barred)
    assert set(outcome.skipped) <= set(barred)
    won = [winner.entrant_id for winner in outcome.winners]
    assert len(won) == len(set(won))
    eligible = [one for one in lines if one.entrant_id not in barred]
    last = max((offer.place for offer in offers), default=1)
    assert len(won) >= min(len(eligible), last)


@FEW
@given(standings(), prizes(), RULES, BARRED, st.integers(1, 12))
def test_who_is_retracted_was_never_there(
    lines: list[TrackPlace], offers: list[Prize], rule: str, barred: dict[int, str], gone: int
) -> None:
    """For the remaining entrants, a barred entrant and a removed entrant are equivalent."""
    without = [one for one in lines if one.entrant_id != gone]
    retracted = propose(without, prizes=offers, tie_rule=rule, barred=barred)
    passed_over = propose(lines, prizes=offers, tie_rule=rule, barred=barred | {gone: "suspended"})
    assert retracted.winners == passed_over.winners


@FEW
@given(standings(), prizes(), BARRED)
def test_earlier_gives_each_a_place_of_their_own(
    lines: list[TrackPlace], offers: list[Prize], barred: dict[int, str]
) -> None:
    outcome = propose(lines, prizes=offers, tie_rule=Track.EARLIER, barred=barred)
    assert [winner.place for winner in outcome.winners] == list(range(1, len(outcome.winners) + 1))
    assert all(winner.shared_by == 1 for winner in outcome.winners)


@FEW
@given(st.integers(0, 10**9), st.integers(1, 50))
def test_a_sum_is_split_evenly_to_the_cent(cents: int, parts: int) -> None:
    shares = split(Decimal(cents) / 100, parts)
    assert sum(shares) == Decimal(cents) / 100
    assert max(shares) - min(shares) <= Decimal("0.01")
    assert shares == sorted(shares, reverse=True), "the rest goes to the earlier ones"


PODIUM = [
    offer(1, Decimal(1000), EUR, "Acme"),
    offer(2, Decimal(500), EUR, "Acme"),
    offer(3, None, "", "Bolt", "a workstation"),
]


def test_two_who_share_first_place_share_both_prizes() -> None:
    lines = [line(1, 1), line(2, 1), line(3, 3)]
    outcome = propose(lines, prizes=PODIUM, tie_rule=Track.SHARE, barred={})
    told = [(one.place, one.shared_by, one.money, one.things) for one in outcome.winners]
    half = (Money(Decimal("750.00"), EUR),)
    assert told == [(1, 2, half, ()), (1, 2, half, ()), (3, 1, (), ("a workstation",))]


def test_who_shares_the_last_place_shares_its_prize() -> None:
    lines = [line(1, 1), *(line(entrant, 2) for entrant in (2, 3, 4))]
    outcome = propose(
        lines, prizes=[offer(1, Decimal(9), EUR), offer(2, Decimal("0.05"), EUR)], tie_rule=Track.SHARE, barred={}
    )
    assert [one.money[0].amount for one in outcome.winners[1:]] == [Decimal("0.02"), Decimal("0.02"), Decimal("0.01")]


def test_who_is_passed_over_is_named_with_the_reason_and_the_next_moves_up() -> None:
    lines = [line(1, 1), line(2, 2), line(3, 3)]
    outcome = propose(
        lines, prizes=PODIUM[:1], tie_rule=Track.EARLIER, barred={1: "has not declared to be eligible", 3: "x"}
    )
    assert [(one.place, one.entrant_id) for one in outcome.winners] == [(1, 2)]
    assert outcome.skipped == {1: "has not declared to be eligible"}


def test_without_prizes_there_is_the_title() -> None:
    outcome = propose([line(1, 1), line(2, 2)], prizes=[], tie_rule=Track.EARLIER, barred={})
    assert [(one.entrant_id, one.money) for one in outcome.winners] == [(1, ())]


def test_nobody_there_is_nobody_who_wins() -> None:
    assert propose([], prizes=PODIUM, tie_rule=Track.SHARE, barred={}) == Outcome((), {})
