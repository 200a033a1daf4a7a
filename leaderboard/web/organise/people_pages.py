"""Invite codes and announcements of a competition. The text of a code is shown once."""

from __future__ import annotations

from functools import partial
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from leaderboard.competitions.access import codes_of, issue_codes, revoke_code
from leaderboard.competitions.announce import publish_announcement, withdraw_announcement
from leaderboard.competitions.models import Announcement, Competition, InviteCode
from leaderboard.web.organise.forms import AnnouncementForm, CodesForm
from leaderboard.web.organise.gate import competition_page, posted, press, send, shell

SHOW_ONCE: Final = "new_codes"  # session key; lives from the form to the page after it
MAX_ROWS: Final = 500


@competition_page("GET", "POST")
def codes(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Issue codes, and list them with their use."""
    slug = competition.slug

    def issue(**arguments: object) -> None:
        issued = issue_codes(competition=competition, **arguments)  # type: ignore[arg-type]
        request.session[SHOW_ONCE] = {"slug": slug, "texts": [one.text for one in issued]}

    form = CodesForm(competition, posted(request))
    if answer := send(request, form, issue, to=f"/organise/{slug}/codes", done=""):
        return answer
    known = InviteCode.objects.filter(competition=competition)
    living = known.filter(revoked_at=None)
    context = {
        "form": form,
        "codes": codes_of(competition)[:MAX_ROWS],
        "most": MAX_ROWS,
        "counts": {
            "issued": known.count(),
            "used": living.filter(used_by__isnull=False).count(),
            "unused": living.filter(used_by=None).count(),
        },
    }
    kept = request.session.get(SHOW_ONCE)
    if kept and kept["slug"] == slug and request.method == "GET":
        context["texts"] = request.session.pop(SHOW_ONCE)["texts"]
    return shell(request, competition, "codes", context)


@competition_page("POST")
def revoke_a_code(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    code = get_object_or_404(InviteCode.objects.select_related("competition"), pk=pk, competition=competition)
    act, to = partial(revoke_code, code=code, reason="revoked on its page"), f"/organise/{competition.slug}/codes"
    return press(request, act, to=to, done=f"Revoked {code.prefix}….")


@competition_page("GET", "POST")
def announcements(request: HttpRequest, competition: Competition) -> HttpResponse:
    form = AnnouncementForm(posted(request))
    act, to = partial(publish_announcement, competition=competition), f"/organise/{competition.slug}/announcements"
    if answer := send(request, form, act, to=to, done="Published."):
        return answer
    context = {"form": form, "announcements": competition.announcements.select_related("author")}
    return shell(request, competition, "announcements", context)


@competition_page("POST")
def withdraw(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    found = get_object_or_404(Announcement.objects.select_related("competition"), pk=pk, competition=competition)
    act = partial(withdraw_announcement, announcement=found, reason=request.POST.get("reason", ""))
    done, to = f"Withdrew “{found.title}”.", f"/organise/{competition.slug}/announcements"
    return press(request, act, to=to, done=done, refused="Not withdrawn")
