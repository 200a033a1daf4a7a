"""The word that a GPU waits for until its host has handed over a shot, without a GPU: its address alone is made up."""

import importlib
import sys
import time
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

MODULES = ("runner.judge.data.cuda", "sandbox.inside.device")


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("cuda", "cuda.bindings"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["cuda.bindings"].driver = MagicMock()  # type: ignore[attr-defined]
    cuda = importlib.import_module(MODULES[0])
    monkeypatch.setattr(cuda, "LONGEST_LAUNCH_S", 0.1)
    device = SimpleNamespace(device_address=lambda *_: 0, wait_for_at_least=lambda *_: None)
    monkeypatch.setattr(cuda, "device", device)
    yield cuda._Start()
    for name in MODULES:
        package, _, last = name.rpartition(".")
        sys.modules.pop(name)
        delattr(sys.modules[package], last)


def test_who_lets_it_go_in_time_is_told_that_it_waited(start: Any) -> None:
    for _ in range(2):
        number = start.new()
        start.hold(0, number)
        start.keep(number)
        time.sleep(0.3)
        assert start._word.value < number, "a container may take as long as its own limits allow"
        assert start.release(number)
        assert start._word.value == number
        assert not start.release(number), "a second time"


def test_shots_that_are_held_together_go_one_after_the_other(start: Any) -> None:
    first, second, third = (start.new() for _ in range(3))
    for number in (first, second, third):
        start.keep(number)
    assert start.release(first)
    assert start._word.value == first
    assert start.release(third)
    assert not start.release(second), "the third had let it go"
    assert start._word.value == third


def test_a_host_that_is_stopped_while_it_hands_over_is_let_go_and_told(start: Any) -> None:
    before, number = start.new(), start.new()
    deadline = time.monotonic() + 10
    while start._word.value != number and time.monotonic() < deadline:
        time.sleep(0.01)
    start.keep(number)
    assert not start.release(number)
    assert not start.release(before)
