"""Questions to a proposer, as data for a command and as text for a model, and the reading of its answers. Pure.

Answers are strangers' text. Every reader here is linear in its length.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .archive import Candidate, Idea

FORMAT: Final = "search/1"
MOST_TASK_CHARS: Final = 8_000  # of each text of the problem
MOST_CODE_CHARS: Final = 24_000  # of a parent
MOST_BANK_CHARS: Final = 6_000  # of a kernel of the bank
MOST_TRIED: Final = 40  # ideas
MOST_IDEA_CHARS: Final = 300
SYSTEM: Final = (
    "You write fast kernels. A judge checks every output on secret inputs and times the kernel on a clock of its own. "
    "Results that are kept between calls, and attempts to detect or deceive the judge, disqualify."
)
_IDEA: Final = re.compile(r"[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+(\S.*)")


@dataclass(frozen=True)
class Task:
    """A board with the texts of its problem."""

    board: str
    hardware: str
    title: str
    description: str
    reference: str
    starters: Mapping[str, str]
    suffix: str = ".py"  # of a submission


@dataclass(frozen=True)
class Known:
    """A correct kernel of the bank, often of another problem."""

    name: str  # board and hardware, or the name of a file
    code: str
    speedup: float = 0.0  # 0: unknown


@dataclass(frozen=True)
class Question:
    """A question to a proposer: `count` ideas, or `count` kernels."""

    want: str  # "ideas" or "kernels"
    count: int
    data: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        return str(self.data["prompt"])


def question(
    task: Task,
    want: str,
    count: int,
    *,
    parents: Sequence[Candidate],
    tried: Sequence[Idea],
    bank: Sequence[Known],
    idea: str = "",
) -> Question:
    """Return a question with everything that a proposer may know."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "want": want,
        "count": count,
        "board": task.board,
        "hardware": task.hardware,
        "title": task.title,
        "description": task.description[:MOST_TASK_CHARS],
        "reference": task.reference[:MOST_TASK_CHARS],
        "starters": {language: text[:MOST_TASK_CHARS] for language, text in task.starters.items()},
        "idea": idea,
        "parents": [_parent(one) for one in parents],
        "tried": [{"idea": one.text, "speedup": one.speedup, "outcome": one.outcome} for one in _most_useful(tried)],
        "bank": [{"name": one.name, "speedup": one.speedup, "code": one.code[:MOST_BANK_CHARS]} for one in bank],
    }
    return Question(want, count, {**data, "prompt": "\n\n".join(_sections(data))})


def _parent(one: Candidate) -> dict[str, Any]:
    verdict = one.verdict
    feedback, outcome = (verdict.text, verdict.outcome) if verdict else ("", "")
    code = one.code[:MOST_CODE_CHARS]
    return {"code": code, "idea": one.idea, "speedup": one.speedup, "outcome": outcome, "feedback": feedback}


def _most_useful(tried: Sequence[Idea]) -> list[Idea]:
    """Return the fastest ideas and the latest ones, in the order in which they were tried."""
    best = sorted(tried, key=lambda one: -one.speedup)[: MOST_TRIED // 2]
    latest = [one for one in tried if one not in best][-MOST_TRIED // 2 :]
    return [one for one in tried if one in best or one in latest]


def _sections(data: Mapping[str, Any]) -> list[str]:
    parts = [f"# {data['title']}", data["description"], f"Hardware: {data['hardware']}."]
    if data["reference"]:
        parts.append(f"The reference, which defines a correct result:\n\n{_fenced(data['reference'])}")
    for language, text in list(data["starters"].items())[:1]:
        parts.append(f"A starter in {language}, which shows the form of a submission:\n\n{_fenced(text)}")
    if data["bank"]:
        parts.append("Known good kernels, some of other problems, to take techniques from:")
        parts += [f"{one['name']}{_speed(one)}:\n\n{_fenced(one['code'])}" for one in data["bank"]]
    if data["tried"]:
        lines = [f"- {one['idea']}{_speed(one) or ' (' + one['outcome'] + ')'}" for one in data["tried"]]
        parts.append("Ideas that were tried, with the best speedup over the baseline:\n\n" + "\n".join(lines))
    for one in data["parents"]:
        idea = f" Its idea: {one['idea']}" if one["idea"] else ""
        parts.append(f"A kernel to start from{_speed(one)}.{idea}\n\n{_fenced(one['code'])}")
        if one["feedback"]:
            parts.append(f"The judge's feedback on it:\n\n{one['feedback']}")
    return [*parts, _wish(data)]


def _wish(data: Mapping[str, Any]) -> str:
    if data["want"] == "ideas":
        return (
            f"Name {data['count']} different ideas to make it faster on this hardware, unlike those that were tried. "
            "Write no code. Put each idea on a line of its own that begins with “- ”, in at most 40 words."
        )
    crossed = " Combine what is good in both kernels." if len(data["parents"]) > 1 else ""
    idea = f" Realise this idea: {data['idea']}" if data["idea"] else ""
    return f"Write a faster kernel.{crossed}{idea}\n\nAnswer with the whole file in a single fenced code block."


def _speed(one: Mapping[str, Any]) -> str:
    return f" ({one['speedup']:.3g} times as fast as the baseline)" if one["speedup"] else ""


def _fenced(code: str) -> str:
    return f"```\n{code.rstrip()}\n```"


def one_line(text: str) -> str:
    """Return an idea in the form in which it is kept: printable, on one line, within its limit."""
    kept = " ".join(text[: 4 * MOST_IDEA_CHARS].split())
    return "".join(letter for letter in kept if letter.isprintable())[:MOST_IDEA_CHARS]


def read_ideas(text: str, most: int) -> list[str]:
    """Return the ideas of an answer: lines that begin as in a list, each once."""
    found = (match.group(1) for line in text.split("\n") if (match := _IDEA.match(line)))
    cut = (one_line(line.replace("**", "")) for line in found)
    return list({idea.casefold(): idea for idea in cut if idea}.values())[:most]
