"""Create, clone and change a competition with its boards, tracks and prizes.

The slug of a competition is its address and stays. `revealed_at` and `final_at` are acts of the standings and not
edited here. `edited` remembers the fields that were edited here: the next import of the set leaves them as they are.

A clone has the boards, tracks, prizes, rules, thresholds and quotas of its source; no people, codes or announcements.
It is closed until its organiser has checked it. Its boards get their own names.

A board with submissions is never removed, and its version is not changed here: its submissions are re-judged, which
compares both versions before the new results rank. The name of a board is unique on the whole site, although public
sets share names (sort, matmul), and clones too. Acts that give names run one at a time until their transactions end, or
two concurrent acts could both find a name free. Announced awards stay unchanged.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError
from django.utils.text import slugify

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import changed, record
from leaderboard.competitions.calendar import phase_at
from leaderboard.competitions.checks import (
    MAX_NAME_CHARS,
    MAX_SLUG_CHARS,
    TIMES,
    check_choice,
    check_divisions,
    check_hardware,
    check_line,
    check_money,
    check_near,
    check_settings,
    check_slug,
    check_tags,
    check_text,
)
from leaderboard.competitions.models import CLOSED, MEMBERS, Board, Competition, Prize, ProblemVersion, Role, Track
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError

EDITABLE: Final = (
    *("name", "description", "rules", "visibility"),
    *TIMES,
    *("stays_open", "divisions", "agents_rank", "max_team_size", "scoring", "two_person_rule", "default_licence"),
)
IMPORTED: Final = ("name", "description", "deadline", "scoring")  # a set may also give these
BEGUN: Final = ("contest", "frozen", "review", "final", "open")  # phases in which people compete under the settings
WEIGHTY: Final = ("scoring", "freeze_at")  # after the start of the contest, changes of these need a reason
COPIED: Final = (*(name for name in EDITABLE if name not in TIMES), "thresholds", "quotas")  # into a clone

MAX_BOARDS: Final = 1_000  # per competition
BOARD_IMPORTED: Final = ("version", "deadline")  # fields that a set may also give
LOCK: Final = 0x70686F74  # PostgreSQL's advisory lock for names: an arbitrary number, unused elsewhere

MAX_TRACKS: Final = 50  # per competition
MAX_PLACE: Final = 100
MAX_AMOUNT: Final = Decimal("9999999999.99")
TRACK_FIELDS: Final = ("name", "description", "kind", "params", "divisions", "eligibility", "tie_rule", "position")
PRIZE_FIELDS: Final = ("place", "amount", "currency", "sponsor", "text")


@transaction.atomic
def create_competition(*, actor: User, slug: str, settings: Mapping[str, Any], now: datetime) -> Competition:
    """Create a competition with `actor` as its owner. Raise UserError that names the field.

    `settings` are any of EDITABLE, with at least the name. The competition is closed by default: a draft is hidden.
    """
    check_staff(actor, "create a competition")
    _check_known(settings)
    competition = Competition(slug=slug, created_at=now, **({"visibility": CLOSED} | dict(settings)))
    competition.edited = [name for name in IMPORTED if getattr(competition, name)]
    _create("create_competition", competition, actor, now)
    return competition


def _create(act: str, competition: Competition, actor: User, now: datetime, **about: str) -> None:
    """Check a new competition and save it with its owner. `about`: further values for the audit."""
    check_slug("slug", competition.slug)
    settings = values_of(competition)
    check_near(settings, now)
    check_settings(settings)
    try:
        with transaction.atomic():
            competition.save(force_insert=True)
    except IntegrityError:
        raise UserError("slug", competition.slug, "there is a competition of this name; choose another", 409) from None
    Role.objects.create(competition=competition, user=actor, role=Role.OWNER, created_at=now)
    record(act, competition, actor=actor, now=now, after=settings | {"slug": competition.slug} | about)


@transaction.atomic
def edit_competition(
    *, competition: Competition, actor: User, settings: Mapping[str, Any], now: datetime, reason: str = ""
) -> Competition:
    """Set some of EDITABLE. Raise UserError that names the field, or `reason` if a reason is needed (needs_reason)."""
    check_role(actor, competition, Role.OWNER, "edit it")
    _check_known(settings)
    # Not its key, to which a report refers at its end while it holds the boards' revisions: new times renew these.
    competition = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
    weighty = needs_reason(competition, settings, now)
    before = values_of(competition)
    after = before | dict(settings)
    old, new = changed(before, after)
    if not new:
        return competition
    check_near(new, now)
    check_settings(after | {"final_at": competition.final_at})
    removed = set(before["divisions"]) - set(after["divisions"])
    held = competition.entrants.filter(division__in=removed).order_by("division").values_list("division", flat=True)
    if removed and (division := held.first()):
        raise UserError("divisions", division, f"there are entrants in the division {division}: keep it", status=409)
    if "agents_rank" in new and competition.boards.filter(entries__isnull=False).exists():
        text = f"a board has a line already, so agents rank {before['agents_rank']} to the end; clone the competition"
        raise UserError("agents_rank", new["agents_rank"], f"{text} for another choice", status=409)
    for name, value in new.items():
        setattr(competition, name, value)
    if new.keys() & {"agents_rank", "divisions"}:
        for track in competition.tracks.all():
            _check_single_group(competition, track.divisions, f"the track {track.name}")
    if weighty:
        check_reason(reason)
    competition.edited = sorted({*competition.edited, *new} & set(IMPORTED))
    competition.save(update_fields=[*new, "edited"])
    record("edit_competition", competition, actor=actor, reason=reason, now=now, before=old, after=new)
    return competition


def needs_reason(competition: Competition, settings: Mapping[str, Any], now: datetime) -> list[str]:
    """Return the new settings that affect competitors: times that are past or would be past, and WEIGHTY."""
    begun = phase_at(competition.schedule, now) in BEGUN
    found = []
    for name, new in settings.items():
        old = getattr(competition, name)
        if new == old:
            continue
        is_past = name in TIMES and any(moment is not None and moment <= now for moment in (old, new))
        if is_past or (begun and name in WEIGHTY):
            found.append(name)
    return found


def values_of(competition: Competition) -> dict[str, Any]:
    return {name: getattr(competition, name) for name in EDITABLE}


def _check_known(settings: Mapping[str, Any]) -> None:
    unknown = next((name for name in settings if name not in EDITABLE), None)
    if unknown is not None:
        raise UserError(unknown, None, f"is not edited here; these are: {', '.join(EDITABLE)}")


@transaction.atomic
def clone_competition(
    *, source: Competition, actor: User, slug: str, name: str, shift: timedelta | None, now: datetime
) -> Competition:
    """Clone the competition for `actor`, who becomes the owner of the clone.

    `shift` moves all times later; None drops the times.
    """
    check_role(actor, source, Role.OWNER, "clone it")
    copied = {field: getattr(source, field) for field in COPIED} | {"name": name, "visibility": CLOSED}
    times = {field: _later(getattr(source, field), shift) for field in TIMES}
    clone = Competition(slug=slug, created_at=now, edited=["name"], **copied, **times)
    lock_names()
    _create("clone_competition", clone, actor, now, of=source.slug)
    names = _copy_boards(source, clone, shift, now)
    for track in source.tracks.prefetch_related("prizes"):
        copy = Track(competition=clone, slug=track.slug, **{field: getattr(track, field) for field in TRACK_FIELDS})
        if "slug" in copy.params:
            copy.params = copy.params | {"slug": names.get(copy.params["slug"], copy.params["slug"])}
        copy.save()
        Prize.objects.bulk_create(
            Prize(track=copy, **{field: getattr(prize, field) for field in PRIZE_FIELDS})
            for prize in track.prizes.all()
        )
    return clone


def _copy_boards(source: Competition, clone: Competition, shift: timedelta | None, now: datetime) -> dict[str, str]:
    """Copy the boards; return the new board names by old name.

    softmax-spring of the competition spring becomes softmax-summer, and not softmax-spring-summer.
    """
    boards, names = list(source.boards.all()), {}
    for old in {board.slug for board in boards}:
        base = old.removesuffix(f"-{source.slug}")
        names[old] = free_slug(clone, old if base == old else f"{base}-{clone.slug}"[:MAX_SLUG_CHARS].rstrip("-"))
    copies = []
    for board in boards:
        copied = {field: getattr(board, field) for field in ("problem_id", "version_id", "hardware", "tags")}
        copies.append(Board(competition=clone, slug=names[board.slug], created_at=now, **copied))
        copies[-1].deadline = _later(board.deadline, shift)
    Board.objects.bulk_create(copies)
    return names


def _later(moment: datetime | None, shift: timedelta | None) -> datetime | None:
    return None if moment is None or shift is None else moment + shift


@transaction.atomic
def add_board(
    *,
    competition: Competition,
    actor: User,
    version: ProblemVersion,
    hardware: str,
    now: datetime,
    slug: str = "",
    deadline: datetime | None = None,
    tags: Iterable[str] = (),
) -> Board:
    """Add a board. An empty `slug` means the problem's name, with the competition's name appended if it is taken."""
    check_role(actor, competition, Role.OWNER, "add a board")
    check_hardware(hardware)
    slug = free_slug(competition, check_slug("slug", slug) if slug else version.problem.slug)
    _check_fits(competition, slug, version)
    check_near({"deadline": deadline}, now)
    place: dict[str, Any] = {"slug": slug, "hardware": hardware, "tags": check_tags(tags)}
    board = Board(competition=competition, problem=version.problem, version=version, created_at=now, **place)
    board.deadline, board.edited = deadline, ["deadline"] if deadline else []
    try:
        with transaction.atomic():
            board.save(force_insert=True)
    except IntegrityError:
        raise UserError("hardware", hardware, f"there is a board {slug} on {hardware} already", 409) from None
    record("add_board", board, actor=actor, now=now, after=_board_values(board))
    return board


@transaction.atomic
def edit_board(
    *,
    board: Board,
    actor: User,
    version: ProblemVersion,
    deadline: datetime | None,
    tags: Iterable[str],
    now: datetime,
    reason: str = "",
) -> Board:
    """Change a board. A reason is needed to move a deadline that is past, or into the past."""
    board = _own_board(board, actor, "edit a board")
    before, old_deadline = _board_values(board), board.deadline
    if version != board.version:
        _check_fits(board.competition, board.slug, version)
        if board.submissions.exists():
            raise UserError("version", version.digest, "it has submissions: re-judge them by the new version", 409)
    check_near({"deadline": deadline if deadline != old_deadline else None}, now)
    if deadline != old_deadline and any(time is not None and time <= now for time in (deadline, old_deadline)):
        check_reason(reason)
    board.version, board.problem, board.deadline, board.tags = version, version.problem, deadline, check_tags(tags)
    old, new = changed(before, _board_values(board))
    if new:
        board.edited = sorted({*board.edited, *new} & set(BOARD_IMPORTED))
        board.save(update_fields=["version", "problem", "deadline", "tags", "edited"])
        record("edit_board", board, actor=actor, reason=reason, now=now, before=old, after=new)
    return board


@transaction.atomic
def close_board(*, board: Board, actor: User, reason: str, now: datetime) -> Board:
    """Close a board for contest submissions from now on; earlier submissions stay and are judged."""
    board = _own_board(board, actor, "close a board")
    check_reason(reason)
    if board.closes_at is not None and board.closes_at <= now:
        raise UserError("board", str(board), f"it closed at {board.closes_at:%Y-%m-%d %H:%M} UTC already", status=409)
    before, board.deadline = {"deadline": board.deadline}, now
    board.edited = sorted({*board.edited, "deadline"})
    board.save(update_fields=["deadline", "edited"])
    record("close_board", board, actor=actor, reason=reason, now=now, before=before, after={"deadline": now})
    return board


@transaction.atomic
def remove_board(*, board: Board, actor: User, now: datetime) -> None:
    """Remove a board without submissions and tracks."""
    board = _own_board(board, actor, "remove a board")
    track = board.competition.tracks.filter(params__slug=board.slug, params__hardware=board.hardware).first()
    if track is not None:
        raise UserError("board", str(board), f"the track {track} is won on it: remove or change that first", status=409)
    record("remove_board", board, actor=actor, now=now, before=_board_values(board))
    try:
        board.delete()
    except ProtectedError:
        text = "it has submissions, posts or quotas, which are kept: close it instead"
        raise UserError("board", str(board), text, 409) from None


def _own_board(board: Board, actor: User, act: str) -> Board:
    """Return the locked row, after a check of the role."""
    check_role(actor, board.competition, Role.OWNER, act)
    return Board.objects.select_for_update(of=("self",), no_key=True).with_parts().get(pk=board.pk)


def _check_fits(competition: Competition, slug: str, version: ProblemVersion) -> None:
    """Check that boards of the same name have the same problem, on different hardware."""
    boards = competition.boards.filter(slug=slug)
    other = boards.exclude(problem=version.problem).select_related("problem").first()
    if other is not None:
        raise UserError("slug", slug, f"{other} is of another problem ({other.problem}): choose another name", 409)
    if not boards.exists() and competition.boards.count() >= MAX_BOARDS:
        raise UserError("competition", competition.slug, f"it has {MAX_BOARDS} boards already, which is the most", 409)


def _board_values(board: Board) -> dict[str, Any]:
    """Return the values of a board for the audit."""
    return {
        "slug": board.slug,
        "hardware": board.hardware,
        "version": board.version.digest,
        "deadline": board.deadline,
        "tags": list(board.tags),
        "competition": board.competition.slug,
    }


@transaction.atomic
def delete_competition(*, competition: Competition, actor: User, slug: str, reason: str, now: datetime) -> None:
    """Delete a competition that nobody entered, with its boards, tracks, codes and announcements.

    `slug`: as typed to confirm. Its problems stay, and the record of its changes too.
    """
    check_role(actor, competition, Role.OWNER, "delete it")
    check_reason(reason)
    if slug != competition.slug:
        raise UserError("slug", slug, f"type {competition.slug} to confirm")
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    kept = "people have entered it, and what they sent is kept: make it closed instead"
    if competition.entrants.exists():
        raise UserError("competition", competition.slug, kept, status=409)
    boards = [str(board) for board in competition.boards.all()]
    before = values_of(competition) | {"slug": competition.slug, "boards": boards}
    record("delete_competition", competition, actor=actor, reason=reason, now=now, before=before)
    try:
        Prize.objects.filter(track__competition=competition).delete()
        for parts in (competition.tracks, competition.invite_codes, competition.announcements, competition.boards):
            parts.all().delete()
        competition.roles.all().delete()
        competition.delete()
    except ProtectedError:
        raise UserError("competition", competition.slug, kept, status=409) from None


def lock_names() -> None:
    """Lock board names, before any lock that a concurrent naming act could wait for. Repeated calls are allowed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def free_slug(competition: Competition, wanted: str) -> str:
    """Return `wanted` if no other competition has it, else `wanted` with the competition's name appended.

    The result is the same each time.
    """
    lock_names()
    others = Board.objects.exclude(competition=competition)
    if not others.filter(slug=wanted).exists():
        return wanted
    slug = f"{wanted}-{competition.slug}"[:MAX_SLUG_CHARS].rstrip("-")
    if others.filter(slug=slug).exists():
        raise UserError("name", wanted, f"other competitions have boards {wanted} and {slug}; rename it")
    return slug


