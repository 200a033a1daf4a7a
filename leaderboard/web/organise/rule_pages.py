"""A competition's quotas, and the thresholds that hold its results, with the effect of a change on past results."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from django import forms
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse

from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.review.rules.dry_run import MOST_RESULTS, dry_run, measured_of, unmeasured
from leaderboard.review.rules.screen import set_thresholds, thresholds_of
from leaderboard.review.rules.thresholds import OFF, RULES, Rule, Thresholds, changed, parse
from leaderboard.submissions.ledger import set_quotas
from leaderboard.submissions.quota import MOST, Bucket, parse_quotas
from leaderboard.web.forms import ActForm, ReasonForm, reason_field, sentence
from leaderboard.web.organise.gate import competition_page, posted, send, shell
from runner.wire import MODES

PARTS: Final = {"capacity": "At once", "per_day": "Per day"}
SETTABLE: Final = tuple(rule for rule in RULES.values() if not rule.is_fixed)
FIXED: Final = tuple(rule for rule in RULES.values() if rule.is_fixed)
MOST_CHARS: Final = 20


class QuotaForm(ActForm):
    """The quotas of a competition: two numbers per mode."""

    reason = reason_field()

    def __init__(self, current: Mapping[str, Bucket], data: Any = None) -> None:
        super().__init__(data)
        for mode in MODES:
            for part, label in PARTS.items():
                self.fields[f"{mode}_{part}"] = forms.IntegerField(
                    label=label, min_value=1, max_value=MOST, initial=getattr(current[mode], part)
                )

    def rows(self) -> list[tuple[str, BoundField, BoundField]]:
        return [(mode, self[f"{mode}_capacity"], self[f"{mode}_per_day"]) for mode in MODES]

    def arguments(self) -> dict[str, Any]:
        sent = self.cleaned_data
        quotas = {mode: {part: sent[f"{mode}_{part}"] for part in PARTS} for mode in MODES}
        return {"quotas": quotas, "reason": sent["reason"]}


class ThresholdForm(ActForm):
    """Thresholds of a competition. A missing field keeps the current value; an empty field means the usual value.

    Each rule has a text field, so that "off" can be typed; review/rules/thresholds.py defines the allowed values.
    `thresholds` holds all of them once the form is valid. The form is bound if any rule is sent.
    """

    def __init__(self, current: Thresholds, data: Mapping[str, str]) -> None:
        now = {rule.id: shown(current[rule.id]) for rule in SETTABLE}
        sent = {name: data[name] for name in now if name in data}
        super().__init__(now | sent if sent else None, initial=now)
        self.thresholds: Thresholds = current
        for rule in SETTABLE:
            self.fields[rule.id] = forms.CharField(
                required=False,
                max_length=MOST_CHARS,
                label=rule.id.replace("_", " "),
                widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off", "size": 8}),
                help_text=f"Held {rule.held} this value. Usually {rule.usual:g}; {rule.least:g} to {rule.most:g}"
                f"{', or off' if rule.may_be_off else ''}.",
            )

    def clean(self) -> dict[str, Any]:
        sent = super().clean() or self.cleaned_data
        typed = {name: _number(text) for name, text in sent.items() if text}
        for name, value in typed.items():
            try:
                parse({name: value})
            except UserError as error:
                self.add_error(name, sentence(error.message))
        if not self.errors:
            self.thresholds = parse(typed)
        return sent

    def rows(self) -> Iterator[tuple[Rule, BoundField]]:
        return ((rule, self[rule.id]) for rule in SETTABLE)


def _number(text: str) -> object:
    plain = text.strip().lower()
    try:
        return OFF if plain == OFF else float(plain.replace(",", "."))
    except ValueError:
        return text


def shown(value: float | None) -> str:
    return OFF if value is None else f"{value:g}"


@competition_page("GET", "POST")
def quotas(request: HttpRequest, competition: Competition) -> HttpResponse:
    def act(*, quotas: dict[str, Any], **rest: Any) -> None:
        set_quotas(competition=competition, quotas={**competition.quotas, **quotas}, **rest)

    form = QuotaForm(parse_quotas(competition.quotas), posted(request))
    answer = send(request, form, act, done="Saved. The new quotas apply to submissions from now on.")
    return answer or shell(request, competition, "quotas", {"form": form})


@competition_page("GET", "POST")
def thresholds(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show the thresholds and, for changed values, the effect on past results; a POST applies them."""
    current = thresholds_of(competition)
    form = ThresholdForm(current, request.POST if request.method == "POST" else request.GET)
    why = ReasonForm(posted(request))
    is_tried = form.is_bound and form.is_valid()
    if is_tried:
        act = partial(set_thresholds, competition=competition, thresholds=changed(form.thresholds))
        if answer := send(request, why, act, done="Saved. The new thresholds apply to results from now on."):
            return answer
    context: dict[str, Any] = {"form": form, "why": why, "rows": form.rows(), "fixed": FIXED, "most": MOST_RESULTS}
    context["is_usual"] = not competition.thresholds
    if is_tried:
        context |= {
            "run": dry_run(measured_of(competition), current, form.thresholds),
            "unmeasured": unmeasured(competition),
            "changes": [
                (rule.id, shown(current[rule.id]), shown(form.thresholds[rule.id]))
                for rule in SETTABLE
                if current[rule.id] != form.thresholds[rule.id]
            ],
        }
    return shell(request, competition, "thresholds", context)
