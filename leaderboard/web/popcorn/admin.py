"""The client's calls for administrators and organisers, with a Bearer token that has the scope `review`.

Staff start, stop and count. The rest asks for the role in the competition that the site's own pages ask for.
"""

from typing import Any, Final

from django.db.models import Q
from django.utils import timezone
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.permissions import check_staff
from leaderboard.competitions import access
from leaderboard.competitions.models import InviteCode, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.web.api.access import revoke
from leaderboard.web.api.base import SCOPE, ShortList, parse
from leaderboard.web.api.operate import DAY, count_work, start_intake, stop_intake
from leaderboard.web.api.organised_boards import remove_boards
from leaderboard.web.popcorn import views

REASON: Final = "by the admin commands of popcorn"
MAX_INVITES: Final = 1_000  # in a list, newest first


class InvitesRequest(drf.Serializer[Any]):
    leaderboards = ShortList(child=drf.CharField(max_length=64), allow_empty=False, max_length=access.MAX_BOARDS)
    count = drf.IntegerField(min_value=1, max_value=access.MAX_AT_ONCE)


class Admin(views.Private):
    authentication_classes = [views.AdminAuthentication]
    nobody = views.NO_ADMIN
    scope = SCOPE


class Staff(Admin):
    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        check_staff(self.caller(request), "start, stop and count")


class Start(Staff):
    def post(self, request: Request) -> Response:
        start_intake(self.caller(request), timezone.now())
        return Response({"status": "ok", "accepting_jobs": True})


class Stop(Staff):
    def post(self, request: Request) -> Response:
        stop_intake(self.caller(request), timezone.now())
        return Response({"status": "ok", "accepting_jobs": False})


class Stats(Staff):
    def get(self, request: Request) -> Response:
        last_day = request.query_params.get("last_day_only", "").lower() == "true"
        return Response(count_work(timezone.now() - DAY if last_day else None))


class AnySubmission(Admin, views.OneSubmission):
    reason = f"deleted {REASON}"


class OneLeaderboard(Admin):
    def delete(self, request: Request, leaderboard: str) -> Response:
        """Remove the boards of a leaderboard. With `force`, boards that cannot be removed are closed."""
        actor = self.caller(request)
        remove_boards(
            views.boards_named(actor, leaderboard),
            actor=actor,
            reason=f"closed {REASON}",
            force=request.query_params.get("force", "").lower() == "true",
            now=timezone.now(),
        )
        return Response({"status": "ok", "leaderboard": leaderboard})


class InvitesOf(Admin):
    def get(self, request: Request, leaderboard: str) -> Response:
        actor = self.caller(request)
        boards = views.boards_named(actor, leaderboard)
        check_role(actor, boards[0].competition, Role.OWNER, "list invite codes")
        codes = access.codes_of(boards[0].competition).filter(revoked_at=None)
        codes = codes.filter(Q(opens_all=True) | Q(boards__in=boards)).distinct()
        return Response({"leaderboard": boards[0].slug, "invites": [_invite(code) for code in codes[:MAX_INVITES]]})


def _invite(code: InviteCode) -> dict[str, Any]:
    """Return a code in a list: its beginning, since the site keeps no more. The beginning is enough to revoke it."""
    return {
        "code": code.prefix,
        "user_id": str(code.used_by_id) if code.used_by else None,
        "user_name": code.used_by.get_username() if code.used_by else None,
        "created_at": code.created_at.isoformat(),
    }


class Invites(Admin):
    def post(self, request: Request) -> Response:
        sent, actor = parse(InvitesRequest, request.data), self.caller(request)
        boards = [board for name in sent["leaderboards"] for board in views.boards_named(actor, name)]
        other = next((board for board in boards if board.competition_id != boards[0].competition_id), None)
        if other is not None:
            problem = f"is in {other.competition}, and {boards[0].slug} in {boards[0].competition}; ask for each apart"
            raise UserError("leaderboards", other.slug, problem)
        told: dict[str, Any] = {"note": REASON, "actor": actor, "now": timezone.now()}
        issued = access.issue_codes(
            competition=boards[0].competition, count=sent["count"], boards=list(dict.fromkeys(boards)), **told
        )
        slugs = sorted({board.slug for board in boards})
        return Response({"status": "ok", "codes": [one.text for one in issued], "leaderboards": slugs})


class OneInvite(Admin):
    def delete(self, request: Request, code: str) -> Response:
        """Revoke a code by its text, or by the beginning of it that the list shows."""
        actor, now = self.caller(request), timezone.now()
        found = revoke(code, among=Q(), actor=actor, reason=f"revoked {REASON}", now=now)
        return Response({"status": "ok", "code": code, "was_claimed": found.used_by_id is not None})
