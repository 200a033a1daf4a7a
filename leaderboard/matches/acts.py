"""Acts of a match: open, predict, send, attach, publish, close, and the match of the week.

A version is an ordinary submission of mode benchmark, with the same quota, checks and verdict as all. The
match is locked last, after the accounts and boards that `pipeline.submit` locks.
"""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Max, Q

from leaderboard import pipeline
from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.permissions import check_staff
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board
from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.entrants.enter import enter_by_submitting
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.permissions import lock_person
from leaderboard.errors import RateLimited, UserError
from leaderboard.matches.models import (
    BOUNDS,
    HUMAN,
    LEAST_WHY_CHARS,
    MACHINE,
    MACHINES,
    MOST_ANSWER_CHARS,
    MOST_PROMPT_CHARS,
    MOST_REASON_CHARS,
    MOST_SPEEDUP,
    MOST_WHY_CHARS,
    Choice,
    Match,
    Prediction,
    Version,
)
from leaderboard.matches.permissions import check_human, check_operator, is_member, is_operator, is_staff_of
from leaderboard.review.suspension import check_not_suspended
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import MODEL, Submission
from runner.wire import BENCHMARK

MOST_OPEN: Final = 20  # of an entrant, without works that await grading: their number is the teachers' choice
MOST_A_DAY: Final = 20  # of an entrant
MOST_VERSIONS: Final = 200  # of a side
MOST_ATTACHED: Final = 64  # submissions of an act
MOST_TURNS: Final = 1_000
MOST_NOTE_CHARS: Final = 300


@dataclass(frozen=True)
class Exchange:
    """The dialogue behind a machine's kernel; "" and None: not kept."""

    prompt: str = ""
    answer: str = ""
    turn: int | None = None


@transaction.atomic
def open_match(
    *, board: Board, opener: User, model: str, machine: str, now: datetime, human: Entrant | None = None
) -> Match:
    """Open a match on a board that the opener sees. The opener becomes its operator.

    `human`: an entrant of the competition, for its staff; None: the opener's own, who enters if need be.
    """
    if machine not in MACHINES:
        raise UserError("machine", machine, f"expected one of {', '.join(MACHINES)}")
    if not boards_seen_by(opener).filter(pk=board.pk).exists():
        raise UserError("board", board.slug, "no such board", status=404)
    check_not_suspended(opener, board.competition)
    account = lock_person(opener)
    if account.agent_of_id is not None:
        raise UserError("human", account.get_username(), "an agent is no human side; its owner opens the match", 403)
    entrant = human or enter_by_submitting(user=account, competition=board.competition, now=now)
    match = Match(board=board, human=entrant, model=_model(model), machine=machine, operator=account, created_at=now)
    if entrant.competition_id != board.competition_id:
        raise UserError("human", entrant.shown_name, f"is no entrant of {board.competition}", status=409)
    if not (is_member(opener, match) or is_staff_of(opener, match)):
        raise UserError("human", entrant.shown_name, "you are not in it; leave it out to play yourself", status=403)
    _check_numbers(entrant, now)
    match.save()
    return match


def _model(name: str) -> str:
    name = name.strip()
    if not re.fullmatch(MODEL, name):
        text = "expected the model's name, such as meta/llama-4:70b: letters, digits and . _ : / + @ -, at most 128"
        raise UserError("model", name, text)
    return name


def _check_numbers(entrant: Entrant, now: datetime) -> None:
    mine = Match.objects.filter(human=entrant)
    if mine.filter(created_at__gt=now - timedelta(days=1)).count() >= MOST_A_DAY:
        text = f"{entrant.shown_name} opened {MOST_A_DAY} matches within a day; wait until tomorrow"
        raise RateLimited("match", "", text, retry_after_s=24 * 3600)
    may_close = Q(work=None) | Q(graded_from__isnull=False)  # as in awaits_grading
    if mine.filter(may_close, closed_at=None).count() >= MOST_OPEN:
        text = f"{entrant.shown_name} has {MOST_OPEN} open matches, which is the most; close one"
        raise UserError("match", "", text, status=409)


