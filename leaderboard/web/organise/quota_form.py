"""The quotas of a competition as a form: two numbers per mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms.boundfield import BoundField

from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.submissions.quota import MOST, Bucket
from leaderboard.web.forms import Described
from runner.wire import MODES

PARTS = ("capacity", "per_day")


class QuotaForm(Described, forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Kept with the change, for all who organise with you.",
        error_messages={"required": "Say why: the reason is kept with the change."},
    )

    def __init__(self, current: Mapping[str, Bucket], data: Any = None) -> None:
        super().__init__(data)
        for mode in MODES:
            for part, label in zip(PARTS, ("At once", "A day"), strict=True):
                self.fields[f"{mode}_{part}"] = forms.IntegerField(
                    label=label, min_value=1, max_value=MOST, initial=getattr(current[mode], part)
                )

    def rows(self) -> list[tuple[str, BoundField, BoundField]]:
        return [(mode, self[f"{mode}_capacity"], self[f"{mode}_per_day"]) for mode in MODES]

    def quotas(self) -> dict[str, dict[str, int]]:
        return {mode: {part: self.cleaned_data[f"{mode}_{part}"] for part in PARTS} for mode in MODES}
