"""A device that cannot be queried is judged blind, and the level records it."""

from pathlib import Path

import pytest

from runner.evidence.throttle import NONE, VALID, rule
from runner.judge.device.make import Cpu
from runner.judge.device.nvidia import Nvidia
from runner.judge.device.telemetry import Blind, CpuTelemetry


def test_cpu_has_its_reader() -> None:
    telemetry = Cpu().telemetry(0, own=frozenset, cores=[0])
    assert isinstance(telemetry, CpuTelemetry)
    assert telemetry.cores == (0,)
    telemetry.close()


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this host has a GPU that answers")
def test_gpu_that_does_not_answer_is_judged_blind() -> None:
    telemetry = Nvidia().telemetry(0, own=frozenset)
    telemetry.begin()
    window = telemetry.end()
    telemetry.close()
    assert (telemetry.level, telemetry.temperature_c()) == (NONE, None)
    assert rule(window, None).action == VALID


def test_blind_windows_have_a_length() -> None:
    blind = Blind()
    blind.begin()
    assert blind.end().length_ns >= 1
