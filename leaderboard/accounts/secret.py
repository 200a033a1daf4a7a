"""Bearer secrets: made from the system's randomness, shown once, kept as a SHA-256 digest.

A plain digest is enough because the text has 256 random bits, too many to guess.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

RANDOM_BYTES: Final = 32
SHOWN_CHARS: Final = 6  # of the random part
MAX_SECRET_CHARS: Final = 128


@dataclass(frozen=True)
class Secret:
    text: str
    prefix: str
    digest: str


def make_secret(kind: str) -> Secret:
    """Return a new secret; `kind` starts its text ("pf_", "pfr_"), so that leaked secrets can be recognised."""
    random = secrets.token_urlsafe(RANDOM_BYTES)
    text = kind + random
    return Secret(text=text, prefix=kind + random[:SHOWN_CHARS], digest=digest_of(text))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
