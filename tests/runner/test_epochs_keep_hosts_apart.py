"""Times compare inside an epoch only: what changes them opens a new one, what does not leaves it alone."""

from __future__ import annotations

from runner.accelerators import epoch, fingerprint

HOST: dict[str, str | int] = {"hardware": "H200", "gpu": "NVIDIA H200", "driver": "580.1", "power_limit_w": 700}


def test_a_changed_driver_or_power_limit_opens_a_new_epoch() -> None:
    assert len({epoch(HOST), epoch(HOST | {"driver": "590.2"}), epoch(HOST | {"power_limit_w": 500})}) == 3


def test_what_does_not_change_times_leaves_the_epoch_alone() -> None:
    assert epoch(HOST) == epoch(HOST | {"kernel": "6.9", "python": "3.12", "memory_bytes": 1})


def test_this_host_has_one() -> None:
    assert epoch(fingerprint("cpu")) == epoch(fingerprint("cpu"))
    assert len(epoch(fingerprint("cpu"))) == 16
