"""Pictures and badges of boards and matches for other sites: of public competitions alone, as strangers see them."""

from typing import Final

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.competitions.models import PUBLIC
from leaderboard.matches.permissions import gallery
from leaderboard.matches.read import TIE, report_on
from leaderboard.standings.read.boards import lines_of
from leaderboard.web import limits
from leaderboard.web.boards import cards
from leaderboard.web.boards.entries import published
from leaderboard.web.middleware import refuse
from leaderboard.web.sharing import draw
from leaderboard.wording import figures

KEPT: Final = "public, max-age=600"  # by browsers and proxies, for everybody alike
LANES: Final = tuple(draw.PictureRow(f"{rank}", "", "", share) for rank, share in ((1, 0.52), (2, 0.7), (3, 0.81)))
OF_THE_SITE: Final = draw.Picture(
    "GPU kernels, judged by photo finish", "A public leaderboard whose results hold up", LANES, "", 0.95
)


@require_safe
def board(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    """The picture of a board: its first places beside the baseline."""
    if wait_s := limits.floods.take(*limits.by_address(limits.PICTURE_IP, request)):
        return refuse(request.path, 429, wait_s)
    card = cards.card(slug, AnonymousUser(), timezone.now())
    place = card.place(hardware)
    if card.competition.visibility != PUBLIC:
        raise Http404
    table = place.look.current
    lines = lines_of(table, table.places[: draw.MOST_ROWS])
    longest = max([1.0, *(line.value.ratio for line in lines)])
    rows = tuple(
        draw.PictureRow(
            rank=f"{line.rank}{'=' if line.is_tied else ''}",
            name=line.entry.entrant.shown_name,
            figure=figures.speedup(line.value.ratio),
            share=line.value.ratio / longest,
        )
        for line in lines
    )
    count = len(table.places)
    foot = "Speedup over the baseline; shorter is faster." if rows else "Nobody has a line here yet."
    if count > len(rows):
        foot = f"{count:,} entrants. {foot}"
    picture = draw.Picture(card.title, f"{hardware} · {card.competition.name}", rows, foot, 1 / longest if rows else 0)
    return HttpResponse(draw.png(picture), content_type="image/png", headers={"Cache-Control": KEPT})


@require_safe
def match(request: HttpRequest, pk: int) -> HttpResponse:
    """The picture of a public match: the best kernel of each side beside the eager reference and torch.compile."""
    if wait_s := limits.floods.take(*limits.by_address(limits.PICTURE_IP, request)):
        return refuse(request.path, 429, wait_s)
    shown = get_object_or_404(gallery(AnonymousUser()).select_related("board__version"), pk=pk)
    report = report_on(shown, timezone.now())
    named = [(shown.human.shown_name, report.human.best), (shown.model, report.machine.best)]
    times = [(name, one.solved.ratio) for name, one in named if one and one.solved]
    times += [("torch.compile", report.compiled.ratio)] if report.compiled else []
    longest = max([1.0, *(ratio for _, ratio in times)])
    rows = tuple(
        draw.PictureRow("", name, figures.speedup(ratio), ratio / longest)
        for name, ratio in sorted(times, key=lambda pair: pair[1])
    )
    foot = "A tie within noise." if report.result == TIE else "Speedup over the eager reference; shorter is faster."
    title = f"{shown.human.shown_name} against {shown.model}"
    picture = draw.Picture(title, f"{shown.board.title} on {shown.board.hardware}", rows, foot, 1 / longest)
    return HttpResponse(draw.png(picture), content_type="image/png", headers={"Cache-Control": KEPT})


@require_safe
def site(request: HttpRequest) -> HttpResponse:
    """The picture of pages that have none of their own."""
    return HttpResponse(draw.png(OF_THE_SITE), content_type="image/png", headers={"Cache-Control": KEPT})


@require_safe
def badge(request: HttpRequest, pk: int) -> HttpResponse:
    """The badge of an entry: its board with its rank and speedup."""
    found = published(pk, AnonymousUser(), timezone.now())
    on = found.entry.board
    if on.competition.visibility != PUBLIC:
        raise Http404
    standing = found.standing
    rank = f"rank {standing.rank}{'=' if standing.is_tied else ''}, " if standing.rank else ""
    value = f"{rank}{figures.speedup(standing.value.ratio)}"
    svg = draw.badge(f"{on.title} on {on.hardware}", value)
    return HttpResponse(svg, content_type="image/svg+xml; charset=utf-8", headers={"Cache-Control": KEPT})
