"""A case with its evidence side by side, as a reviewer's page shows it, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import has_role
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.judging.verdicts import judged_since, newest_verdicts
from leaderboard.review.case import log, states
from leaderboard.review.models import Case, Decision, Finding, Hint
from leaderboard.review.permissions import cases_for, may_review
from leaderboard.review.reasons import REASONS
from leaderboard.review.suspension import suspensions_of
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import kernel_lines
from leaderboard.standings.ranking.ranking import pool
from leaderboard.standings.read.podium import PODIUM, would_rank
from leaderboard.standings.read.table import run_of
from leaderboard.submissions.models import Submission
from leaderboard.web.figures import significant
from leaderboard.web.review import clocks, diffs, evidence, heat
from leaderboard.web.review.forms import form_for
from leaderboard.web.review.queue import STATES, TONES, is_claimed, state_at
from leaderboard.web.submissions import view

OTHERS: Final = 20  # listed published runs of its kernel
HISTORY: Final = 20  # of the entrant's submissions on this board
MOST_DRAWN: Final = 6  # cases whose clocks are drawn
SAMPLES: Final = 12  # shown samples of a finding
OTHER: Final = "other_submission"  # key in a finding's figures: the submission with similar code
WORDS: Final = {
    states.CLAIM: "claimed it",
    states.RELEASE: "released it",
    states.ASK: "asked the owner",
    states.ANSWER: "answered",
    states.CLEAR: "cleared it",
    states.REJECT: "rejected it",
    states.OVERTURN: "overturned the verdict",
    states.APPEAL: "appealed",
    states.UPHOLD: "upheld the rejection",
    states.GRANT: "granted the appeal",
    states.UNDO: "undid",
    states.NOTE: "noted",
    states.LABEL: "added a label",
    states.UNLABEL: "took off a label",
    states.HOLD: "held it by hand",
    states.HOLD_ALONG: "held it along with another run",
    states.RERUN: "had it judged again",
}
DECISIONS: Final = (states.CLEAR, states.REJECT, states.ASK, states.OVERTURN, states.GRANT, states.UPHOLD, states.UNDO)
SHOWN: Final = (  # act, label of its button, its class; in this order
    (states.CLEAR, "Clear", ""),
    (states.REJECT, "Reject", "danger"),
    (states.ASK, "Ask the owner", "quiet"),
    (states.OVERTURN, "Overturn the verdict", ""),
    (states.GRANT, "Grant the appeal", ""),
    (states.UPHOLD, "Uphold the rejection", "danger"),
    (states.UNDO, "Undo the last decision", "quiet"),
)


@dataclass(frozen=True)
class Compared:
    """The code beside another submission's."""

    title: str
    other: Submission
    diff: diffs.Diff


def find(user: User, pk: int) -> Case | None:
    """Return a case, or None if there is no such case or this person may not review it."""
    cases = cases_for(user).select_related(
        "board__competition",
        "board__problem",
        "claimed_by",
        "result__attempt__runner",
        "result__attempt__submission__owner",
        "result__attempt__submission__entrant",
        "result__attempt__submission__board__competition",
        "result__attempt__submission__board__problem",
    )
    return cases.filter(pk=pk).first()


def ranking(user: User, submission: int) -> Result:
    """Return the ranked result of a submission that a reviewer wants to hold.

    Raises the same UserError (404) for an unknown submission and for a caller who may not review it.
    """
    result = newest_verdicts(pk=submission).first()
    if result is None or not may_review(user, result.attempt.submission):
        said = "is no result that ranks in a competition that you review"
        raise UserError("submission", submission, said, status=404)
    return result


def context(row: Case, user: User, now: datetime) -> dict[str, Any]:
    result = row.result
    submission = result.attempt.submission
    lines = list(Decision.objects.filter(result=result).select_related("actor").order_by("id"))
    standing = log.standing_of(row, [log.plain(line) for line in lines])
    counts = Result.objects.filter(~judged_since("attempt"), pk=result.pk).exists()
    may_decide = counts and has_role(user, row.board.competition, Role.REVIEWER)
    acts = possible(standing, user, now) if may_decide else {}
    rank = would_rank(result)
    return {
        "row": row,
        "sub": view.shown(submission),
        "submission": submission,
        "result": result,
        "state": STATES[state_at(row, now)],
        "tone": TONES[state_at(row, now)],
        "claimed_by": row.claimed_by if is_claimed(row, now) else None,
        "is_mine": is_claimed(row, now) and row.claimed_by_id == user.account_id,
        "standing": standing,
        "rank": rank,
        "takes_two": row.board.competition.two_person_rule and rank is not None and rank <= PODIUM,
        "may_decide": may_decide,
        "acts": acts,
        "acts_shown": [shown for shown in SHOWN if shown[0] in acts],
        "open_states": states.OPEN,
        "log": told(lines, standing),
        "last_line": lines[-1].pk if lines else None,
        "others": list(kernel_lines(submission).exclude(submission=submission).order_by("submission_id")[:OTHERS]),
        "suspensions": suspensions_of(submission.owner, row.board.competition),
        "may_suspend": has_role(user, row.board.competition, Role.OWNER) and not submission.owner.is_staff,
        "findings": [shown_finding(finding) for finding in result.findings.all()],
        "hint": Hint.objects.filter(submission=submission).first(),
        **_evidence(result, submission, user),
    }


def possible(standing: states.Standing, user: User, now: datetime) -> dict[str, str]:
    """Return acts that fit the case's state: act → reason against it; "": it is possible now."""
    fitting = [act for act in (*states.UNDOABLE, states.UNDO) if _fits(standing, act)]
    return {act: states.problem(standing, act, actor=user.account_id, at=now) for act in fitting}


