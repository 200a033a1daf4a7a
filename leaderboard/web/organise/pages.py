"""Organisers' competitions: list, new, clone, overview, settings, history, roles, invite codes, news, preview."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.db.models import CharField, Count, Q, QuerySet
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from leaderboard.admissions.door import unadmitted_boards
from leaderboard.audit.models import Row
from leaderboard.competitions.access import (
    codes_of,
    grant_role,
    issue_codes,
    publish_announcement,
    revoke_code,
    revoke_role,
    withdraw_announcement,
)
from leaderboard.competitions.checks import TIMES
from leaderboard.competitions.edit import clone_competition, create_competition, delete_competition, edit_competition
from leaderboard.competitions.models import (
    JUDGED,
    PUBLIC,
    Announcement,
    Board,
    Competition,
    InviteCode,
    Prize,
    Role,
    Track,
)
from leaderboard.competitions.permissions import competitions_of, role_of
from leaderboard.entrants import messages
from leaderboard.judging.models import QUEUED, RUNNING, Attempt
from leaderboard.judging.verdicts import judged_since
from leaderboard.review.case import states
from leaderboard.review.case.acts import unsettled
from leaderboard.review.models import Case
from leaderboard.web import preview
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise import gate
from leaderboard.web.organise.forms import (
    RECIPIENTS,
    AnnouncementForm,
    CloneForm,
    CodesForm,
    CompetitionForm,
    DeleteForm,
    MessageForm,
    NewForm,
    RoleForm,
)
from leaderboard.web.organise.state_pages import EXPLAINED, waiting_decisions
from leaderboard.web.paging import page_at

HISTORY_ROWS: Final = 8
HISTORY_FIELDS: Final = 3
CODE_ROWS: Final = 500
SHOW_ONCE: Final = "new_codes"  # session key; lives from the form to the page after it
STEPS: Final = (
    ("practice_at", "Practice begins"),
    ("contest_at", "Contest begins"),
    ("merge_deadline", "Team deadline"),
    ("freeze_at", "Freeze"),
    ("deadline", "Deadline"),
    ("revealed_at", "Revealed"),
    ("final_at", "Final"),
)
PAGE_CHANGES: Final = 100
SHOWN_CHARS: Final = 80
IMPORT: Final = "import_set"
_MOMENT: Final = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[:.\d]*\+00:00$")
_DIGEST: Final = re.compile(r"^sha256:([0-9a-f]{8})[0-9a-f]{56}$")
PARTS: Final[dict[type[Any], str]] = dict.fromkeys((Board, Track, InviteCode, Announcement), "competition") | {
    Prize: "track__competition"
}

Change = tuple[str, str, str]  # field, value before, value after


@dataclass(frozen=True)
class Pending:
    """A kind of pending work: its count, its name, and its address. `urgent`: an organiser has to act."""

    count: int
    text: str
    url: str
    urgent: bool = True


@gate.restricted_page("GET", "HEAD", to=gate.is_organiser)
def index(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    found = list(competitions_of(user).annotate(board_count=Count("boards")))
    roles = dict(Role.objects.filter(user=user).values_list("competition_id", "role"))
    context = {
        "rows": [
            {"competition": one, "role": roles.get(one.pk, "administrator"), "phase": gate.phase_chip(one)}
            for one in found
        ],
        "may_create": user.is_staff,
        "decisions": waiting_decisions(user),
        "explained": EXPLAINED,
    }
    return render(request, "web/organise/index.html", context)


@gate.restricted_page("GET", "POST")
def create(request: HttpRequest) -> HttpResponse:
    form, to = NewForm(gate.posted(request)), "/organise/{result.slug}/boards"
    answer = gate.send(request, form, create_competition, to=to, done="Created. Now add boards.")
    return answer or render(request, "web/organise/create.html", {"form": form}, status=400 if form.errors else 200)


@gate.competition_page("GET", "POST")
def clone(request: HttpRequest, competition: Competition) -> HttpResponse:
    form = CloneForm(gate.posted(request), initial={"name": competition.name})
    act, names = partial(clone_competition, source=competition), dict.fromkeys(TIMES, "weeks")
    done = "Cloned. Only organisers can see it. Check it, then publish it."
    answer = gate.send(request, form, act, to="/organise/{result.slug}", done=done, names=names)
    return answer or gate.shell(request, competition, "clone", {"form": form})


@gate.competition_page("GET", "HEAD")
def overview(request: HttpRequest, competition: Competition) -> HttpResponse:
    now = timezone.now()
    times = [(text, getattr(competition, name)) for name, text in STEPS]
    context = {
        "steps": [{"text": text, "at": at, "past": at <= now} for text, at in times if at is not None],
        "waiting": pending(competition),
        "history": in_words(changes_of(competition)[:HISTORY_ROWS], fields=HISTORY_FIELDS),
        "counts": {
            "boards": competition.boards.count(),
            "entrants": competition.entrants.count(),
            "submissions": Attempt.objects.current().filter(submission__board__competition=competition).count(),
            "tracks": competition.tracks.count(),
            "organisers": competition.roles.count(),
        },
    }
    return gate.shell(request, competition, "overview", context)


def pending(competition: Competition) -> list[Pending]:
    """Return the kinds of work that exist, in a fixed number of queries."""
    base = f"/organise/{competition.slug}"
    attempts = Attempt.objects.current().filter(submission__board__competition=competition)
    cases = Case.objects.filter(~judged_since("result__attempt"), board__competition=competition)
    review = f"/review?competition={competition.slug}"
    closed = unadmitted_boards(competition.boards.all())
    failed = sum(test.is_done for _, test in closed)
    found = [
        Pending(cases.filter(state__in=states.HELD).count(), "held for review", review),
        Pending(cases.filter(state=states.APPEALED).count(), "appealed", f"{review}&state={states.APPEALED}"),
        Pending(unsettled(competition).count(), "undecided confirmations", f"{base}/confirmations"),
        Pending(failed, "without a passed admission test", f"{base}/boards"),
        Pending(len(closed) - failed, "waiting for their admission test", f"{base}/boards", urgent=False),
        Pending(competition.boards.exclude(JUDGED).count(), "cannot be judged here", f"{base}/boards"),
        Pending(attempts.filter(state=QUEUED).count(), "queued", f"{base}/state", urgent=False),
        Pending(attempts.filter(state__in=RUNNING).count(), "being judged", f"{base}/state", urgent=False),
    ]
    return [one for one in found if one.count]


@gate.competition_page("POST")
def publish(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Make a closed competition public."""
    act = partial(edit_competition, competition=competition, settings={"visibility": PUBLIC})
    done = "Published. Everybody can see it now."
    return gate.press(request, act, to=f"/organise/{competition.slug}", done=done, refused="Not published")


