"""Figures, moments and flags of an answer are printed in the site's words, whatever the answer holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.cli.render import clean, moment
from leaderboard.client.values import number
from leaderboard.wording import figures
from leaderboard.wording.outcomes import FLAGS, TITLES, UNRANKED
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import PASSED, FakeSite


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400) | st.just([]))
def test_any_value_of_an_answer_can_be_printed(value: object) -> None:
    for worded in (figures.duration_us, figures.speedup, figures.interval):
        assert isinstance(worded(number(value)), str)
    assert isinstance(moment(value), str)


@pytest.mark.parametrize("value", [True, "1.5", float("nan"), float("inf"), 10**400, None])
def test_number_takes_finite_numbers_only(value: object) -> None:
    assert number(value) is None
    assert number(2) == 2.0


def test_moments_have_their_zone() -> None:
    assert moment("2026-01-02T03:04:05Z") == "2026-01-02 03:04 UTC"
    assert moment("2026-01-02T03:04:05.123456+02:00") == "2026-01-02 01:04 UTC"
    assert moment("yesterday") == "yesterday"


def test_a_terminal_gets_ordinary_spaces() -> None:
    assert clean(figures.duration_us(1234.5)) == "1.234 ms"


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("outcome", ["passed", "unmeasurable"])
@pytest.mark.parametrize("name", ["not_converged", "not_certified", "bimodal"])
def test_flags_are_explained(site: FakeSite, photofinish: Photofinish, name: str, outcome: str) -> None:
    site.verdict = {**PASSED, "outcome": outcome, "flags": [name]}
    assert f"{name}: {FLAGS[name]}" in photofinish("show", "7").out


@pytest.mark.usefixtures("signed_in")
def test_flag_of_a_newer_site_keeps_its_name(site: FakeSite, photofinish: Photofinish) -> None:
    site.verdict = {**PASSED, "flags": ["throttled"]}
    assert "note         throttled\n" in photofinish("show", "7").out


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize(("reason", "sentence"), [*UNRANKED.items(), ("of_a_newer_site", "of_a_newer_site")])
def test_why_a_pass_does_not_rank_is_explained(
    site: FakeSite, photofinish: Photofinish, reason: str, sentence: str
) -> None:
    site.verdict = {**PASSED, "unranked": reason}
    assert f"board        not ranked: {sentence}" in photofinish("show", "7").out


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("outcome", [*TITLES, "never_heard_of"])
def test_titles_of_outcomes_are_the_site_s(site: FakeSite, photofinish: Photofinish, outcome: str) -> None:
    site.verdict = {**PASSED, "outcome": outcome}
    title = TITLES[outcome][1] if outcome in TITLES else "Never heard of"
    assert photofinish("show", "7").out.startswith(title)


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("value", [-1, 2, 1e306, 10**400, "much"])
def test_tolerance_that_is_no_share_is_left_out(site: FakeSite, photofinish: Photofinish, value: object) -> None:
    site.verdict = {**PASSED, "forgeable": value}
    ended = photofinish("show", "7")
    assert (ended.code, "tolerance" in ended.out) == (0, False)
