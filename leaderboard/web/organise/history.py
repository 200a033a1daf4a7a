"""Organisers' changes to a competition, newest first: the audit's rows of it and of its parts, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import CharField, Q
from django.db.models.functions import Cast

from leaderboard.audit.models import Row
from leaderboard.competitions.models import Announcement, Board, Competition, InviteCode, Prize, Track

MOST: Final = 200
SHOWN_CHARS: Final = 80
IMPORT: Final = "import_set"
_MOMENT: Final = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[:.\d]*\+00:00$")
_DIGEST: Final = re.compile(r"^sha256:([0-9a-f]{8})[0-9a-f]{56}$")
PARTS: Final = (
    (Board, "competition"),
    (Track, "competition"),
    (Prize, "track__competition"),
    (InviteCode, "competition"),
    (Announcement, "competition"),
)


@dataclass(frozen=True)
class Change:
    """A field with its value before and after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Line:
    at: datetime
    who: str
    act: str
    reason: str
    changes: tuple[Change, ...]
    more: int  # changes beyond those listed


def of(competition: Competition, *, most: int, fields: int = 100) -> list[Line]:
    """Return the newest changes in one query, with at most `fields` fields per row."""
    wanted = Q(object_type=Competition._meta.label_lower, object_id=str(competition.pk))
    for model, path in PARTS:
        keys = model.objects.filter(**{path: competition}).annotate(key=Cast("pk", CharField())).order_by()
        wanted |= Q(object_type=model._meta.label_lower, object_id__in=keys.values("key"))
    return [_line(row, fields) for row in Row.objects.filter(wanted).select_related("actor")[:most]]


def _line(row: Row, fields: int) -> Line:
    found = list(_imported(row.after) if row.act == IMPORT else _changes(row.before, row.after))
    return Line(
        at=row.created_at,
        who=row.actor.get_username() if row.actor else "the site",
        act=row.act.replace("_", " "),
        reason=row.reason,
        changes=tuple(found[:fields]),
        more=max(0, len(found) - fields),
    )


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterable[Change]:
    for name in dict.fromkeys((*after, *before)):
        old, new = _said(before.get(name)), _said(after.get(name))
        if old != new:
            yield Change(name.replace("_", " "), old, new)


def _imported(after: dict[str, Any]) -> Iterable[Change]:
    """Yield the effect of importing a set: on the competition, then on each problem (importing.ProblemReport)."""
    yield Change("competition", "–", _said(after.get("set")))
    for told in after.get("problems", []):
        yield Change(told["problem"], "–", _problem(told))


def _problem(told: dict[str, Any]) -> str:
    """Return e.g. "created on cpu, H200, version 9ac01d1c" or "refused: gpus: no hardware is named …"."""
    why = ": ".join(filter(None, (told.get("field"), told.get("reason"))))
    where = f" on {', '.join(told['hardware'])}" if told.get("hardware") else ""
    version = f"version {_said(told['digest'])}" if told.get("digest") else ""
    warned = len(told.get("warnings", ()))
    warnings = f"{warned} warning{'' if warned == 1 else 's'}" if warned else ""
    return ", ".join(filter(None, (f"{told['status']}{f': {_said(why)}' if why else where}", version, warnings)))


def _said(value: Any) -> str:
    """Format a value briefly; long texts are cut."""
    if value in (None, "", [], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        text = _MOMENT.sub(r"\1 \2 UTC", _DIGEST.sub(r"\1", value))
        return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…"
    if isinstance(value, list):
        return _said(", ".join(_said(one) if isinstance(one, dict) else str(one) for one in value))
    if isinstance(value, dict):
        return _said(", ".join(f"{key} {one}" for key, one in value.items()))
    return str(value)
