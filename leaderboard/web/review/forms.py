"""Forms of a reviewer's acts on a case and of the owner's answers: a form per act, each with its own ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms

from leaderboard.review.case import states
from leaderboard.review.reasons import REASONS

TEXT: Final = {"required": "Say why: it is kept with your name and the time."}
PUBLIC_HINT: Final = "Shown on the integrity page, without names. Leave it empty to show nothing."


def _text(*, rows: int = 3, required: bool = True, label: str | None = None, help_text: str = "") -> forms.CharField:
    return forms.CharField(
        max_length=2000,
        required=required,
        label=label,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": rows}),
        error_messages=TEXT,
    )


class _CaseForm(forms.Form):
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)


class ReasonForm(_CaseForm):
    reason = _text()


class ClearForm(_CaseForm):
    reason = _text(help_text="What you looked at, and why it is sound.")
    public_reason = _text(rows=2, required=False, label="In public", help_text=PUBLIC_HINT)


class RejectForm(_CaseForm):
    code = forms.ChoiceField(label="It …", choices=[("", "Choose a reason"), *REASONS.items()])
    reason = _text(help_text="The owner reads it.")
    public_reason = _text(rows=2, required=False, label="In public", help_text=PUBLIC_HINT)
    hold_others = forms.BooleanField(required=False, initial=True, label="Hold the other runs for review too")

    def hide_others(self) -> None:
        """Hide the choice when no other run ranks. A run that ranks by the time of sending is held all the same."""
        self.fields["hold_others"].widget = forms.HiddenInput()


class AskForm(_CaseForm):
    reason = _text(label="Question", help_text="The owner reads it and answers on their submission's page.")


class NoteForm(_CaseForm):
    reason = _text(rows=2, label="Note", help_text="For reviewers only.")


class LabelForm(_CaseForm):
    reason = forms.CharField(
        label="Label", max_length=32, widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"})
    )


class ClaimForm(_CaseForm):
    reason = _text(rows=2, required=False, label="Why you take it over")


class SuspendForm(ReasonForm):
    everywhere = forms.BooleanField(required=False, label="In every competition")


class HoldForm(forms.Form):
    submission = forms.IntegerField(min_value=1, max_value=2**63 - 1, label="Submission", help_text="Its number.")
    reason = _text(rows=2)


class AccountForm(forms.Form):
    act = forms.ChoiceField(choices=[("suspend", "Suspend"), ("reinstate", "Reinstate")])
    name = forms.CharField(
        label="Name", max_length=150, widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"})
    )
    where = forms.ChoiceField(required=False)
    reason = _text(rows=2, help_text="The account reads it.")

    def __init__(self, data: Mapping[str, Any] | None, *, places: list[tuple[str, str]]) -> None:
        """`places`: (slug, name) of competitions where this person may act; "" is everywhere."""
        super().__init__(data, auto_id="account_%s")
        where = self.fields["where"]
        assert isinstance(where, forms.ChoiceField)
        where.choices = places


class OwnerForm(forms.Form):
    text = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 4}),
        error_messages={"required": "Write something first."},
    )


FORMS: Final[dict[str, type[_CaseForm]]] = {
    states.CLAIM: ClaimForm,
    states.RELEASE: _CaseForm,
    states.CLEAR: ClearForm,
    states.REJECT: RejectForm,
    states.ASK: AskForm,
    states.OVERTURN: ReasonForm,
    states.UPHOLD: ReasonForm,
    states.GRANT: ReasonForm,
    states.UNDO: ReasonForm,
    states.NOTE: NoteForm,
    states.LABEL: LabelForm,
    states.UNLABEL: LabelForm,
    states.RERUN: ReasonForm,
    "suspend": SuspendForm,
    "reinstate": SuspendForm,
}


def form_for(act: str, data: Mapping[str, Any] | None = None, *, seen: int | None = None) -> _CaseForm:
    return FORMS[act](data, auto_id=f"{act}_%s", initial={"seen": seen})