@transaction.atomic
def predict(*, match: Match, author: User, bound: str, speedup: float, why: str, now: datetime) -> Prediction:
    """Commit the human side's prediction, once and for good."""
    why = _text("why", why, MOST_WHY_CHARS, least=LEAST_WHY_CHARS)
    if bound not in BOUNDS:
        raise UserError("bound", bound[:40], f"expected one of {', '.join(BOUNDS)}")
    _check_speedup("speedup", speedup)
    match = _lock(match)
    check_human(author, match)
    _check_open(match)
    if Prediction.objects.filter(match=match).exists():
        text = "this match has its prediction, which nobody changes"
        raise UserError("prediction", "", text, status=409)
    return Prediction.objects.create(
        match=match, author=author.account, bound=bound, speedup=speedup, why=why, committed_at=now
    )


def send_version(
    *,
    match: Match,
    upload: Upload,
    author: User,
    now: datetime,
    reason: str = "",
    expected: float | None = None,
    token: ApiToken | None = None,
) -> Version:
    """Send the human side's next version. From the second on it names its reason and the speed-up that it expects."""
    check_human(author, match)
    _check_open(match)
    if not Prediction.objects.filter(match=match).exists():
        text = "predict first: name the bound, the expected speed-up and why"
        raise UserError("prediction", "", text, status=409)
    if number_of_next(match, HUMAN) == 1:
        if reason.strip() or expected is not None:
            raise UserError("reason", reason, "the first version has no change to explain; leave reason and effect out")
    else:
        reason = _text("reason", reason, MOST_REASON_CHARS)
        if expected is None:
            raise UserError("expected", None, "missing; from the second version on, name the speed-up you expect")
        _check_speedup("expected", expected)
    with transaction.atomic():
        submission = pipeline.submit(_upload(match, upload), owner=author, now=now, token=token)
        locked = _lock(match)
        if submission.entrant_id != locked.human_id:  # the author changed teams meanwhile
            check_human(author, locked)
        return _add(locked, HUMAN, submission, now, reason=reason, expected=expected)


def send_answer(
    *,
    match: Match,
    upload: Upload,
    operator: User,
    exchange: Exchange,
    now: datetime,
    token: ApiToken | None = None,
) -> Version:
    """Send a kernel of the machine with its prompt and answer. Its lineage names the match's model."""
    check_operator(operator, match)
    _check_open(match)
    _check_exchange(exchange)
    lineage = dict(upload.lineage) | {"model": match.model}
    if exchange.prompt:
        lineage["prompt_sha256"] = hashlib.sha256(exchange.prompt.encode()).hexdigest()
    with transaction.atomic():
        sent = _upload(match, replace(upload, lineage=lineage))
        submission = pipeline.submit(sent, owner=operator, now=now, token=token)
        return _add(_lock(match), MACHINE, submission, now, **vars(exchange))


@transaction.atomic
def attach(*, match: Match, operator: User, sent: Sequence[tuple[int, Exchange]], now: datetime) -> list[Version]:
    """Make submissions of the operator versions of the machine, in the given order. Attached ones stay as they are."""
    if not 0 < len(sent) <= MOST_ATTACHED:
        raise UserError("submissions", len(sent), f"expected 1 to {MOST_ATTACHED} submissions")
    lock_person(match.operator)  # of two matches at once, the second sees the versions of the first
    match = _lock(match)
    check_operator(operator, match)
    _check_open(match)
    keys = [pk for pk, _ in sent]
    found = (
        Submission.objects.filter(pk__in=keys).select_related("owner", "lineage", "version").defer("source").in_bulk()
    )
    versions = []
    for pk, exchange in sent:
        submission = found.get(pk)
        _check_exchange(exchange)
        if submission is None or not is_operator(submission.owner, match):
            raise UserError("submissions", pk, "is no submission of yours; only the operator's can be attached")
        if (known := getattr(submission, "version", None)) is not None:
            if (known.match_id, known.side) != (match.pk, MACHINE):
                raise UserError("submissions", pk, f"is in match {known.match_id} already", status=409)
            versions.append(known)
            continue
        _check_fits(match, submission)
        versions.append(_add(match, MACHINE, submission, now, **vars(exchange)))
        submission.version = versions[-1]
    return versions


