"""`make load`: a site under many visitors, a burst of submissions and held event streams, on this machine alone.

    python -m benchmarks.load [--visitors N …] [--seconds N] [--senders N] [--streams N]

A scratch PostgreSQL and Valkey, 10,000 lines on a board, and web processes as operators start them. locust sends the
requests from the same machine, so its own processor time is part of the figures. Prints requests a second, median, 95th
and 99th percentile in ms, failures, and the memory of the web processes (RSS, summed).
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from benchmarks.board import BOARDS, filled
from deploy.console import say

CHECKOUT: Final = Path(__file__).parents[1]
ENTRIES: Final = 10_000
ATTEMPTS: Final = 60_000
SENT_EACH: Final = 4  # below the limit of unfinished submissions at once
BURST_S: Final = 300  # at most
HELD_S: Final = 90
READERS: Final = 50  # visitors while the streams are held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, nargs="*", default=[50, 200, 500])
    parser.add_argument("--seconds", type=int, default=60, help="of each number of visitors")
    parser.add_argument("--submissions", type=int, default=1_000, help="sent at once, and streams held then")
    asked = parser.parse_args()
    with filled(ENTRIES, ATTEMPTS), tempfile.TemporaryDirectory(prefix="pf-load-") as folder:
        world = Path(folder, "world.json")
        made = make_world(asked.submissions // SENT_EACH)
        world.write_text(json.dumps(made))
        with running_site() as site:
            say("| load | requests | a second | p50 | p95 | p99 | failures | memory, MB |")
            say("| --- | --- | --- | --- | --- | --- | --- | --- |")
            for number in asked.visitors:
                with locust(site, world, "Visitor", number, asked.seconds) as readers:
                    pass
                site.row(f"{number} visitors", readers.rows)
            with locust(site, world, "Sender", asked.submissions // SENT_EACH, BURST_S) as senders:
                pass
            for row in senders.rows:
                site.row(f"{asked.submissions:,} at once: {row['name']}", [row])
            made["waiting"] = waiting(made["tokens"])
            if len(made["waiting"]) != asked.submissions:
                raise SystemExit(f"{len(made['waiting'])} submissions wait in place of {asked.submissions}")
            world.write_text(json.dumps(made))
            with locust(site, world, "Watcher", asked.submissions, HELD_S) as watchers:
                time.sleep(HELD_S / 2)
                with locust(site, world, "Visitor", READERS, HELD_S // 3) as readers:
                    pass
            site.row(f"{asked.submissions:,} event streams, until each sent its first line", watchers.rows)
            site.row(f"{READERS} visitors beside the streams", readers.rows)


class Site:
    """The web processes under load."""

    def __init__(self, url: str, process: subprocess.Popen[bytes]) -> None:
        self.url, self._process = url, process

    def row(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Print the figures of locust's rows, and the memory of this moment."""
        times = Counter[int]()
        for row in rows:
            times.update({int(float(ms)): number for ms, number in row["response_times"].items()})
        sent, failed = (sum(row[key] for row in rows) for key in ("num_requests", "num_failures"))
        took_s = max(row["last_request_timestamp"] for row in rows) - min(row["start_time"] for row in rows)
        parts = " | ".join(str(part_of(times, share)) for share in (0.5, 0.95, 0.99))
        say(f"| {name} | {sent:,} | {sent / took_s:.0f} | {parts} | {failed} | {self._memory_mb():.0f} |")

    def _memory_mb(self) -> float:
        """Return the proportional set size of the processes: a page that they share counts once."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        texts = [Path(f"/proc/{one}/smaps_rollup").read_text() for one in (pid, *children)]
        return sum(int(line.split()[1]) for text in texts for line in text.splitlines() if line[:4] == "Pss:") / 1e3


def part_of(times: Counter[int], share: float) -> int:
    """Return the time in ms that this share of the requests stays within."""
    seen, wanted = 0, share * times.total()
    for ms in sorted(times):
        seen += times[ms]
        if seen >= wanted:
            return ms
    raise SystemExit("no request was sent")


def make_world(senders: int) -> dict[str, Any]:
    from django.utils import timezone

    from leaderboard.accounts.models import User
    from leaderboard.accounts.tokens import issue_token
    from leaderboard.standings.models import Entry

    racers = User.objects.filter(username__startswith="racer").order_by("pk")[:senders]
    now, scopes = timezone.now(), ("submit", "read")
    return {
        "boards": [f"bench-{number}" for number in range(BOARDS)],
        "entries": [*Entry.objects.order_by("pk").values_list("pk", flat=True)[:1_000]],
        "tokens": [issue_token(owner=owner, name="load", scopes=scopes, now=now)[1] for owner in racers],
        "sent_each": SENT_EACH,
        "waiting": [],
    }


def waiting(tokens: list[str]) -> list[tuple[int, str]]:
    """Return each submission that waits, with a token of its owner."""
    from django.utils import timezone

    from leaderboard.accounts.tokens import find_token
    from leaderboard.judging.models import QUEUED, Attempt

    found = [(find_token(text, now=timezone.now()), text) for text in tokens]
    by_owner = {token.owner_id: text for token, text in found if token is not None}
    rows = Attempt.objects.filter(state=QUEUED).values_list("submission_id", "owner_id")
    return [(submission, by_owner[owner]) for submission, owner in rows]


@contextmanager
def running_site() -> Iterator[Site]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    processes = min(4, 2 * (os.cpu_count() or 1))
    url = f"http://127.0.0.1:{port}"
    settings = {"SITE_URL": url, "WEB_PROCESSES": str(processes), "WEB_DRAIN_S": "0", "TRUSTED_PROXIES": "127.0.0.1"}
    command = [sys.executable, "-m", "leaderboard.serve", "--port", port]
    say(f"{os.cpu_count()} cores, {processes} web processes")
    process = subprocess.Popen(command, env=os.environ | {"ALLOWED_HOSTS": "127.0.0.1"} | settings, cwd=CHECKOUT)
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
            client.get(f"{url}/healthz").raise_for_status()
        yield Site(url, process)
    finally:
        process.terminate()
        process.wait(30)


class Locust:
    """A run of locust; `rows` are its statistics by kind of request, once it has ended."""

    def __init__(self, command: list[str], world: Path) -> None:
        told = os.environ | {"LOAD_WORLD": str(world)}
        self._process = subprocess.Popen(command, env=told, cwd=CHECKOUT, stdout=subprocess.PIPE)
        self.rows: list[dict[str, Any]] = []

    def wait(self) -> None:
        said, _ = self._process.communicate()
        self.rows = json.loads(said)


@contextmanager
def locust(site: Site, world: Path, kind: str, number: int, most_s: int) -> Iterator[Locust]:
    """Run this number of one class of benchmarks/visitors.py. On the way out, wait for its end."""
    options = ["--headless", "--json", "--only-summary", "--skip-log-setup", "--exit-code-on-error", "0"]
    size = ["--users", str(number), "--spawn-rate", "50", "--run-time", f"{most_s}s", "--host", site.url]
    file = ["-f", "benchmarks/visitors.py", kind]
    run = Locust([sys.executable, "-m", "locust", *file, *options, *size], world)
    yield run
    run.wait()


if __name__ == "__main__":
    main()
