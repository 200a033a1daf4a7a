"""Find the earlier submission of another entrant that is most similar: table Fingerprint, and the only query on it.

Fingerprints are taken when a submission is stored, so that the order of sending counts, not the order of judging.
Stored numbers are salted with the problem: a query by any number meets submissions to that problem only, and the index
stays fast with any number of submissions to further problems. Code that the problem gives to everybody is removed
before.
"""

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from django.db import connection, transaction

import problems
from leaderboard.competitions.models import ProblemVersion
from leaderboard.review.models import Fingerprint, Measurement
from leaderboard.review.rules import findings, similarity
from leaderboard.submissions.models import Submission
from leaderboard.submissions.tokens import Read, read

SAMPLES: Final = Path(problems.__file__).parent / "library"  # …/<set>/<problem>/submissions/<verdict>/
VISITED: Final = 100_000  # pairs of a print and a submission that has it, per search
CONSIDERED: Final = 500  # earlier submissions that share most
CANDIDATES: Final = 20  # of these, the submissions with the largest shared part; compared in full
MOST_SAMPLE_BYTES: Final = 100_000

_SALT: Final = 0x9E3779B97F4A7C15

# `company`: the logins of the owner and of all present and former members of the entrant. Their code is their own.
_QUERY: Final = """
    WITH accounts AS (
        SELECT coalesce(login.linked_to_id, login.id) AS id
        FROM entrants_membership AS mate
        JOIN accounts_user AS login ON login.id = mate.user_id
        WHERE mate.entrant_id = %(entrant)s
        UNION
        SELECT %(account)s
    ), company AS (
        SELECT id FROM accounts
        UNION ALL
        SELECT login.id FROM accounts JOIN accounts_user AS login ON login.linked_to_id = accounts.id
    )
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
              AND entrant_id <> %(entrant)s AND owner_id <> ALL (ARRAY(SELECT id FROM company))
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
    """Fingerprints of a source, as they are stored."""

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
    """Return the rules' view of a submission's source. Missing fingerprints are taken now."""
    own = Fingerprint.objects.filter(submission=submission, version=similarity.VERSION).first()
    if own is None:
        taken = take(read(submission.source), submission.board.version)
        prints, opaque_chars = taken.prints, taken.opaque_chars
    else:
        prints, opaque_chars = own.prints, own.opaque_chars
    return findings.Source(likeness=most_similar(frozenset(prints), submission), opaque_chars=opaque_chars)


def opaque_chars_of(submissions: Sequence[Submission]) -> dict[int, int]:
    """Map submissions to the characters of their literals that hold data. Missing fingerprints are taken now."""
    own = Fingerprint.objects.filter(submission__in=submissions, version=similarity.VERSION)
    known = dict(own.values_list("submission", "opaque_chars"))
    rest = [submission for submission in submissions if submission.pk not in known]
    return known | {one.pk: take(read(one.source), one.board.version).opaque_chars for one in rest}


def sources_of(submissions: Sequence[Submission]) -> dict[int, findings.Source]:
    """Return source_of for many submissions that may have been screened before.

    Only earlier submissions are compared. A submission that was found unlike all of them stays unlike them, and is not
    looked up again.
    """
    rows = Measurement.objects.filter(result__attempt__submission__in=submissions).order_by("pk")
    measured = dict(rows.values_list("result__attempt__submission", "values"))  # of the last screening
    own = Fingerprint.objects.filter(submission__in=submissions, version=similarity.VERSION)
    opaque = dict(own.values_list("submission", "opaque_chars"))
    found = {}
    for submission in submissions:
        share = measured.get(submission.pk, {"similar_source": None}).get("similar_source", 0.0)  # None: no number
        if submission.pk in opaque and share is not None and share < findings.LIKE:
            like = findings.Likeness(0, share, 0, 0) if share else None  # too little to look up the submission
            found[submission.pk] = findings.Source(likeness=like, opaque_chars=opaque[submission.pk])
        else:
            found[submission.pk] = source_of(submission)
    return found


def most_similar(prints: Set[int], submission: Submission) -> findings.Likeness | None:
    """Return the most similar earlier submission of another entrant to the same problem.

    None: no shared code, or too little to report.
    """
    if not prints:
        return None
    told: dict[str, int | list[int]] = {
        "asked": sorted(prints),  # they are hashes: prints beyond the limit leave a fair sample
        "asking": len(prints),
        "least": similarity.LEAST_STATEMENTS,
        "version": similarity.VERSION,
        "submission": submission.pk,
        "entrant": submission.entrant_id,
        "account": submission.owner.account_id,
        "visited": VISITED,
        "considered": CONSIDERED,
        "most": CANDIDATES,
    }
    # The planner assumes that unpacking an array is free: it may choose to unpack every array for each print.
    with planned_without("seqscan"), connection.cursor() as cursor:
        cursor.execute(_QUERY, told)
        found = [(pk, similarity.likeness(prints, frozenset(theirs))) for pk, theirs in cursor.fetchall()]
    found = [(pk, like) for pk, like in found if like.share]
    if not found:
        return None
    pk, like = max(found, key=lambda one: (one[1].share, -one[0]))
    return findings.Likeness(pk, like.share, like.shared, like.of)


@contextmanager
def planned_without(*methods: str) -> Iterator[None]:
    """Let PostgreSQL plan the queries inside without these methods, as far as it can."""
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute("".join(f"SET LOCAL enable_{method} = off;" for method in methods))
        yield
        cursor.execute("".join(f"SET LOCAL enable_{method} = DEFAULT;" for method in methods))


def _salted(value: int, problem_id: int) -> int:
    """Return the salted print as a signed number of 32 bits; the kind stays in the last bit."""
    mixed = similarity.mixed((value >> 1) ^ (problem_id * _SALT & ((1 << 61) - 1)))
    return ((mixed & 0x7FFF_FFFF) << 1 | value & 1) - (1 << 31)


@lru_cache(maxsize=256)
def _given(digest: str) -> frozenset[int]:
    """Return the prints of code that a problem gives to everybody: templates, files, baseline and public samples."""
    version = ProblemVersion.objects.get(digest=digest)
    texts = [*version.part("templates", {}).values(), *version.part("files", {}).values()]
    slug = str(version.part("slug", ""))
    is_plain = slug.replace("_", "").replace("-", "").isalnum()
    samples = sorted(SAMPLES.glob(f"*/{slug}/submissions/*/*")) if is_plain else []
    files = (path for path in samples if path.is_file() and path.stat().st_size <= MOST_SAMPLE_BYTES)
    texts += [version.part("baseline") or "", *(path.read_text(errors="replace") for path in files)]
    return frozenset(value for text in texts for value in similarity.fingerprints(text))