@transaction.atomic
def create_track(*, competition: Competition, actor: User, settings: Mapping[str, Any], now: datetime) -> Track:
    """Create a track; `settings` has all of TRACK_FIELDS. Its slug is made from its name and stays."""
    check_role(actor, competition, Role.OWNER, "add a track")
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    if competition.tracks.count() >= MAX_TRACKS:
        raise UserError("name", settings["name"], f"there are {MAX_TRACKS} tracks already, which is the most", 409)
    checked = _checked(competition, settings)
    slug = slugify(checked["name"])[:MAX_SLUG_CHARS]
    if not slug or competition.tracks.filter(slug=slug).exists():
        raise UserError("name", checked["name"], "give it a name of its own, with a letter or a digit", status=409)
    track = Track.objects.create(competition=competition, slug=slug, **checked)
    record("create_track", track, actor=actor, now=now, after=checked | {"slug": slug})
    return track


@transaction.atomic
def edit_track(*, track: Track, actor: User, settings: Mapping[str, Any], now: datetime) -> Track:
    """Change a track. Entrants must declare a changed text of eligibility anew."""
    track = _own_track(track, actor, "change a track")
    before, after = {name: getattr(track, name) for name in TRACK_FIELDS}, _checked(track.competition, settings)
    old, new = changed(before, after)
    if new:
        check_not_awarded(track)
        for name, value in new.items():
            setattr(track, name, value)
        track.save(update_fields=list(new))
        if "eligibility" in new and (dropped := _drop_declarations(track)):
            old, new = old | {"declared_by": dropped}, new | {"declared_by": []}
        record("edit_track", track, actor=actor, now=now, before=old, after=new)
    return track


