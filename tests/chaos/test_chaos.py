"""The short chaos run: 20 submissions, every fault once; and its proxy."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from tests.chaos.faults import Strike, faults
from tests.chaos.proxy import DROP, DUPLICATE, Proxy, running
from tests.chaos.run import beside, play
from tests.conftest import SANDBOX_IMAGE
from tests.e2e.conftest import free_port

SUBMISSIONS, TEST_QUOTA = 20, 5  # four people: an even number, as GREEDY_TURN wants it


def missing() -> str:
    """Why there is no chaos here; "" if there is."""
    if os.geteuid() != 0:
        return "chaos mounts disks and makes network namespaces, which needs root"
    if absent := [name for name in ("ip", "nsenter", "unshare", "containerd", "dockerd") if not shutil.which(name)]:
        return f"chaos needs the programs {', '.join(absent)}"
    probe = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True, check=False)
    return f"no namespaces here: {probe.stderr.strip()}" if probe.returncode else ""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_site_under_chaos_loses_no_submission(tmp_path: Path) -> None:
    if why := missing():
        pytest.skip(why)
    told = play(SANDBOX_IMAGE, SUBMISSIONS, seed=1, keep=tmp_path, once=True, test_quota=TEST_QUOTA)
    print(told.text())
    assert told.findings == []
    assert told.submissions == SUBMISSIONS
    assert {one.fault for one in told.strikes} == {fault.name for fault in faults(("runner-1", "runner-2"))}
    assert [one for one in told.strikes if one.back_s is None] == [], "every target recovers"
    assert told.refused, "a person sent more than the quota"
    assert not [line for line in Path("/proc/self/mounts").read_text().splitlines() if line.startswith("pf-chaos ")]


def test_an_outcome_beside_its_strikes_names_the_killed_container() -> None:
    noon = datetime(2026, 11, 25, 12, tzinfo=UTC)
    before, during, after = (
        Strike(fault, target, noon + timedelta(seconds=at), victim, 2.0, 2.0, None)
        for fault, target, at, victim in (
            ("sweeper killed", "sweeper", -9, "sweeper"),
            ("container killed", "containers", 3, "runner-4"),
            ("web host killed", "web-1", 6, "web-1"),
        )
    )
    row = (812, "runner-4", "runtime_error", "crashed", noon, noon + timedelta(seconds=5))
    text = "attempt 812: runtime_error (crashed) on runner-4, 12:00:00 to 12:00:05; struck in that time: "
    assert beside(row, [before, during, after]) == text + "container killed (runner-4, 12:00:03)"
    assert beside(row, [before, after]) == text + "nothing"
    assert beside((*row[:4], None, None), [during]) == "attempt 812: runtime_error (crashed) on runner-4"


class Counting(BaseHTTPRequestHandler):
    asked = 0

    def do_POST(self) -> None:
        type(self).asked += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy to two web hosts, one of which is dead."""
    Counting.asked = 0
    server = HTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=server.serve_forever).start()
    proxy = Proxy(("127.0.0.1", free_port()), [("127.0.0.1", free_port()), server.server_address[:2]], seed=1)
    try:
        with running([proxy]):
            yield proxy
    finally:
        server.shutdown()
        server.server_close()


def ask(proxy: Proxy, times: int) -> int:
    """Return the number of whole answers."""
    whole = 0
    for _ in range(times):
        try:
            answer = httpx.post("http://{}:{}/".format(*proxy.address), content=b"x" * 100_000, trust_env=False)
        except httpx.HTTPError:
            continue
        assert answer.content == b"x" * 100_000
        whole += 1
    return whole


def test_the_proxy_passes_over_a_dead_host(proxy: Proxy) -> None:
    assert (ask(proxy, 6), Counting.asked) == (6, 6)


def test_the_proxy_loses_answers_after_the_request_arrived(proxy: Proxy) -> None:
    proxy.fault = DROP
    whole = ask(proxy, 10)
    assert 0 < whole < 10 == Counting.asked == whole + proxy.hit[DROP]


def test_the_proxy_repeats_requests(proxy: Proxy) -> None:
    proxy.fault = DUPLICATE
    assert ask(proxy, 10) == 10
    assert Counting.asked == 10 + proxy.hit[DUPLICATE] > 10
