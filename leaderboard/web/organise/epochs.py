"""Timing epochs in words: titles, differences, and decisions that wait for a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from leaderboard.accounts.models import User
from leaderboard.competitions.permissions import competitions_of
from leaderboard.judging.models import Epoch, Runner

EXPLAINED: Final = (
    "A timing epoch is a group of times that may rank together: measured on the same device with the same driver, "
    "limits, software and judge."
)
LABELS: Final[dict[str, str]] = {  # of a fingerprint, in the order in which they are shown
    "gpu": "{}",
    "cpu": "{}",
    "cpus": "{} cores",
    "driver": "driver {}",
    "cuda": "CUDA {}",
    "torch": "torch {}",
    "torch_cuda": "torch's CUDA {}",
    "power_limit_w": "power limit {} W",
    "max_sm_mhz": "highest clock {} MHz",
    "timing_version": "timing method {}",
}
HEADLINE: Final = ("gpu", "driver", "torch", "power_limit_w")
CPU_HEADLINE: Final = ("cpu", "cpus", "torch")
MOST_CHARS: Final = 80  # of a value, because a runner wrote it


@dataclass(frozen=True)
class Decision:
    """A proposed epoch beside the current epoch of its hardware."""

    epoch: Epoch
    title: str
    current: Epoch | None
    differences: list[str]
    runners: list[str]  # that measure in it
    current_runners: int


def title_of(fingerprint: Mapping[str, Any]) -> str:
    """Return the epoch's name for a person; its hash is for logs and commands."""
    wanted = HEADLINE if "gpu" in fingerprint else CPU_HEADLINE
    return ", ".join(_said(name, fingerprint[name]) for name in wanted if name in fingerprint) or "not described"


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the facts that an organiser needs for a decision: "driver 535.1 → 550.2"."""
    changed = [name for name in LABELS if old.get(name) != new.get(name)]
    values = {name: (_text(old.get(name, "not said")), _text(new.get(name, "not said"))) for name in changed}
    return [LABELS[name].format(" → ".join(pair)) for name, pair in values.items()]


def waiting_decisions(user: User) -> list[Decision]:
    """Return open decisions on the hardware of the user's competitions; for administrators, on all hardware."""
    proposed = Epoch.objects.filter(state=Epoch.PROPOSED)
    if not user.is_staff:
        proposed = proposed.filter(hardware__in=competitions_of(user).values("boards__hardware"))
    found = list(proposed)
    hardware = {epoch.hardware for epoch in found}
    current = {one.hardware: one for one in Epoch.objects.filter(state=Epoch.CURRENT, hardware__in=hardware)}
    runners = _runners(hardware)
    return [_decision(epoch, current.get(epoch.hardware), runners) for epoch in found]


def _decision(epoch: Epoch, current: Epoch | None, runners: Mapping[tuple[str, str], list[str]]) -> Decision:
    return Decision(
        epoch=epoch,
        title=title_of(epoch.fingerprint),
        current=current,
        differences=differences(current.fingerprint, epoch.fingerprint) if current else [],
        runners=runners.get((epoch.hardware, epoch.name), []),
        current_runners=len(runners.get((current.hardware, current.name), [])) if current else 0,
    )


def _runners(hardware: Collection[str]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for kind, epoch, name in Runner.objects.filter(hardware__in=hardware).values_list("hardware", "epoch", "name"):
        found.setdefault((kind, epoch), []).append(name)
    return found


def _said(name: str, value: object) -> str:
    return LABELS[name].format(_text(value))


def _text(value: object) -> str:
    return str(value)[:MOST_CHARS]
