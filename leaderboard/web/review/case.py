"""A case as page and API show it: with its evidence for reviewers, in a constant number of queries; for its owner."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.shortcuts import get_object_or_404

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import has_role
from leaderboard.entrants.models import in_group
from leaderboard.errors import UserError
from leaderboard.judging.archive import look
from leaderboard.judging.models import Result
from leaderboard.judging.verdicts import judged_since, newest_verdicts
from leaderboard.review.case import log, states
from leaderboard.review.case.acts import REASONS, appeal_until
from leaderboard.review.models import Case, Decision, Finding, Hint
from leaderboard.review.permissions import cases_for, is_party, may_review
from leaderboard.review.standing import median_wait
from leaderboard.review.suspension import suspensions_of
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import kernel_lines
from leaderboard.standings.ranking.ranking import pool
from leaderboard.standings.read.records import PODIUM, would_rank
from leaderboard.standings.read.table import run_of
from leaderboard.submissions.diff import Diff, unified
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import code_for
from leaderboard.web.review import evidence
from leaderboard.web.review.acts import OwnerForm
from leaderboard.web.review.queue import shown_state
from leaderboard.web.submissions import view
from leaderboard.web.submissions.meanings import TELEMETRY
from leaderboard.wording.figures import significant

OTHERS: Final = 20  # listed published runs of its kernel
HISTORY: Final = 20  # of the entrant's submissions on this board
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
    states.NOTE: "wrote a note",
    states.LABEL: "added a label",
    states.UNLABEL: "removed a label",
    states.HOLD: "held it by hand",
    states.HOLD_ALONG: "held it along with another run",
    states.RERUN: "had it judged again",
}
SHOWN: Final = (  # act, label of its button, its class; in this order
    (states.CLEAR, "Clear", ""),
    (states.REJECT, "Reject", "danger"),
    (states.ASK, "Ask the owner", "quiet"),
    (states.OVERTURN, "Overturn the verdict", ""),
    (states.GRANT, "Grant the appeal", ""),
    (states.UPHOLD, "Uphold the rejection", "danger"),
    (states.UNDO, "Undo the last decision", "quiet"),
)
DECISIONS: Final = {act for act, _, _ in SHOWN}


def find(user: User, pk: int) -> Case:
    """Return a case. Raises Http404 if there is none, and if this person may not review it."""
    of_case = ("board__competition", "board__problem", "claimed_by", "result__attempt__runner")
    of_submission = ("owner", "entrant", "board__competition", "board__problem")
    parts = (*of_case, *(f"result__attempt__submission__{part}" for part in of_submission))
    return get_object_or_404(cases_for(user).select_related(*parts), pk=pk)


def ranking(user: User, submission: int) -> Result:
    """Return the ranked result of a submission that a reviewer wants to hold.

    Raises the same UserError (404) for an unknown submission and for a caller who may not review it.
    """
    result = newest_verdicts(pk=submission).first()
    if result is None or not may_review(user, result.attempt.submission):
        message = "has no result that ranks in a competition that you review"
        raise UserError("submission", submission, f"submission {submission} {message}", status=404)
    return result


def context(row: Case, user: User, now: datetime) -> dict[str, Any]:
    result, competition = row.result, row.board.competition
    submission = result.attempt.submission
    lines = list(Decision.objects.filter(result=result).select_related("actor").order_by("id"))
    standing = log.standing_of(row, [log.plain(line) for line in lines])
    counts = Result.objects.filter(~judged_since("attempt"), pk=result.pk).exists()
    may_decide = counts and has_role(user, competition, Role.REVIEWER)
    acts = possible(standing, user, now) if may_decide else {}
    rank, claimed = would_rank(result), shown_state(row, now)
    opened = view.Opened(submission, user)
    return {
        **claimed,
        "row": row,
        "sub": opened,
        "submission": submission,
        "result": result,
        "is_mine": claimed["claimed_by"] is not None and row.claimed_by_id == user.account_id,
        "standing": standing,
        "rank": rank,
        "takes_two": competition.two_person_rule and rank is not None and rank <= PODIUM,
        "may_decide": may_decide,
        "acts": acts,
        "acts_shown": [shown for shown in SHOWN if shown[0] in acts],
        "open_states": states.OPEN,
        "log": shown_log(lines),
        "last_line": lines[-1].pk if lines else None,
        "others": list(kernel_lines(submission).exclude(submission=submission).order_by("submission_id")[:OTHERS]),
        "suspensions": suspensions_of(submission.owner, competition),
        "may_suspend": has_role(user, competition, Role.OWNER) and not submission.owner.is_staff,
        "telemetry_said": TELEMETRY.get(result.telemetry, ""),
        "findings": [shown_finding(finding) for finding in result.findings.all()],
        "hint": Hint.objects.filter(submission=submission).first() if opened.code is not None else None,
        **_evidence(result, submission),
        "compared": _compared(result, submission, user),
    }


def possible(standing: states.Standing, user: User, now: datetime) -> dict[str, str]:
    """Return acts that fit the case's state: act → reason against it; "": it is possible now."""
    fitting = [act for act in states.UNDOABLE if standing.state in states.FROM[act]]
    if not standing.is_by_itself and states.OVERTURN in fitting:
        fitting.remove(states.OVERTURN)
    if standing.last is not None:
        fitting.append(states.UNDO)
    return {act: states.problem(standing, act, actor=user.account_id, at=now) for act in fitting}


