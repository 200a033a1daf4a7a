"""The current state of a competition's queue and hosts. A script fetches it as JSON and updates the page."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Competition
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.live import hosts, queues
from leaderboard.web.organise.epochs import EXPLAINED
from leaderboard.web.organise.gate import competition_page, shell
from leaderboard.wording.figures import ago, span

FIGURES: Final = ("hardware", "queued", "running", "own_queued", "own_running", "runners")  # of a queue
TONES: Final = {"suspended": "bad", "set aside": "warn", "silent": "warn", "judging": "running"}


@competition_page("GET", "HEAD")
def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    context = _state(competition) | {"epochs": _epochs(competition), "explained": EXPLAINED}
    return shell(request, competition, "state", context)


@competition_page("GET", "HEAD")
def data(request: HttpRequest, competition: Competition) -> JsonResponse:
    """{"at", "queues": {hardware: {…}}, "runners": {name: {…}}}: figures, and as `text` the page's wording."""
    state = _state(competition)
    return JsonResponse(
        {
            "at": state["at"].isoformat(),
            "queues": {queue["hardware"]: queue for queue in state["queues"]},
            "runners": {runner["name"]: runner for runner in state["runners"]},
        }
    )


def _state(competition: Competition) -> dict[str, Any]:
    now = timezone.now()
    hardware = sorted(set(competition.boards.values_list("hardware", flat=True)))
    runners = []
    for host in hosts(hardware, now=now):
        own = host.competition_id == competition.pk
        doing = "" if host.submission is None else f"submission {host.submission}" if own else "another competition’s"
        runner = {name: getattr(host, name) for name in ("name", "hardware", "state", "why", "epoch")} | {
            "tone": TONES.get(host.state, ""),
            "since": f"for {span(now - host.since)}" if host.since and host.state not in ("idle", "silent") else "",
            "seen": ago(host.seen_at, now) if host.seen_at else "never",
            "doing": f"{host.stage}: {doing}" if doing else "–",
            "submission": host.submission if own else None,
        }
        runners.append(runner)
    shown_queues = [
        {name: getattr(queue, name) for name in FIGURES}
        | {
            "oldest": span(now - queue.oldest_at) if queue.oldest_at else "–",
            "tone": "bad" if queue.queued and not queue.runners else "",
        }
        for queue in queues(hardware, competition_id=competition.pk, now=now)
    ]
    return {"at": now, "queues": shown_queues, "runners": runners}


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
