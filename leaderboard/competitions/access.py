"""People of a competition: roles, of which the last owner stays, invite codes, and announcements to all.

The text of a code is shown once; only its digest is kept. Each code is used once, by one person. permissions.py defines
the boards that a code opens and the effect of its revocation. A withdrawn announcement stays in the table and is
hidden.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.accounts.tokens import MAX_SECRET_CHARS, digest_of, make_secret
from leaderboard.audit.record import record
from leaderboard.competitions.checks import check_choice
from leaderboard.competitions.models import Announcement, Board, Competition, InviteCode, Role
from leaderboard.competitions.permissions import Viewer, announcements_seen_by, boards_seen_by, check_role, may_see
from leaderboard.errors import UserError

KIND: Final = "pfi_"
MAX_AT_ONCE: Final = 500
MAX_UNUSED: Final = 5_000  # per competition, neither used nor revoked
MAX_BOARDS: Final = 100  # named by a code
MAX_NOTE_CHARS: Final = 200
NOT_GOOD: Final = "this code is not known, already used, or revoked; ask who gave it to you for another one"

MAX_ROLES: Final = 200  # per competition

MAX_TITLE_CHARS: Final = 200  # of an announcement
MAX_TEXT_CHARS: Final = 20_000
MOST_A_DAY: Final = 20  # announcements of a competition: each is a message to every entrant
IS_NEWS_FOR: Final = timedelta(days=14)


@dataclass(frozen=True)
class Issued:
    code: InviteCode
    text: str  # cannot be shown again


@transaction.atomic
def issue_codes(
    *, competition: Competition, count: int, boards: Collection[Board] = (), note: str = "", actor: User, now: datetime
) -> list[Issued]:
    """Issue `count` codes that open `boards`; without boards they open the whole competition, later boards included."""
    check_role(actor, competition, Role.OWNER, "issue invite codes")
    if not 1 <= count <= MAX_AT_ONCE:
        raise UserError("count", count, f"expected 1 to {MAX_AT_ONCE} codes at once")
    unused = InviteCode.objects.filter(competition=competition, used_by=None, revoked_at=None).count()
    if unused + count > MAX_UNUSED:
        text = f"{unused} codes of this competition are not used yet; there may be {MAX_UNUSED}: revoke some first"
        raise UserError("count", count, text, status=409)
    if len(note) > MAX_NOTE_CHARS or (note and not note.isprintable()):
        raise UserError("note", note, f"expected at most {MAX_NOTE_CHARS} printable characters")
    if len(boards) > MAX_BOARDS:
        raise UserError("boards", len(boards), f"name at most {MAX_BOARDS}, or none: then all of it is opened")
    for board in boards:
        if board.competition_id != competition.pk:
            raise UserError("boards", str(board), f"no board of {competition}; choose among its own")
    secrets = [make_secret(KIND) for _ in range(count)]
    same = {"competition": competition, "opens_all": not boards, "note": note, "created_by": actor, "created_at": now}
    codes = InviteCode.objects.bulk_create(
        InviteCode(prefix=secret.prefix, digest=secret.digest, **same) for secret in secrets
    )
    opens = InviteCode.boards.through
    opens.objects.bulk_create(
        [opens(invitecode_id=code.pk, board_id=board.pk) for code in codes for board in boards], batch_size=5_000
    )
    after = {"codes": [code.prefix for code in codes], "boards": [str(board) for board in boards]}
    record("issue_invite_codes", competition, actor=actor, reason=note or f"{count} codes", now=now, after=after)
    return [Issued(code, secret.text) for code, secret in zip(codes, secrets, strict=True)]


def competition_of(text: str) -> Competition | None:
    """Return the competition of an unrevoked code, used or unused; None if there is no such code."""
    code = _find(text)
    return None if code is None else code.competition


@transaction.atomic
def redeem_code(*, text: str, user: User, now: datetime, opens_nothing_new: bool = False) -> InviteCode:
    """Open the code's boards to this person. A person who redeems the same code again changes nothing.

    `opens_nothing_new`: also for a person who sees all of it already, because the code admits them to a class.

    Raise UserError; the text is the same for unknown, used and revoked codes.
    """
    code = _find(text)
    if code is None:
        raise UserError("code", "", NOT_GOOD)
    logins = {login["pk"] for login in logins_of(user)}
    if code.used_by_id in logins:
        return code
    opens = code.competition.boards.all() if code.opens_all else code.boards.all()
    is_needed = opens_nothing_new or opens.exclude(pk__in=boards_seen_by(user)).exists()
    if code.used_by_id is None and may_see(user, code.competition) and not is_needed:
        text = f"you already see all that this code opens of {code.competition}; keep it for somebody else"
        raise UserError("code", "", text, status=409)
    is_ours = InviteCode.objects.filter(pk=code.pk, used_by=None, revoked_at=None).update(used_by=user, used_at=now)
    code.refresh_from_db(fields=["used_by", "used_at"])
    if code.used_by_id not in logins:
        raise UserError("code", "", NOT_GOOD)  # another person was faster
    if is_ours:
        record("redeem_invite_code", code, actor=user, reason=f"code {code.prefix}", now=now)
    return code


@transaction.atomic
def revoke_code(*, code: InviteCode, actor: User, reason: str, now: datetime) -> bool:
    """Revoke a code; return whether this call did. Its user loses the access, but no submissions."""
    check_role(actor, code.competition, Role.OWNER, "revoke invite codes")
    check_reason(reason)
    if not InviteCode.objects.filter(pk=code.pk, revoked_at=None).update(revoked_at=now):
        return False
    record("revoke_invite_code", code, actor=actor, reason=reason, now=now)
    return True


def codes_of(competition: Competition) -> QuerySet[InviteCode]:
    """Return the codes for the owners of a competition: newest first, with their users and boards."""
    codes = InviteCode.objects.filter(competition=competition).select_related("used_by", "created_by")
    return codes.prefetch_related("boards").order_by("-id")


def _find(text: str) -> InviteCode | None:
    text = text.strip()
    if not text.startswith(KIND) or len(text) > MAX_SECRET_CHARS or not text.isascii():
        return None
    return InviteCode.objects.select_related("competition").filter(digest=digest_of(text), revoked_at=None).first()


@transaction.atomic
def grant_role(*, competition: Competition, actor: User, username: str, role: str, now: datetime) -> Role:
    """Give a person a role, or change the role they have.

    An agent can only be a viewer: with its owner it would pass for the two people who decide together.
    """
    _lock(competition, actor)
    check_choice("role", role, Role.ROLES)
    user = User.objects.filter(username__iexact=username, is_active=True).first()
    if user is None:
        raise UserError("username", username, "nobody of this name has an account here; they sign up first", status=404)
    user = user.account
    if user.agent_of is not None and role != Role.VIEWER:
        text = f"{user} is an agent: give this role to a person, or make it a viewer"
        raise UserError("role", role, text, status=409)
    known = Role.objects.filter(competition=competition, user=user).first()
    if known is None and competition.roles.count() >= MAX_ROLES:
        raise UserError("username", username, f"{MAX_ROLES} people have a role here, which is the most", status=409)
    before = {} if known is None else {"role": known.role}
    if known is not None and known.role != role:
        _check_another_owner(known)
    given, _ = Role.objects.update_or_create(
        competition=competition, user=user, defaults={"role": role}, create_defaults={"role": role, "created_at": now}
    )
    if before != {"role": role}:
        after = {"user": user.get_username(), "role": role}
        record("grant_role", competition, actor=actor, now=now, before=before, after=after)
    return given


@transaction.atomic
def revoke_role(*, role: Role, actor: User, now: datetime) -> None:
    _lock(role.competition, actor)
    _check_another_owner(role)
    before = {"user": role.user.get_username(), "role": role.role}
    if Role.objects.filter(pk=role.pk).delete()[0]:  # else another process was faster
        record("revoke_role", role.competition, actor=actor, now=now, before=before)


def _lock(competition: Competition, actor: User) -> None:
    """Serialise changes of roles, or two owners could remove each other."""
    check_role(actor, competition, Role.OWNER, "give and take roles")
    Competition.objects.select_for_update().get(pk=competition.pk)


def _check_another_owner(role: Role) -> None:
    others = Role.objects.filter(competition=role.competition_id, role=Role.OWNER).exclude(pk=role.pk)
    if role.role == Role.OWNER and not others.exists():
        raise UserError("role", role.role, "the last owner stays: make somebody else an owner first", status=409)


@transaction.atomic
def publish_announcement(
    *, competition: Competition, title: str, text: str, actor: User, now: datetime
) -> Announcement:
    """Publish an announcement; `text` is Markdown, like a description."""
    check_role(actor, competition, Role.OWNER, "announce something")
    title = title.strip()
    if not title or len(title) > MAX_TITLE_CHARS or not title.isprintable():
        raise UserError("title", title, f"expected 1 to {MAX_TITLE_CHARS} printable characters")
    if len(text) > MAX_TEXT_CHARS or "\x00" in text:
        raise UserError("text", text, f"expected at most {MAX_TEXT_CHARS:,} characters")
    if competition.announcements.filter(created_at__gt=now - timedelta(days=1)).count() >= MOST_A_DAY:
        text = f"{MOST_A_DAY} announcements were published within a day, which is the most; wait until tomorrow"
        raise UserError("title", title, text, status=429)
    announcement = Announcement.objects.create(
        competition=competition, author=actor, title=title, text=text, created_at=now
    )
    record("announce", announcement, actor=actor, reason=title, now=now)
    return announcement


@transaction.atomic
def withdraw_announcement(*, announcement: Announcement, actor: User, reason: str, now: datetime) -> bool:
    """Withdraw an announcement; return whether this call did."""
    check_role(actor, announcement.competition, Role.OWNER, "withdraw an announcement")
    check_reason(reason)
    if not Announcement.objects.filter(pk=announcement.pk, withdrawn_at=None).update(withdrawn_at=now):
        return False
    record("withdraw_announcement", announcement, actor=actor, reason=reason, now=now)
    return True


def announcements_of(competition: Competition, viewer: Viewer) -> QuerySet[Announcement]:
    """Return the announcements visible to the viewer, newest first."""
    return announcements_seen_by(viewer).filter(competition=competition)


def news_for(viewer: Viewer, now: datetime, competition: Competition | None = None) -> Announcement | None:
    """Return the newest announcement of the last days, of this competition or of all listed for the viewer."""
    shown = announcements_seen_by(viewer, listed=competition is None).filter(created_at__gt=now - IS_NEWS_FOR)
    shown = shown.filter(competition=competition) if competition is not None else shown
    return shown.select_related("competition").first()