@transaction.atomic
def remove_track(*, track: Track, actor: User, now: datetime) -> None:
    """Remove a track with its prizes."""
    track = _own_track(track, actor, "remove a track")
    check_not_awarded(track)
    before = {name: getattr(track, name) for name in TRACK_FIELDS}
    before["prizes"] = [_prize(prize) for prize in track.prizes.all()]
    before["declared_by"] = _drop_declarations(track)
    record("remove_track", track, actor=actor, now=now, before=before)
    try:
        track.prizes.all().delete()
        track.delete()
    except ProtectedError:
        raise UserError("track", track.name, "something was awarded in it, which stays", status=409) from None


def _drop_declarations(track: Track) -> list[int]:
    """Drop the declarations of a text that is no longer asked for; return the entrants that had made them."""
    entrants = track.competition.entrants.select_for_update(no_key=True).filter(declared__contains=[track.slug])
    found = list(entrants.order_by("pk"))
    for entrant in found:
        entrant.declared = [slug for slug in entrant.declared if slug != track.slug]
        entrant.save(update_fields=["declared"])
    return [entrant.pk for entrant in found]


@transaction.atomic
def put_prize(
    *,
    track: Track,
    actor: User,
    place: int,
    amount: Decimal | None,
    currency: str,
    sponsor: str,
    text: str,
    now: datetime,
) -> Prize:
    """Set the prize for a place of a track, replacing an earlier prize."""
    track = _own_track(track, actor, "set a prize")
    check_not_awarded(track)
    if not 1 <= place <= MAX_PLACE:
        raise UserError("place", place, f"give 1 to {MAX_PLACE}")
    if amount is not None and not 0 < amount <= MAX_AMOUNT:
        raise UserError("amount", amount, "give more than nothing, or leave it empty for a prize without money")
    if (amount is None) != (currency == ""):
        message = "give the three letters of ISO 4217 (such as EUR) with an amount, else none"
        raise UserError("currency", currency, message)
    if amount is not None:
        check_money(amount, currency)
    check_line("sponsor", sponsor, most=128)
    check_text("text", text, most=200)
    if amount is None and not text.strip():
        raise UserError("text", text, "a prize is an amount of money, or says here what it is")
    offered = {"amount": amount, "currency": currency, "sponsor": sponsor, "text": text}
    known = track.prizes.filter(place=place).first()
    before = {} if known is None else _prize(known)
    prize, _ = Prize.objects.update_or_create(track=track, place=place, defaults=offered)
    if _prize(prize) != before:
        record("put_prize", prize, actor=actor, now=now, before=before, after=_prize(prize))
    return prize


