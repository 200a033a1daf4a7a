"""A live site with RabbitMQ over TLS that dies and comes back empty, and a runner without a broker.

The runners poll once an hour: only a doorbell can bring them work in time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brokers import Certificate, RabbitServer, need_rabbitmq
from tests.e2e.conftest import Stage, await_that, slow_judge

pytestmark = pytest.mark.slow

SETTINGS = {"RUNNER_POLL_S": "3600", "LOG_LEVEL": "INFO"}


@pytest.fixture
def rabbit(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[RabbitServer]:
    need_rabbitmq()
    folder = tmp_path_factory.mktemp("rabbit")
    certificate = Certificate(folder)
    server = RabbitServer(folder, certificate)
    monkeypatch.setenv("BROKER_URL", server.url("amqps", "site"))
    monkeypatch.setenv("BROKER_CA_FILE", str(certificate.file))
    try:
        server.start()
        yield server
    finally:
        server.kill()


def begin_runner(stage: Stage, broker_url: str) -> None:
    token = stage.manage("create_runner", "rex", "--hardware", "cpu").strip()
    settings = {**SETTINGS, "BROKER_URL": broker_url, "BROKER_CA_FILE": ca_file(stage, broker_url)}
    stage.begin_runner("rex", token, RUNNER_JUDGE_COMMAND=slow_judge(0.1), **settings)
    await_that(lambda: '"listening"' in (stage.folder / "rex.log").read_text())


def ca_file(stage: Stage, broker_url: str) -> str:
    return stage.environment["BROKER_CA_FILE"] if broker_url else ""


def send(stage: Stage, number: int) -> None:
    kernel = stage.folder / "kernel.py"
    kernel.write_text(f"def custom_kernel(data):\n    return data  # {number}\n")
    sent = stage.photofinish("submit", str(kernel), "--board", "softmax", "--mode", "test", "--no-wait")
    assert sent.returncode == 0, sent.stderr


def judged(stage: Stage) -> int:
    return [state for state, *_ in stage.attempts()].count("done")


def test_rabbitmq_that_dies_costs_no_submission(rabbit: RabbitServer, stage: Stage) -> None:
    begin_runner(stage, rabbit.url("amqps", "runner"))
    send(stage, 1)
    await_that(lambda: judged(stage) == 1)
    rabbit.kill()
    send(stage, 2)
    assert judged(stage) == 1
    rabbit.start()
    await_that(lambda: judged(stage) == 2, within_s=60)  # the site leaves a broker alone for 15 s after a failure
    log = (stage.folder / "site.log").read_text() + (stage.folder / "rex.log").read_text()
    assert "doorbell_not_rung" in log
    assert "pass" not in log.lower().replace("passed", ""), "no password, quoted or not"


def test_sites_worker_takes_its_chores_from_rabbitmq(rabbit: RabbitServer, stage: Stage) -> None:
    def on_site(expression: str) -> str:
        return stage.manage("shell", "-c", f"from leaderboard import broker; print({expression})").split()[-1]

    chore = "broker.send_chore('ask_hint', submission_id='0')"  # there is no checker: nothing to do
    assert [on_site(chore), on_site("broker._messages_in('site')")] == ["True", "1"]
    stage.begin("worker", "dramatiq", "leaderboard.actors", "--queues", "site", "--processes", "1", "--threads", "1")
    waiting_delayed_or_dead = "sum(broker.get_broker().get_queue_message_counts('site'))"
    await_that(lambda: on_site(waiting_delayed_or_dead) == "0")
    assert "Traceback" not in (stage.folder / "worker.log").read_text()


def test_runner_without_a_broker_gets_work_long_before_its_poll(stage: Stage) -> None:
    begin_runner(stage, "")
    for number in (1, 2):
        send(stage, number)
        await_that(lambda number=number: judged(stage) == number, within_s=15)
