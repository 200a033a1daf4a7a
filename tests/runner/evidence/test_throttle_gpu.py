"""Readings of an NVIDIA device, and the ruling on the block."""

from dataclasses import replace

import pytest

from runner.evidence.throttle import (
    FULL,
    MASK_ONLY,
    NONE,
    SET_ASIDE,
    VALID,
    VOID,
    WARM_AGAIN,
    Reading,
    least,
    level_of,
    rule,
)
from tests.runner.judge.windows import GPU, MS, WARM, window


def test_block_of_a_calm_device_is_valid() -> None:
    ruling = rule(window(), WARM)
    assert (ruling.action, ruling.reason, ruling.charged) == (VALID, "", False)


def test_idle_start_is_warmed_again_and_never_cooled() -> None:
    cold = replace(GPU, mask=0x1, clock_mhz=345.0, memory_mhz=2619.0)
    ruling = rule(window(cold, mask=0, clock_mhz=1980.0, memory_mhz=3201.0), WARM)
    assert (ruling.action, ruling.reason) == (WARM_AGAIN, "idle")


def test_idle_device_that_was_never_warm_is_warmed() -> None:
    assert rule(window(replace(GPU, mask=0x1)), None).action == WARM_AGAIN


def test_idle_for_a_moment_at_the_warm_clock_is_valid() -> None:
    assert rule(window(mask=0x1), WARM).action == VALID


def test_five_ms_of_hardware_thermal_with_a_clean_mask_void_through_the_counter() -> None:
    ruling = rule(window(ms=20, counters={270: 5 * MS}), WARM)
    assert (ruling.action, ruling.reason, ruling.charged) == (VOID, "hw_thermal", True)
    assert ruling.figures["hw_thermal_share"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("counter", "grown_ns", "action"),
    [
        (269, MS // 10, VALID),
        (269, MS, VOID),
        (76, MS, VOID),
        (77, MS, VOID),
        (79, MS, VOID),
        (271, 1, VOID),
        (74, 20 * MS, VALID),
    ],
)
def test_each_counter_has_its_limit(counter: int, grown_ns: int, action: str) -> None:
    assert rule(window(ms=20, counters={counter: grown_ns}), WARM).action == action


def test_power_cap_all_along_is_valid_and_recorded_and_may_slow_the_clock() -> None:
    capped = replace(GPU, mask=0x4, clock_mhz=1500.0)
    ruling = rule(window(capped, ms=250, counters={74: 250 * MS}, masks=(0x4, 0x4)), WARM)
    assert ruling.action == VALID
    assert ruling.figures["power_cap_share"] == 1.0


def test_hardware_slowdown_in_one_poll_is_valid_and_in_two_running_sets_aside() -> None:
    assert rule(window(ms=350, masks=(0, 0x8, 0)), WARM).action == VALID
    assert rule(window(ms=550, masks=(0x8, 0, 0x8)), WARM).action == VALID
    ruling = rule(window(ms=350, masks=(0x8, 0x8)), WARM)
    assert (ruling.action, ruling.reason) == (SET_ASIDE, "hw_slowdown")


@pytest.mark.parametrize(("bit", "reason"), [(0x40, "hw_thermal"), (0x80, "power_brake")])
def test_hardware_protection_in_the_mask_sets_the_device_aside(bit: int, reason: str) -> None:
    ruling = rule(window(masks=(bit,)), WARM)
    assert (ruling.action, ruling.reason) == (SET_ASIDE, reason)


@pytest.mark.parametrize("bit", [0x200, 0x400, 0x800, 1 << 40])
def test_unknown_bit_voids(bit: int) -> None:
    ruling = rule(window(masks=(bit,)), WARM)
    assert (ruling.action, ruling.reason) == (VOID, "unknown_reason")


@pytest.mark.parametrize("bit", [0x2, 0x100])
def test_bits_that_are_settings_are_normal(bit: int) -> None:
    assert rule(window(replace(GPU, mask=bit), masks=(bit,)), WARM).action == VALID


def test_sync_boost_voids() -> None:
    assert rule(window(masks=(0x10,)), WARM).action == VOID


def test_foreign_process_for_one_second_voids_the_blocks_that_saw_it() -> None:
    assert rule(window(ms=1500, strangers=(0, *[1] * 10, 0)), WARM).reason == "foreign_process"
    assert rule(window(strangers=(0,)), WARM).action == VALID
    assert rule(window(replace(GPU, strangers=2)), WARM).figures["strangers"] == 2


def test_memory_clock_that_moved_voids() -> None:
    assert rule(window(memory_mhz=2619.0), WARM).reason == "memory_clock"
    moved_since_warm_up = replace(GPU, memory_mhz=2619.0)
    assert rule(window(moved_since_warm_up), WARM).reason == "memory_clock"


@pytest.mark.parametrize("memory_mhz", [2619.0, 3500.0])
def test_memory_clock_that_moved_voids_though_the_device_was_idle_for_a_moment(memory_mhz: float) -> None:
    ruling = rule(window(masks=(0x1,), memory_mhz=memory_mhz), WARM)
    assert (ruling.action, ruling.reason) == (VOID, "memory_clock")


def test_clock_under_nine_tenths_of_warm_voids_without_cap_or_idle() -> None:
    assert rule(window(clock_mhz=1790.0), WARM).action == VALID
    ruling = rule(window(clock_mhz=1700.0), WARM)
    assert (ruling.action, ruling.reason, ruling.figures["warm_mhz"]) == (VOID, "slow_clock", 1980.0)


def test_new_ecc_error_sets_aside_and_an_old_one_does_not() -> None:
    assert rule(window(replace(GPU, ecc_errors=3)), WARM).action == VALID
    ruling = rule(window(ecc_errors=1), WARM)
    assert (ruling.action, ruling.reason) == (SET_ASIDE, "ecc")


def test_changed_limits_set_aside() -> None:
    changed = {"power_limit_mw": 500_000}
    assert rule(window(limits=changed), WARM).reason == "limits_changed"
    assert rule(window(replace(GPU, limits=changed)), WARM).reason == "limits_changed"
    assert rule(window(limits={}), WARM).action == VALID  # a reading that is missing this time is not a change


def test_narrowed_pcie_sets_aside() -> None:
    ruling = rule(window(pcie_width=8), WARM)
    assert (ruling.action, ruling.reason) == (SET_ASIDE, "pcie_width")


def test_lost_device_sets_aside() -> None:
    assert rule(window(lost=True), WARM).action == SET_ASIDE


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 68, 109])
def test_xid_of_the_application_is_charged_and_keeps_the_device(xid: int) -> None:
    ruling = rule(window(xids=(xid,)), WARM)
    assert (ruling.action, ruling.charged) == (VOID, True)


