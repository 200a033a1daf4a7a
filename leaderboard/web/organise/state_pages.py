"""Queues, hosts and timing epochs of a competition, for organisers.

A script fetches the state of queues and hosts as JSON and updates the page. A proposed epoch becomes current or is
dismissed; a contest's pin is moved.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Competition
from leaderboard.competitions.permissions import competitions_of
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.live import hosts, queues
from leaderboard.judging.models import Epoch, Runner
from leaderboard.standings.epochs import choose_epoch, dismiss_epoch, move_pin
from leaderboard.web.organise.gate import Act, act_of, competition_page, press, restricted_page, shell
from leaderboard.wording.figures import ago, span

FIGURES: Final = (  # of a queue
    *("hardware", "queued", "running", "own_queued", "own_running", "requested_queued", "requested_running", "runners"),
)
TONES: Final = {
    "revoked": "bad",
    "suspended": "bad",
    "refused": "bad",
    "set aside": "warn",
    "silent": "warn",
    "judging": "running",
}
EXPLAINED: Final = (
    "Times rank together only within a timing epoch: the same device, driver, limits, software and judge."
)
LABELS: Final[dict[str, str]] = {  # of a fingerprint, in the order in which they are shown
    "gpu": "{}",
    "cpu": "{}",
    "cpus": "{} cores",
    "driver": "driver {}",
    "cuda": "CUDA {}",
    "torch": "torch {}",
    "torch_cuda": "torch's CUDA {}",
    "power_limit_w": "power limit {} W",
    "max_sm_mhz": "highest clock {} MHz",
    "timing_version": "timing method {}",
}
HEADLINE: Final = ("gpu", "driver", "torch", "power_limit_w")
CPU_HEADLINE: Final = ("cpu", "cpus", "torch")
MOST_CHARS: Final = 80  # of a value, because a runner wrote it
ACTS: Final[dict[str, tuple[Act, str]]] = {
    "choose": (choose_epoch, "the epoch is current now."),
    "dismiss": (dismiss_epoch, "the epoch is dismissed."),
}


@competition_page("GET", "HEAD")
def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    context = state_of(competition) | {"epochs": epochs_of(competition), "explained": EXPLAINED}
    return shell(request, competition, "state", context)


def epochs_of(competition: Competition) -> list[dict[str, Any]]:
    """Return the epoch that the contest ranks on each hardware, its pin, and the epochs that the pin may move to."""
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


@competition_page("GET", "HEAD")
def data(request: HttpRequest, competition: Competition) -> JsonResponse:
    """{"at", "queues": {hardware: {…}}, "runners": {name: {…}}}: figures, and as `text` the page's wording."""
    state = state_of(competition)
    return JsonResponse(
        {
            "at": state["at"].isoformat(),
            "queues": {queue["hardware"]: queue for queue in state["queues"]},
            "runners": {runner["name"]: runner for runner in state["runners"]},
        }
    )


def state_of(competition: Competition) -> dict[str, Any]:
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
            "doing": f"{host.stage}: {doing}" if doing else host.stage or "–",
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


def title_of(fingerprint: Mapping[str, Any]) -> str:
    """Return the epoch's name for a person; its hash is for logs and commands."""
    wanted = HEADLINE if "gpu" in fingerprint else CPU_HEADLINE
    return (
        ", ".join(LABELS[name].format(_text(fingerprint[name])) for name in wanted if name in fingerprint)
        or "not described"
    )


def facts_of(fingerprint: Mapping[str, Any]) -> list[str]:
    """Return what decides about times on a host: device, driver, limits, software."""
    return [text.format(_text(fingerprint[name])) for name, text in LABELS.items() if name in fingerprint]


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the facts that an organiser needs for a decision: "driver 535.1 → 550.2"."""
    changed = [name for name in LABELS if old.get(name) != new.get(name)]
    values = {name: (_text(old.get(name, "unknown")), _text(new.get(name, "unknown"))) for name in changed}
    return [LABELS[name].format(" → ".join(pair)) for name, pair in values.items()]


def waiting_decisions(user: User) -> list[dict[str, Any]]:
    """Return each proposed epoch beside the current epoch of its hardware, with the runners that measure in them.

    The hardware is that of the user's competitions; for administrators, all hardware.
    """
    proposed = Epoch.objects.filter(state=Epoch.PROPOSED)
    if not user.is_staff:
        proposed = proposed.filter(hardware__in=competitions_of(user).values("boards__hardware"))
    found = list(proposed)
    hardware = {epoch.hardware for epoch in found}
    current = {one.hardware: one for one in Epoch.objects.filter(state=Epoch.CURRENT, hardware__in=hardware)}
    runners: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for kind, epoch, name in Runner.objects.filter(hardware__in=hardware).values_list("hardware", "epoch", "name"):
        runners[kind, epoch].append(name)
    return [
        {
            "epoch": epoch,
            "title": title_of(epoch.fingerprint),
            "current": (ranked := current.get(epoch.hardware)),
            "differences": differences(ranked.fingerprint, epoch.fingerprint) if ranked else [],
            "runners": runners[epoch.hardware, epoch.name],
            "current_runners": len(runners[ranked.hardware, ranked.name]) if ranked else 0,
        }
        for epoch in found
    ]


def _text(value: object) -> str:
    return str(value)[:MOST_CHARS]


@restricted_page("POST")
def decide(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Make a proposed epoch current, or dismiss it.

    Epochs belong to hardware that competitions share, so administrators of the site decide.
    """
    do, done = act_of(ACTS, name)
    epoch = get_object_or_404(Epoch, pk=pk)
    act = partial(do, hardware=epoch.hardware, name=epoch.name, reason=request.POST.get("reason", ""))
    to = "/runners" if request.POST.get("from") == "runners" else "/organise"
    return press(request, act, to=to, done=f"{epoch.hardware}: {done}")


@competition_page("POST")
def pin(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Move a competition's contest to another epoch. Owners only."""
    hardware, epoch, reason = (request.POST.get(name, "") for name in ("hardware", "epoch", "reason"))
    done = f"The contest now ranks this timing epoch on {hardware}."
    act = partial(move_pin, competition=competition, hardware=hardware, name=epoch, reason=reason)
    return press(request, act, to=f"/organise/{competition.slug}/state", done=done)
