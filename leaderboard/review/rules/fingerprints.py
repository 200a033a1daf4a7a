"""Which earlier submission of somebody else is most like this one: table Fingerprint, and the one query on it.

Fingerprints are taken when a submission is stored, so that what was sent first is known first, whoever is judged
first. Stored numbers are salted with the problem: a query by any of them meets submissions to that problem only, and
the index stays fast however many others there are. What the problem gives to everybody is taken off before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from django.db import connection, transaction
from django.db.models import Q

import problems
from leaderboard.accounts.models import User
from leaderboard.competitions.models import ProblemVersion
from leaderboard.entrants.models import Membership
from leaderboard.review.models import Fingerprint, Measurement
from leaderboard.review.rules import findings, similarity
from leaderboard.submissions.models import Submission
from leaderboard.submissions.tokens import Read, read

SAMPLES: Final = Path(problems.__file__).parent / "library"  # …/<set>/<problem>/submissions/<verdict>/
VISITED: Final = 100_000  # pairs of a print and a submission that has it, in each search
CONSIDERED: Final = 500  # earlier submissions, those that share most
CANDIDATES: Final = 20  # of these, those of which the largest part is shared; compared in full
MOST_SAMPLE_BYTES: Final = 100_000

_SALT: Final = 0x9E3779B97F4A7C15

_QUERY: Final = """
    SELECT found.submission_id, found.prints
    FROM (
        SELECT id, shared
        FROM (
            SELECT id, count(*) AS shared, max(max(place)) OVER () AS reached
            FROM (
                SELECT asked.place, earlier.*
                FROM unnest(%(asked)s::integer[]) WITH ORDINALITY AS asked (print, place)
                JOIN review_fingerprint AS earlier ON earlier.prints @> ARRAY[asked.print]
                LIMIT %(visited)s
            ) AS visited
            WHERE version = %(version)s AND submission_id < %(submission)s
              AND entrant_id <> %(entrant)s AND owner_id <> ALL (%(owners)s)
            GROUP BY id
        ) AS counted
        WHERE shared >= %(least)s * reached::float / %(asking)s
        ORDER BY shared DESC, id
        LIMIT %(considered)s
    ) AS likely
    JOIN review_fingerprint AS found USING (id)
    ORDER BY likely.shared::float / least(cardinality(found.prints), %(asking)s) DESC, found.id
    LIMIT %(most)s
"""


@dataclass(frozen=True)
class Taken:
    """Of a source, as it is stored."""

    prints: list[int]
    opaque_chars: int


def take(source: Read, version: ProblemVersion) -> Taken:
    found = similarity.fingerprints_of(source.tokens)
    prints = sorted({_salted(value, version.problem_id) for value in found - _given(version.digest)})
    is_whole = len(found) < similarity.MOST_PRINTS
    return Taken(prints, similarity.opaque_chars_of(source.tokens, source.size) if is_whole else source.size)


def keep(taken: Taken, *, submission: Submission) -> Fingerprint:
    return Fingerprint.objects.create(
        submission=submission,
        entrant=submission.entrant,
        owner=submission.owner,
        version=similarity.VERSION,
        prints=taken.prints,
        opaque_chars=taken.opaque_chars,
    )


def source_of(submission: Submission) -> findings.Source:
    """What the rules want to know of a submission's source; its fingerprints are taken now where they were not yet."""
    own = Fingerprint.objects.filter(submission=submission, version=similarity.VERSION).first()
    if own is None:
        taken = take(read(submission.source), submission.board.version)
        prints, opaque_chars = taken.prints, taken.opaque_chars
    else:
        prints, opaque_chars = own.prints, own.opaque_chars
    return findings.Source(likeness=most_similar(frozenset(prints), submission), opaque_chars=opaque_chars)


