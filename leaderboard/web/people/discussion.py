"""Write-ups and comments under a board. Text is shown as it was typed, never as markup."""

from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.discussion import acts
from leaderboard.discussion.models import COMMENT, MOST_CHARS, WRITE_UP, Post
from leaderboard.entrants.enter import entrant_of
from leaderboard.errors import RateLimited, UserError
from leaderboard.inbox.events import report_post
from leaderboard.web import limits
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import sentence
from leaderboard.web.middleware import with_wait
from leaderboard.web.paging import page_at
from leaderboard.web.templatetags.people import board_url

PAGE_ROWS: Final = 30
MOST_WRITE_UPS: Final = 50  # on the page
CHOICES: Final = {WRITE_UP: "Write-up", COMMENT: "Comment"}


def board_of(viewer: Viewer, slug: str, hardware: str) -> Board:
    boards = boards_seen_by(viewer).select_related("competition", "problem")
    return get_object_or_404(boards, slug=slug, hardware=hardware)


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    board = board_of(request.user, slug, hardware)
    if request.method != "POST":
        return discussion_page(request, board)
    return write(request, board)


@login_required
def write(request: HttpRequest, board: Board) -> HttpResponse:
    kind, text = request.POST.get("kind", COMMENT), request.POST.get("text", "")
    try:
        acts.write_post(board=board, author=user_of(request), kind=kind, text=text, now=timezone.now())
    except UserError as error:
        return with_wait(discussion_page(request, board, error), error)
    messages.success(request, f"Your {CHOICES[kind].lower()} is published.")
    return redirect(f"{board_url(board)}/discussion")


@login_required
@require_POST
def remove(request: HttpRequest, slug: str, hardware: str, pk: int) -> HttpResponse:
    board = board_of(request.user, slug, hardware)
    post = standing_post(board, pk)
    try:
        acts.remove_post(post=post, actor=user_of(request), reason=request.POST.get("reason", ""), now=timezone.now())
        messages.success(request, "Removed.")
    except UserError as error:
        messages.warning(request, f"Not removed. {sentence(error.message)}")
    return redirect(f"{board_url(board)}/discussion")


@login_required
@require_POST
def report(request: HttpRequest, slug: str, hardware: str, pk: int) -> HttpResponse:
    board = board_of(request.user, slug, hardware)
    try:
        send_report(standing_post(board, pk), user_of(request), request.POST.get("reason", ""))
        messages.success(request, "Reported to the organisers.")
    except UserError as error:
        messages.warning(request, f"Not reported. {sentence(error.message)}")
    return redirect(f"{board_url(board)}/discussion")


def send_report(post: Post, reporter: User, reason: str) -> None:
    """Report a post, counted. Raises UserError, RateLimited."""
    if wait := limits.take(limits.REPORT_USER, str(reporter.account_id)):
        text = f"you reported too many posts; wait {limits.minutes(wait)}"
        raise RateLimited("reason", "", text, retry_after_s=wait)
    report_post(post=post, actor=reporter, reason=reason, now=timezone.now())


def standing_post(board: Board, pk: int) -> Post:
    posts = Post.objects.filter(board=board, removed_at=None).select_related("board__competition", "board__problem")
    return get_object_or_404(posts, pk=pk)


def discussion_page(request: HttpRequest, board: Board, error: UserError | None = None) -> HttpResponse:
    now, viewer = timezone.now(), request.user
    comments = acts.posts_on(board, COMMENT).select_related("entrant")
    page = page_at(request, comments, order=("-pk",), name=f"comments on {board.pk}", size=PAGE_ROWS)
    told = acts.posts_on(board, WRITE_UP).select_related("entrant")
    name = f"write-ups on {board.pk}"
    write_ups = page_at(request, told, order=("-pk",), name=name, size=MOST_WRITE_UPS, parameter="write_ups")
    is_open = acts.is_open(board, now)
    known = viewer if isinstance(viewer, User) else None
    entrant = entrant_of(known, board.competition) if known and is_open else None
    context = {
        "board": board,
        "write_ups": write_ups if is_open else None,
        "page": page if is_open else None,
        "is_open": is_open,
        "entrant": entrant,
        "may_write_up": entrant is not None and acts.has_line(board, entrant.pk, now),
        "is_moderator": known is not None and acts.is_moderator(known, board),
        "account": known.account_id if known else 0,
        "sent": request.POST if error else {},
        "error": sentence(error.message) if error else "",
        "choices": CHOICES,
        "most": MOST_CHARS,
    }
    return render(request, "web/discussion.html", context, status=error.status if error else 200)
