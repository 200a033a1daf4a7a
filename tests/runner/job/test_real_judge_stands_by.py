"""The judge's own process with real containers: prepared, frozen, used once, dropped when they are no longer fit."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.commands import local
from runner.commands.local import find_problem
from runner.host.accelerators import epoch, listed, share_out, spans
from runner.wire import Job, dump
from sandbox.container import find_freezer
from sandbox.policy import LABEL
from tests.runner.judge.oracle_here import problem_of

if TYPE_CHECKING:
    import docker

pytestmark = [pytest.mark.docker, pytest.mark.slow]

IMAGE = os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest")
SUBMISSION = "def custom_kernel(data):\n    x, out = data\n    out.copy_(x.softmax(-1))\n    return out\n"
FAILS = """
calls = 0

def custom_kernel(data, right=custom_kernel):
    global calls
    calls += 1
    assert calls < 100
    return right(data)
"""
MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.line = torch.nn.Linear(width, width)

    def forward(self, x):
        return self.line(x).relu()

def get_inputs():
    return [torch.rand(64, 32)]

def get_init_inputs():
    return [32]
"""
PATIENCE_S = 60
PROGRAM = ("-m", "runner.job.judge_main")
TESTS = 3
OF_FEW_JOBS = ("-c", f"from runner.job import judge_main; judge_main.MOST_JOBS = {TESTS}; judge_main.main()")


