"""Forms of grading. They check shape only; the acts of leaderboard/classes decide."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms

from leaderboard.classes.grading import APPEAL_CHARS, NUMBER_CHARS, REMARK_CHARS, TEXT_CHARS
from leaderboard.classes.models import Rubric
from leaderboard.classes.rubrics import DESCRIPTION_CHARS, MOST_CRITERIA, NAME_CHARS, TOP, criterion
from leaderboard.matches.document import TITLES
from leaderboard.web.forms import ActForm, plain_input

MOST_LINES: Final = 20_000  # a section has no more characters


class ScoreForm(ActForm):
    """A level of each criterion, a text, and the button that was pressed."""

    save = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, rubric: Rubric, data: Any = None, *, scores: Mapping[str, int] | None = None, text: str = ""
    ) -> None:
        known = {f"score-{key}": points for key, points in (scores or {}).items()}
        super().__init__(data, initial=known | {"text": text})
        for one in rubric.criteria:
            self.fields[f"score-{one['key']}"] = forms.TypedChoiceField(
                label=f"{one['name']} ({one['weight']} %)",
                required=False,
                coerce=int,
                empty_value=None,
                choices=[(level["points"], f"{level['points']}: {level['description']}") for level in one["levels"]],
                widget=forms.RadioSelect,
            )
        self.fields["text"] = forms.CharField(
            label="Comment on the whole",
            required=False,
            max_length=TEXT_CHARS,
            help_text="The authors read it after the release.",
            widget=forms.Textarea(attrs={"rows": 5}),
        )

    def arguments(self) -> dict[str, Any]:
        levels = {name: value for name, value in self.cleaned_data.items() if name.startswith("score-")}
        scores = {name.removeprefix("score-"): value for name, value in levels.items() if value is not None}
        return {"scores": scores, "text": self.cleaned_data["text"]}


class RemarkForm(ActForm):
    section = forms.ChoiceField(choices=list(TITLES.items()))
    line = forms.IntegerField(
        required=False, min_value=1, max_value=MOST_LINES, help_text="Of the section’s text. Empty: all of it."
    )
    number = forms.CharField(
        required=False, max_length=NUMBER_CHARS, help_text="A figure as the text has it.", widget=plain_input()
    )
    text = forms.CharField(label="Remark", max_length=REMARK_CHARS, widget=forms.Textarea(attrs={"rows": 3}))


class AppealForm(ActForm):
    text = forms.CharField(
        label="Appeal",
        max_length=APPEAL_CHARS,
        help_text="Name the criterion, and the place of the worklog that speaks for another level.",
        widget=forms.Textarea(attrs={"rows": 5}),
    )


class AnswerForm(ScoreForm):
    """The answer to an appeal. Without a changed level the grade stays."""

    def __init__(self, rubric: Rubric, data: Any = None, *, scores: Mapping[str, int] | None = None) -> None:
        super().__init__(rubric, data, scores=scores)
        self.known = dict(scores or {})
        field = self.fields["text"]
        field.label, field.required, field.max_length = "Answer", True, APPEAL_CHARS  # type: ignore[attr-defined]
        field.help_text = "The authors read it at once. Unless you change a level, the grade stays."

    def arguments(self) -> dict[str, Any]:
        told = super().arguments()
        return told | {"scores": None if told["scores"] == self.known else told["scores"]}


class RubricForm(ActForm):
    name = forms.CharField(max_length=NAME_CHARS, error_messages={"required": "Name the rubric."})


class CriterionForm(forms.Form):
    key = forms.CharField(required=False, max_length=32, widget=forms.HiddenInput)
    name = forms.CharField(label="Criterion", required=False, max_length=NAME_CHARS)
    weight = forms.IntegerField(label="Weight in %", required=False, min_value=1, max_value=100)

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for points in range(TOP + 1):
            self.fields[f"level_{points}"] = forms.CharField(
                label=f"Level {points}",
                required=False,
                max_length=DESCRIPTION_CHARS,
                widget=forms.Textarea(attrs={"rows": 2}),
            )


CriterionForms = forms.formset_factory(
    CriterionForm, extra=1, max_num=MOST_CRITERIA, absolute_max=MOST_CRITERIA, validate_max=True
)


def rows_of(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return criteria as the forms show them."""
    return [
        {name: one[name] for name in ("key", "name", "weight")}
        | {f"level_{level['points']}": level["description"] for level in one["levels"]}
        for one in criteria
    ]


def criteria_of(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the criteria of sent forms. A form without a name is left out; a new criterion gets a key of its own."""
    named = [row for row in rows if row.get("name")]
    keys = {row["key"] for row in named}
    found = []
    for row in named:
        key = row["key"]
        if not key:
            # Names of other scripts have no letter for a key, and long ones may begin alike.
            key = stem = f"c_{re.sub(r'[^a-z0-9]+', '_', row['name'].lower())}"[:32].rstrip("_")
            number = 1
            while key in keys:
                number += 1
                key = f"{stem[:29].rstrip('_')}_{number}"
            keys.add(key)
        levels = [row[f"level_{points}"] for points in range(TOP + 1)]
        found.append(criterion(key, row["name"], row["weight"], levels))
    return found