@gate.competition_page("GET", "HEAD")
def changes(request: HttpRequest, competition: Competition) -> HttpResponse:
    page = page_at(request, changes_of(competition), order=["-pk"], name="changes", size=PAGE_CHANGES)
    return gate.shell(request, competition, "history", {"history": in_words(page.rows), "page": page})


def changes_of(competition: Competition) -> QuerySet[Row]:
    """Return the audit's rows of a competition and its parts, newest first."""
    wanted = Q(object_type=Competition._meta.label_lower, object_id=str(competition.pk))
    for model, path in PARTS.items():
        keys = model.objects.filter(**{path: competition}).annotate(key=Cast("pk", CharField())).order_by()
        wanted |= Q(object_type=model._meta.label_lower, object_id__in=keys.values("key"))
    return Row.objects.filter(wanted).select_related("actor")


def in_words(rows: Iterable[Row], *, fields: int = 100) -> list[dict[str, Any]]:
    """Describe rows of the audit, with at most `fields` fields per row."""
    entries = []
    for row in rows:
        found = list(_imported(row.after) if row.act == IMPORT else _changes(row.before, row.after))
        entry = {"at": row.created_at, "act": row.act.replace("_", " "), "reason": row.reason}
        entry["who"] = row.actor.get_username() if row.actor else "the site"
        entries.append(entry | {"changes": found[:fields], "more": max(0, len(found) - fields)})
    return entries


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterable[Change]:
    for name in dict.fromkeys((*after, *before)):
        old, new = _said(before.get(name)), _said(after.get(name))
        if old != new:
            yield name.replace("_", " "), old, new


def _imported(after: dict[str, Any]) -> Iterable[Change]:
    """Yield the effect of importing a set: on the competition, then on each problem (importing.ProblemReport)."""
    yield "competition", "–", _said(after.get("set"))
    for line in after.get("problems", []):
        why = ": ".join(filter(None, (line.get("field"), line.get("reason"))))
        where = f" on {', '.join(line['hardware'])}" if line.get("hardware") else ""
        version = f"version {_said(line['digest'])}" if line.get("digest") else ""
        warned = len(line.get("warnings", ()))
        warnings = f"{warned} warning{'' if warned == 1 else 's'}" if warned else ""
        outcome = f"{line['status']}: {_said(why)}" if why else f"{line['status']}{where}"
        yield line["problem"], "–", ", ".join(filter(None, (outcome, version, warnings)))


