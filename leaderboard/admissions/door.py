"""May a version of a problem take submissions on a hardware, as far as its admission tests go?

Never asked for: yes. Asked on import (`gate`): once a test passed. Else: until one failed. An organiser's override of
the newest finished test opens it, with a reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from leaderboard.admissions.models import ACCEPTS_HALF, DONE, ERROR, PASSED, AdmissionTest
from leaderboard.competitions.models import Board, BoardQuerySet, ProblemVersion
from leaderboard.errors import UserError
from leaderboard.judging.models import Runner
from runner.wire import STARTER


def refusal(*, version_id: int, hardware: str) -> str:
    """Why no submission is taken, for a competitor; "" where one is."""
    tests = AdmissionTest.objects.filter(version=version_id, hardware=hardware).defer("told")
    return _refusal(list(tests), seen_hardware(), hardware)


def refusals(boards: Iterable[Board]) -> dict[int, str]:
    """The same by the ids of many boards, in two queries."""
    boards = list(boards)
    found: dict[tuple[int, str], list[AdmissionTest]] = defaultdict(list)
    for test in AdmissionTest.objects.filter(version__in={board.version_id for board in boards}).defer("told"):
        found[test.version_id, test.hardware].append(test)
    seen = seen_hardware()
    return {board.pk: _refusal(found[board.version_id, board.hardware], seen, board.hardware) for board in boards}


def unadmitted_boards(boards: BoardQuerySet) -> list[tuple[Board, AdmissionTest]]:
    """Return the boards that an admission test keeps closed, each with its newest test: failed, waiting or running."""
    found = list(boards.select_related("competition", "problem").order_by("slug", "hardware"))
    refused = refusals(found)
    closed = [board for board in found if refused[board.pk]]
    newest: dict[tuple[int, str], AdmissionTest] = {}
    for test in AdmissionTest.objects.filter(version__in={board.version_id for board in closed}).order_by("id"):
        newest[test.version_id, test.hardware] = test
    return [(board, newest[board.version_id, board.hardware]) for board in closed]


def accepts_half(versions: Iterable[ProblemVersion]) -> bool:
    """Does one of the versions accept half precision, by the newest test that knows?"""
    return any(ACCEPTS_HALF in test.marks for test in _newest_known(versions))


def starter_outcomes(versions: Iterable[ProblemVersion]) -> dict[str, str]:
    """Return language → outcome of its starter code in the newest test that tried it."""
    return {
        line["name"].removeprefix(STARTER): line["got"]
        for test in _newest_known(versions)
        for line in test.lines
        if line["name"].startswith(STARTER)
    }


def _newest_known(versions: Iterable[ProblemVersion]) -> Iterable[AdmissionTest]:
    """The newest finished test of each version and hardware."""
    tests = AdmissionTest.objects.filter(version__in=[version.pk for version in versions], state=DONE)
    newest = {(test.version_id, test.hardware): test for test in tests.exclude(outcome=ERROR).order_by("id")}
    return newest.values()


def seen_hardware() -> set[str]:
    """Return the hardware of every runner that ever reached this site."""
    return set(Runner.objects.exclude(last_seen_at=None).values_list("hardware", flat=True))


def _refusal(tests: list[AdmissionTest], seen: set[str], hardware: str) -> str:
    """`tests`: of one version and hardware, newest first. `seen`: of seen_hardware."""
    known = next((test for test in tests if test.state == DONE and test.outcome != ERROR), None)
    if known is not None:
        if known.outcome == PASSED or known.is_overridden:
            return ""
        return "this version of the problem failed its admission test; its organiser can see why"
    last = next((test for test in tests if test.gate), None)
    if last is None or last.is_overridden:
        return ""
    if last.state == DONE:
        return "this version of the problem could not be tested yet; its organiser can see why"
    if hardware not in seen:
        return f"no machine with {hardware} has joined this site yet; its admission test waits for the first"
    return "this version of the problem has to pass its admission test first; try again in some minutes"


def check_admitted(board: Board) -> None:
    """Raises UserError."""
    why = refusal(version_id=board.version_id, hardware=board.hardware)
    if why:
        raise UserError("board", board.slug, why, status=409)
