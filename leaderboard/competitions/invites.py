"""Invite codes: issue many at once, redeem, revoke. A code's text is shown once; only its digest is kept.

Each code is used once, by one person. visible.py defines the boards that a code opens and the effect of its revocation.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.accounts.secret import MAX_SECRET_CHARS, digest_of, make_secret
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board, Competition, InviteCode, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.competitions.visible import boards_seen_by, may_see
from leaderboard.errors import UserError

KIND: Final = "pfi_"
MAX_AT_ONCE: Final = 500
MAX_UNUSED: Final = 5_000  # per competition, neither used nor revoked
MAX_BOARDS: Final = 100  # named by a code
MAX_NOTE_CHARS: Final = 200
NOT_GOOD: Final = "this code is not known, already used, or revoked; ask who gave it to you for another one"


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
    _check(competition, count, boards, note)
    secrets = [make_secret(KIND) for _ in range(count)]
    told = {"competition": competition, "opens_all": not boards, "note": note, "created_by": actor, "created_at": now}
    codes = InviteCode.objects.bulk_create(
        InviteCode(prefix=secret.prefix, digest=secret.digest, **told) for secret in secrets
    )
    opens = InviteCode.boards.through
    opens.objects.bulk_create(
        [opens(invitecode_id=code.pk, board_id=board.pk) for code in codes for board in boards], batch_size=5_000
    )
    record(
        act="issue_invite_codes",
        target=competition,
        actor=actor,
        reason=note or f"{count} codes",
        now=now,
        after={"codes": [code.prefix for code in codes], "boards": [str(board) for board in boards]},
    )
    return [Issued(code, secret.text) for code, secret in zip(codes, secrets, strict=True)]


def competition_of(text: str) -> Competition | None:
    """Return the competition of an unrevoked code, used or unused; None if there is no such code."""
    code = _find(text)
    return None if code is None else code.competition


@transaction.atomic
def redeem_code(*, text: str, user: User, now: datetime) -> InviteCode:
    """Open the code's boards to this person. A person who redeems the same code again changes nothing.

    Raise UserError; the text is the same for unknown, used and revoked codes.
    """
    code = _find(text)
    if code is None:
        raise UserError("code", "", NOT_GOOD)
    if code.used_by_id in _logins(user):
        return code
    if code.used_by_id is None and _opens_nothing(code, user):
        told = f"you already see all that this code opens of {code.competition}; keep it for somebody else"
        raise UserError("code", "", told, status=409)
    is_ours = InviteCode.objects.filter(pk=code.pk, used_by=None, revoked_at=None).update(used_by=user, used_at=now)
    code.refresh_from_db(fields=["used_by", "used_at"])
    if code.used_by_id not in _logins(user):
        raise UserError("code", "", NOT_GOOD)  # another person was faster
    if is_ours:
        record(act="redeem_invite_code", target=code, actor=user, reason=f"code {code.prefix}", now=now)
    return code


@transaction.atomic
def revoke_code(*, code: InviteCode, actor: User, reason: str, now: datetime) -> bool:
    """Revoke a code; return whether this call did. Its user loses the access, but no submissions."""
    check_role(actor, code.competition, Role.OWNER, "revoke invite codes")
    check_reason(reason)
    if not InviteCode.objects.filter(pk=code.pk, revoked_at=None).update(revoked_at=now):
        return False
    record(act="revoke_invite_code", target=code, actor=actor, reason=reason, now=now)
    return True


def codes_of(competition: Competition) -> QuerySet[InviteCode]:
    """Return the codes for the owners of a competition: newest first, with their users and boards."""
    codes = InviteCode.objects.filter(competition=competition).select_related("used_by", "created_by")
    return codes.prefetch_related("boards").order_by("-id")


def _check(competition: Competition, count: int, boards: Collection[Board], note: str) -> None:
    if not 1 <= count <= MAX_AT_ONCE:
        raise UserError("count", count, f"expected 1 to {MAX_AT_ONCE} codes at once")
    unused = InviteCode.objects.filter(competition=competition, used_by=None, revoked_at=None).count()
    if unused + count > MAX_UNUSED:
        told = f"{unused} codes of this competition are not used yet; there may be {MAX_UNUSED}: revoke some first"
        raise UserError("count", count, told, status=409)
    if len(note) > MAX_NOTE_CHARS or (note and not note.isprintable()):
        raise UserError("note", note, f"expected at most {MAX_NOTE_CHARS} printable characters")
    if len(boards) > MAX_BOARDS:
        raise UserError("boards", len(boards), f"name at most {MAX_BOARDS}, or none: then all of it is opened")
    for board in boards:
        if board.competition_id != competition.pk:
            raise UserError("boards", str(board), f"no board of {competition}; choose among its own")


def _find(text: str) -> InviteCode | None:
    text = text.strip()
    if not text.startswith(KIND) or len(text) > MAX_SECRET_CHARS or not text.isascii():
        return None
    return InviteCode.objects.select_related("competition").filter(digest=digest_of(text), revoked_at=None).first()


def _logins(user: User) -> set[int]:
    return {login["pk"] for login in logins_of(user)}


def _opens_nothing(code: InviteCode, user: User) -> bool:
    opens = code.competition.boards.all() if code.opens_all else code.boards.all()
    return may_see(user, code.competition) and not opens.exclude(pk__in=boards_seen_by(user)).exists()
