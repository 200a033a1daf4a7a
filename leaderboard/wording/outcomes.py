"""Outcomes, states and flags in words, with advice for the next step, for the pages and the command line. Pure.

Keyed by outcome, then by (outcome, reason) where the reason allows better advice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Verdict:
    tone: str  # "good", "bad" or "warn": colour, never the only sign
    title: str
    advice: str


TITLES: Final[dict[str, tuple[str, str]]] = {
    "passed": ("good", "Passed"),
    "wrong": ("bad", "Wrong result"),
    "build_error": ("bad", "It did not load"),
    "runtime_error": ("bad", "It failed while running"),
    "timeout": ("bad", "Out of time"),
    "out_of_memory": ("bad", "Out of memory"),
    "policy": ("bad", "Against the rules"),
    "unmeasurable": ("warn", "Correct, but it could not be timed"),
    "infra_error": ("warn", "Our fault, not yours"),
    "cancelled": ("warn", "Cancelled"),
}

BETTER_TITLES: Final[dict[tuple[str, str], str]] = {
    ("unmeasurable", "starved"): "Not judged: the machine was overloaded",
}

_ADVICE: Final[dict[str, str]] = {
    "wrong": "Compare with the reference on your machine: the case named above, several seeds.",
    "build_error": "Import the file in a fresh process on your machine; stderr below may say more.",
    "runtime_error": "Run that case on your machine; stderr below has what your code printed last.",
    "timeout": "Run the named case on your machine. Compile outside the call, and look for a loop that never ends.",
    "out_of_memory": "Free intermediate results, or work in pieces; the limit counts everything your process holds.",
    "policy": "If you did nothing of the kind, tell an organiser; a person can overturn it.",
    "unmeasurable": "Every output was right, but it could not be timed well enough to rank.",
    "infra_error": "It counts neither against you nor against your quota. Send it again; an operator has been told.",
    "cancelled": "Send it again if you still want it judged.",
}

NOISE: Final = (
    "the machine was disturbed whenever we timed it, on every try. That is not your kernel's doing: it is not ranked, "
    "and it cost you nothing."
)

_BETTER: Final[dict[tuple[str, str], str]] = {
    ("wrong", "nan"): "Look for 0/0, an overflow in exp, or memory that was never written.",
    ("wrong", "none"): "End the function with “return”; fill a preallocated output and return it.",
    ("wrong", "shape"): "Return a tensor of the expected shape; a missing or an extra dimension counts.",
    ("wrong", "dtype"): "Return the expected type; convert the result, or allocate the output with it.",
    ("wrong", "type"): "Return a plain tensor (or the structure the problem asks for), not a subclass, list or array.",
    ("wrong", "mismatch"): "Often the last elements of an odd size, a race, or too low a precision in a sum.",
    ("build_error", "syntax"): "“python -m py_compile” on your machine finds the same place.",
    ("build_error", "import"): "Only what the image has can be imported; nothing can be installed.",
    ("build_error", "compile"): "The first error is the one to look at; those after it often follow from it.",
    ("build_error", "missing_entry"): "Name the function exactly as the problem says, at the top level of the file.",
    ("runtime_error", "crashed"): "Mostly an index outside a buffer: check the last block of odd sizes.",
    ("runtime_error", "exited"): "Return from the function; never call exit or _exit.",
    ("unmeasurable", "below_resolution"): "Every output was right, but a call is shorter than the cost of handing it "
    "over. The problem's sizes are too small for this hardware; tell its organiser.",
    (
        "unmeasurable",
        "self_disturbed",
    ): "Every output was right, but what your code does spoils the measuring, so it "
    "is not timed again by itself. Finish all work before you return, and start no more threads than there are cores.",
    ("unmeasurable", "unsteady"): f"Every output was right, but {NOISE} The figures below are what was measured.",
    ("unmeasurable", "voids"): f"Every output was right, but {NOISE}",
    ("unmeasurable", "device_unfit"): "Every output was right, but the devices that tried to time it turned out unfit. "
    "That is not your kernel's doing; operators were told. It is not ranked, and it cost you nothing.",
    (
        "unmeasurable",
        "starved",
    ): "Other programs kept the machine busy on every try, until a time limit ran "
    "out. That is not your kernel's doing: nothing is known about it yet, and it cost you nothing.",
    ("policy", "output_limit"): "Remove prints; stdout and stderr are kept up to 64 kB from either end.",
    ("timeout", "import"): "Loading includes compiling: build fewer variants, or for one architecture only.",
}


def verdict(outcome: str, reason: str) -> Verdict:
    """Return the words for an outcome; an outcome without an entry keeps its name."""
    tone, title = TITLES.get(outcome, ("warn", outcome.replace("_", " ").capitalize() or "No verdict"))
    title = BETTER_TITLES.get((outcome, reason), title)
    return Verdict(tone, title, _BETTER.get((outcome, reason), _ADVICE.get(outcome, "")))


EPOCH_WAITS: Final = (
    "In the queue. No runner measures in the timing epoch that this board ranks, so an administrator must decide."
)
STATES: Final[dict[str, str]] = {
    "queued": "Waiting for a free runner.",
    "claimed": "A runner has taken it.",
    "building": "Loading your code in its sandbox.",
    "checking": "Comparing results, public and secret cases.",
    "timing": "Timing against the baseline.",
    "done": "The verdict is in.",
    "lost": "The runner went silent; another one will take over.",
}

FLAGS: Final[dict[str, str]] = {
    "not_certified": "The runner could not freeze the containers between calls, so work outside the timed calls is not "
    "excluded. That is the runner's doing, not yours; a person looks at the result before it ranks.",
    "erratic": "Your kernel's times vary while the baseline's are steady; the upper end of the interval counts.",
    "noisy": "The machine was disturbed, so the interval is wide; the time stands near its upper end, where luck gains "
    "nothing.",
    "not_converged": "The times scattered until the measuring ended, so the interval is wide. It may be the machine.",
    "bimodal": "The times fall into two groups, as if some calls did other work than the rest.",
}

UNRANKED: Final = {
    "no_telemetry": "The machine that timed this could not watch its own clocks and temperatures, and such a time does "
    "not rank. That is the machine's doing, not yours; an organiser can have it judged again elsewhere.",
}