def sources_of(submissions: Sequence[Submission]) -> dict[int, findings.Source]:
    """The same of many that may have been screened before. Only what was sent earlier is compared: what was found to
    be little like any of it is so still, and is not looked up again."""
    shares = _shares_seen(submissions)
    own = Fingerprint.objects.filter(submission__in=submissions, version=similarity.VERSION)
    opaque = dict(own.values_list("submission", "opaque_chars"))
    found = {}
    for submission in submissions:
        share = shares.get(submission.pk, math.nan)
        if submission.pk in opaque and share < findings.LIKE:
            like = findings.Likeness(0, share, 0, 0) if share else None  # too little to be told, so nobody asks of what
            found[submission.pk] = findings.Source(likeness=like, opaque_chars=opaque[submission.pk])
        else:
            found[submission.pk] = source_of(submission)
    return found


def _shares_seen(submissions: Sequence[Submission]) -> dict[int, float]:
    """Submission → what its last screening measured by `similar_source`; nothing: it shares nothing."""
    rows = Measurement.objects.filter(result__attempt__submission__in=submissions).order_by("pk")
    found = rows.values_list("result__attempt__submission", "values")
    shares = ((pk, values.get("similar_source", 0.0)) for pk, values in found)
    return {pk: math.nan if share is None else share for pk, share in shares}


def most_similar(prints: Set[int], submission: Submission) -> findings.Likeness | None:
    """Among what others sent earlier to the same problem; None where nothing is shared, or too little to say."""
    if not prints:
        return None
    told: dict[str, int | list[int]] = {
        "asked": sorted(prints),  # they are hashes: whatever is not visited is a fair sample of them
        "asking": len(prints),
        "least": similarity.LEAST_STATEMENTS,
        "version": similarity.VERSION,
        "submission": submission.pk,
        "entrant": submission.entrant_id,
        "owners": _company(submission),
        "visited": VISITED,
        "considered": CONSIDERED,
        "most": CANDIDATES,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        # The planner takes an array to cost nothing to unpack: it may choose to unpack all of them for each print.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(_QUERY, told)
        found = [(pk, similarity.likeness(prints, frozenset(theirs))) for pk, theirs in cursor.fetchall()]
        cursor.execute("SET LOCAL enable_seqscan = DEFAULT")
    found = [(pk, like) for pk, like in found if like.share]
    if not found:
        return None
    pk, like = max(found, key=lambda one: (one[1].share, -one[0]))
    return findings.Likeness(pk, like.share, like.shared, like.of)


def _company(submission: Submission) -> list[int]:
    """Whose code is no other's: the owner by any login, and all who are or were of the same entrant."""
    mates = Membership.objects.filter(entrant=submission.entrant_id).values_list("user__linked_to", "user_id")
    accounts = {submission.owner.account_id, *(linked_to or user_id for linked_to, user_id in mates)}
    logins = User.objects.filter(Q(pk__in=accounts) | Q(linked_to__in=accounts))
    return list(logins.values_list("pk", flat=True))


def _salted(value: int, problem_id: int) -> int:
    """Of 32 bits with a sign; the kind stays in the last."""
    mixed = similarity.mixed((value >> 1) ^ (problem_id * _SALT & ((1 << 61) - 1)))
    return ((mixed & 0x7FFF_FFFF) << 1 | value & 1) - (1 << 31)


@lru_cache(maxsize=256)
def _given(digest: str) -> frozenset[int]:
    """Of what a problem gives to everybody: templates, files, baseline, and its public samples."""
    version = ProblemVersion.objects.get(digest=digest)
    texts = [*version.part("templates", {}).values(), *version.part("files", {}).values()]
    texts += [version.part("baseline") or "", *_samples(str(version.part("slug", "")))]
    return frozenset(value for text in texts for value in similarity.fingerprints(text))


def _samples(slug: str) -> list[str]:
    is_plain = slug.replace("_", "").replace("-", "").isalnum()
    found = sorted(SAMPLES.glob(f"*/{slug}/submissions/*/*")) if is_plain else []
    files = (path for path in found if path.is_file() and path.stat().st_size <= MOST_SAMPLE_BYTES)
    return [path.read_text(errors="replace") for path in files]
