"""Tracks and prizes of a competition: create, change, remove. Announced awards stay unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.text import slugify

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.checks import MAX_NAME_CHARS, MAX_SLUG_CHARS, check_choice, check_divisions, check_text
from leaderboard.competitions.currencies import check_money
from leaderboard.competitions.models import Competition, Prize, Role, Track
from leaderboard.competitions.permissions import check_role
from leaderboard.competitions.plain import changed, plain
from leaderboard.errors import UserError

MAX_TRACKS: Final = 50  # per competition
MAX_PLACE: Final = 100
MAX_AMOUNT: Final = Decimal("9999999999.99")
FIELDS: Final = (
    *("name", "description", "kind", "params", "divisions", "eligibility"),
    *("tie_rule", "position"),
)


@transaction.atomic
def create_track(*, competition: Competition, actor: User, settings: Mapping[str, Any], now: datetime) -> Track:
    """Create a track; `settings` has all of FIELDS. Its slug is made from its name and stays."""
    check_role(actor, competition, Role.OWNER, "add a track")
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    if competition.tracks.count() >= MAX_TRACKS:
        raise UserError("name", settings["name"], f"there are {MAX_TRACKS} tracks already, which is the most", 409)
    told = _checked(competition, settings)
    slug = slugify(told["name"])[:MAX_SLUG_CHARS]
    if not slug or competition.tracks.filter(slug=slug).exists():
        raise UserError("name", told["name"], "give it a name of its own, with a letter or a digit", status=409)
    track = Track.objects.create(competition=competition, slug=slug, **told)
    record(act="create_track", target=track, actor=actor, reason="", now=now, after=plain(told | {"slug": slug}))
    return track


@transaction.atomic
def edit_track(*, track: Track, actor: User, settings: Mapping[str, Any], now: datetime) -> Track:
    track = _own(track, actor, "change a track")
    before, told = {name: getattr(track, name) for name in FIELDS}, _checked(track.competition, settings)
    old, new = changed(before, told)
    if new:
        check_not_awarded(track)
        for name in new:
            setattr(track, name, told[name])
        track.save(update_fields=list(new))
        record(act="edit_track", target=track, actor=actor, reason="", now=now, before=old, after=new)
    return track


@transaction.atomic
def remove_track(*, track: Track, actor: User, now: datetime) -> None:
    """Remove a track with its prizes."""
    track = _own(track, actor, "remove a track")
    check_not_awarded(track)
    told, pk = plain({name: getattr(track, name) for name in FIELDS}), track.pk
    told["prizes"] = [_prize(prize) for prize in track.prizes.all()]
    try:
        with transaction.atomic():
            track.prizes.all().delete()
            track.delete()
    except ProtectedError:
        raise UserError("track", track.name, "something was awarded in it, which stays", status=409) from None
    track.pk = pk  # for the audit row
    record(act="remove_track", target=track, actor=actor, reason="", now=now, before=told)


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
    track = _own(track, actor, "set a prize")
    check_not_awarded(track)
    _check_prize(place, amount, currency, sponsor, text)
    told = {"amount": amount, "currency": currency, "sponsor": sponsor, "text": text}
    known = track.prizes.filter(place=place).first()
    before = {} if known is None else _prize(known)
    prize, _ = Prize.objects.update_or_create(track=track, place=place, defaults=told)
    if _prize(prize) != before:
        record(act="put_prize", target=prize, actor=actor, reason="", now=now, before=before, after=_prize(prize))
    return prize


@transaction.atomic
def remove_prize(*, prize: Prize, actor: User, now: datetime) -> None:
    track = _own(prize.track, actor, "remove a prize")
    check_not_awarded(track)
    told, pk = _prize(prize), prize.pk
    try:
        with transaction.atomic():
            prize.delete()
    except ProtectedError:
        raise UserError("prize", prize.place, "it was awarded, and stays", status=409) from None
    prize.pk = pk  # for the audit row
    record(act="remove_prize", target=prize, actor=actor, reason="", now=now, before=told)


def _own(track: Track, actor: User, act: str) -> Track:
    check_role(actor, track.competition, Role.OWNER, act)
    return Track.objects.select_for_update(of=("self",)).select_related("competition").get(pk=track.pk)


def _checked(competition: Competition, settings: Mapping[str, Any]) -> dict[str, Any]:
    told = dict(settings)
    check_text("name", told["name"], most=MAX_NAME_CHARS, least=1)
    check_text("description", told["description"], most=5_000)
    check_text("eligibility", told["eligibility"], most=5_000)
    check_choice("kind", told["kind"], Track.KINDS)
    check_choice("tie_rule", told["tie_rule"], Track.TIE_RULES)
    told["divisions"] = check_divisions("divisions", told["divisions"])
    told["params"] = _params(competition, told["kind"], told["params"])
    if not 0 <= told["position"] <= 1_000:
        raise UserError("position", told["position"], "give 0 to 1,000: tracks are shown in this order")
    return told


def _params(competition: Competition, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return exactly the parameters of this kind of track, each checked against the competition."""
    boards = list(competition.boards.values_list("slug", "hardware", "tags"))
    match kind:
        case Track.HARDWARE:
            return {"hardware": _one_of("hardware", given, (hardware for _, hardware, _ in boards))}
        case Track.TAG:
            return {"tag": _one_of("tag", given, (tag for _, _, tags in boards for tag in tags))}
        case Track.BOARD | Track.FIRST_TO_BEAT:
            return _board_params(boards, kind, given)
    return {}