class Judge:
    """`python -m runner.job.judge_main`, as the daemon starts it."""

    def __init__(
        self, client: docker.DockerClient, *arguments: str, program: Sequence[str] = PROGRAM, **settings: str
    ) -> None:
        self.owner = f"standby{secrets.token_hex(6)}"
        self._client = client
        self._environment = {**os.environ, "SANDBOX_IMAGE": IMAGE, **settings, "RUNNER_ID": self.owner}
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def send(self, job: Job) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{dump(job)}\n".encode())
        self.process.stdin.flush()

    def renew(self) -> dict[str, Any]:
        """Have it renew itself after a test; return the line in which it is ready."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return self.line()

    def report(self) -> dict[str, Any]:
        while "report" not in (line := self.line()):
            pass
        return dict(line["report"])

    def forget(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def containers(self) -> list[Any]:
        return list(
            self._client.containers.list(all=True, ignore_removed=True, filters={"label": f"{LABEL}={self.owner}"})
        )

    def await_containers(self, count: int) -> set[str]:
        """Return the ids of its containers when there are so many."""
        ends = time.monotonic() + PATIENCE_S
        while len(found := {str(one.id) for one in self.containers()}) != count:
            assert time.monotonic() < ends, found
        return found

    def said(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def reap(self) -> None:
        subprocess.run([sys.executable, "-m", "runner.job.judge_main", "--reap"], env=self._environment, check=True)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        self.reap()


@pytest.fixture
def begin(docker_client: docker.DockerClient) -> Iterator[Callable[..., Judge]]:
    """Start a judge that waits for its job."""
    judges: list[Judge] = []

    def begin(*arguments: str, **named: Any) -> Judge:
        judges.append(Judge(docker_client, *arguments, **named))
        host = judges[-1].line()["ready"]
        assert host["fingerprint"]["torch"], "as the image has it"
        assert host["epoch"] == epoch(host["fingerprint"])
        return judges[-1]

    yield begin
    for judge in judges:
        judge.close()


def a_job() -> Job:
    whole = find_problem("softmax")
    problem = replace(whole, benchmarks=({**whole.benchmarks[-1], "rows": 128},))  # a benchmark here is quickly timed
    return Job("a1", 1, 600, "cpu", "test", "s1", "kernel.py", SUBMISSION, problem.to_bundle(), problem.digest)


def test_containers_wait_frozen_and_are_gone_after_one_job(begin: Callable[..., Judge]) -> None:
    judge = begin()
    waiting = judge.containers()
    assert len(waiting) == 3
    if os.geteuid() == 0:
        assert all(_is_frozen(one.attrs["State"]["Pid"]) for one in waiting)
    judge.send(a_job())
    lines = [judge.line()]
    while "report" not in lines[-1]:
        lines.append(judge.line())
    assert lines[-1]["report"]["outcome"] == "passed"
    assert lines[-1]["report"]["evidence"]["phases_s"]["start"] < 0.5
    assert judge.process.wait(PATIENCE_S) == 0
    assert judge.containers() == []


@pytest.mark.parametrize("mode", ["test", "benchmark"])
def test_a_judge_for_tests_has_one_side_and_adds_the_other_for_a_timed_job(
    begin: Callable[..., Judge], mode: str
) -> None:
    judge = begin("--tests")
    assert len(judge.containers()) == 2
    judge.send(replace(a_job(), mode=mode))
    judge.forget()
    assert judge.report()["outcome"] in ("passed", *(("unmeasurable",) if mode == "benchmark" else ()))
    assert judge.process.wait(PATIENCE_S) == 0
    assert judge.containers() == []


def test_a_judge_for_tests_keeps_the_oracle_of_a_problem_and_no_container_of_a_submission(
    begin: Callable[..., Judge],
) -> None:
    judge = begin("--tests")
    other = find_problem("vectoradd")
    wrong = replace(a_job(), source=SUBMISSION.replace("softmax(-1)", "softmax(0)"))
    added = replace(
        a_job(),
        source="def custom_kernel(data):\n    a, b, out = data\n    out.copy_(a + b)\n    return out\n",
        problem=other.to_bundle(),
        problem_digest=other.digest,
    )
    before = {one.id for one in judge.containers()}
    kept = []
    for number, (job, outcome) in enumerate(
        [(a_job(), "passed"), (wrong, "wrong"), (a_job(), "passed"), (added, "passed")], 1
    ):
        judge.send(replace(job, attempt_id=f"a{number}"))
        report = judge.report()
        assert (report["attempt_id"], report["outcome"]) == (f"a{number}", outcome)
        assert judge.renew()["ready"]["fingerprint"] == report["evidence"]["fingerprint"]
        after = {one.id for one in judge.containers()}
        assert len(after) == 2
        kept.append(len(before & after))
        before = after
    assert kept == [1, 1, 1, 0], "the last test is of another problem"
    judge.forget()
    assert judge.process.wait(PATIENCE_S) == 0
    assert judge.containers() == []


def test_a_judge_with_spares_keeps_a_problems_baseline_after_jobs_that_never_rank(begin: Callable[..., Judge]) -> None:
    judge = begin("--spares", "2")
    first = {one.id for one in judge.containers()}
    slow = replace(
        a_job(), mode="benchmark", source=f"import time\n{SUBMISSION}".replace("    x,", "    time.sleep(0.001); x,")
    )
    breaks = replace(slow, source=slow.source + FAILS)  # in a timed call, while spares are frozen
    whole = find_problem("softmax")
    smaller = replace(whole, benchmarks=({**whole.benchmarks[-1], "rows": 64},))
    other = replace(slow, mode="test", problem=smaller.to_bundle(), problem_digest=smaller.digest)
    alive, reports = [first], []
    for number, job in enumerate((slow, breaks, replace(slow, mode="test"), slow, other)):
        judge.send(replace(job, attempt_id=f"a{number}"))
        reports.append(judge.report())
        assert "ready" in judge.renew()
        alive.append(judge.await_containers(5 if job is other else 6))
    assert reports[0]["outcome"] in ("passed", "unmeasurable")
    assert [report["outcome"] for report in reports[1:3]] == ["runtime_error", "passed"]
    assert reports[3]["outcome"] in ("passed", "unmeasurable")
    assert reports[4]["outcome"] == "passed"
    assert "timing" in reports[1]["evidence"]["phases_s"]
    assert len(first) == 3, "there are three spare containers more from the second job on"
    kept = [len(before & after) for before, after in itertools.pairwise(alive)]
    assert kept == [2, 5, 5, 5, 3], "all but the submission's; for another problem, spares alone"
    judge.send(replace(slow, mode="ranked", attempt_id="a3"))
    assert judge.report()["outcome"] in ("passed", "unmeasurable")
    assert judge.process.wait(PATIENCE_S) == 0
    assert judge.containers() == []


def test_jobs_of_a_model_share_oracle_and_baseline_but_no_weights(begin: Callable[..., Judge]) -> None:
    """Model is constructed anew for each job: no program learns weights from its earlier candidates."""
    judge = begin("--spares", "2")
    problem = problem_of(MODEL, {"seed": 1}, interface="model", entry="ModelNew")
    source = MODEL.replace("class Model(", "class ModelNew(")
    sent = local.job_from(problem, source, problem.submission_name, "benchmark", "cpu")
    wrong = replace(sent, source=source.replace(".relu()", ""))
    before, kept, seeds = {one.id for one in judge.containers()}, [], set()
    for number, (job, outcomes) in enumerate(
        [(sent, ("passed", "unmeasurable")), (wrong, ("wrong",)), (sent, ("passed", "unmeasurable"))]
    ):
        judge.send(replace(job, attempt_id=f"a{number}"))
        report = judge.report()
        assert report["outcome"] in outcomes, report["message"]
        seeds.add(report["evidence"]["init_seed"])
        assert "ready" in judge.renew()
        after = judge.await_containers(6)
        kept.append(len(before & after))
        before = after
    assert len(seeds) == 3
    assert kept == [2, 5, 5], "all but the submission's"
    judge.forget()
    assert judge.process.wait(PATIENCE_S) == 0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one core, the judge's and a tenant's are the same")
def test_spares_come_from_cores_apart_to_those_of_a_tenant(begin: Callable[..., Judge]) -> None:
    first = min(os.sched_getaffinity(0))
    tenant = spans(share_out(sorted(os.sched_getaffinity(0))).tenant)
    apart = spans(range(first, first + len(listed(tenant))))
    judge = begin("--spares", "1", apart)
    for number in range(2):  # it has spares from the second job on
        judge.send(replace(a_job(), mode="test", attempt_id=f"a{number}"))
        assert judge.report()["outcome"] == "passed"
        if number == 0:
            assert "ready" in judge.renew()

    def cores() -> dict[str, str]:
        alive = {str(one.id): one.attrs["State"]["Pid"] for one in judge.containers() if one.status == "running"}
        read = {name: Path(f"/proc/{pid}/status").read_text() for name, pid in alive.items()}
        return {name: text.split("Cpus_allowed_list:")[1].split()[0] for name, text in read.items()}

    judge.await_containers(5)
    before = cores()
    (spare,) = [name for name, on in before.items() if on == apart]
    assert "ready" in judge.renew()
    assert cores()[spare] == tenant, "it is a side of the next job"


def test_a_judge_for_tests_is_renewed_only_when_told(begin: Callable[..., Judge]) -> None:
    judge = begin("--tests")
    judge.send(a_job())
    assert judge.report()["outcome"] == "passed"
    before = {one.id for one in judge.containers()}
    assert judge.process.stdout is not None
    assert not select.select([judge.process.stdout], [], [], 3.0)[0]
    assert {one.id for one in judge.containers()} == before
    judge.forget()
    assert judge.process.wait(PATIENCE_S) == 0
    assert judge.containers() == []


def test_a_judge_for_tests_ends_after_a_failure_of_the_problem(begin: Callable[..., Judge]) -> None:
    judge = begin("--tests")
    problem = find_problem("softmax")
    broken = {**problem.to_bundle()}
    judge.send(replace(a_job(), problem=broken, problem_digest="0" * 64))
    assert judge.report()["outcome"] == "infra_error"
    assert judge.process.wait(PATIENCE_S) == 0
    assert judge.containers() == []


def test_a_judge_for_tests_starts_afresh_after_its_last_test(begin: Callable[..., Judge]) -> None:
    judge = begin("--tests", program=OF_FEW_JOBS)
    for number in range(TESTS):
        if number:
            assert "ready" in judge.renew()
        judge.send(replace(a_job(), attempt_id=f"a{number}"))
        assert judge.report()["outcome"] == "passed"
    assert judge.process.wait(PATIENCE_S) == 0


def test_sigterm_and_the_end_of_stdin_end_it_in_peace(begin: Callable[..., Judge]) -> None:
    told, forgotten = begin(), begin("--tests")
    told.process.send_signal(signal.SIGTERM)
    assert forgotten.process.stdin is not None
    forgotten.process.stdin.close()
    assert (told.process.wait(PATIENCE_S), forgotten.process.wait(PATIENCE_S)) == (143, 0)
    assert told.containers() == forgotten.containers() == []


def test_containers_of_a_killed_one_are_reaped_though_frozen(begin: Callable[..., Judge]) -> None:
    judge = begin()
    judge.process.kill()
    judge.process.wait()
    assert len(judge.containers()) == 3
    judge.reap()
    assert judge.containers() == []


def test_it_gives_up_when_a_container_dies_while_it_waits(begin: Callable[..., Judge]) -> None:
    judge = begin("--tests")
    judge.containers()[0].remove(force=True)
    assert judge.process.wait(PATIENCE_S) == 75
    assert "a container ended" in judge.said()
    assert judge.containers() == []


def test_it_gives_up_when_its_containers_grew_old(begin: Callable[..., Judge]) -> None:
    judge = begin("--tests", RUNNER_PREPARED_S="1")
    assert judge.process.wait(PATIENCE_S) == 75
    assert "older than 1 s" in judge.said()


def test_it_hands_a_job_back_when_the_image_moved(
    begin: Callable[..., Judge], docker_client: docker.DockerClient
) -> None:
    moved = f"photofinish-standby-test:{secrets.token_hex(6)}"
    docker_client.images.get(IMAGE).tag(moved)
    try:
        judge = begin("--tests", SANDBOX_IMAGE=moved)
        repository, tag = moved.split(":")
        docker_client.api.import_image_from_data(bytes(10_240), repository=repository, tag=tag)  # an empty archive
        judge.send(a_job())
        assert judge.process.wait(PATIENCE_S) == 75
        assert "is another image now" in judge.said()
    finally:
        docker_client.images.remove(moved)


def test_an_image_that_is_not_there_is_said_at_once(docker_client: docker.DockerClient) -> None:
    judge = Judge(docker_client, SANDBOX_IMAGE="photofinish-sandbox:of-nobody")
    assert judge.process.wait(PATIENCE_S) == 1
    assert "make image" in judge.said()
    judge.close()


def _is_frozen(pid: int) -> bool:
    freezer = find_freezer(pid)
    assert freezer is not None
    with contextlib.closing(freezer):
        return freezer._frozen in os.pread(freezer._state, 256, 0)
