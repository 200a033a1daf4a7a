"""Awards as pages and exports show them: announced awards to everybody, proposals and their reasons to organisers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.awards import life
from leaderboard.awards.contested import newest
from leaderboard.awards.models import ANNOUNCED, APPROVED, WITHDRAWN, Award
from leaderboard.awards.winners import TIE_RULES, ordinal, won
from leaderboard.competitions.models import Competition, Track
from leaderboard.competitions.permissions import Viewer, tracks_seen_by
from leaderboard.confirmations.models import Confirmation
from leaderboard.web.boards.contests import prize_said, track_said
from leaderboard.web.organise.confirmations import said_of
from leaderboard.web.organise.exports import csv_lines

COLUMNS: Final = ("track", "place", "shared_by", "winner", "amount", "currency", "other", "sponsors", "reason")
GONE: Final = "an entrant"


@dataclass(frozen=True)
class Shown:
    track: Track
    rule: str
    tie_rule: str
    prizes: list[dict[str, str]]
    winners: list[dict[str, Any]]  # once they are announced
    announced_at: datetime | None
    desk: dict[str, Any] | None


def shown(competition: Competition, viewer: Viewer, *, now: datetime, as_owner: bool) -> list[Shown]:
    """Return every track that the viewer may see, in order.

    It makes a few queries. An owner's page draws each living award again.
    """
    tracks = list(tracks_seen_by(viewer, competition).select_related("competition").prefetch_related("prizes"))
    awards = {award.track_id: award for award in _living(competition)}
    names = life.names_of([award.content for award in awards.values()])
    return [_shown(track, awards.get(track.pk), names, now=now, as_owner=as_owner) for track in tracks]


def rows(competition: Competition, viewer: Viewer) -> list[dict[str, Any]]:
    """Return the announced winners, a row per winner and currency, in the order of tracks and places."""
    seen = set(tracks_seen_by(viewer, competition).values_list("pk", flat=True))
    awards = sorted(
        (award for award in _living(competition) if award.state == ANNOUNCED and award.track_id in seen),
        key=lambda award: (award.track.position, award.track_id),
    )
    names = life.names_of([award.content for award in awards])
    return [row for award in awards for winner in award.winners for row in _rows(award, winner, names)]


def as_csv(competition: Competition, viewer: Viewer) -> str:
    return csv_lines([COLUMNS, *([row[name] for name in COLUMNS] for row in rows(competition, viewer))])


def _rows(award: Award, winner: dict[str, Any], names: dict[int, str]) -> list[dict[str, Any]]:
    """Return a winner's rows by currency. The first row also holds the prizes that are not money."""
    money = winner["money"] or [{"amount": "", "currency": ""}]
    return [
        {
            "track": award.track.name,
            "place": winner["place"],
            "shared_by": winner["shared_by"],
            "winner": names.get(winner["entrant"], GONE),
            "amount": one["amount"],
            "currency": one["currency"],
            "other": "" if number else ", ".join(winner["things"]),
            "sponsors": ", ".join(winner["sponsors"]),
            "reason": winner["why"],
        }
        for number, one in enumerate(money)
    ]


def _living(competition: Competition) -> Sequence[Award]:
    awards = Award.objects.filter(track__competition=competition).exclude(state=WITHDRAWN)
    return list(awards.select_related("track__competition", "announcement").prefetch_related("steps__actor"))


def _shown(track: Track, award: Award | None, names: dict[int, str], *, now: datetime, as_owner: bool) -> Shown:
    announced = award if award is not None and award.state == ANNOUNCED else None
    return Shown(
        track=track,
        rule=track_said(track),
        tie_rule=TIE_RULES[track.tie_rule],
        prizes=[
            {"place": ordinal(prize.place), "what": prize_said(prize), "sponsor": prize.sponsor}
            for prize in track.prizes.all()
        ],
        winners=_winners(announced, names) if announced else [],
        announced_at=announced.announcement.created_at if announced and announced.announcement else None,
        desk=_desk(award, names, now) if as_owner else None,
    )


def _desk(award: Award | None, names: dict[int, str], now: datetime) -> dict[str, Any]:
    """Return a track as an organiser works on it; its award is None if no proposal exists."""
    if award is None:
        return {"award": None, "state": ("nothing proposed", "")}
    pairs = award.content["pairs"]
    shown_pairs = [_pair(pair, last, names) for pair, last in zip(pairs, newest(pairs), strict=True)]
    return {
        "award": award,
        "state": (award.state, "good" if award.state in (APPROVED, ANNOUNCED) else ""),
        "is_stale": life.is_stale(award, now=now),
        "winners": _winners(award, names),
        "skipped": [
            {"name": names.get(one["entrant"], GONE), "reason": one["reason"]} for one in award.content["skipped"]
        ],
        "pairs": shown_pairs,
        "steps": list(award.steps.all()),
        "open_pairs": sum(not pair["is_settled"] for pair in shown_pairs),
    }


def _winners(award: Award, names: dict[int, str]) -> list[dict[str, Any]]:
    return [
        {
            "number": winner["place"],
            "place": ordinal(winner["place"]),
            "shared_by": winner["shared_by"],
            "name": names.get(winner["entrant"], GONE),
            "won": won(winner),
            "money": winner["money"],
            "things": winner["things"],
            "sponsors": ", ".join(winner["sponsors"]),
            "why": winner["why"],
        }
        for winner in award.winners
    ]


def _pair(pair: dict[str, Any], last: Confirmation | None, names: dict[int, str]) -> dict[str, Any]:
    return {
        "upper": names.get(pair["upper"], GONE),
        "lower": names.get(pair["lower"], GONE),
        "where": pair["where"],
        "gap": f"{100 * pair['gap']:.2f} %",
        "said": ("not asked for", "") if last is None else said_of(last),
        "why": "" if last is None else last.message,
        "is_settled": last is not None and last.outcome == life.SETTLED,
    }
