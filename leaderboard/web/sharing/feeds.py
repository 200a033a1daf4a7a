"""Atom feeds of first places and announcements, the map for search engines, and robots.txt.

A feed shows what strangers see, whoever asks. The feeds of the site have listed competitions alone; those of a
competition answer for each competition that a stranger may open by its address.
"""

import re
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote
from xml.sax.saxutils import escape

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from leaderboard.competitions.models import AGENTS, Competition
from leaderboard.competitions.permissions import announcements_seen_by, boards_seen_by, competitions_seen_by
from leaderboard.standings.ranking.ranking import tied_first
from leaderboard.standings.read.boards import leaders_of, looks, problems_by_collection
from leaderboard.web import documents, markup
from leaderboard.web.middleware import APIS
from leaderboard.wording import figures

KEPT: Final = "public, max-age=300"
NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
MOST_ITEMS: Final = 50
MOST_ADDRESSES: Final = 50_000  # in a map, by its format
UNWRITABLE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # XML has no such characters
NO_ITEMS: Final = datetime(2026, 1, 1, tzinfo=UTC)
STRANGER: Final = AnonymousUser()
HIDDEN: Final = (
    *APIS,
    *(
        "/submissions",
        "/tokens",
        "/review",
        "/organise",
        "/invite-code",
        "/desk",
        "/admin",
        "/notifications",
        "/search",
    ),
)


class _Feed(Atom1Feed):
    def latest_post_date(self) -> datetime:
        """Return the time of the newest item, and a constant for an empty feed, whose ETag then stays."""
        return super().latest_post_date() if self.items else NO_ITEMS


@require_safe
def records(request: HttpRequest, slug: str = "") -> HttpResponse:
    """The present leader of each board, newest first: a new record is a new item."""
    competition = _competition(slug)
    boards = boards_seen_by(STRANGER, listed=competition is None).select_related("competition", "problem")
    if competition is not None:
        boards = boards.filter(competition=competition)
    known = {board.pk: board for board in boards.defer("version")}
    seen = looks(known.values(), now=timezone.now())
    leaders = leaders_of(one.current for look in seen.values() for one in look.groups).values()
    newest = sorted(leaders, key=lambda line: (line.entry.published_at, line.entry.pk), reverse=True)
    feed = _feed(request, "Records", competition)
    for line in newest[:MOST_ITEMS]:
        entry, board = line.entry, known[line.entry.board_id]
        name, speedup = entry.entrant.shown_name, figures.speedup(line.value.ratio)
        group = board.competition.group_of(entry.entrant.division)
        among = " among agents" if group == AGENTS else ""
        level = tied_first(seen[board.pk].of(group).current.places)
        tied = f", {level} tied for first" if level else ""
        feed.add_item(
            title=_writable(f"{board.title} on {board.hardware}{among}: {name}, {speedup}"),
            link=f"{settings.SITE_URL}/entries/{entry.submission_id}",
            description=_writable(
                f"{name} leads{among} {board.title} on {board.hardware} in {board.competition} with {speedup}{tied}."
            ),
            pubdate=entry.submitted_at,
            updateddate=entry.published_at,
            author_name=_writable(name),
        )
    return _answer(feed)


@require_safe
def announcements(request: HttpRequest, slug: str = "") -> HttpResponse:
    competition = _competition(slug)
    found = announcements_seen_by(STRANGER, listed=competition is None).select_related("competition")
    if competition is not None:
        found = found.filter(competition=competition)
    feed = _feed(request, "Announcements", competition)
    for one in found[:MOST_ITEMS]:
        address = f"{settings.SITE_URL}/competitions/{one.competition.slug}#announcement-{one.pk}"
        feed.add_item(
            title=_writable(one.title if competition else f"{one.competition}: {one.title}"),
            link=address,
            unique_id=address,
            description=_writable(markup.markdown(one.text)),
            pubdate=one.created_at,
            updateddate=one.created_at,
        )
    return _answer(feed)


def _writable(text: str) -> str:
    return UNWRITABLE.sub("", text)


def _competition(slug: str) -> Competition | None:
    """Return the competition of an address; None: the feed of the site. Raises Http404."""
    return get_object_or_404(competitions_seen_by(STRANGER), slug=slug) if slug else None


def _feed(request: HttpRequest, title: str, competition: Competition | None) -> _Feed:
    path = f"/competitions/{competition.slug}" if competition else "/"
    return _Feed(
        title=_writable(f"{competition.name if competition else 'Photofinish'}: {title.lower()}"),
        link=f"{settings.SITE_URL}{path}",
        description="",
        feed_url=f"{settings.SITE_URL}{request.path}",
        author_name="Photofinish",
    )


def _answer(feed: _Feed) -> HttpResponse:
    text = feed.writeString("utf-8")
    return HttpResponse(text, content_type="application/atom+xml; charset=utf-8", headers={"Cache-Control": KEPT})


@require_safe
def site_map(request: HttpRequest) -> HttpResponse:
    """The pages that a search engine should know, of listed competitions alone."""
    found = competitions_seen_by(STRANGER, listed=True)
    boards = boards_seen_by(STRANGER, listed=True)
    collections = set(problems_by_collection(boards))
    paths = ["/", "/boards", "/competitions", "/docs", *(f"/docs/{name}" for name in documents.sources())]
    for competition in found:
        paths.append(f"/competitions/{competition.slug}")
        paths += [f"/collections/{competition.slug}"] if competition.pk in collections else []
    places = list(boards.order_by("slug", "hardware").values_list("slug", "hardware")[:MOST_ADDRESSES])
    paths += [f"/boards/{name}" for name in dict.fromkeys(name for name, _ in places)]
    paths += [f"/boards/{name}/{quote(hardware)}" for name, hardware in places]
    lines = (f"<url><loc>{escape(settings.SITE_URL + path)}</loc></url>\n" for path in paths[:MOST_ADDRESSES])
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{NAMESPACE}">\n{"".join(lines)}</urlset>\n'
    return HttpResponse(text, content_type="application/xml; charset=utf-8", headers={"Cache-Control": KEPT})


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    lines = [
        "User-agent: *",
        *(f"Disallow: {path}" for path in HIDDEN),
        "",
        f"Sitemap: {settings.SITE_URL}/sitemap.xml",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain")