def _said(value: Any) -> str:
    """Format a value briefly; long texts are cut."""
    if value in (None, "", [], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        text = _MOMENT.sub(r"\1 \2 UTC", _DIGEST.sub(r"\1", value))
        return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…"
    if isinstance(value, list):
        return _said(", ".join(_said(one) if isinstance(one, dict) else str(one) for one in value))
    if isinstance(value, dict):
        return _said(", ".join(f"{key} {one}" for key, one in value.items()))
    return str(value)


@gate.competition_page("GET", "POST")
def settings(request: HttpRequest, competition: Competition) -> HttpResponse:
    form = CompetitionForm.of(competition, gate.posted(request))
    done = "Saved." if set(form.changed_data) - {"reason"} else "Nothing was changed."
    answer = gate.send(request, form, partial(edit_competition, competition=competition), done=done)
    return answer or gate.shell(request, competition, "settings", {"form": form})


@gate.competition_page("GET", "POST")
def roles(request: HttpRequest, competition: Competition) -> HttpResponse:
    form = RoleForm(gate.posted(request))
    context = {"form": form, "roles": competition.roles.select_related("user").order_by("user__username")}
    act, done = partial(grant_role, competition=competition), "{result.user} is now {result.role}."
    return gate.send(request, form, act, done=done) or gate.shell(request, competition, "roles", context)


@gate.competition_page("POST")
def revoke_a_role(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    role = get_object_or_404(Role.objects.select_related("competition", "user"), pk=pk, competition=competition)
    done, to = f"{role.user} no longer has a role here.", f"/organise/{competition.slug}/roles"
    answer = gate.press(request, partial(revoke_role, role=role), to=to, done=done, refused="Not removed")
    return answer if role_of(user_of(request), competition) else redirect("/organise")


@gate.competition_page("POST", to_change=Role.VIEWER)
def begin_preview(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show the site as a stranger or a competitor sees it."""
    viewer = request.POST.get("viewer", "")
    if viewer not in preview.VIEWERS:
        raise Http404
    preview.begin(request, viewer=viewer, competition=competition)
    return redirect(f"/competitions/{competition.slug}")


@require_POST
def leave_preview(request: HttpRequest) -> HttpResponse:
    """End the preview and return to its start. The request may be repeated."""
    seen: preview.Preview | None = getattr(request, "preview", None)
    preview.end(request)
    return redirect(f"/organise/{seen.slug}" if seen else "/")


@gate.competition_page("GET", "POST")
def codes(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Issue codes, and list them with their use."""
    slug = competition.slug

    def issue(**arguments: object) -> None:
        issued = issue_codes(competition=competition, **arguments)  # type: ignore[arg-type]
        request.session[SHOW_ONCE] = {"slug": slug, "texts": [one.text for one in issued]}

    form = CodesForm(competition, gate.posted(request))
    if answer := gate.send(request, form, issue, done=""):
        return answer
    known = InviteCode.objects.filter(competition=competition)
    living = known.filter(revoked_at=None)
    context = {
        "form": form,
        "codes": codes_of(competition)[:CODE_ROWS],
        "most": CODE_ROWS,
        "counts": {
            "issued": known.count(),
            "used": living.filter(used_by__isnull=False).count(),
            "unused": living.filter(used_by=None).count(),
        },
    }
    kept = request.session.get(SHOW_ONCE)
    if kept and kept["slug"] == slug and request.method == "GET":
        context["texts"] = request.session.pop(SHOW_ONCE)["texts"]
    return gate.shell(request, competition, "codes", context)


@gate.competition_page("POST")
def revoke_a_code(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    code = get_object_or_404(InviteCode.objects.select_related("competition"), pk=pk, competition=competition)
    act, to = partial(revoke_code, code=code, reason="revoked on its page"), f"/organise/{competition.slug}/codes"
    return gate.press(request, act, to=to, done=f"Revoked {code.prefix}….")


@gate.competition_page("GET", "POST")
def announcements(request: HttpRequest, competition: Competition) -> HttpResponse:
    form = AnnouncementForm(gate.posted(request))
    context = {"form": form, "announcements": competition.announcements.select_related("author")}
    answer = gate.send(request, form, partial(publish_announcement, competition=competition), done="Published.")
    return answer or gate.shell(request, competition, "announcements", context)


@gate.competition_page("GET", "POST")
def message(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Write a mail to the entrants."""
    form = MessageForm(gate.posted(request))
    act, done = partial(messages.message_entrants, competition=competition), "Sent to {result} people."
    counts = [(text, messages.recipients(competition, group).count()) for group, text in RECIPIENTS]
    context = {"form": form, "counts": counts, "most": messages.MOST_MESSAGES}
    return gate.send(request, form, act, done=done) or gate.shell(request, competition, "message", context)


@gate.competition_page("GET", "POST")
def delete(request: HttpRequest, competition: Competition) -> HttpResponse:
    form = DeleteForm(gate.posted(request))
    act, done = partial(delete_competition, competition=competition), f"Deleted {competition}."
    answer = gate.send(request, form, act, to="/organise", done=done, names={"competition": "slug"})
    context = {"form": form, "entrants": competition.entrants.count()}
    return answer or gate.shell(request, competition, "delete", context)


@gate.competition_page("POST")
def withdraw(request: HttpRequest, competition: Competition, pk: int) -> HttpResponse:
    found = get_object_or_404(Announcement.objects.select_related("competition"), pk=pk, competition=competition)
    act = partial(withdraw_announcement, announcement=found, reason=request.POST.get("reason", ""))
    done, to = f"Withdrew “{found.title}”.", f"/organise/{competition.slug}/announcements"
    return gate.press(request, act, to=to, done=done, refused="Not withdrawn")
