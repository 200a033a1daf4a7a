"""Forms of a class. They check shape only; the acts of leaderboard/classes decide."""

from typing import Any, Final

from django import forms
from django.db.models import Q

from leaderboard.classes.models import (
    MOST_IN_A_GROUP,
    MOST_STUCK_DAYS,
    NAME_CHARS,
    REASON_CHARS,
    Assignment,
    Course,
    Rubric,
    Seat,
)
from leaderboard.classes.people import MOST_ROSTER_BYTES
from leaderboard.competitions.models import Board, BoardQuerySet
from leaderboard.matches.models import PASTED
from leaderboard.web.forms import MAX_KEY, ActForm, plain_input
from leaderboard.web.matches.forms import MACHINES
from leaderboard.web.organise.forms import UtcField, to_the_minute

TIERS: Final = {1: "Level 1: one operator", 2: "Level 2: fusion", 3: "Level 3: a block"}
ADVICE: Final = {
    1: "Choose an operator whose traffic a student can count on paper: a softmax, a norm, a reduction. Its bound can "
    "be predicted, and the reference leaves room. Avoid matrix products and convolutions: a vendor library is near "
    "the limit there.",
    2: "Choose a chain of two to four operators that writes its intermediate tensors to memory. Fusing them saves that "
    "traffic, and the saving can be predicted. A chain around one large matrix product gains little.",
    3: "Choose a block of a model, such as attention or an MLP with its norms. It needs a plan of several kernels, so "
    "a group shares it. Give it at least two weeks.",
}


def stuck_days_field() -> forms.IntegerField:
    return forms.IntegerField(
        label="Days without progress",
        initial=3,
        min_value=1,
        max_value=MOST_STUCK_DAYS,
        help_text="After them a student counts as stuck.",
    )


class JoinForm(ActForm):
    code = forms.CharField(
        label="Invite code",
        max_length=128,
        help_text="From your teacher. It begins with pfi_ and works once.",
        widget=plain_input(),
        error_messages={"required": "Enter the code that you were given."},
    )


class ClassForm(ActForm):
    name = forms.CharField(max_length=128, error_messages={"required": "Name the class."})
    slug = forms.CharField(
        label="Address",
        max_length=64,
        help_text="Lower-case letters, digits and hyphens, such as kernels-2027. It stays.",
        widget=plain_input(),
    )
    stuck_days = stuck_days_field()
    boards = forms.ModelMultipleChoiceField(
        label="Problems",
        queryset=Board.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="They are copied into the class. You can add more afterwards.",
    )

    def __init__(self, boards: BoardQuerySet, data: Any = None) -> None:
        super().__init__(data)
        self.fields["boards"].queryset = boards  # type: ignore[attr-defined]


class SettingsForm(ActForm):
    stuck_days = stuck_days_field()


