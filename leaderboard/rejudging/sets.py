"""Named sets of submissions that are judged again in the shadow: select, make, stop, discard; begin and end applying.

No public page changes until a set is applied as a whole (apply.apply_rejudging). Each act locks the set's row first, so
that concurrent organisers wait for each other; repeating an act has no further effect. To undo an applied set, make
another set.

A shadow attempt is hidden until it becomes current at the end, or stays in the shadow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Subquery

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.admissions.door import check_admitted
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.attempts import BATCH, append_states, call_off, ring_for, shadow_attempt
from leaderboard.judging.models import DONE, QUEUED, UNFINISHED, Attempt, RejudgeItem, RejudgeSet
from leaderboard.judging.verdicts import OUR_FAILURE, is_spoiled, judged_since
from leaderboard.standings.models import Entry

MOST: Final = 5_000  # submissions per set
NAMED: Final = 10  # wrong ids that an error names
MAX_NAME_CHARS: Final = 100
MOST_OPEN: Final = 20  # sets of a competition at a time
CALLED_OFF: Final = "The set was settled without it"


class Kind(models.TextChoices):
    """Criterion that selects submissions."""

    PUBLISHED = "published", "All entries on the boards"
    VERSION = "version", "Ranked submissions judged by another version of the problem"
    RUNNER = "runner", "Ranked submissions judged by one runner"
    LIST = "list", "Listed submissions"


@dataclass(frozen=True)
class Selection:
    """The choice of submissions. Each kind reads its own criteria alone."""

    kind: str
    version: str = ""  # digest; "": any but today's
    runner: str = ""  # name; its verdicts between two times
    since: datetime | None = None
    until: datetime | None = None
    ids: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        since, until = (moment and moment.isoformat() for moment in (self.since, self.until))
        criteria: dict[str, dict[str, Any]] = {
            Kind.VERSION: {"version": self.version},
            Kind.RUNNER: {"runner": self.runner, "since": since, "until": until},
            Kind.LIST: {"ids": list(self.ids)},
        }
        return {"kind": self.kind} | criteria.get(self.kind, {})


def select(*, selection: Selection, competition: Competition, board: Board | None) -> tuple[list[Attempt], int]:
    """Return the attempts with the newest verdicts, by submission, and the number of submissions left out.

    A submission without a verdict is chosen by its newest failure of ours. Submissions that are being judged again are
    left out. Raises UserError if there are no submissions or too many, if a list names a submission that is outside
    the competition or board, or is not judged, or is being judged again, or if a board's version is not admitted.
    """
    done = Attempt.objects.in_the_open().filter(state=DONE, submission__board__competition=competition)
    by_verdict = done.alias(is_failure=OUR_FAILURE).order_by("submission_id", "is_failure", "-number")
    found = Attempt.objects.filter(pk__in=by_verdict.distinct("submission_id").values("pk"))
    if board is not None:
        found = found.filter(submission__board=board)
    if selection.kind == Kind.PUBLISHED:
        lines = Entry.objects.filter(board__competition=competition)
        found = found.filter(submission__in=lines.values("submission_id"))
    elif selection.kind == Kind.VERSION:
        found = found.filter(submission__mode="ranked")
        today = F("submission__board__version")
        found = found.filter(version__digest=selection.version) if selection.version else found.exclude(version=today)
    elif selection.kind == Kind.RUNNER:
        if not selection.runner:
            raise UserError("runner", "", "choose a runner")
        found = found.filter(submission__mode="ranked", runner__name=selection.runner)
        found = found.filter(finished_at__gte=selection.since) if selection.since else found
        found = found.filter(finished_at__lt=selection.until) if selection.until else found
    elif selection.kind == Kind.LIST:
        if not selection.ids:
            raise UserError("ids", "", "enter at least one submission number")
        found = found.filter(submission__in=selection.ids[: MOST + 1])
    else:
        raise UserError("kind", selection.kind, f"choose one of {', '.join(Kind.values)}")
    of_same = Attempt.objects.in_the_open().filter(submission=OuterRef("submission"))
    is_judged_again = Exists(of_same.unfinished())
    rows = found.exclude(is_judged_again).select_related("submission__board").defer("submission__source")
    attempts = list(rows.order_by("submission_id")[: MOST + 1])
    if len(attempts) > MOST:
        raise UserError("selection", selection.kind, f"more than {MOST:,} submissions; make several sets of fewer")
    wanted = set(selection.ids) if selection.kind == Kind.LIST else set()
    if missing := sorted(wanted - {attempt.submission_id for attempt in attempts}):
        named = ", ".join(map(str, missing[:NAMED])) + (" …" if len(missing) > NAMED else "")
        text = f"not judged here, or being judged again: {named}; leave them out, or wait for their verdict"
        raise UserError("ids", named, text)
    left_out = found.filter(is_judged_again).count()
    if not attempts:
        text = f"chooses no judged submission, and {left_out} being judged again; look at what it asks for"
        raise UserError("selection", selection.kind, text)
    for chosen in {attempt.submission.board_id: attempt.submission.board for attempt in attempts}.values():
        check_admitted(chosen)
    return attempts, left_out


def estimate_s(attempts: Sequence[Attempt]) -> float:
    """Return the machine time in seconds that these attempts took, without waiting."""
    spans = (one.finished_at - one.claimed_at for one in attempts if one.finished_at and one.claimed_at)
    return sum(spans, timedelta()).total_seconds()


@transaction.atomic
def make_set(
    *,
    competition: Competition,
    board: Board | None,
    name: str,
    why: str,
    selection: Selection,
    actor: User,
    now: datetime,
) -> RejudgeSet:
    """Queue the selected submissions to be judged again in the shadow."""
    check_role(actor, competition, Role.OWNER, "have submissions judged again")
    check_reason(why)
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # for unique names
    if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise UserError("name", name, f"use 1 to {MAX_NAME_CHARS} characters on one line")
    known = RejudgeSet.objects.filter(competition=competition)
    if known.filter(name=name).exists():
        raise UserError("name", name, f"{competition} has a set of this name; choose another", status=409)
    if known.filter(state=RejudgeSet.OPEN).count() >= MOST_OPEN:
        raise UserError("name", name, f"{MOST_OPEN} sets are open; apply or discard one first", status=409)
    attempts, _ = select(selection=selection, competition=competition, board=board)
    criteria = {"board": board, "selection": selection.to_json(), "estimate_s": estimate_s(attempts)}
    chosen = RejudgeSet.objects.create(
        competition=competition, name=name, why=why, created_by=actor, created_at=now, **criteria
    )
    fresh = [shadow_attempt(before.submission, chosen, number=1, now=now) for before in attempts]
    Attempt.objects.bulk_create(fresh, batch_size=BATCH)
    pairs = zip(attempts, fresh, strict=True)
    items = (
        RejudgeItem(rejudge_set=chosen, submission_id=before.submission_id, before=before, after=attempt)
        for before, attempt in pairs
    )
    RejudgeItem.objects.bulk_create(items, batch_size=BATCH)
    append_states(fresh, now=now, message="Queued to be judged again in the shadow")
    first = {attempt.hardware: attempt for attempt in reversed(fresh)}  # one ring per hardware; the sweeper rings later
    for attempt in first.values():
        transaction.on_commit(partial(ring_for, attempt))
    after = {"name": name, "submissions": len(attempts), "selection": selection.kind}
    record("make_rejudge_set", chosen, actor=actor, reason=why, now=now, after=after)
    return chosen


@transaction.atomic
def stop_set(*, chosen: RejudgeSet, actor: User, reason: str, now: datetime) -> int:
    """Cancel the queued attempts, and queue no more; running attempts finish.

    Return the number of cancelled attempts.
    """
    locked = _lock(chosen, actor, reason, "stop a re-judging")
    if not locked.is_open:
        raise UserError("rejudge_set", locked.name, f"is {locked.state} already", status=409)
    RejudgeSet.objects.filter(pk=locked.pk, stopped_at=None).update(stopped_at=now)
    queued = list(locked.attempts.filter(is_shadow=True, state=QUEUED).order_by("pk").select_for_update())
    call_off(queued, now=now, message="The set was stopped")
    if queued or locked.stopped_at is None:
        after = {"called_off": len(queued)}
        record("stop_rejudge_set", locked, actor=actor, reason=reason, now=now, after=after)
    return len(queued)


@transaction.atomic
def discard_set(*, chosen: RejudgeSet, actor: User, reason: str, now: datetime) -> bool:
    """Discard a set: its results stay in the shadow for ever. False: it was discarded already."""
    locked = _lock(chosen, actor, reason, "discard a re-judging")
    if locked.state == RejudgeSet.DISCARDED:
        return False
    if not locked.is_open:
        raise UserError("rejudge_set", locked.name, "is applied already; to undo it, make another set", status=409)
    call_off(_lock_unfinished(locked), now=now, message=CALLED_OFF)
    settle(locked, RejudgeSet.DISCARDED, actor=actor, reason=reason, now=now)
    return True


def begin_applying(
    *, chosen: RejudgeSet, actor: User, reason: str, leave_out: bool, now: datetime
) -> list[RejudgeItem] | None:
    """Return all items; None: applied already. The set and unfinished attempts are locked until the transaction ends.

    Refuses if some attempts are unfinished, unless `leave_out`: then they are cancelled.
    """
    locked = _lock(chosen, actor, reason, "apply a re-judging")
    if locked.state == RejudgeSet.APPLIED:
        return None
    if not locked.is_open:
        raise UserError("rejudge_set", locked.name, "is discarded; make another set", status=409)
    unfinished = _lock_unfinished(locked)
    if unfinished and not leave_out:
        text = f"{len(unfinished)} of its submissions are not judged yet; wait, or leave them out"
        raise UserError("leave_out", len(unfinished), text, status=409)
    call_off(unfinished, now=now, message=CALLED_OFF)
    return items_of(locked)


def items_of(chosen: RejudgeSet) -> list[RejudgeItem]:
    """Return the items with both attempts, their results and versions, and the submission.

    Sources, reports and bundles are deferred.
    """
    sides = ("before", "after")
    found = chosen.items.select_related(
        "submission__board__competition",
        "submission__entrant",
        "submission__owner",
        *(f"{side}__{part}" for side in sides for part in ("result", "version", "runner")),
    )
    heavy = [
        f"{side}__{part}" for side in sides for part in ("result__inline", "version__bundle", "runner__fingerprint")
    ]
    texts = [f"submission__board__competition__{name}" for name in ("rules", "description")]
    items = list(found.defer("submission__source", *heavy, *texts).order_by("pk"))
    for item in items:
        item.before.submission = item.after.submission = item.submission
    return items


def lock_currents(items: Sequence[RejudgeItem]) -> set[int]:
    """Lock the current attempts. Return judged_anew, with items whose attempt was replaced during the wait."""
    rows = Attempt.objects.current().filter(submission__in=[item.submission_id for item in items])
    locked = set(rows.order_by("pk").select_for_update().values_list("submission_id", flat=True))
    return judged_anew(items) | {item.pk for item in items if item.submission_id not in locked}


def judged_anew(items: Sequence[RejudgeItem]) -> set[int]:
    """Return the ids of the items whose submission has, or waits for, a verdict newer than the set's `before`."""
    anew = RejudgeItem.objects.filter(judged_since("before"), pk__in=[item.pk for item in items])
    return set(anew.values_list("pk", flat=True))


