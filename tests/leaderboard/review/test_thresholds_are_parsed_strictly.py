"""Thresholds: an unknown rule, a value out of range or a mandatory rule turned off is refused by name.

Rules without a value keep the default threshold.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.errors import UserError
from leaderboard.review.rules.thresholds import OFF, RULES, USUAL, changed, parse

GUIDE = Path(__file__).parents[3] / "docs" / "review-rules.md"
ANY = st.dictionaries(
    st.one_of(st.sampled_from(sorted(RULES)), st.text(max_size=8)),
    st.one_of(st.floats(), st.integers(), st.text(max_size=4), st.none(), st.booleans(), st.just(OFF)),
    max_size=4,
)


def test_what_is_not_named_is_as_usual() -> None:
    assert parse({}) == USUAL
    assert parse({"faster_than_best": 3}) == {**USUAL, "faster_than_best": 3.0}
    assert parse({"similar_source": OFF})["similar_source"] is None


@pytest.mark.parametrize(
    ("data", "field", "said"),
    [
        ([], "thresholds", "expected an object"),
        ({"faster_than_light": 2}, "thresholds.faster_than_light", "no such rule; there are faster_than_best"),
        ({"faster_than_best": 1.0}, "thresholds.faster_than_best", "from 1.1 to 10"),
        ({"faster_than_best": "2"}, "thresholds.faster_than_best", "expected a number"),
        ({"faster_than_best": True}, "thresholds.faster_than_best", "expected a number"),
        ({"faster_than_best": float("nan")}, "thresholds.faster_than_best", "expected a number"),
        ({"faster_than_best": OFF}, "thresholds.faster_than_best", "cannot be off"),
        ({"not_certified": OFF}, "thresholds.not_certified", "cannot be off"),
        ({"late_work": 3}, "thresholds.late_work", "nothing to set"),
        ({"similar_source": 1.5}, "thresholds.similar_source", 'from 0.5 to 1 or "off"'),
    ],
)
def test_what_does_not_fit_is_named(data: Any, field: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(data)
    assert caught.value.field == field
    assert said in caught.value.message


@settings(max_examples=50, deadline=None)
@given(ANY)
def test_anything_is_parsed_or_refused_and_what_is_stored_is_read_back(data: dict[str, Any]) -> None:
    try:
        thresholds = parse(data)
    except UserError:
        return
    assert parse(changed(thresholds)) == thresholds
    assert set(thresholds) == set(RULES)


def test_every_rule_says_what_it_measures_and_what_to_look_at() -> None:
    for rule in RULES.values():
        assert rule.meaning
        assert rule.look.endswith((".", "?"))
        assert rule.least <= rule.usual <= rule.most
        assert not rule.holds(rule.usual, rule.usual), "a threshold itself is within"
        assert not rule.holds(float("nan"), None)
        assert rule.holds(float("nan"), rule.usual)


def test_what_says_that_a_number_cannot_be_believed_is_never_off() -> None:
    never = {name for name, rule in RULES.items() if not rule.may_be_off}
    assert {"not_certified", "late_work", "beyond_hard_ceiling", "unreadable_evidence", "figures_disagree"} <= never
    assert {"cached_results", "active_while_idle", "too_fast_for_precision", "faster_than_best"} <= never


def test_the_guide_has_every_rule_with_its_threshold() -> None:
    lines = {line.split("`")[1]: line for line in GUIDE.read_text().splitlines() if line.startswith("| `")}
    assert not set(RULES) - set(lines), f"{GUIDE.name} needs a row for each rule: meaning, thresholds, look"
    for rule in RULES.values():
        assert rule.meaning in lines[rule.id]
        assert rule.look in lines[rule.id]
        assert rule.is_fixed or f"{rule.usual:g} | {rule.least:g} … {rule.most:g}" in lines[rule.id]
