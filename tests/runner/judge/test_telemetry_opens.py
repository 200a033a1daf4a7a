"""A device that cannot be queried is judged blind, and the level records it."""

from pathlib import Path

import pytest

from runner.evidence.throttle import NONE, VALID, rule
from runner.judge.device.telemetry import Blind, CpuTelemetry, open_telemetry


def test_cpu_has_its_reader() -> None:
    telemetry = open_telemetry("cpu", own=frozenset, cores=[0])
    assert isinstance(telemetry, CpuTelemetry)
    assert telemetry.cores == (0,)
    telemetry.close()


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this host has a GPU that answers")
def test_gpu_that_does_not_answer_is_judged_blind() -> None:
    telemetry = open_telemetry("H200", own=frozenset)
    telemetry.begin()
    window = telemetry.end()
    telemetry.close()
    assert (telemetry.level, telemetry.temperature_c()) == (NONE, None)
    assert rule(window, None).action == VALID


def test_blind_windows_have_a_length() -> None:
    blind = Blind()
    blind.begin()
    assert blind.end().length_ns >= 1
