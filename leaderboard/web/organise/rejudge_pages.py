"""Re-judging sets, for organisers: the list, a new set, its effect, and apply, discard or stop."""

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.competitions.permissions import competitions_of, has_role
from leaderboard.errors import UserError
from leaderboard.judging.models import FINISHED, RejudgeItem, RejudgeSet, Runner
from leaderboard.rejudging import apply as rejudging_acts
from leaderboard.rejudging import sets
from leaderboard.rejudging.apply import Difference, compare
from leaderboard.rejudging.sets import MAX_NAME_CHARS, MOST, Kind, Selection, estimate_s, make_set, select
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ActForm, ReasonForm, add_refusal, reason_field
from leaderboard.web.organise.forms import UtcField
from leaderboard.web.organise.gate import act_of, is_organiser, posted, restricted_page
from leaderboard.wording.spreadsheet import csv_lines

PAGE_ROWS: Final = 50
PAST_ROWS: Final = 100
FATES: Final = {
    "": "not judged yet",
    RejudgeItem.APPLIED: "gets the new verdict",
    RejudgeItem.NEWER: "keeps a newer verdict",
    RejudgeItem.REJECTED: "stays rejected by a reviewer",
    RejudgeItem.NO_VERDICT: "no new verdict: keeps the old one",
}
EFFECTS: Final = {
    "published": "published",
    "held": "held for review",
    "failed": "not published",
    RejudgeItem.NEWER: "judged again since",
    RejudgeItem.REJECTED: "rejected by a reviewer",
    RejudgeItem.NO_VERDICT: "without a new verdict",
}
COLUMNS: Final = (
    *("submission", "board", "hardware", "entrant", "mode", "fate", "verdict_before", "verdict_after"),
    *("ratio_before", "half_width_before", "score_us_before", "epoch_before"),
    *("ratio_after", "half_width_after", "score_us_after", "epoch_after"),
    *("factor", "beyond_noise", "rank_before", "rank_after"),
)

MAX_LIST_CHARS: Final = 12 * MOST