def _check_fits(match: Match, submission: Submission) -> None:
    """Raise UserError unless a submission is a kernel of the match's model, timed on its board."""
    if submission.board_id != match.board_id:
        raise UserError("submissions", submission.pk, f"was sent to another board than {match.board}")
    if submission.mode != BENCHMARK:
        raise UserError("submissions", submission.pk, f"is of mode {submission.mode}; a version is a benchmark")
    model = submission.lineage.model if hasattr(submission, "lineage") else ""
    if model != match.model:
        named = f"names the model {model}" if model else "names no model"
        text = f"{named} in its lineage; the machine of this match is {match.model}"
        raise UserError("submissions", submission.pk, text)


@transaction.atomic
def publish(*, match: Match, actor: User, now: datetime) -> Match:
    """Give the consent of the actor's sides; of an operator who plays, both. With both, everybody reads the match."""
    match = _lock(match)
    check_not_suspended(actor, match.board.competition)
    sides = _sides_of(actor, match)
    for name in sides:
        if getattr(match, name) is None:
            setattr(match, name, now)
    match.save(update_fields=sides)
    record("publish_match", match, actor=actor, now=now, after={"public": match.is_public})
    return match


@transaction.atomic
def withdraw(*, match: Match, actor: User, reason: str = "", now: datetime) -> Match:
    """Take the consent of the actor's sides back; staff of the competition take the match from the public."""
    match = _lock(match)
    sides = ["human_public_at", "machine_public_at"] if is_staff_of(actor, match) else _sides_of(actor, match)
    if "human_public_at" in sides:
        sides.append("texts_public_at")  # a later publication chooses anew
    for name in sides:
        setattr(match, name, None)
    match.save(update_fields=sides)
    record("withdraw_match", match, actor=actor, reason=reason, now=now, after={"public": match.is_public})
    return match


@transaction.atomic
def publish_texts(*, match: Match, actor: User, now: datetime) -> Match:
    """Let a public match show the texts of the last hand-in. The human side chooses it; nothing else publishes them."""
    match = _lock(match)
    check_human(actor, match)
    check_not_suspended(actor, match.board.competition)
    if not match.is_public:
        raise UserError("match", match.pk, "is private; both sides publish it first", status=409)
    if not match.hand_ins.exists():
        raise UserError("match", match.pk, "has no hand-in; hand the worklog in first", status=409)
    if match.texts_public_at is None:
        match.texts_public_at = now
        match.save(update_fields=["texts_public_at"])
        record("publish_texts", match, actor=actor, now=now)
    return match


@transaction.atomic
def hide_texts(*, match: Match, actor: User, now: datetime) -> Match:
    """Take the texts of the worklog from the public. The human side may, and staff of the competition."""
    match = _lock(match)
    if not is_staff_of(actor, match):
        check_human(actor, match)
    if match.texts_public_at is not None:
        match.texts_public_at = None
        match.save(update_fields=["texts_public_at"])
        record("hide_texts", match, actor=actor, now=now)
    return match


def _sides_of(actor: User, match: Match) -> list[str]:
    """Return the fields with the consent of the actor's sides. Raises UserError for a stranger."""
    sides = ["human_public_at"] * is_member(actor, match) + ["machine_public_at"] * is_operator(actor, match)
    if not sides:
        raise UserError("actor", actor.get_username(), "only the two sides publish a match", status=403)
    return sides


@transaction.atomic
def take_over(*, match: Match, actor: User, now: datetime) -> Match:
    """Make the actor the operator: a member of the human side or staff, before the machine's first version."""
    match = _lock(match)
    if not (is_member(actor, match) or is_staff_of(actor, match)):
        raise UserError("actor", actor.get_username(), "you are on neither side of this match", status=403)
    _check_open(match)
    if match.versions.filter(side=MACHINE).exists():
        text = "the machine has versions already, and one account sends all of them"
        raise UserError("operator", actor.get_username(), text, status=409)
    match.operator, match.machine_public_at = actor.account, None
    match.save(update_fields=["operator", "machine_public_at"])
    record("take_over_match", match, actor=actor, now=now)
    return match


