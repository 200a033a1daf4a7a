"""Metrics in Prometheus' format, at /metrics for holders of METRICS_TOKEN.

Requests, places, streams, verdicts and connections are figures of this process, since its start. Processes that share a
PROMETHEUS_MULTIPROC_DIR answer with their sum, except for the connections. SiteFigures reads the site's state from
PostgreSQL in a fixed number of queries; it is the same from every process.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from leaderboard import broker, env
from leaderboard.competitions.models import Board
from leaderboard.judging import live
from leaderboard.judging.models import LOST, Attempt, Epoch, Result, Runner, Watch
from leaderboard.operations.models import Mail
from leaderboard.review.case.states import OPEN
from leaderboard.review.models import Case
from runner.wire import Report

SHARED_DIR: Final = env.text("PROMETHEUS_MULTIPROC_DIR", "")  # the library reads the variable itself
NEWEST: Final = 200  # results from which waits are computed: the cost does not grow with the site
FAILED_WITHIN: Final = timedelta(minutes=30)  # as the alert OurFailures
QUANTILES: Final = (0.5, 0.95)
PHASES: Final = ("start", "building", "oracle", "checking", "timing", "copies", "all")  # of a report's phases_s

own: Final = CollectorRegistry()
REQUEST_S: Final = Histogram(
    "photofinish_request_seconds",
    "Time from the end of a request's body until its answer, with the wait for a place.",
    ("route", "method", "status"),
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=own,
)
PLACE_WAIT_S: Final = Histogram(
    "photofinish_place_wait_seconds",
    "Wait of a request for a place in its class.",
    ("kind",),
    buckets=(0.001, 0.01, 0.1, 0.5, 1, 2, 4, 8),
    registry=own,
)
REFUSED: Final = Counter(
    "photofinish_requests_refused", "Requests refused before any view, by status.", ("kind", "status"), registry=own
)
STREAMS: Final = Gauge("photofinish_event_streams", "Open event streams.", multiprocess_mode="livesum", registry=own)
CLAIMS: Final = Counter("photofinish_claims", "Claims by runners, by answer.", ("hardware", "answer"), registry=own)
VERDICTS: Final = Counter("photofinish_verdicts", "Accepted reports.", ("hardware", "outcome"), registry=own)
PHASE_S: Final = Histogram(
    "photofinish_phase_seconds",
    "Time of a job's phases, as the runner measured it.",
    ("hardware", "phase"),
    buckets=(0.1, 0.5, 1, 2, 5, 10, 20, 60, 180, 600),
    registry=own,
)
SIGN_INS: Final = Counter("photofinish_sign_ins", "Attempts to sign in with a password.", ("result",), registry=own)
for _kind in (ProcessCollector, PlatformCollector, GCCollector):
    _kind(registry=own)


def count_report(report: Report, hardware: str) -> None:
    VERDICTS.labels(hardware, report.outcome).inc()
    phases = report.evidence.get("phases_s")
    for name in PHASES:
        seconds = phases.get(name) if isinstance(phases, dict) else None
        if isinstance(seconds, int | float) and seconds >= 0:
            PHASE_S.labels(hardware, name).observe(seconds)


class PoolFigures(Collector):
    """Connections of this process."""

    def collect(self) -> Iterator[Metric]:
        pool = getattr(connection, "pool", None)
        found: dict[str, int] = pool.get_stats() if pool else {}
        for name, key, text in (
            ("size", "pool_size", "Connections of the pool."),
            ("available", "pool_available", "Idle connections of the pool."),
            ("waiting", "requests_waiting", "Threads that wait for a connection."),
            ("wait_seconds", "requests_wait_ms", "Time that threads have waited for connections, since the start."),
        ):
            value = found.get(key, 0) / (1000 if key.endswith("_ms") else 1)
            yield GaugeMetricFamily(f"photofinish_pool_{name}", text, value)


class SiteFigures(Collector):
    """State of the whole site, from PostgreSQL; `photofinish_database_up` alone without it."""

    def collect(self) -> Iterator[Metric]:
        try:
            found = list(_site_figures(timezone.now()))
        except DatabaseError:
            found = []
        yield GaugeMetricFamily("photofinish_database_up", "Whether PostgreSQL answers.", bool(found))
        yield GaugeMetricFamily("photofinish_broker_up", "Whether the broker answers.", broker.answers())
        yield from found


def _site_figures(now: datetime) -> Iterator[Metric]:
    runners = list(Runner.objects.filter(revoked_at=None))
    boards = Board.objects.order_by().values_list("hardware", flat=True).distinct()
    hardware = {runner.hardware for runner in runners} | set(boards)
    queues = live.queues(hardware, competition_id=0, now=now)
    for name, text in (
        ("queued", "Attempts that wait for a runner."),
        ("running", "Attempts that a runner holds."),
        ("runners", "Runners that can take work now."),
    ):
        rows = ((queue.hardware, getattr(queue, name)) for queue in queues)
        yield _gauge(f"photofinish_queue_{name}", text, ("hardware",), rows)
    ages = ((queue.hardware, (now - queue.oldest_at).total_seconds() if queue.oldest_at else 0) for queue in queues)
    text = "Time for which the oldest attempt could have been claimed, without re-judged sets."
    yield _gauge("photofinish_queue_oldest_seconds", text, ("hardware",), ages)
    waits = _waits()
    yield _gauge(
        "photofinish_wait_seconds",
        f"Time from submission to claim of the newest {NEWEST} results.",
        ("hardware", "quantile"),
        waits,
    )
    lost = dict.fromkeys(hardware, 0)
    lost |= dict(Attempt.objects.filter(state=LOST).order_by().values_list("hardware").annotate(Count("pk")))
    text = "Attempts whose runner stopped answering."
    yield _gauge("photofinish_attempts_lost", text, ("hardware",), lost.items())
    failed = dict.fromkeys(hardware, 0)
    # Without re-judged sets, as the index of finished attempts is; photofinish_verdicts counts their reports.
    ours = Attempt.objects.filter(outcome="infra_error", hardware__in=hardware, rejudge_set=None)
    ours = ours.filter(finished_at__gt=now - FAILED_WITHIN).order_by()
    failed |= dict(ours.values_list("hardware").annotate(Count("pk")))
    text = "Attempts that ended as our own failure within the last 30 minutes, without those of re-judged sets."
    yield _gauge("photofinish_attempts_failed", text, ("hardware",), failed.items())
    hosts = [(host.name, host.hardware, host.state) for host in live.hosts(hardware, now=now)]
    states = ((*host, 1) for host in hosts)
    yield _gauge("photofinish_runner_state", "1 for the state of the runner.", ("runner", "hardware", "state"), states)
    seen = ((one.name, one.hardware, (now - one.last_seen_at).total_seconds()) for one in runners if one.last_seen_at)
    text = "Time since the runner's last call."
    yield _gauge("photofinish_runner_silent_seconds", text, ("runner", "hardware"), seen)
    free = ((one.name, one.hardware, one.health["disk_free_bytes"]) for one in runners if one.health)
    text = "Free disk of the runner's host."
    yield _gauge("photofinish_runner_disk_free_bytes", text, ("runner", "hardware"), free)
    cases = Case.objects.filter(state__in=OPEN).aggregate(count=Count("pk"), oldest=Min("since"))
    yield GaugeMetricFamily("photofinish_held_results", "Results that wait for a reviewer.", cases["count"])
    yield GaugeMetricFamily(
        "photofinish_held_oldest_seconds",
        "Age of the held result that has waited longest.",
        (now - cases["oldest"]).total_seconds() if cases["oldest"] else 0,
    )
    proposed = Epoch.objects.filter(state=Epoch.PROPOSED).count()
    yield GaugeMetricFamily("photofinish_epochs_proposed", "Timing epochs that wait for a decision.", proposed)
    oldest = Mail.objects.filter(given_up_at=None).aggregate(at=Min("created_at"))["at"] or now
    text = "Age of the mail that has waited longest for the mail server; 0: none waits."
    yield GaugeMetricFamily("photofinish_mail_oldest_seconds", text, (now - oldest).total_seconds())
    watch = Watch.objects.filter(pk=1).first() or Watch()
    for name, at, text in (
        ("sweep", watch.whole_sweep_at, "Time since the last sweep that did not fail."),
        ("backup", watch.backed_up_at, "Time since the last backup."),
    ):
        if at:
            yield GaugeMetricFamily(f"photofinish_{name}_age_seconds", text, (now - at).total_seconds())


def _waits() -> Iterator[tuple[str, str, float]]:
    """Yield hardware, quantile and seconds."""
    newest = Result.objects.order_by("-pk").values("pk")[:NEWEST]
    found: defaultdict[str, list[float]] = defaultdict(list)
    attempts = Attempt.objects.filter(result__in=newest, is_shadow=False, number=1)
    for hardware, sent, claimed in attempts.values_list("hardware", "created_at", "claimed_at"):
        if claimed:
            found[hardware].append((claimed - sent).total_seconds())
    for hardware, waits in sorted(found.items()):
        waits.sort()
        for quantile in QUANTILES:
            yield hardware, str(quantile), waits[min(len(waits) - 1, int(quantile * len(waits)))]


def _gauge(name: str, text: str, labels: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> GaugeMetricFamily:
    """Return a gauge with these rows: the labels' values, then the number."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for *values, number in rows:
        family.add_metric([str(value) for value in values], number)
    return family


def exposition() -> bytes:
    """Return the figures of this process, or of all that share SHARED_DIR, and those of the site."""
    processes, site = own, CollectorRegistry()
    if SHARED_DIR:
        processes = CollectorRegistry()
        multiprocess.MultiProcessCollector(processes)  # type: ignore[no-untyped-call]
    for collector in (PoolFigures(), SiteFigures()):
        site.register(collector)
    return generate_latest(processes) + generate_latest(site)


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """GET /metrics. Without METRICS_TOKEN in the site's settings the address does not exist."""
    if not settings.METRICS_TOKEN:
        return HttpResponse("METRICS_TOKEN is not set.\n", status=404, content_type="text/plain")
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {settings.METRICS_TOKEN}"):
        text = "Send “Authorization: Bearer ” and METRICS_TOKEN.\n"
        return HttpResponse(text, status=401, content_type="text/plain", headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)
