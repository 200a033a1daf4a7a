"""Permission to see, request and override admission tests: staff, and organisers of competitions with the board.

The same people see and request timings of torch.compile.
"""

from django.db.models import QuerySet

from leaderboard.accounts.models import User
from leaderboard.admissions.models import AdmissionTest, CompiledTiming
from leaderboard.competitions.models import Board, ProblemVersion, Role
from leaderboard.competitions.permissions import competitions_of, has_problem
from leaderboard.errors import UserError


def tests_of(user: User) -> QuerySet[AdmissionTest]:
    """Return the tests that this person may read: of versions on boards of their competitions."""
    tests = AdmissionTest.objects.select_related("version__problem")
    if user.is_staff:
        return tests
    return tests.filter(version__in=boards_of(user).values("version"))


def timings_of(user: User) -> QuerySet[CompiledTiming]:
    """Return the timings of torch.compile that this person may read: as admission tests."""
    timings = CompiledTiming.objects.select_related("version__problem")
    return timings if user.is_staff else timings.filter(version__in=boards_of(user).values("version"))


def boards_of(user: User, least: str = Role.VIEWER) -> QuerySet[Board]:
    return Board.objects.with_parts().filter(competition__in=competitions_of(user, least))


def check_may_ask(actor: User, *, version: ProblemVersion, hardware: str) -> None:
    """Raise UserError unless `actor` may ask for this test."""
    if not boards_of(actor, Role.REVIEWER).filter(version=version, hardware=hardware).exists() and not actor.is_staff:
        text = "only a reviewer of a competition with it may ask for a test"
        raise UserError("actor", actor.get_username(), text, status=403)


def check_may_override(actor: User, test: AdmissionTest) -> None:
    """Raise UserError unless `actor` is staff, or owner of every competition with this board or of the problem's first.

    An override opens all boards of the version on this hardware.
    """
    every = Board.objects.filter(version=test.version_id, hardware=test.hardware)
    own = every.filter(competition__in=competitions_of(actor, Role.OWNER))
    owns_enough = own.exists() and (own.count() == every.count() or has_problem(actor, test.version.problem))
    if not actor.is_staff and not owns_enough:
        who = "an administrator, an owner of all competitions with this board, or of the problem's first competition"
        raise UserError("actor", actor.get_username(), f"only {who}, may override its admission test", status=403)