@pytest.mark.parametrize("xid", [48, 63, 74, 79, 94, 95, 119, 9999])
def test_any_other_xid_sets_the_device_aside(xid: int) -> None:
    assert rule(window(xids=(13, xid)), WARM).reason == f"xid_{xid}"


def test_worst_of_several_things_counts() -> None:
    ruling = rule(window(mask=0x1, clock_mhz=345.0, ecc_errors=1, counters={270: MS}), WARM)
    assert (ruling.action, ruling.reason) == (SET_ASIDE, "ecc")


def test_without_counters_the_mask_decides_and_the_level_says_so() -> None:
    blind = replace(GPU, counters={})
    assert level_of(blind) == MASK_ONLY
    assert rule(window(blind), WARM).action == VALID
    assert rule(window(blind, masks=(0x20,)), WARM).reason == "sw_thermal"
    assert rule(window(blind, masks=(0x40,)), WARM).action == SET_ASIDE


def test_with_the_counter_a_glimpse_of_software_thermal_is_no_reason() -> None:
    assert rule(window(masks=(0x20,)), WARM).action == VALID


def test_counter_that_went_back_voids() -> None:
    assert rule(window(counters={269: -5}), WARM).reason == "counters_reset"


def test_levels() -> None:
    assert level_of(GPU) == FULL
    assert level_of(replace(GPU, strangers=None)) == MASK_ONLY
    assert level_of(Reading()) == NONE
    assert least([FULL, MASK_ONLY, FULL]) == MASK_ONLY
    assert least([]) == NONE
