"""Organisers' changes to a competition, newest first: the audit's rows of it and of its parts, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
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


Change = tuple[str, str, str]  # field, value before, value after


def of(competition: Competition, *, most: int, fields: int = 100) -> list[dict[str, Any]]:
    """Return the newest changes in one query, with at most `fields` fields per row."""
    wanted = Q(object_type=Competition._meta.label_lower, object_id=str(competition.pk))
    for model, path in PARTS:
        keys = model.objects.filter(**{path: competition}).annotate(key=Cast("pk", CharField())).order_by()
        wanted |= Q(object_type=model._meta.label_lower, object_id__in=keys.values("key"))
    entries = []
    for row in Row.objects.filter(wanted).select_related("actor")[:most]:
        found = list(_imported(row.after) if row.act == IMPORT else _changes(row.before, row.after))
        entry = {"at": row.created_at, "act": row.act.replace("_", " "), "reason": row.reason}
        entry["who"] = row.actor.get_username() if row.actor else "the site"
        entries.append(entry | {"changes": found[:fields], "more": max(0, len(found) - fields)})
    return entries


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterable[Change]:
    for name in dict.fromkeys((*after, *before)):
        old, new = _said(before.get(name)), _said(after.get(name))
        if old != new:
            yield name.replace("_", " "), old, new


def _imported(after: dict[str, Any]) -> Iterable[Change]:
    """Yield the effect of importing a set: on the competition, then on each problem (importing.ProblemReport)."""
    yield "competition", "–", _said(after.get("set"))
    for line in after.get("problems", []):
        why = ": ".join(filter(None, (line.get("field"), line.get("reason"))))
        where = f" on {', '.join(line['hardware'])}" if line.get("hardware") else ""
        version = f"version {_said(line['digest'])}" if line.get("digest") else ""
        warned = len(line.get("warnings", ()))
        warnings = f"{warned} warning{'' if warned == 1 else 's'}" if warned else ""
        outcome = f"{line['status']}: {_said(why)}" if why else f"{line['status']}{where}"
        yield line["problem"], "–", ", ".join(filter(None, (outcome, version, warnings)))


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
