"""Origin of a competition: different set names may lead to the same address.

A set fills the competition at its address only if the competition has, or once had, the set's name. An organiser may
therefore rename it and import again. The audit has its earlier names: from creation, imports and edits.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from django.utils.text import slugify

from leaderboard.audit.models import Row
from leaderboard.competitions.checks import MAX_SLUG_CHARS
from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError

_NAMING: Final = ("create_competition", "clone_competition", "edit_competition", "import_set")


def slug_of(name: str) -> str:
    """Return the address of the competition of a set with this name."""
    slug = slugify(name)[:MAX_SLUG_CHARS]
    if not slug:
        raise UserError("name", name, "a set's name needs a letter or a digit of ASCII")
    return slug


def check_is_of(competition: Competition, set_name: str) -> None:
    """Raise UserError if this competition belongs to another set, or was made on the site under another name."""
    if _plain(set_name) in map(_plain, (competition.name, *_names_it_had(competition))):
        return
    raise UserError(
        "name",
        set_name,
        f"{set_name!r} comes to the address {competition.slug}, and there is the competition {competition.name!r}; "
        "change the name in the set (import_kernelbench: --name), or, if that competition is meant, rename it to "
        f"{set_name!r} in its settings on the site and import again",
    )


def _names_it_had(competition: Competition) -> list[str]:
    label = Competition._meta.label_lower
    rows = Row.objects.filter(object_type=label, object_id=str(competition.pk), act__in=_NAMING)
    told = rows.values_list("before__name", "after__name")
    return [name for pair in told for name in pair if isinstance(name, str)]


def _plain(name: str) -> str:
    """Return a normalised name, so that names that differ only in case, width or spaces are equal."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
