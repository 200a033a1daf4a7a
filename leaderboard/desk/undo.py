"""Undoing acts of the desk: the reverse act, with a row of its own in the audit log that names the undone row.

Only the newest act of a topic on an object can be undone, so an undo never overrides a later decision. An undo is an
act as well, and can be undone in turn.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.db import models, transaction

from leaderboard.accounts.models import User
from leaderboard.audit.models import DESK, Row
from leaderboard.desk import acts
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.permissions import lock_names
from leaderboard.errors import UserError
from leaderboard.operations import bans
from leaderboard.operations.models import Ban
from leaderboard.submissions.models import QuotaException, Submission

Undo = Callable[..., object]


def _rename_person(row: Row, person: User, **by: Any) -> None:
    acts.rename_person(person=person, name=row.before["name"], entrants=row.before["entrants"], **by)


def _rename_entrant(row: Row, entrant: Entrant, *, field: str, **by: Any) -> None:
    acts.rename_entrant(entrant=entrant, field=field, name=row.before["name"], **by)


def _switch(act: Undo, name: str, on: bool) -> Undo:
    """Return the undoing of an act that has an opposite: the act itself with the other value."""
    return lambda row, target, **by: act(**{name: target}, on=on, **by)


# act → topic, model of its object, its undoing
UNDO: Final[dict[str, tuple[str, type[models.Model], Undo]]] = {
    "desk_deactivate": ("active", User, _switch(acts.set_active, "person", on=True)),
    "desk_reactivate": ("active", User, _switch(acts.set_active, "person", on=False)),
    "desk_make_staff": ("staff", User, _switch(acts.set_staff, "person", on=False)),
    "desk_unmake_staff": ("staff", User, _switch(acts.set_staff, "person", on=True)),
    "desk_rename": ("name", User, _rename_person),
    "desk_rename_entrant": ("name", Entrant, partial(_rename_entrant, field=acts.NAME)),
    "desk_rename_pseudonym": ("pseudonym", Entrant, partial(_rename_entrant, field=acts.PSEUDONYM)),
    "desk_take_down": ("code", Submission, _switch(acts.set_taken_down, "submission", on=False)),
    "desk_put_back": ("code", Submission, _switch(acts.set_taken_down, "submission", on=True)),
    "desk_grant_quota": ("quota", QuotaException, _switch(acts.set_quota_ended, "exception", on=True)),
    "desk_end_quota": ("quota", QuotaException, _switch(acts.set_quota_ended, "exception", on=False)),
    "desk_ban": ("ban", Ban, _switch(bans.set_lifted, "ban", on=True)),
    "desk_lift_ban": ("ban", Ban, _switch(bans.set_lifted, "ban", on=False)),
}
TOPICS: Final = {act: topic for act, (topic, _, _) in UNDO.items()} | {"rename_team": "name"}  # a captain's act
MOST_RENAMED: Final = 10
LASTING: Final = {
    "desk_sign_out": "Ended sessions do not return; the person signs in again.",
    "desk_revoke_tokens": "A revoked token may be known to strangers; its owner makes a new one.",
}
REMAINS: Final = {"desk_deactivate": "Cancelled submissions do not return; they cost no quota, and can be sent again."}


@dataclass(frozen=True)
class Shown:
    """An audit row with its undo button, or the reason for its absence."""

    row: Row
    words: str
    object: str
    link: str  # "": none
    may_undo: bool
    note: str


def shown(rows: Iterable[Row]) -> list[Shown]:
    """Return rows for a page. Three queries, whatever their number."""
    found = list(rows)
    newest = _newest([row for row in found if row.act in UNDO])
    names = _names(User, found) | _names(Entrant, found)
    made = []
    for row in found:
        kind = row.object_type.partition(".")[2]
        name = names.get((row.object_type, row.object_id)) or row.after.get("network") or row.after.get("person")
        link = {"user": "/desk/people/{}", "submission": "/submissions/{}"}.get(kind, "").format(row.object_id)
        replaced = "A later act replaced it." if row.act in UNDO and row.pk not in newest else ""
        words = row.act.removeprefix(DESK).replace("_", " ")
        note = LASTING.get(row.act, replaced)
        made.append(Shown(row, words, name or f"{kind} {row.object_id}", link, row.pk in newest, note))
    return made


def _names(model: type[User | Entrant], rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """Return the present names of the objects of this model, by type and key."""
    label = model._meta.label_lower
    found = model._default_manager.in_bulk({int(row.object_id) for row in rows if row.object_type == label})
    return {(label, str(pk)): str(one) for pk, one in found.items()}


def renamed(name: str, competition: str) -> list[str]:
    """Return the present public names of entrants of a competition that the desk renamed from this name.

    A pseudonym never follows from a former real name.
    """
    rows = Row.objects.filter(act__startswith=DESK, before__name=name)[:MOST_RENAMED]
    found = []
    for row in rows:
        keys = row.before.get("entrants") or ([row.object_id] if row.object_type == Entrant._meta.label_lower else ())
        is_pseudonym = row.act == "desk_rename_pseudonym"
        for entrant in Entrant.objects.filter(pk__in=keys, competition__slug=competition):
            if is_pseudonym or not entrant.pseudonym:
                found.append(entrant.shown_name)
    return found


def _newest(rows: Iterable[Row]) -> set[int]:
    """Return the keys of the newest acts of each topic on the objects of these rows."""
    objects = {(row.object_type, row.object_id) for row in rows}
    near = Row.objects.filter(act__in=TOPICS, object_type__in={kind for kind, _ in objects})
    near = near.filter(object_id__in={key for _, key in objects}).order_by("pk")
    facts = near.values_list("pk", "act", "object_type", "object_id")
    return set({(TOPICS[act], kind, key): pk for pk, act, kind, key in facts}.values())


@transaction.atomic
def undo(*, row: Row, actor: User, reason: str, now: datetime) -> None:
    """Undo the act of an audit row. Raise UserError if it cannot be undone, with the reason."""
    if row.act not in UNDO:
        raise UserError("act", row.act, LASTING.get(row.act, "is undone on its own page, if at all"), status=409)
    _, model, act = UNDO[row.act]
    target = model._default_manager.get(pk=row.object_id)  # no object of the desk is ever deleted
    if isinstance(target, User):  # a rename meanwhile would be overridden
        User.objects.select_for_update(no_key=True).get(pk=target.pk)
    elif isinstance(target, Entrant):
        lock_names(target.competition)
    if row.pk not in _newest([row]):
        raise UserError("act", row.act, "a later act replaced it; undo that first", status=409)
    act(row, target, actor=actor, reason=reason.strip() or f"undoes act {row.pk}", now=now, undoes=row.pk)
