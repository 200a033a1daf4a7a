"""Tag that renders the rows of a ranking.

A board's page has a hundred rows of eight cells, and a template looks up each value and condition by name. Python
renders the same rows in a fraction of the time, so this table and the reviewers' queue (review_queue.py) are no
templates.
"""

from collections.abc import Sequence
from html import escape

from django import template
from django.utils.safestring import SafeString

from leaderboard.competitions.models import HUMAN, Competition
from leaderboard.web.boards.standing import BoardRow
from leaderboard.web.templatetags.people import entrant_url
from leaderboard.web.templatetags.photofinish import rank_number, when
from leaderboard.wording.figures import duration_us, interval, percent, speedup

register = template.Library()


@register.simple_tag
def ranking_rows(
    rows: Sequence[BoardRow], competition: Competition, fold: int, *, is_board: bool, compact: bool
) -> SafeString:
    """Render the rows of a table, in a second body from row `fold` on; 0: in one.

    `is_board`: with the details of a board's own page. `compact`: without the time of the submission.
    """
    parts = []
    for at, row in enumerate(rows):
        if fold and at == fold:
            parts.append('</tbody><tbody class="rest">')
        cells = [_rank(row), _name(row, competition, is_board=is_board), _speedup(row), _strip(row)]
        cells += [_interval(row), _time(row, is_board=is_board)]
        cells += [_gap(row)] if is_board else []
        cells += [] if compact else [_when(row)]
        own = " own" if row.own else ""
        inner = "".join(f"\n      {cell}" for cell in cells)
        parts.append(f'\n    <tr class="place-{row.ranked.rank}{own}">{inner}\n    </tr>')
    return SafeString("".join(parts))


def _rank(row: BoardRow) -> str:
    title = ' title="Tied within the noise"' if row.ranked.is_tied else ""
    label = '<span class="visually-hidden">Rank </span>'
    return f'<td><span class="rank"{title}><span>{label}{rank_number(row.ranked)}</span></span></td>'


def _name(row: BoardRow, competition: Competition, *, is_board: bool) -> str:
    who = row.ranked.entry.entrant
    parts = [f'<a href="{escape(entrant_url(who, competition))}">{escape(who.shown_name)}</a>']
    if row.own:
        parts.append('<span class="detail">(you)</span>')
    details = [escape(who.affiliation), _kind(row)] if is_board else []
    details.append(f"mean of {row.runs} runs" if row.runs > 1 else "")
    parts += [f'<span class="detail line">{detail}</span>' for detail in details if detail]
    if row.record:
        title = "First place in a contest takes five further runs beside the previous leader"
        parts.append(f'<span class="detail line" title="{title}">{escape(row.record)}</span>')
    return f'<td class="name"><span>{" ".join(parts)}</span></td>'


def _kind(row: BoardRow) -> str:
    who, model = row.ranked.entry.entrant, row.ranked.model
    kinds = ["team"] if who.is_team else []
    if who.division == HUMAN:
        kinds += [f"written by {model}"] if model else []
    else:
        kinds.append(f"{who.division}: {model or who.model_name}")
        kinds += [f"${who.cost_usd} declared"] if who.cost_usd is not None else []
    return escape(", ".join(kinds))


def _speedup(row: BoardRow) -> str:
    figure, submission = speedup(row.ranked.value.ratio), row.ranked.entry.submission_id
    link = f'<a href="/entries/{submission}" title="times as fast as the baseline: this entry">{figure}</a>'
    return f'<td class="num speedup" data-label="Speedup">{link}</td>'


def _strip(row: BoardRow) -> str:
    strip, band = row.strip, ""
    if strip.band_width:
        band = f'<rect class="band" x="{strip.band_start}%" y="3" width="{strip.band_width}%" height="20"/>'
    return (
        '<td class="wide"><svg class="strip" aria-hidden="true"><line class="lane" x1="0" x2="100%" y1="13" y2="13"/>'
        f'<rect class="run" x="0" y="8" width="{strip.run}%" height="10"/>{band}'
        f'<rect class="mark" x="{strip.run}%" y="1" width="2" height="24"/>'
        f'<rect class="base" x="{strip.base}%" y="5" width="1.5" height="16"/></svg></td>'
    )


def _interval(row: BoardRow) -> str:
    return f'<td class="num extra" data-label="95 % interval">{escape(interval(row.ranked.value.half_width))}</td>'


def _time(row: BoardRow, *, is_board: bool) -> str:
    light = ""
    if is_board and row.ranked.entry.light:
        title = "Share of the speed of light: what this hardware could do at all"
        light = f' <span class="detail line" title="{title}">{percent(row.ranked.entry.light)} of light</span>'
    return f'<td class="num extra" data-label="Time">{duration_us(row.ranked.score_us)}{light}</td>'


def _gap(row: BoardRow) -> str:
    if row.gap:
        title = "Less time than this kernel takes, to equal the line above"
        time = f'<span class="detail line">{duration_us(row.gap.time_us)}</span>'
        gap = f'<span title="{title}">{percent(row.gap.share)} {time}</span>'
    else:
        word = "tied" if row.ranked.is_tied else "leads" if row.ranked.rank == 1 else "–"
        gap = f'<span class="muted">{word}</span>'
    return f'<td class="num extra gap" data-label="To the next">{gap}</td>'


def _when(row: BoardRow) -> str:
    return f'<td class="num extra muted" data-label="When">{when(row.ranked.entry.submitted_at)}</td>'
