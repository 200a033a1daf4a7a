"""Admission of a problem version on a hardware: may it take submissions, as far as its admission tests go?

Without a test: yes. With a test asked for on import (`gate`): once a test has passed. With any other test: until a test
fails. An organiser's override of the newest finished test opens the version, with a reason, until a later test fails.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Set

from django.db.models import QuerySet

from leaderboard.admissions.models import ACCEPTS_HALF, PASSED, AdmissionTest
from leaderboard.competitions.models import Board, BoardQuerySet, ProblemVersion
from leaderboard.errors import UserError
from leaderboard.judging.models import DONE, ERROR, Runner
from runner.wire import STARTER


def refusal(*, version_id: int, hardware: str) -> str:
    """Return the reason, for a competitor, why no submission is taken; "" if submissions are taken."""
    tests = AdmissionTest.objects.filter(version=version_id, hardware=hardware).defer("told")
    return _refusal(list(tests), None, hardware)


def refusals(boards: Iterable[Board], *, seen: Set[str] | None = None) -> dict[int, str]:
    """Return refusals by board id for many boards, in two queries, or in one if the caller passes `seen_hardware()`."""
    boards = list(boards)
    found: dict[tuple[int, str], list[AdmissionTest]] = defaultdict(list)
    for test in AdmissionTest.objects.filter(version__in={board.version_id for board in boards}).defer("told"):
        found[test.version_id, test.hardware].append(test)
    seen = seen_hardware() if seen is None else seen
    return {board.pk: _refusal(found[board.version_id, board.hardware], seen, board.hardware) for board in boards}


def unadmitted_boards(boards: BoardQuerySet) -> list[tuple[Board, AdmissionTest]]:
    """Return the boards that an admission test keeps closed, each with its newest test: failed, waiting or running."""
    found = list(boards.select_related("competition", "problem").order_by("slug", "hardware"))
    refused = refusals(found)
    closed = [board for board in found if refused[board.pk]]
    newest = newest_tests(AdmissionTest.objects.filter(version__in={board.version_id for board in closed}))
    return [(board, newest[board.version_id, board.hardware]) for board in closed]


def accepts_half(tests: Iterable[AdmissionTest]) -> bool:
    """Return whether these tests of `newest_verdicts` show that the problem version accepts half precision."""
    return any(ACCEPTS_HALF in test.marks for test in tests)


def starter_outcomes(tests: Iterable[AdmissionTest]) -> dict[str, str]:
    """Return the outcome of the starter code by language, from these tests of `newest_verdicts`.

    A fault of the runner is no outcome of a starter.
    """
    return {
        line["name"].removeprefix(STARTER): line["got"]
        for test in tests
        for line in test.lines
        if line["name"].startswith(STARTER) and not line["got"].startswith(("infra_error", "unmeasurable"))
    }


def newest_verdicts(versions: Iterable[ProblemVersion]) -> Collection[AdmissionTest]:
    """Return the newest test with a verdict of each version and hardware."""
    tests = AdmissionTest.objects.filter(version__in=[version.pk for version in versions], state=DONE)
    return newest_tests(tests.exclude(outcome=ERROR)).values()


def newest_tests(tests: QuerySet[AdmissionTest]) -> dict[tuple[int, str], AdmissionTest]:
    """Return the newest of these tests by version and hardware; the database sends only these rows."""
    newest = tests.order_by("version_id", "hardware", "-id").distinct("version_id", "hardware")
    return {(test.version_id, test.hardware): test for test in newest}


def seen_hardware() -> set[str]:
    """Return the hardware of every runner that ever reached this site."""
    return set(Runner.objects.exclude(last_seen_at=None).values_list("hardware", flat=True))


def _refusal(tests: list[AdmissionTest], seen: Set[str] | None, hardware: str) -> str:
    """Return the refusal. `tests` are of one version and hardware, newest first.

    `seen` is from seen_hardware; None: read it if it is needed.
    """
    finished = [test for test in tests if test.state == DONE]
    decisive = next((test for test in finished if test.is_overridden or test.outcome != ERROR), None)
    if decisive is not None:
        if decisive.is_overridden or decisive.outcome == PASSED:
            return ""
        return "this version of the problem failed its admission test; its organiser can see why"
    last = next((test for test in tests if test.gate), None)
    if last is None:
        return ""
    if last.state == DONE:
        return "this version of the problem could not be tested yet; its organiser can see why"
    if hardware not in (seen_hardware() if seen is None else seen):
        return f"no machine with {hardware} has joined this site yet; its admission test waits for the first"
    return "this version of the problem has to pass its admission test first; try again in some minutes"


def check_admitted(board: Board) -> None:
    """Raise UserError if the board takes no submissions."""
    why = refusal(version_id=board.version_id, hardware=board.hardware)
    if why:
        raise UserError("board", board.slug, why, 409, "not_admitted")