def shown_log(lines: Sequence[Decision]) -> list[dict[str, Any]]:
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
            "has_text": line.act != states.RELEASE,
        }
        for line in reversed(lines)
    ]


def shown_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding with its figures and samples as pairs of texts."""
    samples = finding.samples or {}
    pairs = sorted(samples.items()) if isinstance(samples, dict) else list(enumerate(samples))
    return {
        "finding": finding,
        "threshold": finding.threshold,
        "figures": [(name.replace("_", " "), _short(value)) for name, value in sorted(finding.figures.items())],
        "samples": [(str(name).replace("_", " "), _short(value)) for name, value in pairs[:SAMPLES]],
    }


def _evidence(result: Result, submission: Submission) -> dict[str, Any]:
    """Return the report's evidence, beside the first run of the best kernel of another entrant in this epoch."""
    of_board = {"board": submission.board_id, "entrant": submission.entrant_id}
    entries = Entry.objects.filter(in_group(submission.group), board=submission.board_id, epoch=result.epoch)
    values = pool(run_of(entry) for entry in entries.exclude(entrant=submission.entrant_id))
    runs = Result.objects.select_related("attempt__submission__entrant")
    incumbent = runs.filter(attempt__entry__submission=values[0].submissions[0]).first() if values else None
    report, problem = look(result)
    history = Submission.objects.filter(**of_board).select_related("owner", "entrant", "board__problem")
    return {
        **evidence.drawings(report, look(incumbent).report if incumbent else None),
        "report_problem": problem,
        "incumbent": incumbent.attempt.submission if incumbent else None,
        "history": view.shown_list(history.order_by("-pk")[:HISTORY]),
    }


def _compared(result: Result, submission: Submission, user: User) -> list[dict[str, Any]]:
    """Return the code beside the entrant's best earlier code, and beside the most similar code of somebody else.

    The former is their fastest published submission, else their last ranked one. A finding names the latter; code of a
    competition in which this reviewer has no role is never shown.
    """
    before = Submission.objects.filter(
        board=submission.board_id, entrant=submission.entrant_id, mode="ranked", pk__lt=submission.pk
    )
    fastest = before.filter(entry__isnull=False).order_by("entry__ratio").first()
    named = (finding.figures.get(OTHER) for finding in result.findings.all())
    pk = next((pk for pk in named if isinstance(pk, int)), 0)
    similar = Submission.objects.filter(pk=pk).select_related("entrant", "board__competition").first()
    if similar is not None and not has_role(user, similar.board.competition, Role.VIEWER):
        similar = None
    others = (
        ("their best before this", fastest or before.order_by("-pk").first()),
        ("the most similar other", similar),
    )
    return [
        {"title": title, "other": other, "diff": _difference(other, submission, user)}
        for title, other in others
        if other is not None
    ]


def _difference(other: Submission, submission: Submission, user: User) -> Diff:
    (before, one), (after, another) = code_for(user, other), code_for(user, submission)
    if before is None or after is None:
        return Diff(refusal=f"The code is taken down: {another or one}")
    return unified(before, after)


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


def for_owner(submission: Submission, viewer: User, now: datetime, form: OwnerForm | None = None) -> dict[str, Any]:
    """Return the template context; without a case, only suspensions. `case_link`: the case's page for reviewers.

    It never contains the reviewers' names, their internal notes or the rule that held the result: the aims of a rule
    are for reviewers only.
    """
    row = case_of(submission)
    suspensions = {"suspensions": suspensions_of(submission.owner, submission.board.competition)}
    if row is None:
        return suspensions
    lines = list(Decision.objects.filter(result=row.result_id).order_by("id"))
    plain = [log.plain(line) for line in lines]
    standing = log.standing_of(row, plain)
    by_id: dict[int | None, Decision] = {line.pk: line for line in lines}
    rejection, appeal = by_id.get(standing.rejection), by_id.get(standing.appeal)
    kept = {line.id for line in states.standing_rows(plain)}
    answers = [line for line in lines if line.act == states.UPHOLD and line.about_id == standing.appeal]
    until = appeal_until(row, standing)
    may_appeal = until is not None and until > now
    may_act = is_party(viewer, submission)
    return suspensions | {
        "review_case": row,
        "review_state": standing.state,
        "is_overturned": row.origin == Case.BY_ITSELF and not standing.is_by_itself,
        "median_wait": median_wait(submission.board.competition, now) if standing.state in states.HELD else None,
        "question": by_id.get(standing.question),
        "rejection": rejection,
        "rejection_code": REASONS.get(rejection.code, "") if rejection else "",
        "appeal": appeal,
        "appeal_answer": next((line for line in reversed(answers) if appeal and line.pk in kept), None),
        "appeal_until": until if may_appeal else None,
        "may_answer": may_act and standing.question in by_id,
        "may_appeal": may_act and may_appeal,
        "review_form": form or OwnerForm(auto_id="review_%s"),
        "case_link": f"/review/{row.pk}" if cases_for(viewer).filter(pk=row.pk).exists() else "",
    }


def case_of(submission: Submission) -> Case | None:
    """Return the case of the current result."""
    cases = Case.objects.filter(~judged_since("result__attempt"), result__attempt__submission=submission)
    return cases.select_related("board").order_by("-result").first()
