"""Awards as pages and exports show them: announced awards to everybody, proposals and their reasons to organisers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from leaderboard.awards import life
from leaderboard.awards.models import ANNOUNCED, APPROVED, WITHDRAWN, Award
from leaderboard.awards.standing import newest
from leaderboard.awards.winners import TIE_RULES, ordinal, won
from leaderboard.competitions.models import Competition
from leaderboard.competitions.permissions import Viewer, tracks_seen_by
from leaderboard.web.boards.contests import prize_said, track_said
from leaderboard.web.organise.standing_pages import said_of
from leaderboard.wording.spreadsheet import csv_lines

COLUMNS: Final = ("track", "place", "shared_by", "winner", "amount", "currency", "other", "sponsors", "reason")
GONE: Final = "an entrant"


def shown(competition: Competition, viewer: Viewer, *, now: datetime, as_owner: bool) -> list[dict[str, Any]]:
    """Return every track that the viewer may see, in order, with winners once they are announced.

    It makes a few queries. An owner's page draws each living award again.
    """
    tracks = list(tracks_seen_by(viewer, competition).select_related("competition").prefetch_related("prizes"))
    awards = {award.track_id: award for award in _living(competition)}
    names = life.names_of([award.content for award in awards.values()])
    announced: dict[int, dict[str, Any]] = {
        pk: {"winners": _winners(award, names), "announced_at": award.announcement.created_at}
        for pk, award in awards.items()
        if award.state == ANNOUNCED and award.announcement
    }
    return [
        {
            "track": track,
            "rule": track_said(track),
            "tie_rule": TIE_RULES[track.tie_rule],
            "prizes": [
                {"place": ordinal(prize.place), "what": prize_said(prize), "sponsor": prize.sponsor}
                for prize in track.prizes.all()
            ],
            **announced.get(track.pk, {"winners": [], "announced_at": None}),
            "desk": desk(awards.get(track.pk), names, now) if as_owner else None,
        }
        for track in tracks
    ]


def rows(competition: Competition, viewer: Viewer) -> list[dict[str, Any]]:
    """Return the announced winners, a row per winner and currency, in the order of tracks and places."""
    seen = set(tracks_seen_by(viewer, competition).values_list("pk", flat=True))
    awards = sorted(
        (award for award in _living(competition) if award.state == ANNOUNCED and award.track_id in seen),
        key=lambda award: (award.track.position, award.track_id),
    )
    names = life.names_of([award.content for award in awards])
    return [
        {
            "track": award.track.name,
            "place": winner["place"],
            "shared_by": winner["shared_by"],
            "winner": names.get(winner["entrant"], GONE),
            **money,
            "other": "" if number else ", ".join(winner["things"]),  # in the winner's first row
            "sponsors": ", ".join(winner["sponsors"]),
            "reason": winner["why"],
        }
        for award in awards
        for winner in award.winners
        for number, money in enumerate(winner["money"] or [{"amount": "", "currency": ""}])
    ]


def as_csv(competition: Competition, viewer: Viewer) -> str:
    return csv_lines([COLUMNS, *([row[name] for name in COLUMNS] for row in rows(competition, viewer))])


def _living(competition: Competition) -> Sequence[Award]:
    awards = Award.objects.filter(track__competition=competition).exclude(state=WITHDRAWN)
    return list(awards.select_related("track__competition", "announcement").prefetch_related("steps__actor"))


def desk(award: Award | None, names: dict[int, str], now: datetime) -> dict[str, Any]:
    """Return a track as an organiser works on it; its award is None if no proposal exists."""
    if award is None:
        return {"award": None, "state": ("nothing proposed", "")}
    pairs = award.content["pairs"]
    shown_pairs = [
        {
            "upper": names.get(pair["upper"], GONE),
            "lower": names.get(pair["lower"], GONE),
            "where": pair["where"],
            "gap": f"{100 * pair['gap']:.2f} %",
            "said": said_of(last) if last else ("not asked for", ""),
            "why": last.message if last else "",
            "is_settled": last is not None and last.outcome == life.SETTLED,
        }
        for pair, last in zip(pairs, newest(pairs), strict=True)
    ]
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
        winner
        | {
            "number": winner["place"],
            "place": ordinal(winner["place"]),
            "name": names.get(winner["entrant"], GONE),
            "won": won(winner),
            "sponsors": ", ".join(winner["sponsors"]),
        }
        for winner in award.winners
    ]