def _board_params(boards: Iterable[tuple[str, str, list[str]]], kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    slug, hardware = given.get("slug", ""), given.get("hardware", "")
    if (slug, hardware) not in {(one, where) for one, where, _ in boards}:
        raise UserError("board", f"{slug} {hardware}".strip(), "choose one of the boards of this competition")
    told: dict[str, Any] = {"slug": slug, "hardware": hardware}
    if kind == Track.FIRST_TO_BEAT:
        ratio = given.get("ratio")
        if not isinstance(ratio, int | float) or not 0 < ratio <= 100:
            raise UserError("ratio", ratio, "say how many times as fast as the baseline is to be beaten, such as 2")
        told["ratio"] = float(ratio)
    return told


def _one_of(field: str, given: Mapping[str, Any], known: Iterable[str]) -> str:
    value, there = given.get(field, ""), sorted(set(known))
    if value not in there:
        raise UserError(
            field, value, f"choose one of those that its boards have: {', '.join(there) or 'there is none'}"
        )
    return str(value)


def check_not_awarded(track: Track) -> None:
    """Refuse changes after winners are announced. The awards app is above, so its rows are queried by name."""
    if track.awards.filter(state="announced").exists():
        raise UserError("track", track.name, "its winners are announced; withdraw that first, and say why", status=409)


def _check_prize(place: int, amount: Decimal | None, currency: str, sponsor: str, text: str) -> None:
    if not 1 <= place <= MAX_PLACE:
        raise UserError("place", place, f"give 1 to {MAX_PLACE}")
    if amount is not None and not 0 < amount <= MAX_AMOUNT:
        raise UserError("amount", amount, "give more than nothing, or leave it empty for a prize without money")
    if (amount is None) != (currency == ""):
        raise UserError(
            "currency", currency, "give the three letters of ISO 4217 (such as EUR) with an amount, else none"
        )
    if amount is not None:
        check_money(amount, currency)
    check_text("sponsor", sponsor, most=128)
    check_text("text", text, most=200)
    if amount is None and not text.strip():
        raise UserError("text", text, "a prize is an amount of money, or says here what it is")


def _prize(prize: Prize) -> dict[str, Any]:
    names = ("track_id", "place", "amount", "currency", "sponsor", "text")
    return plain({name: getattr(prize, name) for name in names})
