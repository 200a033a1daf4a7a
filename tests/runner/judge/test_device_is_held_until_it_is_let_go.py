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
    device = SimpleNamespace(device_address=lambda *_: 0, wait_until=lambda *_: None)
    monkeypatch.setattr(cuda, "device", device)
    yield cuda._Start()
    for name in MODULES:
        package, _, last = name.rpartition(".")
        sys.modules.pop(name)
        delattr(sys.modules[package], last)


def test_who_lets_it_go_in_time_is_told_that_it_waited(start: Any) -> None:
    for nonce in (3, 5):
        start.hold(0, nonce)
        start.keep(nonce)
        time.sleep(0.3)
        assert start._word.value != nonce, "a container may take as long as its own limits allow"
        assert start.release(nonce)
        assert start._word.value == nonce
        assert not start.release(nonce), "a second time"


def test_a_host_that_is_stopped_while_it_hands_over_is_let_go_and_told(start: Any) -> None:
    start.hold(0, 7)
    deadline = time.monotonic() + 10
    while start._word.value != 7 and time.monotonic() < deadline:
        time.sleep(0.01)
    start.keep(7)
    assert not start.release(7)
