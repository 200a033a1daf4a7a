"""A published entry with its code, its retraction and restoring, and publishing its code; a board's progress and cases.

Everybody who may see a board sees its entries, once its standing shows them. An entry's owner, their team and people
with a role in the competition see it earlier, and its code; both are then marked as visible to them alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import code_public_at, current_stage
from leaderboard.competitions.checks import licence_in_words
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.entrants.permissions import memberships_of
from leaderboard.errors import UserError
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import may_retract
from leaderboard.standings.publish import retract as retract_kernel
from leaderboard.standings.ranking.ranking import Place
from leaderboard.standings.read.boards import Standing, look, records_of, standing_of
from leaderboard.standings.read.code import PARTS, is_public, lineage_seen, origin_seen, remixes_seen
from leaderboard.standings.read.table import is_shown
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import code_for, may_dispose, release_code
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards import cards, curves, progress, standing
from leaderboard.web.forms import sentence
from leaderboard.web.people.cases import matrix, run_of
from leaderboard.web.submissions import view
from leaderboard.web.submissions.meanings import MEANINGS


@dataclass(frozen=True)
class Published:
    entry: Entry
    submission: Submission
    standing: Standing
    is_shown: bool  # False: only people with early access see the entry
    is_own: bool
    licence: str
    code_is_public: bool
    code_public_at: datetime | None  # None: not by itself
    code: str | None  # None: hidden from this viewer
    taken_down: str  # the reason; "": it is not

    @property
    def filename(self) -> str:
        """The file's name; "": private, as the code is."""
        return self.submission.filename if self.code is not None else ""

    @property
    def model(self) -> str:
        """The model that wrote the code, as its sender says; "": none was named."""
        return self.submission.lineage.model if hasattr(self.submission, "lineage") else ""


def published(pk: int, viewer: Viewer, now: datetime) -> Published:
    """Return an entry.

    Raises Http404 if it is not published, or not for this viewer: not shown yet, or on a board hidden from them.
    """
    parts = (*PARTS, "submission__owner", "submission__lineage", "board__problem", "attempt__result")
    entries = Entry.objects.select_related(*parts).defer("attempt__result__inline")
    entry = get_object_or_404(entries, submission=pk, board__in=boards_seen_by(viewer))
    shown, submission = is_shown(entry.board, entry.submitted_at, now), entry.submission
    user = viewer if isinstance(viewer, User) else None
    sees_early = user is not None and view.visible_to(user).filter(pk=pk).exists()
    submission.board = entry.board
    standing = standing_of(submission, now=now) if shown or sees_early else None
    if standing is None:
        raise Http404
    schedule, deadline = entry.board.competition.schedule, entry.board.deadline
    code_is_public = is_public(entry, now)
    code, taken_down = code_for(viewer, submission)
    return Published(
        entry=entry,
        submission=submission,
        standing=standing,
        is_shown=shown,
        is_own=user is not None and may_dispose(user, submission),
        licence=licence_in_words(submission.licence),
        code_is_public=code_is_public,
        code_public_at=code_public_at(schedule, deadline, entry.submitted_at),
        code=code if code_is_public or sees_early else None,
        taken_down=taken_down,
    )


@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    now = timezone.now()
    found = published(pk, request.user, now)
    may = request.user.is_authenticated and may_retract(user_of(request), found.submission, now)
    run = run_of(found.entry)
    context = {
        "found": found,
        "may_retract": may,
        "meanings": MEANINGS,
        "timed": run.timed,
        "machine": run.machine,
        "others": others(found, request.user),
        "origin": origin_seen(found.submission, request.user, now),
        "remixes": remixes_seen(pk, request.user, now),
        "lineage": lineage_seen(found.submission, request.user, now) if found.code is not None else None,
        "may_remix": not found.is_own and found.code is not None and found.entry.board.is_open_at(now),
        "neighbours": neighbours(found),
    }
    return render(request, "web/published.html", context)


def neighbours(found: Published) -> list[tuple[str, str, Place]]:
    """Return the places before and after the entrant's own in the ranking, each with its title and link relation."""
    table = found.standing.table
    at = table.at.get(found.entry.entrant_id)
    if at is None:
        return []
    before = [("Faster", "prev", place) for place in table.places[max(0, at - 1) : at]]
    return before + [("Slower", "next", place) for place in table.places[at + 1 : at + 2]]


