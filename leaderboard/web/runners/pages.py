"""Pages of the fleet, for staff: all runners, one-time codes and shares of hardware; a host; a runner."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from leaderboard.audit.models import Row
from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.judging.device_time import by_competition, set_share
from leaderboard.judging.enrolment import make_code, open_codes, withdraw_code
from leaderboard.judging.fleet import LOW_DISK_BYTES
from leaderboard.judging.live import hosts
from leaderboard.judging.models import Enrolment, Epoch, Runner, Share
from leaderboard.judging.runners import resume, retire, revoke, rotate, set_draining, suspend
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.gate import Act, act_of, press, restricted_page
from leaderboard.web.organise.state_pages import EXPLAINED, title_of, waiting_decisions
from leaderboard.wording.figures import ago
from runner import __version__

NEW_TOKEN: Final = "new_runner_token"  # noqa: S105 - session keys; they live from the act to the page after it
NEW_CODE: Final = "new_enrolment_code"
MINUTES: Final = {"15": "15 minutes", "60": "an hour", "1440": "a day"}  # lives of a code
MOST_ACTS: Final = 50  # of a runner's history
ACTS: Final[dict[str, tuple[Act, str]]] = {
    "drain": (partial(set_draining, on=True), "finishes what it judges and claims nothing more"),
    "resume": (partial(set_draining, on=False), "claims work again"),
    "suspend": (suspend, "is suspended; it may finish what it judges"),
    "reinstate": (resume, "is in service again"),
    "rotate": (rotate, "has a new token"),
    "revoke": (revoke, "is revoked. The work that it held is queued again"),
    "retire": (retire, "is retired"),
}


@restricted_page("GET", "HEAD")
def index(request: HttpRequest) -> HttpResponse:
    found, now = list(Runner.objects.order_by("name")), timezone.now()
    shown = {
        "rows": _rows(found, now),
        "retired": [runner for runner in found if runner.retired_at],
        "decisions": waiting_decisions(user_of(request)),
        "explained": EXPLAINED,
        "codes": open_codes(now),
        "minutes": MINUTES,
        "shares": _shares(now),
        "boards": sorted(set(Competition.objects.exclude(boards=None).values_list("slug", "boards__hardware"))),
        "site_url": settings.SITE_URL,
    }
    return render(request, "web/runners.html", shown | request.session.pop(NEW_CODE, {}))


def _rows(runners: Collection[Runner], now: datetime) -> list[dict[str, Any]]:
    """Return the table's row of each runner that is not retired."""
    by_name = {host.name: host for host in hosts({runner.hardware for runner in runners}, now=now)}
    epochs = {(epoch.hardware, epoch.name): epoch for epoch in Epoch.objects.all()}
    rows = []
    for runner in runners:
        if runner.retired_at:
            continue
        epoch = epochs.get((runner.hardware, runner.epoch))
        title = title_of(epoch.fingerprint if epoch and epoch.fingerprint else runner.fingerprint)
        row = {"runner": runner, "host": by_name[runner.name], "epoch": epoch, "title": title}
        rows.append(row | {"low_disk": _is_low(runner)})
    return rows


def _shares(now: datetime) -> list[dict[str, Any]]:
    """Return each share with the present part of the competition in the device time of its hardware."""
    shares = list(Share.objects.select_related("competition"))
    used = {hardware: by_competition(hardware=hardware, now=now) for hardware in {one.hardware for one in shares}}
    found = []
    for share in shares:
        seconds = used[share.hardware]
        part = seconds.get(share.competition_id, 0.0) / (sum(seconds.values()) or 1.0)
        found.append({"share": share, "used": round(100 * part)})
    return found


def _is_low(runner: Runner) -> bool:
    return int(runner.health.get("disk_free_bytes", LOW_DISK_BYTES)) < LOW_DISK_BYTES


