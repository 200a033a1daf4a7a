"""A competition on a terminal: its phase, your place in it, its boards, prizes, news and quota."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .api import JSON
from .render import Screen
from .text import clean, line, moment

SHOWN_NEWS: Final = 5


def show(screen: Screen, found: JSON, address: str) -> None:
    until = f", until {moment(found['until'])}" if found.get("until") else ""
    screen.say(f"{line(found.get('name', ''), 150)}: {line(found.get('phase', ''), 32)}{until}")
    screen.say("\n".join(_lines(found, address)))
    _phases(screen, _mappings(found.get("phases")))
    _problems(screen, _mappings(found.get("problems")))
    _tracks(screen, _mappings(found.get("tracks")))
    _quota(screen, _mappings(_mapping(found.get("you")).get("quota")))
    _news(screen, _mappings(found.get("announcements")))


def show_quota(screen: Screen, left: list[JSON]) -> None:
    rows = [
        (
            one.get("board", ""),
            one.get("hardware", ""),
            one.get("mode", ""),
            one.get("left", ""),
            one.get("capacity", ""),
            one.get("per_day", ""),
            moment(one["next_at"]) if one.get("next_at") else "",
        )
        for one in left
    ]
    columns = ("board", "hardware", "mode", "left", "of", "a day", "the next")
    screen.table(columns, rows, numbers=("left", "of", "a day"), least=("a day", "of", "hardware"))


def _lines(found: JSON, address: str) -> Iterator[str]:
    size = found.get("max_team_size")
    teams = f"teams of up to {line(size, 8)}" if isinstance(size, int) and size > 1 else "no teams"
    divisions = ", ".join(line(one, 32) for one in _list(found.get("divisions")))
    entrants = "1 entrant" if found.get("entrants") == 1 else f"{line(found.get('entrants', ''), 16)} entrants"
    yield f"{entrants}, {teams}" + (f", divisions {divisions}" if divisions else "")
    yield _you(found)
    yield line(address)


def _you(found: JSON) -> str:
    you = _mapping(found.get("you"))
    enter = f"photofinish enter {line(found.get('slug', ''), 64)}"
    if not you:
        return "sign in with `photofinish login` to see where you stand"
    if not you.get("entrant"):
        return f"you are not in it: `{enter}`" if you.get("may_enter") else "you are not in it"
    named = f"you are in it as {line(you['entrant'], 150)}, division {line(you.get('division', ''), 32)}"
    return named if you.get("accepted") else f"{named}; accept its rules: `{enter}`"


def _phases(screen: Screen, phases: list[JSON]) -> None:
    if len(phases) < 2:
        return
    screen.say("")
    rows = [
        (
            "→" if one.get("state") == "now" else "",
            one.get("title", ""),
            moment(one["since"]) if one.get("since") else "",
        )
        for one in phases
    ]
    screen.table(("", "phase", "from"), rows)


def _problems(screen: Screen, problems: list[JSON]) -> None:
    screen.say("")
    rows = [
        (one.get("board", ""), one.get("title", ""), " ".join(map(str, _list(one.get("hardware"))))) for one in problems
    ]
    screen.table(("board", "title", "hardware"), rows, least=("title",))


def _tracks(screen: Screen, tracks: list[JSON]) -> None:
    if tracks:
        screen.say("")
        rows = [
            (one.get("name", ""), one.get("won_by", ""), "; ".join(map(_prize, _mappings(one.get("prizes")) or [{}])))
            for one in tracks
        ]
        screen.table(("track", "won by", "prizes"), rows, least=("won by",))


def _quota(screen: Screen, left: list[JSON]) -> None:
    """Show boards with spent quota; most boards of a competition have their full quota."""
    spent = [one for one in left if one.get("next_at")]
    if spent:
        screen.say("\nof your quota you may still send")
        show_quota(screen, spent)
    elif left:
        screen.say("\nnothing of your quota is spent here; `photofinish quota --board NAME` says how much it is")


def _prize(prize: JSON) -> str:
    money = f"{line(prize.get('currency', ''), 8)} {line(prize['amount'], 32)}" if prize.get("amount") else ""
    return " and ".join(part for part in (money, line(prize.get("other") or "", 200)) if part) or "the title"


def _news(screen: Screen, news: list[JSON]) -> None:
    for one in news[:SHOWN_NEWS]:
        screen.say(f"\n{moment(one.get('created_at'))}: {line(one.get('title', ''), 200)}")
        if one.get("text"):
            screen.say(clean(one["text"], 2_000))


def _mapping(value: object) -> JSON:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _mappings(value: object) -> list[JSON]:
    return [one for one in _list(value) if isinstance(one, dict)]
