"""Preview of the site as a stranger or a competitor sees it: a switch in an organiser's session.

The switch only ever lowers rights. While it is on, every view sees another user (`request.user`), so all permissions of
the real pages apply. A stranger is an anonymous user. A competitor is a signed-in person without rows in the database
who is let into the previewed competition alone, like a holder of an invite code. No form can be sent.

The switch is signed for one person and expires. If it is invalid for any reason, it is off and the organiser's own
rights apply again.
"""

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.competitions.permissions import competitions_of
from leaderboard.web.middleware import Respond

KEY: Final = "preview"  # in the session
SALT: Final = "photofinish.preview"
LASTS_S: Final = 30 * 60
LEAVE: Final = "/preview/leave"
STRANGER: Final = "stranger"
COMPETITOR: Final = "competitor"
VIEWERS: Final = (STRANGER, COMPETITOR)
READING: Final = ("GET", "HEAD", "OPTIONS")
NOBODY_PK: Final = 0  # ids begin at 1, so this person owns no row


@dataclass(frozen=True)
class Preview:
    """The preview that a page's bar announces. `slug`: the competition that the organiser came from."""

    viewer: str
    slug: str
    competition_id: int


def begin(request: HttpRequest, *, viewer: str, competition: Competition) -> None:
    kept = {"user": request.user.pk, "viewer": viewer, "slug": competition.slug, "competition": competition.pk}
    request.session[KEY] = signing.dumps(kept, salt=SALT)


def end(request: HttpRequest) -> None:
    request.session.pop(KEY, None)


def preview_rights(get_response: Respond) -> Respond:
    """Set `request.preview`: a Preview, or None; during a preview, `request.user` is its viewer.

    Stands behind the authentication.
    """

    def respond(request: HttpRequest) -> HttpResponseBase:
        preview = _preview(request)
        request.preview = preview  # type: ignore[attr-defined]
        if preview is None or request.path == LEAVE:
            return get_response(request)
        viewer: User | AnonymousUser = AnonymousUser()
        if preview.viewer == COMPETITOR:
            viewer = User(pk=NOBODY_PK, username="a competitor")
            viewer.let_into = preview.competition_id

        async def auser() -> User | AnonymousUser:
            return viewer

        request.user, request.auser = viewer, auser
        if request.method not in READING:
            return render(request, "web/organise/no_writes.html", status=403)
        return get_response(request)

    return respond


def _preview(request: HttpRequest) -> Preview | None:
    if settings.SESSION_COOKIE_NAME not in request.COOKIES or (signed := request.session.get(KEY)) is None:
        return None
    try:
        kept = signing.loads(signed, salt=SALT, max_age=LASTS_S)
    except signing.BadSignature:
        end(request)
        return None
    if kept["user"] != request.user.pk or kept["viewer"] not in VIEWERS:
        return None
    if not competitions_of(request.user).filter(pk=kept["competition"]).exists():
        return None  # the role in that competition is gone
    return Preview(viewer=kept["viewer"], slug=kept["slug"], competition_id=kept["competition"])