def others(found: Published, viewer: Viewer) -> list[tuple[str, int]]:
    """Return entries of the same board to compare with: the leader's, and the viewer's best. Two queries at most."""
    table = found.standing.table
    mine = (
        memberships_of(viewer).filter(competition=found.entry.board.competition_id) if isinstance(viewer, User) else ()
    )
    own = next((table.place_of(member.entrant_id) for member in mine), None)
    wanted = [("the leader", table.places[0] if table.places else None), ("your best", own)]
    this = found.entry.submission_id
    return [
        (title, place.value.submissions[0])
        for title, place in wanted
        if place is not None and this not in place.value.submissions
    ]


@require_safe
def code(request: HttpRequest, pk: int) -> HttpResponse:
    """The source file as it was sent."""
    found = published(pk, request.user, timezone.now())
    if found.code is None:
        raise Http404
    headers = {"Content-Disposition": f'attachment; filename="{found.submission.filename}"'}
    return HttpResponse(found.code, content_type="text/plain; charset=utf-8", headers=headers)


def button(act: Callable[[Submission, User, str], str]) -> Callable[[HttpRequest, int], HttpResponseBase]:
    """Return the view of a button on a submission's page. The act takes the sent reason and returns its message."""

    @login_required
    @require_POST
    def press(request: HttpRequest, pk: int) -> HttpResponse:
        submission = get_object_or_404(view.visible_to(user_of(request)), pk=pk)
        try:
            messages.success(request, act(submission, user_of(request), request.POST.get("reason", "")))
        except UserError as error:
            messages.warning(request, f"Not done. {sentence(error.message)}")
        return redirect(f"/submissions/{pk}")

    return press


@button
def retract(submission: Submission, actor: User, reason: str) -> str:
    count = retract_kernel(submission=submission, actor=actor, reason=reason, now=timezone.now())
    return f"Retracted: {count} run{pluralize(count)} of this kernel left the board."


@button
def restore(submission: Submission, actor: User, reason: str) -> str:
    count = pipeline.restore_entry(submission=submission, actor=actor, reason=reason, now=timezone.now())
    return f"Restored: {count} run{pluralize(count)} of this kernel returned to the board."


@button
def publish_code(submission: Submission, actor: User, reason: str) -> str:
    release_code(submission=submission, actor=actor, now=timezone.now())
    return "The code is public wherever the board shows this entry."


@require_safe
def history(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    """A board's progress in the current stage and timing epoch, as the public sees it.

    `with` in the address adds people to the chart. Names without a line here are named in an error.
    """
    now = timezone.now()
    card = cards.card(slug, request.user, now)
    place = card.place(hardware)
    group = standing.group_of_page(request, card.competition)
    table, own = place.look.of(group).current, standing.own_entrant(request.user, card.competition)
    asked = list(dict.fromkeys(name for name in map(str.strip, request.GET.getlist("with")) if name))
    faulty = [name for name in asked if len(name) > progress.MAX_NAME_CHARS or "\x00" in name]
    names = [name for name in asked if name not in faulty][: progress.MOST_ASKED]
    places, missing = progress.chosen(table, own, names, place.board)
    records = records_of(table)
    series = progress.series_of(table, places, own)
    context = {
        "card": card,
        "hardware": hardware,
        "group": group,
        "groups": standing.shown_groups(card.competition),
        "records": records,
        "plot": curves.fastest_plot(table.fastest, now),
        "series": series,
        "drawn": progress.drawn(series, now),
        "field": progress.field_shown(table, None if own is None else table.place_of(own)) if table.places else None,
        "own": standing.own_standing(table, own),
        "asked": [name for name in names if name not in missing],
        "most": progress.MOST_FIRST,
        "form_error": progress.refused_names(asked, [*faulty, *missing]),
    }
    return render(request, "web/history.html", context, status=400 if context["form_error"] else 200)


@require_safe
def cases(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    """The timed cases of a board by its first entries, as the public sees the board."""
    card = cards.card(slug, request.user, timezone.now())
    group = standing.group_of_page(request, card.competition)
    context = {
        "card": card,
        "hardware": hardware,
        "group": group,
        "groups": standing.shown_groups(card.competition),
        "matrix": matrix(card.place(hardware).look.of(group).current),
    }
    return render(request, "web/board_cases.html", context)


@require_safe
def pulse(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    """The digest of a board's table as the public sees it: pages poll it, and read the table again if it changed."""
    boards = boards_seen_by(request.user).select_related("competition")
    board = get_object_or_404(boards, slug=slug, hardware=hardware)
    now = timezone.now()
    group = standing.group_of_page(request, board.competition)
    table = look(board, stage=current_stage(board.competition.schedule, now), now=now).of(group).current
    return JsonResponse({"digest": table.digest, "entrants": len(table.places)})