def _fits(standing: states.Standing, act: str) -> bool:
    if act == states.OVERTURN:
        return standing.state == states.REJECTED and standing.is_by_itself
    return standing.last is not None if act == states.UNDO else standing.state in states.FROM[act]


def told(lines: Sequence[Decision], standing: states.Standing) -> list[dict[str, Any]]:
    """Return the log for display, the newest line first; undone lines are struck through."""
    kept = {line.id for line in states.standing_rows(log.plain(line) for line in lines)}
    acts = {line.pk: WORDS[line.act] for line in lines}
    return [
        {
            "line": line,
            "said": WORDS[line.act],
            "about": acts.get(line.about_id) if line.act == states.UNDO and line.about_id else "",
            "code": REASONS.get(line.code, "") if line.act == states.REJECT else "",
            "is_undone": line.pk not in kept and line.act != states.UNDO,
            "is_decision": line.act in DECISIONS,
            "has_text": line.act not in (states.RELEASE,),
        }
        for line in reversed(lines)
    ]


def shown_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding with its figures as pairs, and threshold and samples if the rule kept them."""
    samples = getattr(finding, "samples", None) or {}
    return {
        "finding": finding,
        "threshold": getattr(finding, "threshold", None),
        "figures": [(name.replace("_", " "), _short(value)) for name, value in sorted(finding.figures.items())],
        "samples": [(str(name).replace("_", " "), _short(value)) for name, value in _pairs(samples)][:SAMPLES],
    }


def forms_of(acts: dict[str, str], seen: int | None) -> dict[str, Any]:
    names = [*acts, states.CLAIM, states.RELEASE, states.NOTE, states.LABEL, states.RERUN, "suspend", "reinstate"]
    forms = {act: form_for(act, seen=seen) for act in names}
    for form in forms.values():
        form.describe()
    return forms


def _evidence(result: Result, submission: Submission, user: User) -> dict[str, Any]:
    incumbent = _incumbent(result, submission)
    known = evidence.evidence_of(result.report)
    timed = evidence.timings(known)
    drawn = [(one, clocks.panels(one)) for one in timed[:MOST_DRAWN]]
    return {
        "case_rows": evidence.case_rows(result.report, known, incumbent.report if incumbent else None),
        "incumbent": incumbent.attempt.submission if incumbent else None,
        "drawn": [(one, panels) for one, panels in drawn if panels],
        "not_drawn": len(timed) - len(drawn),
        "strip": heat.strip(timed),
        "fingerprint": sorted(known.fingerprint.items())[:24] if known else [],
        "compared": _compared(result, submission, user),
        "history": _history(submission),
    }


def _incumbent(result: Result, submission: Submission) -> Result | None:
    """Return the first run of the best kernel of another entrant on the board, in this epoch."""
    entries = Entry.objects.filter(board=submission.board_id, epoch=result.epoch)
    values = pool(run_of(entry) for entry in entries.exclude(entrant=submission.entrant_id))
    if not values:
        return None
    found = Result.objects.filter(attempt__entry__submission=values[0].submissions[0])
    return found.select_related("attempt__submission__entrant").first()


def _compared(result: Result, submission: Submission, user: User) -> list[Compared]:
    others: list[tuple[str, Submission | None]] = [
        ("their best before this", _own_best(submission)),
        ("the most similar other", _similar(result, submission, user)),
    ]
    return [
        Compared(title, other, diffs.unified(other.source, submission.source))
        for title, other in others
        if other is not None
    ]


def _own_best(submission: Submission) -> Submission | None:
    """Return the entrant's fastest earlier published submission; else the last earlier submission in ranked mode."""
    before = Submission.objects.filter(
        board=submission.board_id, entrant=submission.entrant_id, mode="ranked", pk__lt=submission.pk
    )
    fastest = before.filter(entry__isnull=False).order_by("entry__ratio").first()
    return fastest or before.order_by("-pk").first()


def _similar(result: Result, submission: Submission, user: User) -> Submission | None:
    """Return the similar submission that a finding names.

    Never the code of a competition in which this reviewer has no role.
    """
    named = [finding.figures.get(OTHER) for finding in result.findings.all()]
    pk = next((pk for pk in named if isinstance(pk, int)), 0)
    other = Submission.objects.filter(pk=pk).select_related("entrant", "board__competition").first()
    return other if other is not None and has_role(user, other.board.competition, Role.VIEWER) else None


def _history(submission: Submission) -> list[view.Shown]:
    theirs = Submission.objects.filter(board=submission.board_id, entrant=submission.entrant_id)
    return view.shown_list(theirs.select_related("owner", "entrant", "board__problem").order_by("-pk")[:HISTORY])


def _pairs(samples: Any) -> list[tuple[Any, Any]]:
    return sorted(samples.items()) if isinstance(samples, dict) else list(enumerate(samples))


def _short(value: object) -> str:
    """Format a figure as text: no more digits than help, lists cut."""
    if isinstance(value, bool) or value is None:
        return "–" if value is None else ("yes" if value else "no")
    if isinstance(value, float):
        return significant(value, 5) if 1e-4 <= abs(value) < 1e12 else f"{value:.5g}"
    if isinstance(value, list):
        shown = ", ".join(_short(item) for item in value[:SAMPLES])
        return f"{shown} … ({len(value)})" if len(value) > SAMPLES else shown
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_short(item)}" for key, item in list(value.items())[:SAMPLES])
    return str(value)[:200]