def fate_of(item: RejudgeItem, *, is_judged_anew: bool, is_rejected: bool) -> str:
    """Pure: the fate of a finished item on applying.

    `is_judged_anew`: as in judged_anew; `is_rejected`: a person rejected the submission's present result.
    """
    after = item.after
    if after.state != DONE or after.outcome == "infra_error" or is_spoiled(after.outcome, after.reason):
        return RejudgeItem.NO_VERDICT
    if is_judged_anew:
        return RejudgeItem.NEWER
    return RejudgeItem.REJECTED if is_rejected else RejudgeItem.APPLIED


def _lock(chosen: RejudgeSet, actor: User, reason: str, act: str) -> RejudgeSet:
    """Check the role and the reason, then lock the set, but not its key.

    A transaction that adds an attempt after a lost attempt refers to that key, and may hold locks that are needed next.
    """
    check_role(actor, chosen.competition, Role.OWNER, act)
    check_reason(reason)
    return RejudgeSet.objects.select_for_update(no_key=True).get(pk=chosen.pk)


def _lock_unfinished(chosen: RejudgeSet) -> list[Attempt]:
    """Lock and return the set's unfinished attempts, which a runner could still report or a sweep replace.

    An attempt is added to a set under the lock on the unfinished attempt before it. So this function looks again until
    there is no new attempt.
    """
    shadows = chosen.attempts.filter(is_shadow=True, state__in=UNFINISHED).order_by("pk")
    locked: dict[int, Attempt] = {}
    while set(shadows.values_list("pk", flat=True)) - set(locked):
        locked = {attempt.pk: attempt for attempt in shadows.select_for_update()}
    return list(locked.values())