@transaction.atomic
def close(*, match: Match, actor: User, now: datetime) -> Match:
    """End a match: it takes no further version. Safe to run again."""
    match = _lock(match)
    if not (is_member(actor, match) or is_operator(actor, match) or is_staff_of(actor, match)):
        raise UserError("actor", actor.get_username(), "you are on neither side of this match", status=403)
    if awaits_grading(match):
        text = "is the work of an assignment; hand its worklog in, and close it once the grading has begun"
        raise UserError("match", match.pk, text, status=409)
    if match.closed_at is None:
        match.closed_at = now
        match.save(update_fields=["closed_at"])
        record("close_match", match, actor=actor, now=now)
    return match


def awaits_grading(match: Match) -> bool:
    """Return whether a match is the work of an assignment whose grading has not begun."""
    return hasattr(match, "work") and match.graded_from is None


@transaction.atomic
def choose(*, match: Match, actor: User, note: str, now: datetime) -> Choice:
    """Make a public match the match of the week. Staff of the site only."""
    check_staff(actor, "choose the match of the week")
    note = _text("note", note, MOST_NOTE_CHARS, least=0)
    if not _lock(match).is_public:
        raise UserError("match", match.pk, "both sides publish it first", status=409)
    return Choice.objects.create(match=match, chosen_by=actor.account, chosen_at=now, note=note)


def number_of_next(match: Match, side: str) -> int:
    last: int | None = match.versions.filter(side=side).aggregate(last=Max("number"))["last"]
    return (last or 0) + 1


def _lock(match: Match) -> Match:
    parts = ("board__competition", "board__problem", "human", "operator")
    return Match.objects.select_for_update(of=("self",)).select_related(*parts).get(pk=match.pk)


def _check_open(match: Match) -> None:
    if match.closed_at is not None:
        text = f"closed since {match.closed_at:%Y-%m-%d %H:%M} UTC; open another on its board"
        raise UserError("match", match.pk, text, status=409)


def _upload(match: Match, upload: Upload) -> Upload:
    return replace(upload, board=match.board.slug, hardware=match.board.hardware, mode=BENCHMARK)


def _add(
    match: Match,
    side: str,
    submission: Submission,
    now: datetime,
    *,
    reason: str = "",
    expected: float | None = None,
    prompt: str = "",
    answer: str = "",
    turn: int | None = None,
) -> Version:
    """Write a version of a locked match."""
    _check_open(match)
    number = number_of_next(match, side)
    if number > MOST_VERSIONS:
        text = f"this side has {MOST_VERSIONS} versions, which is the most; open another match"
        raise UserError("match", match.pk, text, status=409)
    if side == HUMAN and number > 1 and not reason:  # its first version came meanwhile
        raise UserError("reason", "", "missing; a version was sent meanwhile, so say what this one changes", 409)
    if side == HUMAN and number == 1 and reason:
        raise UserError("reason", reason, "the first version has no change to explain; leave it out", 409)
    return Version.objects.create(
        match=match,
        side=side,
        number=number,
        submission=submission,
        reason=reason,
        expected=expected,
        prompt=prompt,
        answer=answer,
        turn=turn,
        created_at=now,
    )


def _text(field: str, text: str, most: int, *, least: int = 1) -> str:
    text = text.strip().replace("\r\n", "\n")
    if not least <= len(text) <= most or "\x00" in text:
        raise UserError(field, text, f"expected {least:,} to {most:,} characters, without NUL; this has {len(text):,}")
    return text


def _check_speedup(field: str, value: float) -> None:
    if not (math.isfinite(value) and 0 < value <= MOST_SPEEDUP):
        text = f"expected a number above 0, at most {MOST_SPEEDUP:,}; 2 means twice as fast as the eager reference"
        raise UserError(field, value, text)


def _check_exchange(exchange: Exchange) -> None:
    for field, text, most in (
        ("prompt", exchange.prompt, MOST_PROMPT_CHARS),
        ("answer", exchange.answer, MOST_ANSWER_CHARS),
    ):
        if len(text) > most or "\x00" in text:
            raise UserError(field, text, f"expected at most {most:,} characters, without NUL; this has {len(text):,}")
    if exchange.turn is not None and not 1 <= exchange.turn <= MOST_TURNS:
        raise UserError("turn", exchange.turn, f"expected 1 to {MOST_TURNS:,}")
