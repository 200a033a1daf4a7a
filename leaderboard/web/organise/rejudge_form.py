"""The form that selects submissions for re-judging; rejudging/select.py interprets it."""

from __future__ import annotations

from typing import Any, Final

from django import forms

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.judging.models import Runner
from leaderboard.rejudging.select import LIST, MOST, PUBLISHED, RUNNER, VERSION, Selection
from leaderboard.rejudging.sets import MAX_NAME_CHARS
from leaderboard.web.forms import Described

MAX_LIST_CHARS: Final = 12 * MOST
KINDS: Final = (
    (PUBLISHED, "Every line there is now"),
    (VERSION, "Ranked submissions that another version of the problem judged"),
    (RUNNER, "Ranked submissions that one runner judged"),
    (LIST, "These submissions"),
)


class RejudgeForm(Described, forms.Form):
    where = forms.ChoiceField(label="Boards")
    name = forms.CharField(max_length=MAX_NAME_CHARS, help_text="Such as “judge 0.4, all boards”.")
    why = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="A problem's new version, a judge's, a suspect host. It is kept with the set.",
        error_messages={"required": "Say why: the reason is kept with the set."},
    )
    kind = forms.ChoiceField(label="Which submissions", choices=KINDS, initial=PUBLISHED)
    version = forms.CharField(
        required=False, max_length=80, help_text="The version's digest, sha256:…; empty: any but the board's of today."
    )
    runner = forms.ChoiceField(required=False)
    since = forms.DateTimeField(
        required=False, label="Judged from (UTC)", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    until = forms.DateTimeField(
        required=False, label="Judged before (UTC)", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    ids = forms.CharField(
        required=False,
        max_length=MAX_LIST_CHARS,
        label="Numbers of submissions",
        widget=forms.Textarea(attrs={"rows": 2, "inputmode": "numeric"}),
        help_text=f"With spaces, commas or line breaks between them; at most {MOST:,}.",
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.competitions = {one.pk: one for one in competitions_of(user, Role.OWNER)}
        self.boards = {one.pk: one for one in Board.objects.filter(competition__in=self.competitions)}
        names = list(Runner.objects.order_by("name").values_list("name", flat=True))
        self._field("where").choices = self._places()
        self._field("runner").choices = [("", "–"), *((name, name) for name in names)]

    def clean_ids(self) -> tuple[int, ...]:
        words = self.cleaned_data["ids"].replace(",", " ").split()
        if wrong := [word for word in words if not (word.isascii() and word.isdigit() and len(word) < 19)]:
            raise forms.ValidationError(f"“{wrong[0][:40]}” is no number of a submission.")
        return tuple(sorted({int(word) for word in words}))

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("kind") == RUNNER and not data.get("runner"):
            self.add_error("runner", "Choose the runner.")
        if data.get("kind") == LIST and not data.get("ids") and "ids" not in self.errors:
            self.add_error("ids", "Name at least one.")
        return data

    @property
    def competition(self) -> Competition:
        kind, pk = self._where()
        return self.competitions[pk if kind == "competition" else self.boards[pk].competition_id]

    @property
    def board(self) -> Board | None:
        kind, pk = self._where()
        return self.boards[pk] if kind == "board" else None

    @property
    def selection(self) -> Selection:
        kind, told = self.cleaned_data["kind"], self.cleaned_data
        return Selection(
            kind=kind,
            version=told["version"].strip() if kind == VERSION else "",
            runner=told["runner"] if kind == RUNNER else "",
            since=told["since"] if kind == RUNNER else None,
            until=told["until"] if kind == RUNNER else None,
            ids=told["ids"] if kind == LIST else (),
        )

    def _where(self) -> tuple[str, int]:
        kind, _, pk = self.cleaned_data["where"].partition("-")
        return kind, int(pk)

    def _places(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return choices grouped by competition: all of its boards, then each board."""
        groups: dict[int, list[tuple[str, str]]] = {
            pk: [(f"competition-{pk}", f"All boards of {one}")] for pk, one in self.competitions.items()
        }
        for board in self.boards.values():
            groups[board.competition_id].append((f"board-{board.pk}", str(board)))
        return [(self.competitions[pk].name, choices) for pk, choices in groups.items()]

    def _field(self, name: str) -> forms.ChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        return field


def competitions_of(user: User, least: str) -> list[Competition]:
    """Return the competitions in which this person has at least that role."""
    every = Competition.objects.all()
    if user.is_staff or user.is_superuser:
        return list(every)
    roles = Role.ROLES[Role.ROLES.index(least) :]
    return list(every.filter(roles__user=user, roles__role__in=roles))