def bring_to_light(shadows: Sequence[Attempt], *, now: datetime) -> None:
    """Make shadow attempts current for their submissions. The caller has locked the attempts that are current now."""
    opened = Attempt.objects.in_the_open()
    same = opened.filter(submission=OuterRef("submission")).order_by("-number")
    opened.current().filter(submission__in=[shadow.submission_id for shadow in shadows]).update(is_current=False)
    brought = Attempt.objects.filter(pk__in=[shadow.pk for shadow in shadows])
    brought.update(number=Subquery(same.values("number")[:1]) + 1, is_shadow=False, is_current=True)
    numbers = dict(brought.order_by().values_list("pk", "number"))
    for shadow in shadows:
        shadow.number, shadow.is_shadow, shadow.is_current = numbers[shadow.pk], False, True
    append_states(shadows, now=now, message="Judged again")


def settle(
    chosen: RejudgeSet, state: str, *, actor: User, reason: str, now: datetime, after: dict[str, Any] | None = None
) -> None:
    RejudgeSet.objects.filter(pk=chosen.pk).update(state=state, settled_by=actor, settled_at=now)
    act = "apply_rejudge_set" if state == RejudgeSet.APPLIED else "discard_rejudge_set"
    record(act, chosen, actor=actor, reason=reason, now=now, before={"state": "open"}, after=after)
