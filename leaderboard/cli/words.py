"""Titles of outcomes and flags: those of the site's pages, word for word.

They are repeated here because the command line imports no module of the site; a test compares both.
"""

from __future__ import annotations

from typing import Final

TITLES: Final = {
    "passed": "Passed",
    "wrong": "Wrong result",
    "build_error": "It did not load",
    "runtime_error": "It failed while running",
    "timeout": "Out of time",
    "out_of_memory": "Out of memory",
    "policy": "Against the rules",
    "unmeasurable": "Correct, but it could not be timed",
    "infra_error": "Our fault, not yours",
    "cancelled": "Cancelled",
}

BETTER_TITLES: Final = {("unmeasurable", "starved"): "Not judged: the machine was overloaded"}

FLAGS: Final = {
    "erratic": "its times vary while the baseline's are steady; the upper end of the interval counts",
    "noisy": "the machine was disturbed; the time stands near the upper end of its wide interval",
    "not_converged": "the interval is wider than asked for: the machine was noisy",
    "not_certified": "the runner could not freeze the containers, so work outside the timed calls is not excluded",
    "bimodal": "the times fall into two groups, as if some calls did other work than the rest",
}


UNRANKED: Final = {
    "no_telemetry": "the machine that timed this could not watch its own clocks and temperatures",
}


def title(outcome: str, reason: str = "") -> str:
    """Return the title of an outcome; of an unknown outcome, its name."""
    known = BETTER_TITLES.get((outcome, reason)) or TITLES.get(outcome)
    return known or outcome.replace("_", " ").capitalize() or "No verdict"


def unranked(reason: str) -> str:
    return UNRANKED.get(reason, reason)


def flag(name: str) -> str:
    """Return the flag, with its meaning if it is known here."""
    return f"{name}: {FLAGS[name]}" if name in FLAGS else name
