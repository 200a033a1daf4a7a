"""Messages to many people: announcements, phases, overtakings and records. The sweeper calls `collect`.

Everything is derived from tables, so no act of an organiser waits for thousands of rows. Noted keeps a message
from being written twice. The public standing decides on an overtaking: a held result and a submission during the freeze
overtake no entrant until the public sees them.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Left, StrIndex

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Phase, span_at
from leaderboard.competitions.models import CLOSED, MEMBERS, Announcement, Board, Competition, InviteCode
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.permissions import seeing_members
from leaderboard.inbox.models import ANNOUNCEMENT, ORGANISING, OVERTAKEN, PHASE, BoardSeen, Message, Noted
from leaderboard.inbox.tell import tell, tell_organisers
from leaderboard.standings.models import Revision
from leaderboard.standings.read.boards import Look, looks
from leaderboard.standings.read.table import Table, forget
from leaderboard.submissions.models import Submission

IS_NEW_FOR: Final = timedelta(hours=6)  # longer than a sweeper is away
CLOSES_SOON: Final = timedelta(hours=24)
FRONT: Final = 100  # places of a board whose entrants get messages
MOST_BOARDS: Final = 50  # in a pass
NAMED: Final = 3  # entrants in the sentence
AHEAD: Final = " Ahead of you now: "
PHASES: Final = {
    Phase.PRACTICE: "practice has begun",
    Phase.CONTEST: "the contest has begun",
    Phase.FROZEN: "the standing is frozen",
    Phase.REVIEW: "the contest is over, and results are reviewed",
    Phase.FINAL: "the standing is final",
    Phase.OPEN: "the standing is final, and boards take submissions again",
}
TIMES: Final = ("practice_at", "contest_at", "freeze_at", "deadline", "final_at")


def collect(*, now: datetime) -> dict[str, int]:
    return {
        "announcements": tell_announcements(now=now),
        "phases": tell_phases(now=now),
        "boards": tell_overtaken(now=now),
    }


def without_partial_codes(competition: Competition, people: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """Leave out people whose codes open single boards of a closed competition: a track's winners may be hidden."""
    if competition.visibility != CLOSED:
        return people
    some = InviteCode.objects.filter(competition=competition, opens_all=False)
    return people.exclude(Exists(some.filter(Q(used_by=OuterRef("user")) | Q(used_by__linked_to=OuterRef("account")))))


def tell_announcements(*, now: datetime) -> int:
    new = Announcement.objects.filter(created_at__gt=now - IS_NEW_FOR, withdrawn_at=None).select_related("competition")
    waiting = _untold({f"announcement:{one.pk}": one for one in new.order_by("pk")})
    for key, one in waiting.items():
        with transaction.atomic():
            if not is_new(key, now):
                continue
            people = seeing_members(one.competition)
            if hasattr(one, "award"):
                people = without_partial_codes(one.competition, people)
            tell(
                people.values_list("account", flat=True),
                ANNOUNCEMENT,
                subject=key,
                title=f"{one.competition}: {one.title}",
                url=f"/competitions/{one.competition.slug}#announcement-{one.pk}",
                now=now,
            )
            url = f"/organise/{one.competition.slug}/announcements"
            tell_organisers(one.competition, subject=key, title=f"announced: {one.title}", url=url, now=now)
    return len(waiting)


def tell_phases(*, now: datetime) -> int:
    """Write about phases that have begun, and about deadlines within a day."""
    changed = Q(deadline__gt=now, deadline__lte=now + CLOSES_SOON)
    for time in TIMES:
        changed |= Q(**{f"{time}__gt": now - IS_NEW_FOR, f"{time}__lte": now})
    wanted: dict[str, tuple[Competition, str]] = {}
    for one in Competition.objects.filter(changed).order_by("pk"):
        span = span_at(one.schedule, now)
        if span.since is not None and span.since > now - IS_NEW_FOR and span.phase in PHASES:
            wanted[f"phase:{one.pk}:{span.phase}:{span.since.isoformat()}"] = (one, PHASES[span.phase])
        deadline = one.deadline
        if deadline is not None and now < deadline <= now + CLOSES_SOON and span.phase in (Phase.CONTEST, Phase.FROZEN):
            said = f"closes on {deadline:%-d %B at %H:%M} UTC"
            wanted[f"closing:{one.pk}:{deadline.isoformat()}"] = (one, said)
    waiting = _untold(wanted)
    for key, (one, said) in waiting.items():
        with transaction.atomic():
            if not is_new(key, now):
                continue
            people = seeing_members(one).values_list("account", flat=True)
            url = f"/competitions/{one.slug}"
            tell(people, PHASE, subject=f"competition:{one.pk}", title=f"{one}: {said}", url=url, now=now)
            url = f"/organise/{one.slug}"
            tell_organisers(one, subject=f"competition:{one.pk}", title=said, url=url, now=now)
    return len(waiting)


def _untold(wanted: Mapping[str, Any]) -> dict[str, Any]:
    known = set(Noted.objects.filter(key__in=list(wanted)).values_list("key", flat=True)) if wanted else set()
    return {key: value for key, value in wanted.items() if key not in known}


def is_new(key: str, now: datetime) -> bool:
    """Note a key; return False if another sweeper has noted it."""
    return Noted.objects.get_or_create(key=key, defaults={"created_at": now})[1]


