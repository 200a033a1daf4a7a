"""On a CPU only foreign time counts: own work, however much, is no disturbance."""

from dataclasses import replace
from typing import Any

import pytest

from runner.evidence.throttle import FULL, MASK_ONLY, NONE, VALID, VOID, Reading, level_of, pause_is_over, rule
from tests.runner.judge.windows import CPU, MS, window


def _grown(*, foreign: float = 0, **by_ms: float) -> dict[str, Any]:
    """`foreign` on the second core."""
    grown = {f"{name}_ns": getattr(CPU, f"{name}_ns") + round(ms * MS) for name, ms in by_ms.items()}
    return {**grown, "foreign_ns": (CPU.foreign_ns[0], CPU.foreign_ns[1] + round(foreign * MS))}


def test_own_work_that_waits_for_cores_is_valid() -> None:
    assert rule(window(CPU, ms=100, **_grown(waited=100, foreign=3)), None).action == VALID


def test_foreign_work_that_nobody_waited_for_is_valid() -> None:
    assert rule(window(CPU, ms=100, **_grown(foreign=90, waited=1)), None).action == VALID


def test_foreign_work_that_somebody_waited_for_voids() -> None:
    ruling = rule(window(CPU, ms=100, **_grown(foreign=60, waited=55)), None)
    assert (ruling.action, ruling.reason) == (VOID, "foreign_load")
    assert ruling.figures["foreign_share"] == pytest.approx(0.55)


def test_company_that_was_there_at_the_warm_up_is_borne_and_recorded() -> None:
    block = window(CPU, ms=100, **_grown(foreign=60, waited=55))
    ruling = rule(block, window(CPU, ms=200, **_grown(foreign=90, waited=90)))
    assert ruling.action == VALID
    assert ruling.figures["foreign_share"] == pytest.approx(0.55)


def test_company_that_comes_after_the_warm_up_voids() -> None:
    calm = window(CPU, ms=100, **_grown(foreign=5, waited=5))
    assert rule(window(CPU, ms=100, **_grown(foreign=40, waited=40)), calm).reason == "foreign_load"


def test_steal_that_never_ends_is_borne_and_more_of_it_voids() -> None:
    usual = window(CPU, ms=200, **_grown(steal=80))
    assert rule(window(CPU, ms=200, **_grown(steal=120)), usual).action == VALID
    assert rule(window(CPU, ms=200, **_grown(steal=190)), usual).reason == "steal"


def test_without_pressure_foreign_work_alone_decides() -> None:
    blind = replace(CPU, waited_ns=None)
    assert rule(window(blind, ms=100, **_grown(foreign=60)), None).action == VOID


def test_coarse_account_is_given_its_grain() -> None:
    coarse = replace(CPU, foreign_grain_ns=40 * MS, waited_ns=None)
    assert rule(window(coarse, ms=100, **_grown(foreign=60)), None).action == VALID


def test_steal_voids_beyond_its_share_and_one_tick_says_nothing() -> None:
    assert rule(window(CPU, ms=20, **_grown(steal=10)), None).action == VALID
    assert rule(window(CPU, ms=100, **_grown(steal=30)), None).action == VALID
    ruling = rule(window(CPU, ms=100, **_grown(steal=40)), None)
    assert (ruling.action, ruling.reason, ruling.charged) == (VOID, "steal", False)


def test_frequency_drop_voids() -> None:
    bare = replace(CPU, clock_mhz=3600.0)
    assert rule(window(bare, clock_mhz=3400.0), window(bare)).action == VALID
    assert rule(window(bare, clock_mhz=2800.0), window(bare)).reason == "slow_clock"


def test_thermal_throttling_voids() -> None:
    bare = replace(CPU, throttled_ns=0)
    assert rule(window(bare, ms=50, throttled_ns=0), None).action == VALID
    assert rule(window(bare, ms=50, throttled_ns=2 * MS), None).reason == "cpu_throttled"


def test_levels_say_what_the_host_offers() -> None:
    assert level_of(CPU) == MASK_ONLY  # a virtual machine
    assert level_of(replace(CPU, clock_mhz=3600.0)) == FULL
    assert level_of(replace(CPU, throttled_ns=0)) == FULL
    assert level_of(replace(CPU, foreign_ns=(), clock_mhz=3600.0)) == MASK_ONLY
    assert level_of(Reading(temperature_c=40.0)) == NONE


def test_pause_after_heat_ends_when_it_is_cooler_or_after_ten_seconds() -> None:
    assert not pause_is_over("hw_thermal", 80.0, 76.0, 3.0)
    assert pause_is_over("hw_thermal", 80.0, 75.0, 0.1)
    assert pause_is_over("hw_thermal", 80.0, 80.0, 10.0)
    assert not pause_is_over("hw_thermal", None, None, 9.0)


def test_pause_after_company_is_short() -> None:
    assert not pause_is_over("foreign_load", None, None, 0.1)
    assert pause_is_over("foreign_load", None, None, 0.6)