@transaction.atomic
def remove_prize(*, prize: Prize, actor: User, now: datetime) -> None:
    track = _own_track(prize.track, actor, "remove a prize")
    check_not_awarded(track)
    record("remove_prize", prize, actor=actor, now=now, before=_prize(prize))
    try:
        prize.delete()
    except ProtectedError:
        raise UserError("prize", prize.place, "it was awarded, and stays", status=409) from None


def _own_track(track: Track, actor: User, act: str) -> Track:
    """Return the locked row, after a check of the role. Its competition is locked as well, as by acts on awards."""
    check_role(actor, track.competition, Role.OWNER, act)
    Competition.objects.select_for_update(no_key=True).get(pk=track.competition_id)
    return Track.objects.select_for_update(of=("self",)).select_related("competition").get(pk=track.pk)


def _checked(competition: Competition, settings: Mapping[str, Any]) -> dict[str, Any]:
    checked = dict(settings)
    check_line("name", checked["name"], most=MAX_NAME_CHARS, least=1)
    check_text("description", checked["description"], most=5_000)
    check_text("eligibility", checked["eligibility"], most=5_000)
    check_choice("kind", checked["kind"], Track.KINDS)
    check_choice("tie_rule", checked["tie_rule"], Track.TIE_RULES)
    checked["divisions"] = check_divisions("divisions", checked["divisions"])
    _check_single_group(competition, checked["divisions"], "this track")
    checked["params"] = _params(competition, checked["kind"], checked["params"])
    if not 0 <= checked["position"] <= 1_000:
        raise UserError("position", checked["position"], "give 0 to 1,000: tracks are shown in this order")
    return checked