class RejudgeForm(ActForm):
    where = forms.ChoiceField(label="Boards")
    name = forms.CharField(max_length=MAX_NAME_CHARS, help_text="Such as “judge 0.4, all boards”.")
    why = reason_field(help_text="Such as a new version of a problem or of the judge, or a suspect host.")
    kind = forms.ChoiceField(label="Which submissions", choices=Kind.choices, initial=Kind.PUBLISHED)
    version = forms.CharField(
        required=False, max_length=80, help_text="Its digest, sha256:…. Empty: any but the board’s current version."
    )
    runner = forms.ChoiceField(required=False)
    since = UtcField("Judged from (UTC)")
    until = UtcField("Judged before (UTC)")
    ids = forms.CharField(
        required=False,
        max_length=MAX_LIST_CHARS,
        label="Submission numbers",
        widget=forms.Textarea(attrs={"rows": 2, "inputmode": "numeric"}),
        help_text=f"Separated by spaces, commas or line breaks; at most {MOST:,}.",
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.places: dict[str, tuple[Competition, Board | None]] = {}
        grouped = []
        for competition in competitions_of(user, Role.OWNER).prefetch_related("boards"):
            here: dict[str, Board | None] = {f"competition-{competition.pk}": None}
            here |= {f"board-{board.pk}": board for board in competition.boards.all()}
            self.places |= {key: (competition, board) for key, board in here.items()}
            choices = [(key, str(board or f"All boards of {competition}")) for key, board in here.items()]
            grouped.append((competition.name, choices))
        names = Runner.objects.order_by("name").values_list("name", flat=True)
        self.fields["where"].choices = grouped  # type: ignore[attr-defined]
        self.fields["runner"].choices = [("", "–"), *((name, name) for name in names)]  # type: ignore[attr-defined]

    def clean_ids(self) -> tuple[int, ...]:
        words = self.cleaned_data["ids"].replace(",", " ").split()
        if wrong := [word for word in words if not (word.isascii() and word.isdigit() and len(word) < 19)]:
            raise forms.ValidationError(f"“{wrong[0][:40]}” is not a submission number.")
        return tuple(sorted({int(word) for word in words}))

    def chosen(self) -> dict[str, Any]:
        """Return competition, board (None: all of its boards) and selection."""
        competition, board = self.places[self.cleaned_data["where"]]
        criteria = {field.name: self.cleaned_data[field.name] for field in fields(Selection)}
        return {"competition": competition, "board": board, "selection": Selection(**criteria)}


def is_owner(user: User) -> bool:
    return competitions_of(user, Role.OWNER).exists()


@restricted_page("GET", "HEAD", to=is_organiser)
def index(request: HttpRequest) -> HttpResponse:
    context = {"sets": sets_of(user_of(request))[:PAST_ROWS], "may_make": is_owner(user_of(request))}
    return render(request, "web/rejudge_sets.html", context)


def sets_of(user: User) -> QuerySet[RejudgeSet]:
    """Return the sets that the user may see, with the numbers of all submissions and of judged submissions."""
    judged = Count("items", filter=Q(items__after__state__in=FINISHED))
    found = RejudgeSet.objects.filter(competition__in=competitions_of(user)).annotate(
        size=Count("items"), judged=judged
    )
    return found.select_related("competition", "board", "created_by", "settled_by")


@restricted_page("GET", "POST", to=is_owner)
def new(request: HttpRequest) -> HttpResponse:
    """Preview a set, and make it when the same form is sent again."""
    user = user_of(request)
    form = RejudgeForm(user, posted(request))
    context: dict[str, Any] = {"form": form}
    status = 400 if form.is_bound else 200
    if form.is_valid():
        chosen, names = form.chosen(), {"name": form.cleaned_data["name"], "why": form.cleaned_data["why"]}
        try:
            if request.POST.get("go") == "make":
                made = make_set(**chosen, **names, actor=user, now=timezone.now())
                return redirect(f"/rejudge/{made.pk}")
            attempts, left_out = select(**chosen)
        except UserError as error:
            add_refusal(form, error, {} if error.field in form.fields else {error.field: "kind"})
            status = error.status
        else:
            found = {"submissions": len(attempts), "left_out": left_out, "estimate_s": estimate_s(attempts)}
            context["found"], status = found, 200
    return render(request, "web/rejudge_new.html", context, status=status)


@restricted_page("GET", "HEAD", to=is_organiser)
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return _detail_page(request, _found(request, pk), ReasonForm())


@restricted_page("GET", "HEAD", to=is_organiser)
def export(request: HttpRequest, pk: int) -> HttpResponse:
    chosen = _found(request, pk)
    text = csv_lines([COLUMNS, *map(csv_row, compare(chosen).rows)])
    headers = {"Content-Disposition": f'attachment; filename="rejudge-{chosen.pk}.csv"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


@restricted_page("POST", to=is_organiser)
def attempt(request: HttpRequest, pk: int) -> HttpResponse:
    chosen = _found(request, pk)
    try:
        effects = rejudging_acts.try_rejudging(chosen=chosen, actor=user_of(request), now=timezone.now())
    except UserError as error:
        messages.error(request, f"Not done: {error.message}.")
        return _detail_page(request, chosen, ReasonForm(), status=error.status)
    messages.info(request, f"Applying it now would give: {_described(effects)}. Nothing was changed.")
    return redirect(f"/rejudge/{pk}")


@restricted_page("POST", to=is_organiser)
def settle(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Apply, discard or stop a set, with a reason."""
    chosen, form = _found(request, pk), ReasonForm(request.POST)
    act, done = act_of(ACTS, name)
    if not form.is_valid():
        return _detail_page(request, chosen, form, status=400)
    wanted = {option: option in request.POST for option in OPTIONS} if name == "apply" else {}
    try:
        result = act(chosen=chosen, actor=user_of(request), now=timezone.now(), **wanted, **form.arguments())
    except UserError as error:
        messages.error(request, f"Not done: {error.message}.")
        return _detail_page(request, chosen, form, status=error.status)
    messages.success(request, done(result))
    return redirect(f"/rejudge/{pk}")


def _found(request: HttpRequest, pk: int) -> RejudgeSet:
    """Return the set. A user without a role in its competition gets a 404."""
    return get_object_or_404(sets_of(user_of(request)), pk=pk)


def _detail_page(request: HttpRequest, chosen: RejudgeSet, form: ReasonForm, status: int = 200) -> HttpResponse:
    found = compare(chosen)
    judged = [row for row in found.rows if row.fate]
    filters = {
        "all": found.rows,
        "same verdict": [row for row in judged if row.same_verdict],
        "other verdict": [row for row in judged if not row.same_verdict],
        "other time": [row for row in judged if row.beyond_noise],
        "other rank": [row for row in judged if row.moved],
        "not applied": [row for row in judged if row.fate != RejudgeItem.APPLIED],
        "not judged": [row for row in found.rows if not row.fate],
    }
    shown = request.GET.get("show", "all")
    rows = filters.get(shown, filters["all"])
    given = request.GET.get("offset", "0")
    offset = min(int(given), len(rows)) if given.isascii() and given.isdigit() and len(given) < 10 else 0
    context = {
        "set": chosen,
        "found": found,
        "filters": [(name, len(same)) for name, same in filters.items()],
        "shown": shown if shown in filters else "all",
        "rows": [{"difference": row, "fate": FATES[row.fate]} for row in rows[offset : offset + PAGE_ROWS]],
        "waiting": len(filters["not judged"]),
        "earlier": max(0, offset - PAGE_ROWS) if offset else None,
        "later": offset + PAGE_ROWS if offset + PAGE_ROWS < len(rows) else None,
        "form": form,
        "may_settle": chosen.is_open and has_role(user_of(request), chosen.competition, Role.OWNER),
        "wanted": {option for option in OPTIONS if option in request.POST},
    }
    return render(request, "web/rejudge_set.html", context, status=status)


def _described(effects: Counter[str]) -> str:
    return ", ".join(f"{effects[name]} {words}" for name, words in EFFECTS.items() if effects[name]) or "nothing"


OPTIONS: Final = ("leave_out", "anyway")  # of applying a set
ACTS: Final[dict[str, tuple[Callable[..., Any], Callable[[Any], str]]]] = {  # act, and the message about its result
    "apply": (
        rejudging_acts.apply_rejudging,
        lambda effects: "It was already applied." if effects is None else f"Applied: {_described(effects)}.",
    ),
    "discard": (
        sets.discard_set,
        lambda done: "Discarded. Nothing was changed." if done else "It was already discarded.",
    ),
    "stop": (sets.stop_set, "Stopped: {} cancelled. Running submissions are finished.".format),
}


def csv_row(row: Difference) -> list[Any]:
    submission = row.item.submission
    board = submission.board
    names = ("ratio", "half_width", "score_us", "epoch")
    figures = [getattr(side, name, None) for side in (row.before, row.after) for name in names]
    verdicts = [side.outcome or side.state for side in (row.item.before, row.item.after)]
    whose = [submission.pk, board.slug, board.hardware, submission.entrant.shown_name, submission.mode]
    fate = row.fate or "not_judged"
    return [*whose, fate, *verdicts, *figures, row.factor, row.beyond_noise, row.rank_before, row.rank_after]
