"""The current state of a competition's queue and hosts. A script fetches it as JSON and updates the page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Competition
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.live import Host, Queue, hosts, queues
from leaderboard.web.organise.epochs import EXPLAINED
from leaderboard.web.organise.pages.gate import managed, shell
from leaderboard.wording.figures import ago, span

TONES: Final = {"suspended": "bad", "set aside": "warn", "silent": "warn", "judging": "running"}


@login_required
@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    told = _told(competition, timezone.now())
    return shell(request, competition, "state", told | {"epochs": _epochs(competition), "explained": EXPLAINED})


@login_required
@require_safe
def data(request: HttpRequest, slug: str) -> JsonResponse:
    """{"at", "queues": {hardware: {…}}, "runners": {name: {…}}}: figures, and as `text` the page's wording."""
    told = _told(managed(request, slug), timezone.now())
    return JsonResponse(
        {
            "at": told["at"].isoformat(),
            "queues": {line["hardware"]: line for line in told["queues"]},
            "runners": {line["name"]: line for line in told["runners"]},
        }
    )


def _told(competition: Competition, now: datetime) -> dict[str, Any]:
    hardware = sorted(set(competition.boards.values_list("hardware", flat=True)))
    waiting = queues(hardware, competition_id=competition.pk, now=now)
    return {
        "at": now,
        "queues": [_queue(line, now) for line in waiting],
        "runners": [_runner(line, competition, now) for line in hosts(hardware, now=now)],
    }


def _epochs(competition: Competition) -> list[dict[str, Any]]:
    """Return for each hardware: the contest's epoch, whether it is pinned, and the epochs that it may move to."""
    boards = {board.hardware: board for board in competition.boards.order_by("-hardware").select_related("competition")}
    ranked = RankedEpochs([*boards.values()])
    pins = {pin.hardware: pin for pin in competition.epoch_pins.all()}
    return [
        {
            "hardware": hardware,
            "epoch": ranked.known.get((hardware, ranked.of(board, Stage.CONTEST))),
            "pin": pins.get(hardware),
            "others": [one for one in known if one.name != ranked.of(board, Stage.CONTEST)],
        }
        for hardware, board in sorted(boards.items())
        if (known := [epoch for (of, _), epoch in ranked.known.items() if of == hardware])
    ]


def _queue(line: Queue, now: datetime) -> dict[str, Any]:
    return {
        "hardware": line.hardware,
        "queued": line.queued,
        "running": line.running,
        "own_queued": line.own_queued,
        "own_running": line.own_running,
        "runners": line.runners,
        "oldest": span(now - line.oldest_at) if line.oldest_at else "–",
        "tone": "bad" if line.queued and not line.runners else "",
    }


def _runner(line: Host, competition: Competition, now: datetime) -> dict[str, Any]:
    own = line.competition_id == competition.pk
    doing = "" if line.submission is None else f"submission {line.submission}" if own else "another competition’s"
    return {
        "name": line.name,
        "hardware": line.hardware,
        "state": line.state,
        "tone": TONES.get(line.state, ""),
        "since": f"for {span(now - line.since)}" if line.since and line.state not in ("idle", "silent") else "",
        "why": line.why,
        "seen": ago(line.seen_at, now) if line.seen_at else "never",
        "doing": f"{line.stage}: {doing}" if doing else "–",
        "submission": line.submission if own else None,
        "epoch": line.epoch,
    }
