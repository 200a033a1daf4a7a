"""The form of a competition's thresholds.

Each rule has a text field, so that "off" can be typed. review/rules/thresholds.py defines the allowed values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django import forms
from django.forms.boundfield import BoundField

from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.errors import UserError
from leaderboard.review.rules.thresholds import OFF, RULES, Rule, Thresholds, changed, parse
from leaderboard.web.forms import Described

SETTABLE: Final = tuple(rule for rule in RULES.values() if not rule.is_fixed)
FIXED: Final = tuple(rule for rule in RULES.values() if rule.is_fixed)
MOST_CHARS: Final = 20


class ThresholdForm(Described, forms.Form):
    """Thresholds of a competition. A missing field keeps the current value; an empty field means the usual value.

    `thresholds` holds all of them once the form is valid. The form is bound if any rule is sent.
    """

    def __init__(self, current: Thresholds, data: Mapping[str, str]) -> None:
        now = {rule.id: said(current[rule.id]) for rule in SETTABLE}
        sent = {name: data[name] for name in now if name in data}
        super().__init__(now | sent if sent else None, initial=now)
        self.thresholds: Thresholds = current
        for rule in SETTABLE:
            widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off", "size": 8})
            self.fields[rule.id] = forms.CharField(
                required=False,
                max_length=MOST_CHARS,
                label=rule.id.replace("_", " "),
                widget=widget,
                help_text=hint(rule),
            )

    def clean(self) -> dict[str, Any]:
        told = super().clean() or self.cleaned_data
        typed = {name: _number(text) for name, text in told.items() if text}
        for name, value in typed.items():
            try:
                parse({name: value})
            except UserError as error:
                self.add_error(name, error.message[:1].upper() + error.message[1:] + ".")
        if not self.errors:
            self.thresholds = parse(typed)
        return told

    def rows(self) -> Iterator[tuple[Rule, BoundField]]:
        return ((rule, self[rule.id]) for rule in SETTABLE)

    def unusual(self) -> dict[str, Any]:
        return changed(self.thresholds)


class ApplyForm(Described, forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Kept with the change, for all who organise with you.",
        error_messages={"required": "Say why: the reason is kept with the change."},
    )


def said(value: float | None) -> str:
    return OFF if value is None else f"{value:g}"


def hint(rule: Rule) -> str:
    side = "Above" if rule.held == "above" else "Below"
    off = ", or off" if rule.may_be_off else ""
    return f"{side} it: held. Usually {rule.usual:g}; {rule.least:g} to {rule.most:g}{off}."


def _number(text: str) -> object:
    plain = text.strip().lower()
    try:
        return OFF if plain == OFF else float(plain.replace(",", "."))
    except ValueError:
        return text
