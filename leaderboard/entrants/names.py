"""Pure: names of teams and people. Two names that look the same are the same name."""

import re
import unicodedata
from itertools import groupby, zip_longest
from typing import Final

from leaderboard.errors import UserError

MAX_NAME_CHARS: Final = 50
MAX_MARKS: Final = 2  # accents on one letter
# Letters of other scripts that look like Latin letters in their own case; the common letters, not all of them.
_LATIN: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜасԁеһіјӏорԛѕуԝхкүΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορικυχωɑɡı",
    "ABESIJKMHOPCTYXQWacdehijlopqsywxkyABEZHIKMNOPTYXavopikuxwagi",
)
# After casefold. SQL's translate() takes both texts as well, and drops characters without a counterpart.
LOOKALIKES: Final = ("i1|0._-", "lllo")
_FOLDS: Final = {ord(old): new for old, new in zip_longest(*LOOKALIKES)} | dict.fromkeys(map(ord, "‐‒–—·"))
_RESERVED: Final = """
    admin administrator anonymous api baseline deleted everybody help info judge jury moderator nobody official operator
    organiser organizer photofinish photo-finish referee reviewer root runner security site staff superuser support
    sysadmin system team webmaster www
"""
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # invisible letters and marks


def clean_text(field: str, text: str, *, most: int) -> str:
    """Return one line of normalised text: NFKC, single spaces.

    Raise UserError for characters that cannot be seen or typed again.
    """
    if len(text) > 4 * most:  # before any costly work
        raise UserError(field, text, f"at most {most} characters")
    clean = " ".join(unicodedata.normalize("NFKC", text).split())
    if len(clean) > most:
        raise UserError(field, text, f"at most {most} characters")
    for char in clean:
        if char in _BLANK or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            raise UserError(field, text, f"has a character that cannot be seen (U+{ord(char):04X}); leave it out")
    is_mark = (unicodedata.category(char) in ("Mn", "Me") for char in unicodedata.normalize("NFD", clean))
    if any(marks and len(list(run)) > MAX_MARKS for marks, run in groupby(is_mark)):
        raise UserError(field, text, "has too many accents on one letter")
    return clean


def clean_name(field: str, text: str) -> str:
    name = clean_text(field, text, most=MAX_NAME_CHARS)
    if not any(char.isalnum() for char in name):
        raise UserError(field, text, f"expected 1 to {MAX_NAME_CHARS} characters, with a letter or a digit")
    return name


def look(name: str) -> str:
    """Return the same text for two names that a reader could confuse."""
    folded = unicodedata.normalize("NFKC", name).translate(_LATIN).casefold()
    return " ".join(folded.translate(_FOLDS).split())


def is_reserved(name: str) -> bool:
    """Whether a name would pass for the site itself, a person with a role on it, or an erased one."""
    bare = look(name).strip("._- ")
    return bare in _RESERVED_LOOKS or bare.removesuffix("s") in _RESERVED_LOOKS or bool(_ERASED.fullmatch(bare))


_RESERVED_LOOKS: Final = frozenset(map(look, _RESERVED.split()))
_ERASED: Final = re.compile(look("deleted") + r"[\W\dlo]*")  # of accounts and entrants; in looks 1 is l, and 0 is o