def groups_of(competition: Competition, divisions: Iterable[str]) -> list[str]:
    """Return the groups with a ranking of their own to which a track's divisions belong, as far as there are any."""
    offered = set(divisions) & set(competition.divisions) or set(divisions)
    return [group for group in competition.groups if offered & set(MEMBERS[group])]


def _check_single_group(competition: Competition, divisions: Iterable[str], where: str) -> None:
    if len(groups_of(competition, divisions)) > 1:
        text = f"agents rank apart from people here, and {where} is for both"
        way = "choose agent alone, or human and mixed; a second track can have the others"
        raise UserError("divisions", ", ".join(divisions), f"{text}: {way}", status=409)


def _params(competition: Competition, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return exactly the parameters of this kind of track, each checked against the competition."""
    boards = list(competition.boards.values_list("slug", "hardware", "tags"))
    match kind:
        case Track.HARDWARE:
            return {"hardware": _one_of("hardware", given, (hardware for _, hardware, _ in boards))}
        case Track.TAG:
            return {"tag": _one_of("tag", given, (tag for _, _, tags in boards for tag in tags))}
        case Track.BOARD | Track.FIRST_TO_BEAT:
            slug, hardware = given.get("slug", ""), given.get("hardware", "")
            if (slug, hardware) not in {(one, where) for one, where, _ in boards}:
                raise UserError("board", f"{slug} {hardware}".strip(), "choose one of the boards of this competition")
            ratio = given.get("ratio")
            if kind == Track.BOARD:
                return {"slug": slug, "hardware": hardware}
            if not isinstance(ratio, int | float) or not 0 < ratio <= 100:
                raise UserError("ratio", ratio, "say how many times as fast as the baseline is to be beaten, such as 2")
            return {"slug": slug, "hardware": hardware, "ratio": float(ratio)}
    return {}


def _one_of(field: str, given: Mapping[str, Any], known: Iterable[str]) -> str:
    value, there = given.get(field, ""), sorted(set(known))
    if value not in there:
        names = ", ".join(there) or "there is none"
        raise UserError(field, value, f"choose one of those that its boards have: {names}")
    return str(value)


def check_not_awarded(track: Track) -> None:
    """Refuse changes after winners are announced. The awards app is above, so its rows are queried by name."""
    if track.awards.filter(state="announced").exists():
        raise UserError("track", track.name, "its winners are announced; withdraw that first, and say why", status=409)


def _prize(prize: Prize) -> dict[str, Any]:
    amount = None if prize.amount is None else str(prize.amount)
    return {name: getattr(prize, name) for name in ("track_id", *PRIZE_FIELDS)} | {"amount": amount}
