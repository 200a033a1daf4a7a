"""The command line shows the same words and figures as the site's pages, though it imports no code of the site."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.cli import figures, words
from leaderboard.web import figures as site_figures
from leaderboard.web.submissions import meanings, verdicts
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import PASSED, FakeSite


def plain(text: str) -> str:
    return text.replace(site_figures.THIN, " ")


@pytest.mark.parametrize("outcome", [*words.TITLES, "never_heard_of", ""])
def test_titles_are_the_site_s(outcome: str) -> None:
    assert words.title(outcome) == verdicts.verdict(outcome, "").title


@pytest.mark.parametrize(("outcome", "reason"), words.BETTER_TITLES)
def test_titles_by_reason_are_the_site_s(outcome: str, reason: str) -> None:
    assert words.title(outcome, reason) == verdicts.verdict(outcome, reason).title != words.title(outcome)


@given(st.floats(1e-3, 1e12))
def test_times_are_said_as_on_the_site(value: float) -> None:
    assert figures.microseconds(value).split()[1] == plain(site_figures.duration_us(value)).split()[1]


@pytest.mark.parametrize("value", [0.4, 0.99999, 1.0, 900.0, 999.96, 1234.5, 12345.6, 999_999.0, 5e6, 5e10])
def test_known_times_are_the_site_s_to_the_digit(value: float) -> None:
    assert figures.microseconds(value) == plain(site_figures.duration_us(value))


@given(st.floats(1e-6, 1e4))
def test_speedups_and_intervals_are_the_site_s(value: float) -> None:
    assert figures.speedup(value) == site_figures.speedup(value)
    assert figures.interval(value) == plain(site_figures.interval(value))


@given(st.floats(1e-9, 1))
def test_shares_are_the_site_s(value: float) -> None:
    assert f"≤ {figures.share(value)}" == plain(site_figures.share(value))
    assert float(figures.share(value).split()[0]) / 100 >= value - 1e-9, "a bound is rounded up"


@pytest.mark.parametrize("reason", meanings.UNRANKED)
def test_why_a_pass_does_not_rank_is_explained(reason: str) -> None:
    assert words.unranked(reason) in meanings.UNRANKED[reason].replace("The machine", "the machine")


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400) | st.just([]))
def test_whatever_the_site_sends_can_be_printed(value: object) -> None:
    for said in (figures.microseconds, figures.speedup, figures.interval, figures.moment, figures.share):
        assert isinstance(said(value), str)


def test_moments_have_their_zone() -> None:
    assert figures.moment("2026-01-02T03:04:05Z") == "2026-01-02 03:04 UTC"
    assert figures.moment("2026-01-02T03:04:05.123456+02:00") == "2026-01-02 01:04 UTC"
    assert figures.moment("yesterday") == "yesterday"


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize("outcome", ["passed", "unmeasurable"])
@pytest.mark.parametrize("name", ["not_converged", "not_certified", "bimodal"])
def test_flags_are_explained(site: FakeSite, photofinish: Photofinish, name: str, outcome: str) -> None:
    site.verdict = {**PASSED, "outcome": outcome, "flags": [name]}
    assert f"{name}: {words.FLAGS[name]}" in photofinish("show", "7").out


def test_flag_of_a_newer_site_keeps_its_name() -> None:
    assert words.flag("throttled") == "throttled"
