"""Shares of a host's cores: the judge keeps one for itself, tenants get some of the rest, the oracle all of them.

Only `draw_uid` is random: containers get a uid each, far from the host's own users.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MOST_TENANT_CORES: Final = 4
UIDS: Final = range(200_000, 600_000)  # of containers; no user of a host lies here


@dataclass(frozen=True)
class Cores:
    """Core numbers. On a host with one core all three are the same, and the figures are worth little."""

    judge: tuple[int, ...]
    tenant: tuple[int, ...]
    oracle: tuple[int, ...]


def share_out(available: Sequence[int]) -> Cores:
    cores = tuple(sorted(available))
    if not cores:
        raise ValueError("no core to share out")
    if len(cores) == 1:
        return Cores(cores, cores, cores)
    return Cores(cores[:1], cores[1 : 1 + MOST_TENANT_CORES], cores)


def cpuset(cores: Sequence[int]) -> str:
    """Return the cores in Docker's format: "1" or "1,2,3"."""
    return ",".join(str(core) for core in cores)


def draw_uid() -> int:
    return UIDS.start + secrets.randbelow(len(UIDS))
