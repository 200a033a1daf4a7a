"""`make bench-latency`: seconds from sending a test to its verdict, on an idle `cpu` runner and back to back.

    python -m benchmarks.latency [--tests N] [--pause S] [--url URL] [--batch MODE N [--bar RATIO]]

Sends tests one after the other through the Python client, each when the verdict of the last one has arrived: first with
a pause before each, then without. With --url to that site, which judges on `cpu`, with PHOTOFINISH_TOKEN; the quota
must suffice. Without it a scratch site with tiny cases and a runner starts here, with SANDBOX_IMAGE or the image of
this checkout, and ends after. RUNNER_STANDBY=0 shows the same without judges prepared in the background. Prints median,
95th percentile and maximum, in all and by phase.

With --batch, a batch of N candidates in torch instead, right, slow, wrong, broken and cheating: candidates an hour, and
the share of the time in which the tenants' cores worked, by the kernel's accounts of this host.
"""

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from benchmarks.board import scratch_site
from benchmarks.gpu.candidates import CANDIDATES, sources
from benchmarks.load import CHECKOUT, running_site
from deploy.console import say
from deploy.docker_engine import ensure_docker
from deploy.image import ensure_image
from leaderboard.client import Client, ServerEvent
from problems.spec import Case
from runner.commands import local
from runner.host import accelerators
from runner.wire import MODES