@restricted_page("GET", "HEAD")
def of_host(request: HttpRequest, name: str) -> HttpResponse:
    """Show the runners of a host: device, state, work and cores of each."""
    rows = _rows(Runner.objects.filter(place__host=name), timezone.now())
    if not rows:
        raise Http404
    rows.sort(key=lambda row: (row["host"].place.device, row["runner"].name))
    return render(request, "web/runners_of_host.html", {"name": name, "rows": rows})


@restricted_page("GET", "HEAD")
def detail(request: HttpRequest, name: str) -> HttpResponse:
    """Show a host: state, software, health, canaries, the doctor's lines of its enrolment, tokens, acts."""
    runner, now = get_object_or_404(Runner.objects.select_related("enrolment"), name=name), timezone.now()
    host = next((host for host in hosts({runner.hardware}, now=now) if host.name == name), None)
    canaries = [
        {**one, "at": datetime.fromtimestamp(one["at_s"], UTC)} for one in reversed(runner.health.get("canaries", ()))
    ]
    acts = Row.objects.filter(object_type=Runner._meta.label_lower, object_id=str(runner.pk)).select_related("actor")
    shown = {
        "runner": runner,
        "host": host,
        "title": title_of(runner.fingerprint),
        "site_version": __version__,
        "seen": ago(runner.last_seen_at, now) if runner.last_seen_at else "never",
        "low_disk": _is_low(runner),
        "canaries": canaries,
        "enrolment": getattr(runner, "enrolment", None),
        "acts": [(row, row.act.replace("_", " ").removesuffix(" runner")) for row in acts[:MOST_ACTS]],
        "now": now,
    }
    return render(request, "web/runner.html", shown | request.session.pop(NEW_TOKEN, {}))


@restricted_page("POST")
def act(request: HttpRequest, name: str, act: str) -> HttpResponse:
    do, done = act_of(ACTS, act)
    runner = get_object_or_404(Runner, name=name)

    def press_it(**by: Any) -> None:
        result = do(runner=runner, reason=request.POST.get("reason", ""), **by)
        if act == "rotate":
            request.session[NEW_TOKEN] = {"secret": result}

    return press(request, press_it, to=f"/runners/{name}", done=f"Runner {name} {done}.")


@restricted_page("POST")
def enrol(request: HttpRequest) -> HttpResponse:
    """Make a one-time code and show it on the next page."""
    name, hardware, minutes = (request.POST.get(field, "").strip() for field in ("name", "hardware", "minutes"))

    def press_it(**by: Any) -> None:
        if minutes not in MINUTES:
            raise UserError("minutes", minutes, f"choose one of {', '.join(MINUTES)}")
        code, text = make_code(name=name, hardware=hardware, lasts=timedelta(minutes=int(minutes)), **by)
        request.session[NEW_CODE] = {"code_text": text, "code_name": code.name, "code_hardware": code.hardware}

    return press(request, press_it, to="/runners", done=f"There is a code for {name}.")


@restricted_page("POST")
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    code = get_object_or_404(Enrolment, pk=pk)
    return press(request, partial(withdraw_code, code=code), to="/runners", done=f"The code for {code.name} is dead.")


@restricted_page("POST")
def share(request: HttpRequest) -> HttpResponse:
    """Set or end a competition's share. `board` is "COMPETITION HARDWARE"."""
    slug, _, hardware = request.POST.get("board", "").partition(" ")
    percent, reason = request.POST.get("percent", "").strip(), request.POST.get("reason", "")

    def press_it(**by: Any) -> None:
        competition = Competition.objects.filter(slug=slug).first()
        if competition is None:
            raise UserError("board", slug, "choose a competition and a hardware")
        if percent and (not percent.isdecimal() or len(percent) > 3):
            raise UserError("percent", percent, "expected a whole number from 1 to 99, or nothing")
        parsed = int(percent) if percent else None
        set_share(competition=competition, hardware=hardware, percent=parsed, reason=reason, **by)

    return press(request, press_it, to="/runners#shares", done=f"{slug} on {hardware}: the share is set.")
