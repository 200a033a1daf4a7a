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
from leaderboard.audit.record import changed, record
from leaderboard.competitions.checks import (
    MAX_NAME_CHARS,
    MAX_SLUG_CHARS,
    check_choice,
    check_divisions,
    check_money,
    check_text,
)
from leaderboard.competitions.models import Competition, Prize, Role, Track
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError

MAX_TRACKS: Final = 50  # per competition
MAX_PLACE: Final = 100
MAX_AMOUNT: Final = Decimal("9999999999.99")
FIELDS: Final = ("name", "description", "kind", "params", "divisions", "eligibility", "tie_rule", "position")
PRIZE_FIELDS: Final = ("place", "amount", "currency", "sponsor", "text")


@transaction.atomic
def create_track(*, competition: Competition, actor: User, settings: Mapping[str, Any], now: datetime) -> Track:
    """Create a track; `settings` has all of FIELDS. Its slug is made from its name and stays."""
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
    track = _own(track, actor, "change a track")
    before, after = {name: getattr(track, name) for name in FIELDS}, _checked(track.competition, settings)
    old, new = changed(before, after)
    if new:
        check_not_awarded(track)
        for name, value in new.items():
            setattr(track, name, value)
        track.save(update_fields=list(new))
        record("edit_track", track, actor=actor, now=now, before=old, after=new)
    return track


@transaction.atomic
def remove_track(*, track: Track, actor: User, now: datetime) -> None:
    """Remove a track with its prizes."""
    track = _own(track, actor, "remove a track")
    check_not_awarded(track)
    before = {name: getattr(track, name) for name in FIELDS}
    before["prizes"] = [_prize(prize) for prize in track.prizes.all()]
    record("remove_track", track, actor=actor, now=now, before=before)
    try:
        track.prizes.all().delete()
        track.delete()
    except ProtectedError:
        raise UserError("track", track.name, "something was awarded in it, which stays", status=409) from None


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
    if not 1 <= place <= MAX_PLACE:
        raise UserError("place", place, f"give 1 to {MAX_PLACE}")
    if amount is not None and not 0 < amount <= MAX_AMOUNT:
        raise UserError("amount", amount, "give more than nothing, or leave it empty for a prize without money")
    if (amount is None) != (currency == ""):
        message = "give the three letters of ISO 4217 (such as EUR) with an amount, else none"
        raise UserError("currency", currency, message)
    if amount is not None:
        check_money(amount, currency)
    check_text("sponsor", sponsor, most=128)
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
    track = _own(prize.track, actor, "remove a prize")
    check_not_awarded(track)
    record("remove_prize", prize, actor=actor, now=now, before=_prize(prize))
    try:
        prize.delete()
    except ProtectedError:
        raise UserError("prize", prize.place, "it was awarded, and stays", status=409) from None


def _own(track: Track, actor: User, act: str) -> Track:
    check_role(actor, track.competition, Role.OWNER, act)
    return Track.objects.select_for_update(of=("self",)).select_related("competition").get(pk=track.pk)


def _checked(competition: Competition, settings: Mapping[str, Any]) -> dict[str, Any]:
    checked = dict(settings)
    check_text("name", checked["name"], most=MAX_NAME_CHARS, least=1)
    check_text("description", checked["description"], most=5_000)
    check_text("eligibility", checked["eligibility"], most=5_000)
    check_choice("kind", checked["kind"], Track.KINDS)
    check_choice("tie_rule", checked["tie_rule"], Track.TIE_RULES)
    checked["divisions"] = check_divisions("divisions", checked["divisions"])
    checked["params"] = _params(competition, checked["kind"], checked["params"])
    if not 0 <= checked["position"] <= 1_000:
        raise UserError("position", checked["position"], "give 0 to 1,000: tracks are shown in this order")
    return checked


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