BOARD: Final = "softmax"
SOURCE: Final = CHECKOUT / "problems/library/kernels101/softmax/submissions/accepted/torch_out.py"
CASES: Final[tuple[Case, ...]] = tuple({"rows": 64, "cols": 64 + number, "seed": number} for number in range(1, 6))
TORCH_ALONE: Final = {name: source for name, source in CANDIDATES.items() if name.startswith("torch")}
STATES: Final = ("queued", "claimed", "building", "checking", "done")
PHASES: Final = (
    *(("all: sent until the verdict is here", "sent", "here"), ("sent until queued", "sent", "queued")),
    *(("waits for a judge", "queued", "claimed"), ("handed over", "claimed", "building")),
    *(("loaded", "building", "checking"), ("checked, reported", "checking", "done"), ("shown", "done", "here")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=20, help="of each kind")
    parser.add_argument("--pause", type=float, default=10.0, help="seconds before each test on an idle runner")
    parser.add_argument("--url", help="a running site")
    parser.add_argument("--board", default=BOARD)
    parser.add_argument("--batch", nargs=2, metavar=("MODE", "N"))
    parser.add_argument("--bar", type=float, help="of the batch, in mode benchmark")
    asked = parser.parse_args()
    if asked.url:
        measure(asked, asked.url, os.environ["PHOTOFINISH_TOKEN"])
        return
    if "SANDBOX_IMAGE" not in os.environ:
        ensure_docker()
        os.environ["SANDBOX_IMAGE"] = ensure_image()
    os.environ["SUBMISSIONS_PER_HOUR"] = "10000"
    with scratch_site():
        token, runner_token = populate()
        with running_site() as site, running_runner(site.url, runner_token):
            measure(asked, site.url, token)


def measure(asked: argparse.Namespace, url: str, token: str) -> None:
    with Client(url, token) as client:
        source = SOURCE.read_text()
        standby = os.environ.get("RUNNER_STANDBY", "default")
        say(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, RUNNER_STANDBY {standby}")
        if asked.batch:
            one_test(client, asked.board, source)
            time.sleep(asked.pause)
            one_batch(client, asked)
            return
        say("| seconds | median | p95 | max |")
        say("| --- | --- | --- | --- |")
        one_test(client, asked.board, source)
        for name, pause_s in (("idle", asked.pause), ("back to back", 0.0)):
            time.sleep(asked.pause)
            found = []
            for _ in range(asked.tests):
                time.sleep(pause_s)
                found.append(one_test(client, asked.board, source))
            for phase, since, until in PHASES:
                times = sorted(test[until] - test[since] for test in found)
                p95 = statistics.quantiles(times, n=20, method="inclusive")[18] if len(times) > 1 else times[0]
                say(f"| {name}: {phase} | {statistics.median(times):.2f} | {p95:.2f} | {times[-1]:.2f} |")
            say(f"| {name}, in turn: {' '.join(format(test['here'] - test['sent'], '.2f') for test in found)} |")


def one_batch(client: Client, asked: argparse.Namespace) -> None:
    """Send a batch and wait for its end."""
    mode, count = asked.batch[0], int(asked.batch[1])
    candidates = [{"code": source} for _, source in sources(count, TORCH_ALONE)]
    cores = accelerators.share_out(sorted(os.sched_getaffinity(0))).tenant
    began, worked = time.time(), busy_s(cores)
    sent = client.submit_batch(
        candidates, board=asked.board, hardware="cpu", mode=mode, budget_s=86_400, bar=asked.bar, fresh=True
    )
    outcomes: Counter[str] = Counter()
    client.follow_batch(sent["id"], lambda feedback: outcomes.update([feedback["outcome"]]))
    took_s = time.time() - began
    share = (busy_s(cores) - worked) / len(cores) / took_s
    say(f"{count} in mode {mode}, bar {asked.bar}: {took_s:.1f} s, {3600 * count / took_s:.0f} an hour;")
    say(f"{dict(outcomes)}; the tenants' {len(cores)} cores worked for {100 * share:.0f} % of the time")


def busy_s(cores: Sequence[int]) -> float:
    """Return the seconds that these cores of the host have worked since it started."""
    rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    times = {row[0]: [int(ticks) for ticks in row[1:8]] for row in rows if row[0].startswith("cpu")}
    idle = slice(3, 5)
    return sum(sum(times[f"cpu{core}"]) - sum(times[f"cpu{core}"][idle]) for core in cores) / os.sysconf("SC_CLK_TCK")


def one_test(client: Client, board: str, source: str) -> dict[str, float]:
    """Return the moments of a test: sent, each state, and the verdict's arrival."""
    moments: dict[str, float] = {"sent": time.time()}

    def note(event: ServerEvent) -> None:
        if event.kind == "state":
            moments.setdefault(event.data["state"], datetime.fromisoformat(event.data["at"]).timestamp())

    sent = client.submit(
        board=board, hardware="cpu", mode="test", filename="kernel.py", code=f"{source}# {time.time()}\n"
    )
    verdict = client.follow(sent["id"], note)
    moments["here"] = time.time()
    if verdict["outcome"] != "passed":
        raise SystemExit(f"submission {sent['id']}: {verdict['outcome']} {verdict['message']}")
    if "queued" not in moments:
        raise SystemExit("the site limits streams of events: fewer --tests or a longer --pause")
    for before, state in itertools.pairwise(STATES):  # a state that was not announced took no time
        moments.setdefault(state, moments[before])
    return moments


def populate() -> tuple[str, str]:
    """Make a board with tiny cases and a runner; return a competitor's token and the runner's."""
    from django.utils import timezone

    from leaderboard.accounts.models import User
    from leaderboard.accounts.tokens import issue_token
    from leaderboard.competitions.models import Board, Competition, Problem, ProblemVersion
    from leaderboard.judging.runners import create_runner

    tiny = replace(local.find_problem("softmax"), tests=CASES, benchmarks=CASES, benchmarks_on={})
    plenty = dict.fromkeys(MODES, 10_000)
    competition = Competition.objects.create(slug="bench", name="Benchmark", quotas=plenty)
    problem = Problem.objects.create(slug=BOARD, title=tiny.title)
    version = ProblemVersion.objects.create(problem=problem, digest=tiny.digest, bundle=tiny.to_bundle())
    Board.objects.create(competition=competition, problem=problem, version=version, slug=BOARD, hardware="cpu")
    now, ada = timezone.now(), User.objects.create_user("ada")
    _, token = issue_token(owner=ada, name="latency", scopes=("submit", "read"), now=now)
    return token, create_runner(name="rex", hardware="cpu", now=now)[1]


@contextmanager
def running_runner(url: str, token: str) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="pf-latency-") as folder:
        told = {"PHOTOFINISH_URL": url, "RUNNER_TOKEN": token, "RUNNER_STATE": folder, "LOG_LEVEL": "WARNING"}
        command = [sys.executable, "-m", "runner.daemon.worker"]
        process = subprocess.Popen(command, env=os.environ | told | {"RUNNER_DRAIN_S": "0"}, cwd=CHECKOUT)
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


if __name__ == "__main__":
    main()
