"""Acts of a reviewer on a case, behind the page and the API: a form and a call each.

The calls check permission and order, and keep the log. Each form has ids of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from django import forms
from django.db.models import QuerySet

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.judging.models import Result
from leaderboard.review.case import acts, states
from leaderboard.review.case.acts import REASONS
from leaderboard.web.forms import ActForm, plain_input

PUBLIC_HINT: Final = "Shown on the integrity page, without names. Leave it empty to show nothing."


def text_field(*, rows: int = 3, **options: Any) -> forms.CharField:
    said = {"required": "Give a reason: it is stored with your name and the time."}
    return forms.CharField(
        max_length=2000, widget=forms.Textarea(attrs={"rows": rows}), **{"error_messages": said, **options}
    )


class CaseForm(ActForm):
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)


class ReasonForm(CaseForm):
    reason = text_field()


class ClearForm(CaseForm):
    reason = text_field(help_text="What you looked at, and why the result is sound.")
    public_reason = text_field(rows=2, required=False, label="Public reason", help_text=PUBLIC_HINT)


class RejectForm(CaseForm):
    code = forms.ChoiceField(label="This kernel …", choices=[("", "Choose a reason"), *REASONS.items()])
    reason = text_field(help_text="Its owner reads this.")
    public_reason = text_field(rows=2, required=False, label="Public reason", help_text=PUBLIC_HINT)
    hold_others = forms.BooleanField(required=False, initial=True, label="Hold the other runs for review too")


class AskForm(CaseForm):
    reason = text_field(label="Question", help_text="The owner reads it and answers on the submission's page.")


class NoteForm(CaseForm):
    reason = text_field(rows=2, label="Note", help_text="For reviewers only.")


class LabelForm(CaseForm):
    reason = forms.CharField(label="Label", max_length=32, widget=plain_input())


class ClaimForm(CaseForm):
    reason = text_field(rows=2, required=False, label="Why you take it over")


class SuspendForm(ReasonForm):
    everywhere = forms.BooleanField(required=False, label="In every competition")


@dataclass(frozen=True)
class Act:
    """`reason`: the parameter that takes the form's reason; "": none. `fields`: further fields, passed by name."""

    done: str  # message after the act
    form: type[CaseForm]
    call: Callable[..., object]
    fields: tuple[str, ...] = ()
    reason: str = "reason"

    def __call__(self, *, result: Result, actor: User, now: datetime, **sent: Any) -> None:
        given = {name: sent[name] for name in self.fields}
        if self.reason:
            given[self.reason] = sent["reason"]
        self.call(result=result, actor=actor, now=now, **given)


def _on_account(act: Callable[..., object], *, result: Result, everywhere: bool, **given: Any) -> None:
    submission = result.attempt.submission
    act(user=submission.owner, competition=None if everywhere else submission.board.competition, **given)


SEEN: Final = ("seen",)
ACTS: Final = {
    states.CLAIM: Act("Claimed", ClaimForm, acts.claim),
    states.RELEASE: Act("Released", CaseForm, acts.release, reason=""),
    states.CLEAR: Act("Cleared", ClearForm, pipeline.clear_result, ("public_reason", "seen")),
    states.REJECT: Act(
        "Rejected", RejectForm, pipeline.reject_result, ("code", "public_reason", "hold_others", "seen")
    ),
    states.ASK: Act("Question sent to the owner", AskForm, pipeline.ask_owner, SEEN, reason="question"),
    states.OVERTURN: Act("Overturned", ReasonForm, pipeline.overturn_verdict, SEEN),
    states.UPHOLD: Act("Rejection upheld", ReasonForm, partial(pipeline.answer_appeal, granted=False), SEEN),
    states.GRANT: Act("Appeal granted", ReasonForm, partial(pipeline.answer_appeal, granted=True), SEEN),
    states.UNDO: Act("Undone", ReasonForm, pipeline.undo_decision, SEEN),
    states.NOTE: Act("Note saved", NoteForm, acts.note, reason="text"),
    states.LABEL: Act("Label added", LabelForm, acts.label, reason="name"),
    states.UNLABEL: Act("Label removed", LabelForm, acts.unlabel, reason="name"),
    states.RERUN: Act("Queued for re-judging", ReasonForm, acts.rerun),
    "suspend": Act("Account suspended", SuspendForm, partial(_on_account, pipeline.suspend_account), ("everywhere",)),
    "reinstate": Act(
        "Account reinstated", SuspendForm, partial(_on_account, pipeline.reinstate_account), ("everywhere",)
    ),
}


def form_for(act: str, data: Mapping[str, Any] | None = None, *, seen: int | None = None) -> CaseForm:
    return ACTS[act].form(data, auto_id=f"{act}_%s", initial={"seen": seen})


class HoldForm(ActForm):
    submission = forms.IntegerField(min_value=1, max_value=2**63 - 1, label="Submission", help_text="Its number.")
    reason = text_field(rows=2)


class AccountForm(ActForm):
    act = forms.ChoiceField(choices=[("suspend", "Suspend"), ("reinstate", "Reinstate")])
    name = forms.CharField(label="Name", max_length=150, widget=plain_input())
    reason = text_field(rows=2, help_text="The account’s owner reads this.")

    def __init__(self, data: Mapping[str, Any] | None, *, owned: QuerySet[Competition], everywhere: bool) -> None:
        """`owned`: competitions in which this person may act. `everywhere`: in all of them at once, too."""
        super().__init__(data, auto_id="account_%s")
        label = "every competition" if everywhere else None
        self.fields["where"] = forms.ModelChoiceField(owned, to_field_name="slug", required=False, empty_label=label)


class OwnerForm(ActForm):
    text = text_field(rows=4, error_messages={"required": "Write something first."})
