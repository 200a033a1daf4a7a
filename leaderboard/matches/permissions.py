"""Permissions for a match: its readers, the members of its human side, and the operator of its machine side.

Readers are the members of the human side, the operator, reviewers and owners of the board's competition, and everybody
who sees the board once both sides have published the match. They read the same: predictions, reasons, prompts, answers
and code. A worklog has its own rule: reads_worklog(); its texts are public by an act of the human side alone. A former
member of a team who is an author of its last hand-in reads that hand-in, and no later work.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_of, has_role
from leaderboard.entrants.models import Membership
from leaderboard.entrants.permissions import members_of
from leaderboard.errors import UserError
from leaderboard.matches.models import HandIn, Match

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
    return authored_by(logins_of(user)).filter(pk=match.pk).exists()


def takes_part(user: User, match: Match) -> bool:
    """Return whether this person wrote for the human side or may write for it: an author or a present member."""
    return is_member(user, match) or is_author(user, match)


def authored_by(logins: Any) -> QuerySet[Match]:
    """Return the matches whose human side's work is of one of these logins."""
    return _authored(human__memberships__user__in=logins)


def authors_of(matches: Iterable[int]) -> dict[int, list[int]]:
    """Map matches to the accounts of their authors, in order of joining."""
    account = Coalesce("human__memberships__user__linked_to", "human__memberships__user")
    found: dict[int, list[int]] = defaultdict(list)
    rows = _authored(pk__in=matches).annotate(account=account).order_by("human__memberships")
    for match, author in rows.values_list("pk", "account"):
        found[match].append(author)
    return found


def _authored(**chosen: Any) -> QuerySet[Match]:
    """Return matches joined with the memberships of their authors.

    A team's authors are its members at the last hand-in, so that later members get no share of the grade and former
    members keep theirs; before a hand-in, its present members. The person of a single entrant is its author for ever.
    """
    last = HandIn.objects.filter(match=OuterRef("pk")).order_by("-id").values("at")[:1]
    present = Q(human__memberships__left_at=None)
    stayed = present | Q(human__memberships__left_at__gt=F("last_at"))
    at_last = Q(human__memberships__joined_at__lte=F("last_at")) & stayed
    authors = Q(human__is_team=False) | Q(last_at=None) & present | at_last
    return Match.objects.alias(last_at=Subquery(last)).filter(authors, **chosen)  # a single filter: a single join


def written_by(logins: Any) -> Q:
    """Match the matches of these logins' human side: of their present teams, and of their single entrants for ever."""
    stays = Q(left_at=None) | Q(entrant__is_team=False)
    return Q(human__in=Membership.objects.filter(stays, user__in=logins).values("entrant"))


def is_operator(user: User, match: Match) -> bool:
    """Return whether this person sends the machine's kernels, by any login or by an agent of theirs."""
    account = user.account
    return match.operator.account_id in (account.pk, account.agent_of_id)


def is_staff_of(user: User, match: Match) -> bool:
    return has_role(user, match.board.competition, Role.REVIEWER)


def reads_worklog(user: User, match: Match) -> bool:
    """Return whether this person reads the worklog of now: human side, staff of the competition. Public or not."""
    return Match.objects.filter(written_by(logins_of(user)), pk=match.pk).exists() or is_staff_of(user, match)


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
    return written_by(logins) | Q(operator__in=logins) | Q(operator=user.account.agent_of_id)
