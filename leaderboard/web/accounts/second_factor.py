"""Middleware for STAFF_SECOND_FACTOR: an administrator without a second factor can do no more than set one up."""

from typing import Final

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect, JsonResponse

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import lacks_second_factor
from leaderboard.web.api.base import NO_FACTOR
from leaderboard.web.middleware import Respond

SET_UP: Final = "/account/second-factor"
OPEN: Final = ("/sign-out", "/account/confirm", SET_UP, "/static/")


def staff_second_factor(get_response: Respond) -> Respond:
    """Stands behind the authentication. Tokens are checked with the API's own authentication."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        user = request.user
        if not isinstance(user, User) or request.path.startswith(OPEN) or not lacks_second_factor(user):
            return get_response(request)
        if request.path.startswith("/api/"):
            return JsonResponse({"detail": NO_FACTOR, "errors": []}, status=403)
        return HttpResponseRedirect(SET_UP)

    return respond
