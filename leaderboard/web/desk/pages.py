"""The desk of staff: find a person, one page per person, their acts, bans of networks, and undoing."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from django import forms
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.permissions import check_over
from leaderboard.audit.models import DESK, Row
from leaderboard.competitions.models import Board, Competition
from leaderboard.desk import acts
from leaderboard.desk.search import find
from leaderboard.desk.undo import REMAINS, Shown, shown, undo
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.errors import UserError
from leaderboard.judging.models import STATES, Attempt
from leaderboard.operations import bans
from leaderboard.operations.models import Ban
from leaderboard.review.models import Suspension
from leaderboard.submissions.ledger import boards_spent_on, exceptions_of
from leaderboard.submissions.models import QuotaException, Submission, Takedown
from leaderboard.submissions.quota import MOST, USUAL
from leaderboard.web import limits
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ActForm, plain_input, reason_field
from leaderboard.web.organise.gate import act_of, posted, press, restricted_page, send
from leaderboard.web.submissions import view
from leaderboard.web.submissions.mine import what_is_left

MOST_ROWS: Final = 50  # of each list of a page
MOST_SIGN_INS: Final = 20
MOST_BOARDS: Final = 20  # of a person's quotas
SIGN_INS: Final = ("sign_in_done", "sign_in_failed")
BACK: Final = re.compile(r"/desk(/people/\d{1,18}|/bans)?", re.ASCII)  # pages with buttons for undoing

Act = Callable[..., Any]
PERSON_ACTS: Final[dict[str, tuple[Act, str]]] = {
    "deactivate": (partial(acts.set_active, on=False), "Deactivated and signed out everywhere."),
    "reactivate": (partial(acts.set_active, on=True), "Reactivated."),
    "sign-out": (acts.sign_out, "Signed out everywhere."),
    "revoke-tokens": (acts.revoke_tokens, "All tokens are revoked."),
    "make-staff": (partial(acts.set_staff, on=True), "Made staff."),
    "unmake-staff": (partial(acts.set_staff, on=False), "No longer staff."),
    "rename": (acts.rename_person, "Renamed. Tell the person: they sign in by the new name."),
    "hide": (acts.rename_person, "Hidden behind a neutral name. Tell the person: they sign in by it."),
}
ENTRANT_ACTS: Final = {
    "rename": (acts.NAME, "Renamed."),
    "hide": (acts.NAME, "Hidden behind a neutral name."),
    "rename-pseudonym": (acts.PSEUDONYM, "The pseudonym is changed."),
    "hide-pseudonym": (acts.PSEUDONYM, "The pseudonym is hidden behind a neutral one."),
}
CODE_ACTS: Final = {"take-down": (True, "The code is taken down."), "put-back": (False, "The code is back.")}


class QuotaForm(ActForm):
    """`where`: "COMPETITION" or "COMPETITION BOARD HARDWARE"."""

    where = forms.ChoiceField(label="Where")
    mode = forms.ChoiceField(choices=[(mode, mode) for mode in USUAL])
    capacity = forms.IntegerField(label="At once", min_value=1, max_value=MOST)
    per_day = forms.IntegerField(label="Per day", min_value=1, max_value=MOST)
    days = forms.IntegerField(label="For days", min_value=1, max_value=acts.MAX_DAYS, initial=7)
    reason = reason_field()

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="quota_%s")
        boards = Board.objects.select_related("competition").order_by("competition__name", "slug", "hardware")
        self._places: dict[str, tuple[Competition, Board | None]] = {}
        for board in boards:
            slug = board.competition.slug
            self._places.setdefault(slug, (board.competition, None))
            self._places[f"{slug} {board.slug} {board.hardware}"] = board.competition, board
        words = {key: f"{one.name}: {board or 'all boards'}" for key, (one, board) in self._places.items()}
        where = self.fields["where"]
        assert isinstance(where, forms.ChoiceField)
        where.choices = list(words.items())

    def arguments(self) -> dict[str, Any]:
        competition, board = self._places[self.cleaned_data["where"]]
        rest = {name: value for name, value in self.cleaned_data.items() if name != "where"}
        return rest | {"competition": competition, "board": board}


class BanForm(ActForm):
    network = forms.CharField(max_length=64, help_text="Such as 192.0.2.0/24 or 2001:db8::/48.", widget=plain_input())
    days = forms.IntegerField(label="For days", min_value=1, max_value=bans.MAX_DAYS, initial=7)
    reason = reason_field(help_text="The banned read it.")
    confirm = forms.BooleanField(required=False, label="I know that this shuts me out, too")


@restricted_page("GET", "HEAD")
def index(request: HttpRequest) -> HttpResponse:
    text, found, wait_s = request.GET.get("q", ""), None, None
    if text.strip():
        wait_s = limits.floods.take((limits.DESK_SEARCH_USER, str(user_of(request).pk)))
        found = find(text) if wait_s is None else []
    rows = Row.objects.filter(act__startswith=DESK).select_related("actor").order_by("-id")[:MOST_ROWS]
    context = {"q": text[:254], "found": found, "wait_s": wait_s, "rows": shown(rows), "back": "/desk"}
    return render(request, "web/desk/index.html", context, status=429 if wait_s else 200)


@restricted_page("GET", "HEAD")
def person(request: HttpRequest, pk: int) -> HttpResponse:
    login = get_object_or_404(User.objects.select_related("linked_to"), pk=pk)
    if login.linked_to_id is not None:
        return redirect(f"/desk/people/{login.linked_to_id}")
    return _person_page(request, login, QuotaForm())


def _person_page(request: HttpRequest, account: User, form: QuotaForm) -> HttpResponse:
    now, logins = timezone.now(), logins_of(account)
    keys = [str(pk) for pk in logins.values_list("pk", flat=True)]
    of_user = Row.objects.filter(object_type=User._meta.label_lower, object_id__in=keys).order_by("-id")
    memberships = Membership.objects.filter(user__in=logins).select_related("entrant__competition").order_by("-pk")
    exceptions = QuotaException.objects.filter(user__in=logins).select_related("board", "competition")[:MOST_ROWS]
    taken_down = Takedown.objects.filter(submission__owner__in=logins).select_related("submission")[:MOST_ROWS]
    states = Attempt.objects.current().filter(submission__owner__in=logins).values_list("state").annotate(Count("pk"))
    counts = dict(states.order_by())
    left = what_is_left(account, boards_spent_on(account)[:MOST_BOARDS], now)
    context = {
        "account": account,
        "logins": User.objects.filter(pk__in=logins).order_by("date_joined"),
        "refusal": _refusal(user_of(request), account),
        "memberships": memberships[:MOST_ROWS],
        "counts": [(state, counts[state]) for state in STATES if state in counts],
        "subs": view.shown_list(view.sent_by(account)[:10]),
        "tokens": ApiToken.objects.filter(owner__in=logins)[:MOST_ROWS],
        "sign_ins": of_user.filter(act__in=SIGN_INS)[:MOST_SIGN_INS],
        "left": [row for row in left if row["left"] < row["capacity"]],
        "in_force": set(exceptions_of(account, now).values_list("pk", flat=True)),
        "exceptions": exceptions,
        "taken_down": taken_down,
        "suspensions": Suspension.objects.filter(user__in=logins).select_related("competition")[:MOST_ROWS],
        "form": form,
        "rows": _history(account, memberships, exceptions, taken_down),
        "back": f"/desk/people/{account.pk}",
        "now": now,
    }
    return render(request, "web/desk/person.html", context, status=form.status)


def _history(account: User, memberships: Any, exceptions: Any, taken_down: Any) -> list[Shown]:
    """Return the audit rows about a person and by them, without sign-ins."""
    objects: dict[Any, list[int]] = {
        User: list(logins_of(account).values_list("pk", flat=True)),
        Entrant: [row.entrant_id for row in memberships[:MOST_ROWS]],
        QuotaException: [row.pk for row in exceptions],
        Submission: [row.submission_id for row in taken_down],
    }
    wanted = Q(actor__in=objects[User])
    for model, keys in objects.items():
        wanted |= Q(object_type=model._meta.label_lower, object_id__in=[str(key) for key in keys])
    rows = Row.objects.filter(wanted).exclude(act__in=SIGN_INS).select_related("actor").order_by("-id")
    return shown(rows[:MOST_ROWS])


def _refusal(actor: User, account: User) -> str:
    """Return why the actor may not act on this account; "": they may."""
    try:
        check_over(actor, account, "act on this account")
    except UserError as error:
        return error.message
    return ""


@restricted_page("POST")
def act_on_person(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    act, done = act_of(PERSON_ACTS, name)
    account = get_object_or_404(User, pk=pk)
    do = partial(act, person=account, reason=request.POST.get("reason", ""))
    if act is acts.rename_person:
        do = partial(do, name=new_name(name, "user", pk, request.POST.get("name", "")))
    return press(request, do, to=f"/desk/people/{pk}", done=done)


def new_name(act: str, kind: str, key: int, sent: str) -> str:
    return acts.neutral_name(kind, key) if act.startswith("hide") else sent


@restricted_page("POST")
def act_on_entrant(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    field, done = act_of(ENTRANT_ACTS, name)
    entrant = get_object_or_404(Entrant.objects.select_related("competition"), pk=pk)
    new = new_name(name, "team" if entrant.is_team else "entrant", pk, request.POST.get("name", ""))
    do = partial(acts.rename_entrant, entrant=entrant, field=field, name=new, reason=request.POST.get("reason", ""))
    return press(request, do, to=_back(request), done=done)


@restricted_page("POST")
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken.objects.select_related("owner__linked_to"), pk=pk)
    do = partial(acts.revoke_tokens, person=token.owner, only=pk, reason=request.POST.get("reason", ""))
    return press(request, do, to=f"/desk/people/{token.account.pk}", done=f"Token {token.prefix}… is revoked.")


@restricted_page("POST")
def act_on_code(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    on, done = act_of(CODE_ACTS, name)
    submission = get_object_or_404(Submission.objects.select_related("owner"), pk=pk)
    do = partial(acts.set_taken_down, submission=submission, on=on, reason=request.POST.get("reason", ""))
    return press(request, do, to=f"/submissions/{pk}#code", done=done)


@restricted_page("POST")
def grant_quota(request: HttpRequest, pk: int) -> HttpResponse:
    account, form = get_object_or_404(User, pk=pk, linked_to=None), QuotaForm(request.POST)
    do = partial(acts.grant_quota, person=account)
    answer = send(request, form, do, done="The exception is in force.", to=f"/desk/people/{pk}")
    return answer or _person_page(request, account, form)


@restricted_page("POST")
def end_quota(request: HttpRequest, pk: int) -> HttpResponse:
    exceptions = QuotaException.objects.select_related("user__linked_to", "board", "competition")
    exception = get_object_or_404(exceptions, pk=pk)
    do = partial(acts.set_quota_ended, exception=exception, on=True, reason=request.POST.get("reason", ""))
    return press(request, do, to=f"/desk/people/{exception.user.account_id}", done="The exception has ended.")


@restricted_page("GET", "HEAD", "POST")
def ban_index(request: HttpRequest) -> HttpResponse:
    form, now = BanForm(posted(request), auto_id="ban_%s"), timezone.now()
    do = partial(bans.ban, own_address=str(request.META.get("REMOTE_ADDR") or ""))
    if answer := send(request, form, do, done="{result} is banned."):
        return answer
    rows = Row.objects.filter(object_type=Ban._meta.label_lower, act__startswith=DESK).select_related("actor")
    history = shown(rows.order_by("-id")[:MOST_ROWS])
    context = {"form": form, "bans": bans.in_force(now), "rows": history, "back": "/desk/bans"}
    return render(request, "web/desk/bans.html", context, status=form.status)


@restricted_page("POST")
def lift_ban(request: HttpRequest, pk: int) -> HttpResponse:
    ban = get_object_or_404(Ban, pk=pk)
    do = partial(bans.set_lifted, ban=ban, on=True, reason=request.POST.get("reason", ""))
    return press(request, do, to="/desk/bans", done=f"{ban} is not banned any more.")


@restricted_page("POST")
def undo_act(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Row, pk=pk, act__startswith=DESK)
    do = partial(undo, row=row, reason=request.POST.get("reason", ""))
    return press(request, do, to=_back(request), done=f"Undone. {REMAINS.get(row.act, '')}".strip())


def _back(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    return wanted if BACK.fullmatch(wanted) else "/desk"
