"""Memory exhaustion beside foreign programs on the device is not the submission's fault; alone on the device it is."""

import os
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from runner.job import execute
from runner.judge.device import nvml
from runner.judge.device.make import Cpu
from runner.judge.device.nvidia import Nvidia
from sandbox.container import Container, SandboxError
from tests.attacks.conftest import Judge
from tests.runner.judge.fake_nvml import FakeNvml

GREEDY = "import torch\n\n\ndef custom_kernel(data):\n    return torch.empty(1 << 50)\n"
NOBODY = 0x7FFFFFFF  # no pid


@pytest.mark.parametrize(
    ("others", "outcome", "reason"),
    [((), "out_of_memory", "allocation"), ((NOBODY, 5), "infra_error", "sandbox")],
)
def test_memory_of_others_is_not_the_submissions_fault(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, others: tuple[int, ...], outcome: str, reason: str
) -> None:
    asked: list[dict[str, Any]] = []

    def strangers(make: Cpu, index: int, **given: Any) -> frozenset[int]:
        asked.append({"own": len(given["own"]()), "gpu": index})
        return frozenset(others)

    monkeypatch.setattr(Cpu, "strangers", strangers)
    report = judge(GREEDY)
    assert (report.outcome, report.reason) == (outcome, reason)
    assert asked == [{"own": 3, "gpu": 0}]  # the judge, the submission, the problem
    assert bool(others) == ("end pid 5, 2147483647" in report.evidence.get("operator", ""))


@pytest.mark.parametrize(
    ("reason", "excused"), [("judge", True), ("allocation", True), ("limit", False), ("raised", False)]
)
def test_company_takes_no_memory_of_a_host(reason: str, excused: bool) -> None:
    """A container's own limit is `limit`, and holds on the host."""
    make = SimpleNamespace(strangers=lambda index, own: frozenset({5}))
    ready: Any = SimpleNamespace(pids=frozenset, hardware=SimpleNamespace(make=make), devices=range(1))
    with pytest.raises(SandboxError, match="end pid 5") if excused else nullcontext():
        execute._not_for_want_of_room(reason, ready)


def test_a_device_without_memory_is_memory_that_ran_out(judge: Judge) -> None:
    report = judge(
        "import torch\n\n\ndef custom_kernel(data):\n    raise torch.OutOfMemoryError('CUDA out of memory')\n"
    )
    assert (report.outcome, report.reason) == ("out_of_memory", "allocation")


def test_code_that_cannot_be_ended_gets_no_score(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Container, "wait_dead", lambda self, timeout_s=10: False)
    report = judge("def custom_kernel(data):\n    x, out = data\n    return out.copy_(x.softmax(-1))\n")
    assert (report.outcome, report.reason) == ("policy", "unfreezable")


def test_company_is_who_is_on_the_device_and_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml()
    monkeypatch.setattr(nvml, "load_nvml", lambda: fake)
    fake.compute = [1, os.getpid()]
    assert Nvidia().strangers(0, own=frozenset) == {1}
    assert Nvidia().strangers(0, own=lambda: frozenset({1})) == set()
    assert Cpu().strangers(0, own=frozenset) == set()
    fake.compute = [NOBODY]
    assert Nvidia().strangers(0, own=frozenset) == set()  # a foreign namespace: unknown
    fake.broken["nvmlDeviceGetHandleByIndex"] = RuntimeError("no such GPU")
    assert Nvidia().strangers(0, own=frozenset) == set()