def tell_overtaken(*, now: datetime) -> int:
    """Compare the front of changed boards with the front that was seen last. Write to entrants that lost places.

    Return the number of boards.
    """
    seen = BoardSeen.objects.filter(board=OuterRef("board"), token=OuterRef("token"))
    changed = dict(Revision.objects.filter(~Exists(seen)).order_by("board").values_list("board", "token")[:MOST_BOARDS])
    if not changed:
        return 0
    boards = list(Board.objects.filter(pk__in=changed).select_related("competition", "problem").order_by("pk"))
    found = looks(boards, now=now)
    forget()  # a pass needs the tables of changed boards once; kept, they would fill the sweeper's memory
    for board in boards:
        with transaction.atomic():
            compare_front(board, found[board.pk], changed[board.pk], now)
    return len(boards)


def compare_front(board: Board, look: Look, token: Any, now: datetime) -> None:
    """Compare within a stage, timing epoch and group: an entrant without a line has no rank.

    A decision for another epoch overtakes no entrant, since no kernel was sent or measured. Entrants without a line in
    the new epoch keep their noted rank for the next pass, so that an applied re-judging compares with it.

    `token`: the board's revision before its look was read. A later change is found in the next pass.
    """
    tables = {one.group: one.current for one in look.groups}
    front = [
        [place.value.entrant_id, place.rank, group] for group, table in tables.items() for place in table.places[:FRONT]
    ]
    epoch = look.epochs[0].name if look.epochs else None
    values = {"token": token, "ranking": look.stage, "epoch": epoch, "places": front}
    known = BoardSeen.objects.select_for_update(skip_locked=True).filter(board=board).first()
    if known is None:
        BoardSeen.objects.bulk_create([BoardSeen(board=board, **values)], ignore_conflicts=True)
        return
    if known.token == token:
        return  # another sweeper was faster
    if known.ranking == look.stage and known.epoch != epoch and None not in (known.epoch, epoch):
        stay = [one for one in known.places if all(table.place_of(one[0]) is None for table in tables.values())]
        front += stay[: FRONT * len(tables)]
    elif known.ranking == look.stage:
        for group, table in tables.items():
            before = {entrant: rank for entrant, rank, *seen_in in known.places if seen_in in ([], [group])}
            notify_losers(board, before, table, now)
            tell_record(board, group, before, table, now)
    BoardSeen.objects.filter(board=board).update(**values)


def tell_record(board: Board, group: str, before: Mapping[int, int], table: Table, now: datetime) -> None:
    """Write to organisers once the first place has another entrant, and its former holder fell behind."""
    led = [place for entrant, rank in before.items() if rank == 1 and (place := table.place_of(entrant)) is not None]
    first = table.places[0].value.entrant_id if table.places else 0
    if before.get(first) == 1 or all(place.rank == 1 for place in led):
        return
    among = f" among {group}" if group else ""
    tell_organisers(
        board.competition,
        subject=f"record:{board.pk}{group}",
        title=f"new first place{among} on {board.title}, {board.hardware}",
        text=f"Now first: {Entrant.objects.get(pk=first).shown_name}.",
        url=f"/boards/{board.slug}/{quote(board.hardware, safe='')}",
        now=now,
    )


def notify_losers(board: Board, before: Mapping[int, int], table: Table, now: datetime) -> None:
    lost: dict[int, tuple[int, int, list[int]]] = {}
    for entrant, rank in before.items():
        place = table.place_of(entrant)
        if place is None or place.rank <= rank:
            continue
        ahead = [one.value.entrant_id for one in table.places[: place.rank - 1] if one.rank < place.rank]
        passed = [one for one in ahead if before.get(one, FRONT + 1) > rank]
        if passed:
            lost[entrant] = (rank, place.rank, passed)
    if not lost:
        return
    named = {one for _, _, passed in lost.values() for one in passed[:NAMED]}
    names = {one.pk: one.shown_name for one in Entrant.objects.filter(pk__in=named)}
    people: dict[int, list[int]] = {}
    for entrant, account in (
        seeing_members(board.competition).filter(entrant__in=lost).values_list("entrant", "account")
    ):
        people.setdefault(entrant, []).append(account)
    for entrant, (old, new, passed) in lost.items():
        who = ", ".join(names.get(one, "an entrant") for one in passed[:NAMED])
        more = f" and {len(passed) - NAMED} more" if len(passed) > NAMED else ""
        tell(
            people.get(entrant, []),
            OVERTAKEN,
            subject=f"board:{board.pk}",
            title=f"Overtaken on {board.title}, {board.hardware}",
            text=f"You are on rank {new}, and were on rank {old}.{AHEAD}{who}{more}.",
            url=f"/boards/{board.slug}/{quote(board.hardware, safe='')}",
            now=now,
        )


def forget_names(logins: QuerySet[User, Any]) -> None:
    """Take entrants' names out of messages about boards where these logins sent kernels as entrants of their own.

    All names go, because a message names an entrant as it was called then. To be called before the logins lose their
    names: the locks keep sweepers from writing them meanwhile.
    """
    own = Submission.objects.filter(entrant__is_team=False, entrant__memberships__user__in=logins)
    seen = BoardSeen.objects.select_for_update().filter(board__in=own.values("board")).order_by("board")
    boards = list(seen.values_list("board", flat=True))
    records = [f"record:{board}{group}" for board in boards for group in MEMBERS]
    Message.objects.filter(kind=ORGANISING, subject__in=records).update(text="")
    overtaken = Message.objects.filter(kind=OVERTAKEN, subject__in=[f"board:{board}" for board in boards])
    overtaken.filter(text__contains=AHEAD).update(text=Left("text", StrIndex("text", Value(AHEAD)) - 1))
