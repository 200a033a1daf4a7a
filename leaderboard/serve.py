"""Start of a host's web processes: `python -m leaderboard.serve --host 127.0.0.1 --port 8000`.

WEB_PROCESSES processes accept from one socket, which outlives each of them, so that a replaced process loses no
connection. SIGHUP replaces them in turn, by the code that lies on the disk then: each old process leaves once the new
process serves. SIGTERM ends the host: see web/leaving.py. docs/upgrades.md explains both to operators.
"""

import argparse
import os
import signal
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from leaderboard import env

STARTED_WITHIN_S: Final = 60  # a process that is silent for this long is replaced as well
METRICS_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"  # web/metrics.py: the processes' figures are added up there
FINISHED_WITHIN_S: Final = 20  # longer than a wait for a place and a statement of the database together


class WebProcesses(Multiprocess):
    """The web processes of this host and their parent, which holds the socket."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._counted: set[int | None] = set()

    def keep_subprocess_alive(self) -> None:
        """Replace processes that ended, and take them out of the figures of /metrics."""
        for process in self.processes:  # or a ping of a killed process would wait for its answer, STARTED_WITHIN_S
            process.child_conn.close()
        super().keep_subprocess_alive()
        present = {process.pid for process in self.processes}
        if env.text(METRICS_FOLDER, ""):
            for pid in self._counted - present:
                mark_process_dead(pid)  # type: ignore[no-untyped-call]
        self._counted = present

    def handle_term(self) -> None:
        """Announce the end to the proxy, then end every process."""
        from django.conf import settings

        for process in self.processes:
            if process.pid is not None and process.process.is_alive():
                os.kill(process.pid, signal.SIGUSR1)
        time.sleep(settings.WEB_DRAIN_S)
        for socket in self.sockets:  # or the kernel would go on taking connections, and reset them at the end
            socket.close()
        super().handle_term()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m leaderboard.serve", description="Serve the site.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    env.choose_settings("leaderboard.settings", serves_requests=True)
    from django.conf import settings

    from leaderboard import safety

    try:
        safety.refuse_unsafe_settings()
        count = settings.WEB_PROCESSES
    except env.ConfigError as error:
        sys.exit(f"{error}")
    config = uvicorn.Config(
        "leaderboard.asgi:application",
        host=given.host,
        port=given.port,
        workers=count,
        lifespan="on",
        proxy_headers=False,  # asgi.py believes TRUSTED_PROXIES alone
        access_log=False,
        log_level=settings.LOG_LEVEL.lower(),
        timeout_graceful_shutdown=FINISHED_WITHIN_S,
        timeout_worker_healthcheck=STARTED_WITHIN_S,
    )
    folder = env.text(METRICS_FOLDER, "")
    with nullcontext(folder) if folder or count == 1 else TemporaryDirectory(prefix="photofinish-metrics-") as shared:
        if shared:
            env.hand_down(METRICS_FOLDER, shared)
            for old in Path(shared).glob("*.db"):  # figures of processes before this start
                old.unlink()
        host = WebProcesses(config, sockets=[config.bind_socket()])
        host.run()
    if any(process.exitcode == STARTUP_FAILURE for process in host.processes):
        sys.exit(STARTUP_FAILURE)


if __name__ == "__main__":
    main()
