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
from typing import Final

import uvicorn
from uvicorn.supervisors import Multiprocess

from leaderboard import env

STARTED_WITHIN_S: Final = 60  # a process that is silent for this long is replaced as well
FINISHED_WITHIN_S: Final = 20  # longer than a wait for a place and a statement of the database together


class WebProcesses(Multiprocess):
    """The web processes of this host and their parent, which holds the socket."""

    def handle_term(self) -> None:
        """Announce the end to the proxy, then end every process. They announce by themselves when they are alone."""
        from django.conf import settings

        for process in self.processes:
            if process.pid is not None and process.process.is_alive():
                os.kill(process.pid, signal.SIGUSR1)
        time.sleep(settings.WEB_DRAIN_S)
        super().handle_term()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m leaderboard.serve", description="Serve the site.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    env.choose_settings("leaderboard.settings", serves_requests=True)
    from django.conf import settings

    try:
        count = settings.WEB_PROCESSES
    except env.ConfigError as error:
        sys.exit(f"{error}")
    config = uvicorn.Config(
        "leaderboard.asgi:application",
        host=given.host,
        port=given.port,
        workers=count,
        lifespan="on",
        access_log=False,
        log_level=settings.LOG_LEVEL.lower(),
        timeout_graceful_shutdown=FINISHED_WITHIN_S,
        timeout_worker_healthcheck=STARTED_WITHIN_S,
    )
    WebProcesses(config, sockets=[config.bind_socket()]).run()


if __name__ == "__main__":
    main()
