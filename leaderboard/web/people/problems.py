"""All problems that lists show, with tags, level and the viewer's status; filters in the address."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Final

from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import BoardQuerySet, ProblemVersion
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.competitions.words import MOST_CHARS, begin_words, words_of
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.standings.read.people import results_of
from leaderboard.submissions.models import Submission

RANKED: Final = "ranked"
TRIED: Final = "tried"
NEW: Final = "new"
STATUSES: Final = {RANKED: "Ranked", TRIED: "Tried, not ranked", NEW: "Not tried"}
FILTERS: Final = ("q", "tag", "level", "hardware", "status", "open")
PAGE_ROWS: Final = 60
KEPT_VERSIONS: Final = 5_000


@dataclass(frozen=True)
class Line:
    """A problem with the boards of one slug."""

    slug: str
    title: str
    competition: str
    competition_slug: str
    hardware: tuple[str, ...]
    tags: tuple[str, ...]
    level: int | None
    is_open: bool
    status: str  # key of STATUSES; "" for people who are not signed in
    ranks: tuple[tuple[str, int], ...]  # hardware and rank of the viewer's lines

    @property
    def said(self) -> str:
        return STATUSES.get(self.status, "")


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    viewer = request.user
    given = {name: request.GET.get(name, "")[:MOST_CHARS].replace("\x00", "") for name in FILTERS}
    every = lines(boards_seen_by(viewer, listed=True), viewer)
    if not isinstance(viewer, User):
        given["status"] = ""
    chosen = [line for line in every if matches(line, given)]
    start = int(text) if (text := request.GET.get("from", "0")).isascii() and text.isdigit() and len(text) < 7 else 0
    context = {
        "lines": chosen[start : start + PAGE_ROWS],
        "total": len(chosen),
        "start": start,
        "earlier": max(0, start - PAGE_ROWS) if start else None,
        "later": start + PAGE_ROWS if start + PAGE_ROWS < len(chosen) else None,
        "given": given,
        "tags": sorted({tag for line in every for tag in line.tags}),
        "levels": sorted({str(line.level) for line in every if line.level is not None}),
        "places": sorted({name for line in every for name in line.hardware}),
        "statuses": STATUSES,
    }
    return render(request, "web/problems.html", context)


def matches(line: Line, given: dict[str, str]) -> bool:
    """Return whether a problem passes all filters; an empty filter passes everything."""
    return (
        begin_words(words_of(given["q"]), (line.title, line.slug, line.competition, *line.tags))
        and given["tag"] in ("", *line.tags)
        and given["level"] in ("", str(line.level))
        and given["hardware"] in ("", *line.hardware)
        and given["status"] in ("", line.status)
        and (given["open"] != "1" or line.is_open)
    )


def lines(boards: BoardQuerySet, viewer: Viewer) -> list[Line]:
    """Return a line per slug, by title. The number of queries is fixed."""
    now = timezone.now()
    mine = entrants_of(viewer)
    tried = Submission.objects.filter(entrant__in=[entrant.pk for entrant in mine], board=OuterRef("pk"))
    rows: Any = boards.select_related("competition", "problem").order_by("slug", "hardware")
    rows = rows.annotate(is_tried=Exists(tried)) if mine else rows
    listed: list[Any] = list(rows)
    parts = parts_of({board.version_id for board in listed})
    ranks: dict[int, int] = {}
    for result in results_of(mine, boards, now=now).boards if mine else ():
        ranks[result.board.pk] = min(result.line.rank, ranks.get(result.board.pk, result.line.rank))
    found: dict[str, Line] = {}
    for board in listed:
        tags, level = parts[board.version_id]
        rank = ranks.get(board.pk)
        status = "" if not isinstance(viewer, User) else status_of(rank, is_tried=getattr(board, "is_tried", False))
        own = Line(
            slug=board.slug,
            title=board.title,
            competition=board.competition.name,
            competition_slug=board.competition.slug,
            hardware=(board.hardware,),
            tags=tuple(dict.fromkeys((*board.tags, *tags))),
            level=level,
            is_open=board.is_open_at(now),
            status=status,
            ranks=((board.hardware, rank),) if rank else (),
        )
        found[board.slug] = joined(found[board.slug], own) if board.slug in found else own
    return sorted(found.values(), key=lambda line: (line.title.casefold(), line.slug))


def joined(one: Line, other: Line) -> Line:
    best = next((status for status in STATUSES if status in (one.status, other.status)), "")
    return replace(
        one,
        hardware=one.hardware + other.hardware,
        tags=tuple(dict.fromkeys(one.tags + other.tags)),
        is_open=one.is_open or other.is_open,
        status=best,
        ranks=one.ranks + other.ranks,
    )


def status_of(rank: int | None, *, is_tried: bool) -> str:
    return RANKED if rank else TRIED if is_tried else NEW


def entrants_of(viewer: Viewer) -> Sequence[Entrant]:
    """Return the viewer's entrants, of any login: their own, also under a pseudonym, and their present teams."""
    if not isinstance(viewer, User):
        return ()
    mine = Membership.objects.filter(user__in=logins_of(viewer)).select_related("entrant__competition")
    kept = {one.entrant_id: one.entrant for one in mine if one.left_at is None or not one.entrant.is_team}
    return list(kept.values())


def parts_of(versions: Iterable[int]) -> dict[int, tuple[tuple[str, ...], int | None]]:
    """Return tags and level by version. Versions never change, so each is read once by a process."""
    wanted = set(versions)
    with _lock:
        found = {key: _kept[key] for key in wanted if key in _kept}
    missing = wanted - set(found)
    if missing:
        rows = ProblemVersion.objects.filter(pk__in=missing).values_list("pk", "bundle__tags", "bundle__level")
        read = {pk: (tuple(map(str, tags or ())), level) for pk, tags, level in rows}
        with _lock:
            if len(_kept) + len(read) > KEPT_VERSIONS:
                _kept.clear()
            _kept.update(read)
        found |= read
    return found


_lock: Final = Lock()
_kept: Final[dict[int, tuple[tuple[str, ...], int | None]]] = {}
