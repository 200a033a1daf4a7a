"""Visitors of `make load`, for locust; benchmarks/load.py starts one class of them at a time.

Each visitor has an address of its own, as people have behind a trusted proxy: the limits by address hold as usual.
LOAD_WORLD names a file with tokens and ids.
"""

import json
import os
import random
import sys
import uuid
from pathlib import Path

import gevent
from locust import FastHttpUser, HttpUser, between, task
from locust.exception import StopUser

WORLD = json.loads(Path(os.environ["LOAD_WORLD"]).read_text())
TRIES = 20  # of a submission
SOURCE = "def custom_kernel(data):\n    return data\n# {}\n"


def address() -> dict[str, str]:
    return {"X-Forwarded-For": f"10.{'.'.join(str(random.randrange(256)) for _ in range(3))}"}


class Visitor(FastHttpUser):
    """Reads pages as people do, one every one to three seconds, without an account."""

    wait_time = between(1, 3)

    def on_start(self) -> None:
        self.told = address()

    def read(self, path: str, name: str = "") -> None:
        with self.client.get(path, name=name or path, headers=self.told, catch_response=True) as answer:
            if answer.status_code == 503 and "Retry-After" in answer.headers:
                answer.failure("busy, asked to wait")
            elif answer.status_code != 200:
                print(f"{path}: status {answer.status_code}", file=sys.stderr)
                answer.failure(f"status {answer.status_code}")

    @task(4)
    def board(self) -> None:
        self.read(f"/boards/{random.choice(WORLD['boards'])}/cpu", "board")

    @task(2)
    def home(self) -> None:
        self.read("/")

    @task(2)
    def entry(self) -> None:
        self.read(f"/entries/{random.choice(WORLD['entries'])}", "entry")

    @task
    def standings(self) -> None:
        self.read("/competitions/bench/standings")

    @task
    def boards(self) -> None:
        self.read("/boards")

    @task
    def status(self) -> None:
        self.read("/status")

    @task
    def lines(self) -> None:
        self.read(f"/api/v1/boards/{random.choice(WORLD['boards'])}/cpu/entries?limit=100", "board API")


class Sender(FastHttpUser):
    """Sends its submissions one after the other, without a pause.

    A busy site answers 503 with `Retry-After`: the sender waits and sends the submission again under the same key, as
    the command line does.
    """

    @task
    def send_all(self) -> None:
        token = WORLD["tokens"].pop()
        WORLD["sending"] = WORLD.get("sending", 0) + 1
        told = address() | {"Authorization": f"Bearer {token}"}
        for number in range(WORLD["sent_each"]):
            code = SOURCE.format(f"{token[-8:]} {number}")
            body = {"board": "bench-0", "hardware": "cpu", "mode": "test", "filename": "kernel.py", "code": code}
            self.send(body, told | {"Idempotency-Key": str(uuid.uuid4())})
        WORLD["sending"] -= 1
        if not WORLD["tokens"] and not WORLD["sending"]:
            gevent.spawn_later(1, self.environment.runner.quit)  # locust would wait for its time limit
        raise StopUser

    def send(self, body: dict[str, str], told: dict[str, str]) -> None:
        for left in reversed(range(TRIES)):
            with self.client.post(
                "/api/v1/submissions", json=body, headers=told, name="submission", catch_response=True
            ) as answer:
                if answer.status_code != 503 or not left:
                    return
                answer.request_meta["name"] = "submission, asked to wait"
                answer.success()
            gevent.sleep(float(answer.headers.get("Retry-After", 1)) * random.uniform(0.5, 1.5))


class Watcher(HttpUser):
    """Opens the event stream of a submission that waits, and holds it until the end."""

    @task
    def watch(self) -> None:
        submission, token = WORLD["waiting"].pop()
        told = address() | {"Authorization": f"Bearer {token}"}
        path = f"/api/v1/submissions/{submission}/events"
        with self.client.get(path, headers=told, stream=True, name="stream", timeout=60, catch_response=True) as answer:
            if answer.status_code != 200:
                answer.failure(f"status {answer.status_code}")
                raise StopUser
            lines = answer.iter_lines()
            next(lines)
            answer.success()
        for _ in lines:
            pass
        told = {"request_type": "GET", "name": "stream", "response_time": 0, "response_length": 0}
        self.environment.events.request.fire(**told, exception=EOFError("the stream ended"))
        raise StopUser
