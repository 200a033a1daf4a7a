"""Tags that render the rows and the filters of the reviewers' queue, in Python for the reason that ranking.py gives."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape

from django import template
from django.template.context import Context
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from leaderboard.entrants.models import shown_name
from leaderboard.review.case import states
from leaderboard.web.review.queue import STATES, TONES, Row, is_claimed, state_at
from leaderboard.web.templatetags.photofinish import when, words
from leaderboard.wording.figures import speedup

register = template.Library()


@register.simple_tag
def choice_options(options: Sequence[tuple[str, str]], chosen: str) -> SafeString:
    """Render the options of a filter."""
    parts = []
    for value, text in options:
        selected = " selected" if value == chosen else ""
        parts.append(f'<option value="{escape(value)}"{selected}>{escape(text)}</option>')
    return SafeString("".join(parts))


@register.simple_tag(takes_context=True)
def queue_rows(
    context: Context, rows: Sequence[Row], findings: Mapping[int, Sequence[tuple[str, str]]], now: datetime
) -> SafeString:
    """Render the rows of a page. `findings`: rules and sentences by result."""
    token = f'<input type="hidden" name="csrfmiddlewaretoken" value="{escape(str(context["csrf_token"]))}">'
    parts = []
    for row in rows:
        is_open = row.state in states.OPEN
        claimed_by = row.claimed_by_name if is_claimed(row, now) else None
        cells = (
            f"<td>{_choose(row) if is_open else ''}</td>",
            f'<td class="name"><span>{_case(row)}</span></td>',
            f'<td data-label="Board"><span>{escape(row.title)} '
            f'<span class="detail line figure">{escape(row.hardware)}</span></span></td>',
            f'<td class="num" data-label="Speedup">{speedup(row.ratio)}</td>',
            f'<td data-label="Why" class="why-held"><span>{_why(row, findings.get(row.result_id, ()))}</span></td>',
            f'<td data-label="State"><span>{_state(row, claimed_by, now)}</span></td>',
            f'<td class="num muted" data-label="Since">{when(row.opened_at)}</td>',
            f"<td>{_claim(row, token) if is_open and not claimed_by else ''}</td>",
        )
        inner = "".join(f"\n    {cell}" for cell in cells)
        parts.append(f"<tr data-case>{inner}\n  </tr>")
    return SafeString("".join(parts))


def _choose(row: Row) -> str:
    box = f'<input type="checkbox" form="chosen" name="case" value="{row.result_id}">'
    return f'<label class="check">{box}<span class="visually-hidden">Choose submission {row.submission}</span></label>'


def _case(row: Row) -> str:
    name = shown_name(row.entrant, row.pseudonym, row.revealed_at)
    team = f" for {escape(name)}" if name != row.owner else ""
    link = f'<a href="/review/{row.result_id}"><span class="visually-hidden">Submission </span>{row.submission}</a>'
    return f'{link} <span class="detail line">{escape(row.owner)}{team}</span>'


def _why(row: Row, findings: Sequence[tuple[str, str]]) -> str:
    reasons = [
        f'<span class="one">{_code(rule)} <span class="detail">{escape(sentence)}</span></span>'
        for rule, sentence in findings
    ]
    return "".join(reasons) or _code(row.reason)


def _code(code: str) -> str:
    return f"<strong>{escape(capfirst(words(code)))}</strong>"


def _state(row: Row, claimed_by: str | None, now: datetime) -> str:
    state = state_at(row, now)
    parts = [f'<span class="chip {TONES.get(state, "")}">{STATES[state]}</span>']
    parts += [f'<span class="detail line">by {escape(claimed_by)}</span>'] if claimed_by else []
    parts += [f'<span class="label">{escape(label)}</span>' for label in row.labels]
    return " ".join(parts)


def _claim(row: Row, token: str) -> str:
    label = f'Claim<span class="visually-hidden"> submission {row.submission}</span>'
    button = f'<button class="button quiet small" data-claim>{label}</button>'
    return f'<form method="post" action="/review/{row.result_id}/claim">{token}{button}</form>'
