"""Help for commands that call the site: names that a 404 explains, exit codes, and requests that may fail quietly."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from ..client import Client, ClientError, Misuse, Refused, SiteProblem
from ..client.calls import Call, submission_id
from ..client.values import JSON, sequence

T = TypeVar("T")

PASSED, NOT_PASSED, USAGE, NO_SITE, NOT_ALLOWED, HELD = range(6)  # exit codes
WORST_FIRST: Final = (NO_SITE, NOT_PASSED, HELD, PASSED)
NOT_FOUND: Final = 404
FORBIDDING: Final = (401, 403, 409, 429)  # statuses: sign-in, permission, state, quota or rate
MOST_LISTED: Final = 20  # names in a message


def exit_code(error: ClientError) -> int:
    """Return the command's exit code for an error."""
    if isinstance(error, SiteProblem):
        return NO_SITE
    return NOT_ALLOWED if isinstance(error, Refused) and error.status in FORBIDDING else USAGE


def is_pass(submission: JSON) -> bool:
    """Return whether the judge passed it and neither person nor rule rejected it; under review counts as a pass."""
    done = submission.get("status") == "done" and submission.get("outcome") == "passed"
    return done and submission.get("review") != "rejected"


def verdict_code(submission: JSON) -> int:
    """Return the command's exit code for a finished submission."""
    if submission.get("outcome") == "infra_error":
        return NO_SITE
    if not is_pass(submission):
        return NOT_PASSED
    return HELD if submission.get("review") == "under_review" else PASSED


def worst(codes: list[int]) -> int:
    return next(code for code in WORST_FIRST if code in codes)


def quietly(site: Client, call: Call[list[T]]) -> list[T]:
    """Return an addition to another answer: [] if the request fails, or would need a token that there is not."""
    if call.needs_token and not site.account.token:
        return []
    try:
        return site.once(call)
    except ClientError:
        return []


def hardware_of(board: Mapping[str, Any]) -> list[str]:
    return list(map(str, sequence(board.get("hardware"))))


@contextmanager
def explained(site: Client, slug: str, hardware: str = "") -> Iterator[None]:
    """Explain errors about the name of a board or its hardware. Raises Refused."""
    try:
        yield
    except Refused as error:
        if error.status != NOT_FOUND or not slug:
            raise
        boards = {str(board.get("slug", "")): hardware_of(board) for board in site.boards()}
        if slug not in boards:
            listed = shortened(list(boards), slug)
            raise Refused(f"board: {slug!r} is not known; there is {listed}", NOT_FOUND, error.code) from None
        if hardware and hardware not in boards[slug]:
            listed = shortened(boards[slug], hardware)
            text = f"hardware: {slug} is not judged on {hardware!r}; there is {listed}"
            raise Refused(text, NOT_FOUND, error.code) from None
        raise


def shortened(names: list[str], wanted: str) -> str:
    """Return a list of names for a message: those with the same beginning first, if there are many."""
    if len(names) <= MOST_LISTED:
        return ", ".join(names) or "none yet"
    near = sorted(names, key=lambda name: (name[:2] != wanted[:2], name))[:MOST_LISTED]
    return f"{', '.join(near)} and {len(names) - MOST_LISTED} more; `photofinish boards WORD` finds one"


@contextmanager
def known(number: str) -> Iterator[None]:
    """Explain errors about the number of a submission. Raises Misuse, Refused."""
    submission_id(number)
    try:
        yield
    except Refused as error:
        if error.status != NOT_FOUND:
            raise
        text = f"ID: there is no submission {number}, or it is not yours; see `photofinish list`"
        raise Refused(text, NOT_FOUND, error.code) from None


def one_hardware(site: Client, slug: str, hardware: str) -> str:
    """Return the hardware of a board, chosen or its only one. Raises Misuse."""
    if hardware:
        return hardware
    with explained(site, slug):
        found = hardware_of(site.board(slug))
    if len(found) != 1:
        raise Misuse(f"hardware: {slug} has {', '.join(found) or 'none'}; say which with --hardware")
    return found[0]


def own_submissions(site: Client, board: str, most: int) -> list[Any]:
    """Return the caller's submissions, newest first. An unknown board is an error, not an empty list."""
    found: list[Any] = list(site.submissions(board, most))
    if board and not found:
        with explained(site, board):
            site.board(board)
    return found
