"""Times, speedups, intervals and spans are rounded for reading, in a single place."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.wording.figures import THIN, ago, duration_us, interval, rounded_up, share, speedup

NOON = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("microseconds", "said"),
    [
        (0.4, "400.0 ns"),
        (1.0, "1.000 µs"),
        (999.96, "1.000 ms"),
        (12.3456, "12.35 µs"),
        (1234.5, "1.234 ms"),
        (56_789.0, "56.79 ms"),
        (999_999.0, "1.000 s"),
        (2_500_000.0, "2.500 s"),
        (None, "–"),
    ],
)
def test_time_has_a_fitting_unit(microseconds, said) -> None:
    assert duration_us(microseconds).replace(THIN, " ") in (said, said.replace("1.234", "1.235"))


@given(st.floats(1e-3, 1e9), st.floats(1.01, 100))
def test_a_longer_time_never_reads_shorter(microseconds, factor) -> None:
    units = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}

    def read(text: str) -> float:
        number, unit = text.split(THIN)
        return float(number.replace(",", "")) * units[unit]

    assert read(duration_us(microseconds)) <= read(duration_us(microseconds * factor))
    assert read(duration_us(microseconds)) == pytest.approx(microseconds, rel=1e-3)


def test_speedup_is_the_inverse_of_the_ratio() -> None:
    assert [speedup(ratio) for ratio in (0.5, 1.0, 2.0, 0.001, None)] == ["2.000×", "1.000×", "0.500×", "1,000×", "–"]


def test_interval_is_in_per_cent_and_never_nothing() -> None:
    said = [interval(value).replace(THIN, " ") for value in (0.012, 0.0001, 0.25, None)]
    assert said == ["±1.2 %", "±<0.05 %", "±25 %", ""]


@given(st.floats(1e-9, 1))
def test_share_is_a_bound_and_so_rounded_up(value) -> None:
    assert share(value) == f"≤{THIN}{rounded_up(value)}"
    assert float(rounded_up(value).split(THIN)[0]) / 100 >= value - 1e-9


def test_spans() -> None:
    assert ago(NOON - dt.timedelta(hours=3), NOON) == "3 hours ago"
    assert ago(NOON + dt.timedelta(days=1, hours=2), NOON) == "in 1 day"
    assert ago(NOON, NOON) == "just now"
