"""Permissions for a match: its readers, the members of its human side, and the operator of its machine side.

Readers are the members of the human side, the operator, reviewers and owners of the board's competition, and everybody
who sees the board once both sides have published the match. They read the same: predictions, reasons, prompts, answers
and code. A worklog has its own rule: reads_worklog(); its texts are public by an act of the human side alone.
"""

from django.db.models import Q, QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_of, has_role
from leaderboard.entrants.permissions import authors_of, authorships_of, members_of
from leaderboard.errors import UserError
from leaderboard.matches.models import Match

PARTS = ("board__problem", "board__competition", "human", "operator", "prediction")


def matches_seen_by(viewer: Viewer) -> QuerySet[Match]:
    """Return the matches that this viewer may read, by address."""
    matches = Match.objects.select_related(*PARTS)
    is_public = Q(human_public_at__isnull=False, machine_public_at__isnull=False, board__in=boards_seen_by(viewer))
    if not isinstance(viewer, User):
        return matches.filter(is_public)
    judged = Q(board__competition__in=competitions_of(viewer, Role.REVIEWER))
    return matches.filter(is_public | judged | _is_own(viewer))


def matches_of(user: User) -> QuerySet[Match]:
    """Return the matches of this person, on either side."""
    return Match.objects.select_related(*PARTS).filter(_is_own(user))


def gallery(viewer: Viewer) -> QuerySet[Match]:
    """Return the public matches, on the boards that lists show this viewer."""
    boards = boards_seen_by(viewer, listed=True)
    matches = Match.objects.select_related(*PARTS)
    return matches.filter(human_public_at__isnull=False, machine_public_at__isnull=False, board__in=boards)


def is_member(user: User, match: Match) -> bool:
    return members_of(match.human).filter(user__in=logins_of(user)).exists()


def is_author(user: User, match: Match) -> bool:
    """Return whether the human side's work is this person's: a member's, or of one who has since joined a team."""
    return authors_of(match.human).filter(user__in=logins_of(user)).exists()


def is_operator(user: User, match: Match) -> bool:
    """Return whether this person sends the machine's kernels, by any login or by an agent of theirs."""
    account = user.account
    return match.operator.account_id in (account.pk, account.agent_of_id)


def is_staff_of(user: User, match: Match) -> bool:
    return has_role(user, match.board.competition, Role.REVIEWER)


def reads_worklog(user: User, match: Match) -> bool:
    """Return whether this person reads the worklog: its authors and the competition's staff, of public matches, too."""
    return is_author(user, match) or is_staff_of(user, match)


def check_human(user: User, match: Match) -> None:
    if not is_member(user, match):
        text = f"only {match.human.shown_name} writes this side; open a match of your own on its board"
        raise UserError("actor", user.get_username(), text, status=403)


def check_operator(user: User, match: Match) -> None:
    if not is_operator(user, match):
        text = "only the operator of the machine side sends its kernels; open a match of your own on its board"
        raise UserError("actor", user.get_username(), text, status=403)


def _is_own(user: User) -> Q:
    logins = logins_of(user)
    mine = authorships_of(user).values("entrant")
    return Q(human__in=mine) | Q(operator__in=logins) | Q(operator=user.account.agent_of_id)