class RosterForm(ActForm):
    """A roster as pasted text or as a file; the file wins."""

    text = forms.CharField(
        label="Students",
        required=False,
        strip=False,
        max_length=MOST_ROSTER_BYTES,
        help_text="A line for each: username or e-mail, name, section. CSV with commas, semicolons or tabs; a header "
        "may name the columns.",
        widget=forms.Textarea(attrs={"rows": 8, "class": "code", "spellcheck": "false"}),
    )
    file = forms.FileField(
        label="Or a CSV file", required=False, widget=forms.FileInput(attrs={"accept": ".csv,text/csv,text/plain"})
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if (sent := data.pop("file", None)) is not None:
            if sent.size > MOST_ROSTER_BYTES:
                self.add_error("file", f"It has over {MOST_ROSTER_BYTES:,} bytes. Send it in parts.")
                return data
            try:
                data["text"] = sent.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", "It is not UTF-8. Save it as “CSV UTF-8”.")
        return data


class AssignmentForm(ActForm):
    title = forms.CharField(max_length=128, error_messages={"required": "Name the assignment."})
    tier = forms.TypedChoiceField(
        label="Level", coerce=int, choices=list(TIERS.items()), widget=forms.RadioSelect, initial=1
    )
    boards = forms.ModelMultipleChoiceField(
        queryset=Board.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text="A student chooses one of them.",
        error_messages={"required": "Choose a board."},
    )
    due_at = UtcField("Due", "A later hand-in is taken, and shown as late.")
    group_size = forms.IntegerField(
        label="Members of a group",
        initial=1,
        min_value=1,
        max_value=MOST_IN_A_GROUP,
        help_text="1: everybody alone. Groups work at level 3; they are teams of the competition.",
    )
    rubric = forms.ModelChoiceField(
        queryset=Rubric.objects.none(),
        required=False,
        empty_label="Worklog, of the site",
        help_text="It stays once grading begins.",
    )
    graders_each = forms.TypedChoiceField(
        label="Graders of a work",
        required=False,
        coerce=int,
        empty_value=1,  # type: ignore[arg-type]
        choices=[(1, "one"), (2, "two")],
        widget=forms.RadioSelect,
        initial=1,
    )
    moderate_from = forms.IntegerField(
        label="Moderate from",
        required=False,
        min_value=1,
        max_value=100,
        help_text="Points of 100 between two graders. Empty: their mean counts.",
    )

    def __init__(self, course: Course, data: Any = None, assignment: Assignment | None = None) -> None:
        names = ("title", "tier", "group_size", "rubric", "graders_each", "moderate_from")
        known = {name: getattr(assignment, name) for name in names} if assignment else {}
        if assignment is not None:
            known |= {"boards": assignment.boards.all(), "due_at": to_the_minute(assignment.due_at)}
        super().__init__(data, initial=known)
        self._due_at = assignment.due_at if assignment else None
        boards = course.competition.boards.select_related("problem", "competition")
        chosen = assignment.rubric_id if assignment else None  # of the site, once its grading begins
        rubrics = Rubric.objects.filter(Q(course=course) | Q(pk=chosen))
        self.fields["rubric"].queryset = rubrics  # type: ignore[attr-defined]
        self.fields["boards"].queryset = boards  # type: ignore[attr-defined]

    def arguments(self) -> dict[str, Any]:
        """Return the settings, with the due time to the second unless the field changed."""
        return self.cleaned_data | ({} if "due_at" in self.changed_data else {"due_at": self._due_at})


class ExtensionForm(ActForm):
    seat = forms.ModelChoiceField(
        label="Student", queryset=Seat.objects.none(), error_messages={"required": "Choose a student."}
    )
    until = UtcField("Until")
    reason = forms.CharField(
        max_length=REASON_CHARS, help_text="The student reads it, too.", widget=forms.Textarea(attrs={"rows": 2})
    )

    def __init__(self, course: Course, data: Any = None) -> None:
        super().__init__(data)
        self.fields["until"].required = True
        seats = course.seats.filter(left_at=None).select_related("account").order_by("name", "pk")
        field: Any = self.fields["seat"]
        field.queryset = seats
        field.label_from_instance = lambda seat: seat.name or seat.account.get_username()


class PlantForm(ActForm):
    submission = forms.IntegerField(
        label="Submission", min_value=1, max_value=MAX_KEY, help_text="The number of a submission of yours."
    )
    must_fail = forms.TypedChoiceField(
        label="It must",
        choices=[("yes", "fail: its outputs are wrong"), ("no", "pass: it is right")],
        coerce=lambda value: value == "yes",
        widget=forms.RadioSelect,
        initial="yes",
    )


class SeatForm(ActForm):
    name = forms.CharField(max_length=NAME_CHARS, required=False)
    section = forms.CharField(max_length=64, required=False)


class StartForm(ActForm):
    board = forms.ModelChoiceField(
        label="Problem",
        queryset=Board.objects.none(),
        widget=forms.RadioSelect,
        empty_label=None,
        error_messages={"required": "Choose a problem."},
    )
    model = forms.CharField(
        max_length=128,
        help_text="The model that you play against, such as meta/llama-4:70b.",
        widget=plain_input(),
        error_messages={"required": "Name the model that you play against."},
    )
    machine = forms.ChoiceField(
        label="How the machine plays", choices=list(MACHINES.items()), widget=forms.RadioSelect, initial=PASTED
    )

    def __init__(self, assignment: Assignment, data: Any = None) -> None:
        super().__init__(data)
        boards = assignment.boards.select_related("problem", "competition")
        self.fields["board"].queryset = boards  # type: ignore[attr-defined]
