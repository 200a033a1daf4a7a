"""Outcomes, states and flags in words, with advice for the next step, for the pages and the command line. Pure.

Keyed by outcome, then by outcome and reason where the reason allows better advice.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from .figures import span


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

BETTER_TITLES: Final = {("unmeasurable", "starved"): "Not judged: the machine was overloaded"}

NOISE: Final = (
    "the machine was disturbed on every try. This is not your kernel's fault. The result is not ranked, "
    "and it cost you nothing."
)

_ADVICE: Final[dict[str, str]] = {  # by outcome, or by outcome and reason
    "wrong": "Compare with the reference on your machine, with the case named above and several seeds.",
    "build_error": "Import the file in a fresh process on your machine; stderr below may show more.",
    "runtime_error": "Run that case on your machine; stderr below ends with the last output of your code.",
    "timeout": "Run the named case on your machine. Compile outside the timed call; look for a loop that never ends.",
    "out_of_memory": "Free intermediate results, or work in pieces; the limit covers all memory of your process.",
    "policy": "If this verdict is wrong, tell an organiser. A reviewer can overturn it.",
    "unmeasurable": "Every output was right, but it could not be timed well enough to rank.",
    "infra_error": "It does not count against your quota. Submit again; the operators have been notified.",
    "cancelled": "Submit again if you still want it judged.",
    "cancelled budget_spent": "Its batch had used up its device seconds. It cost no quota; send it again in a batch "
    "with a larger budget.",
    "wrong nan": "Look for 0/0, an overflow in exp, or memory that was never written.",
    "wrong none": "End the function with “return”; fill a preallocated output and return it.",
    "wrong shape": "Return a tensor of the expected shape; a missing or an extra dimension counts.",
    "wrong dtype": "Return the expected type; convert the result, or allocate the output with it.",
    "wrong type": "Return a plain tensor (or the structure the problem asks for), not a subclass, list or array.",
    "wrong mismatch": "Often the cause is the last elements of an odd size, a race, or a sum in too low a precision.",
    "build_error syntax": "“python -m py_compile” on your machine finds the same place.",
    "build_error import": "Only the packages of the image can be imported; nothing can be installed.",
    "build_error compile": "Start with the first error; the later errors often follow from it.",
    "build_error missing_entry": "Name the function exactly as the problem says, at the top level of the file.",
    "runtime_error crashed": "The cause is mostly an index outside a buffer; check the last block of odd sizes.",
    "runtime_error exited": "Return from the function; never call exit or _exit.",
    "unmeasurable below_resolution": "Every output was right, but a call is shorter than the time to start "
    "it. The problem's sizes are too small for this hardware; please tell its organiser.",
    "unmeasurable self_disturbed": "Every output was right, but your code disturbs the measurement, so it is not "
    "timed again automatically. Finish all work before you return, and start no more threads than there are cores.",
    "unmeasurable unsteady": f"Every output was right, but {NOISE} The figures below were measured.",
    "unmeasurable voids": f"Every output was right, but {NOISE}",
    "unmeasurable device_unfit": "Every output was right, but the devices that tried to time it were unfit. This is "
    "not your kernel's fault, and the operators have been notified. The result is not ranked, and it cost you nothing.",
    "unmeasurable starved": "Other programs kept the machine busy on every try, until a time limit ran "
    "out. This is not your kernel's fault: it has not been judged yet, and it cost you nothing.",
    "policy output_limit": "Remove prints; stdout and stderr are kept up to 64 kB from either end.",
    "timeout import": "Loading includes compiling: build fewer variants, or for one architecture only.",
}


def verdict(outcome: str, reason: str) -> Verdict:
    """Return the words for an outcome; an outcome without an entry keeps its name."""
    tone, title = TITLES.get(outcome, ("warn", outcome.replace("_", " ").capitalize() or "No verdict"))
    title = BETTER_TITLES.get((outcome, reason), title)
    return Verdict(tone, title, _ADVICE.get(f"{outcome} {reason}", _ADVICE.get(outcome, "")))


EPOCH_WAITS: Final = (
    "In the queue. No runner measures in the timing epoch that this board ranks, so an administrator must decide."
)
STATES: Final[dict[str, str]] = {
    "queued": "Waiting for a free runner.",
    "claimed": "A runner has taken it.",
    "building": "Loading your code in its sandbox.",
    "checking": "Comparing the results of public and secret cases.",
    "timing": "Timing against the baseline.",
    "done": "The verdict is ready.",
    "lost": "The runner stopped responding; another runner will take over.",
}


def place_in_queue(hardware: str, position: int, queued: int, runners: int, wait_s: float | None) -> str:
    """Return the sentence for a submission that waits: "3rd of 7 in the queue for cpu, starts in about 40 seconds."."""
    if not runners:
        return f"No runner of {hardware} is connected; it waits."
    ending = "th" if position % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(position % 10, "th")
    place = f"{position:,}{ending} of {queued:,}" if queued > 1 else "Next"
    starts = (
        ""
        if wait_s is None
        else f", starts in about {span(timedelta(seconds=wait_s))}"
        if wait_s >= 1
        else ", starts now"
    )
    return f"{place} in the queue for {hardware}{starts}."


FLAGS: Final[dict[str, str]] = {
    "not_certified": "The runner could not freeze the containers between calls, so work outside the timed calls cannot "
    "be ruled out. This is the runner's fault, not yours. A reviewer looks at the result before it ranks.",
    "erratic": "Your kernel's times vary while the baseline's are steady, so the slow end of the interval counts.",
    "noisy": "The machine was disturbed, so the interval is wide. The speedup that counts is near the slow end of the "
    "interval, so luck gains nothing. The time is the plain mean.",
    "not_converged": "The times still scattered when the measurement ended, so the interval is wide. The machine may "
    "be the cause.",
    "stopped_early": "A first look showed that it cannot beat the bar of its batch, so the timing ended there, and the "
    "interval is wide.",
    "bimodal": "The times form two groups, as if some calls did different work.",
}

UNRANKED: Final = {
    "no_telemetry": "The machine that timed this could not watch its own clocks and temperatures, and such a time does "
    "not rank. This is not your kernel's fault. An organiser can have it judged again on a different machine.",
}
