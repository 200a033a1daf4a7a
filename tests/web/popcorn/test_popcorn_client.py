"""The whole way of a client over HTTP against a running site; the stage plays the runner."""

from __future__ import annotations

import base64
import io
import json
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.db import connections
from django.utils import timezone

from runner.evidence import profiled
from runner.wire import Event
from tests.web.live_site import live_site
from tests.web.popcorn.client import Failed, Popcorn, events, multipart
from tests.web.popcorn.conftest import token_of

CODE = b"#!POPCORN leaderboard softmax\n#!POPCORN gpu cpu\ndef custom_kernel(data):\n    return data\n"
PATIENCE_S = 60


@pytest.fixture(scope="module")
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def site(transactional_db: None) -> Iterator[str]:
    with live_site() as running:
        yield f"{running.address}/popcorn"


@pytest.fixture
def stage(transactional_db: None) -> Any:
    from tests.leaderboard.stage import make_stage

    made = make_stage()
    made.now = timezone.now()
    return made


@pytest.fixture
def ada(stage, site) -> Iterator[Popcorn]:
    client = Popcorn(site, token_of(stage.ada))
    yield client
    client.close()


def await_that(check: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := check()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def judged(stage: Any, waits: Future[Any], *, seen: Callable[[], bool] = lambda: True, **told: Any) -> None:
    """Play the runner for the submission that a client waits for: claim, announce, report when that was `seen`."""
    from leaderboard.judging.models import QUEUED, Attempt
    from leaderboard.judging.report import announce

    await_that(lambda: waits.done() or Attempt.objects.filter(state=QUEUED).exists())
    stage.now = timezone.now()
    job = stage.claim()
    event = Event(1, kind="state", state="checking", message="Comparing")
    announce(attempt_id=job.attempt_id, runner=stage.rex, token=job.token, announced=[event], now=stage.later(0.1))
    await_that(lambda: waits.done() or seen())
    stage.report(job, **told)


def test_client_lists_submits_shows_and_deletes(stage, site, ada, executor) -> None:
    assert ada.leaderboards() == [("softmax", "Softmax of each row.")]
    assert ada.gpus("softmax") == ["cpu"]
    waits = executor.submit(ada.submit, CODE, "SoftMax", "CPU", "leaderboard")
    judged(stage, waits, score_us=900.0)
    found = waits.result(PATIENCE_S)
    assert re.search(r"accepted\. Photofinish cpu queue: [01] queued jobs$", ada.log[0])  # the runner may be first
    assert ada.log[-1].startswith(f"Submission {found['id']} status: succeeded")
    run, secret = found["runs"]
    assert (run["mode"], run["passed"], run["score"]) == ("leaderboard", True, pytest.approx(0.0009))
    assert (secret["mode"], secret["secret"], secret["passed"], secret["score"]) == ("leaderboard", True, True, None)
    (line,) = ada.list("softmax")
    assert (line["id"], line["done"], line["runs"][0]["gpu_type"]) == (found["id"], True, "cpu")
    assert ada.show(found["id"])["code"].encode() == CODE
    assert len(ada.call("GET", "/submissions/softmax/cpu")) == 1
    assert ada.delete(found["id"])
    assert ada.call("GET", "/submissions/softmax/cpu") == []


def test_client_ends_with_an_error_on_a_wrong_result(stage, ada, executor) -> None:
    waits = executor.submit(ada.submit, CODE, "softmax", "cpu", "test")
    judged(stage, waits, outcome="wrong", message="Case rows=8: element 3 is 0.5, expected 0.25.")
    with pytest.raises(Failed, match=r"failed: Wrong result\. Case rows=8: element 3 is 0\.5, expected 0\.25\."):
        waits.result(PATIENCE_S)


def test_client_shows_the_output_of_a_failed_run(stage, ada, executor) -> None:
    waits = executor.submit(ada.submit, CODE, "softmax", "cpu", "leaderboard")
    judged(stage, waits, outcome="runtime_error", message="IndexError: 3", logs={"stdout": "", "stderr": "Traceback"})
    with pytest.raises(Failed, match=r"failed: It failed while running\. IndexError: 3[^\n]*\n\nTraceback"):
        waits.result(PATIENCE_S)


def test_client_ends_with_an_error_on_a_pass_that_cannot_rank(stage, ada, executor) -> None:
    waits = executor.submit(ada.submit, CODE, "softmax", "cpu", "leaderboard")
    judged(stage, waits, telemetry="none")
    with pytest.raises(Failed, match=r"Submission \d+: Passed\. .*such a time does not rank"):
        waits.result(PATIENCE_S)


def test_admin_client_stops_starts_counts_and_invites(stage, site) -> None:
    from leaderboard.competitions.models import Competition

    Competition.objects.update(visibility="closed")
    admin, cleo = Popcorn(site, admin_token=token_of(stage.olga, "review")), Popcorn(site, token_of(stage.cleo))
    assert cleo.leaderboards() == []
    made = admin.admin("POST", "invites", json={"leaderboards": ["softmax"], "count": 2})
    assert cleo.join(made["codes"][0]) == ["softmax"]
    assert [name for name, _ in cleo.leaderboards()] == ["softmax"]
    listed = admin.admin("GET", "leaderboards/softmax/invites")["invites"]
    assert [(one["user_id"], one["user_name"]) for one in listed] == [(None, None), (str(stage.cleo.pk), "cleo")]
    assert all(isinstance(one[name], str) for one in listed for name in ("code", "created_at"))
    assert admin.admin("DELETE", f"invites/{made['codes'][1]}")["was_claimed"] is False
    admin.admin("POST", "stop")
    with pytest.raises(Failed, match=r"503: .*stopped the submissions"):
        cleo.submit(CODE, "softmax", "cpu", "test")
    admin.admin("POST", "start")
    assert admin.admin("GET", "stats?last_day_only=true")["num_submissions"] == 0
    admin.close()
    cleo.close()


def test_client_with_a_token_of_nobody_is_told_the_way_in(stage, site) -> None:
    client = Popcorn(site, "pf_nobody")
    with pytest.raises(Failed, match=r"401: X-Popcorn-Cli-Id: this token is unknown.*/tokens.*popcorn\.yaml"):
        client.submit(CODE, "softmax", "cpu", "test")
    newcomer = Popcorn(site)
    with pytest.raises(Failed, match=r"401: X-Popcorn-Cli-Id: missing.*/tokens"):
        newcomer.list("softmax")
    with pytest.raises(Failed, match=r"404: provider: .*/tokens"):
        newcomer.call("GET", "/auth/init?provider=github")
    client.close()
    newcomer.close()


def test_stream_sends_status_and_the_result_of_a_pass(stage, ada, executor) -> None:
    waits = executor.submit(ada.stream, CODE, "softmax", "cpu", "benchmark")
    logs = {"stdout": "hello", "stderr": ""}
    judged(
        stage, waits, seen=lambda: any("Comparing" in line for line in ada.log), score_us=900.0, ratio=0.5, logs=logs
    )
    (report,) = waits.result(PATIENCE_S)
    assert report.startswith("Passed. 2.000× the speed of the baseline")
    assert "Waiting for a free runner" in ada.log[0]
    assert any("Comparing" in line for line in ada.log)


def test_stream_ends_with_the_error_of_a_failure(stage, ada, executor) -> None:
    waits = executor.submit(ada.stream, CODE, "softmax", "cpu", "test")
    judged(stage, waits, outcome="runtime_error", message="IndexError: 3", logs={"stdout": "", "stderr": "Traceback"})
    with pytest.raises(Failed, match=r"It failed while running\. IndexError: 3"):
        waits.result(PATIENCE_S)


def test_stream_is_split_by_lf_and_has_the_fields_of_the_contract(stage, site, executor) -> None:
    sent = multipart(CODE)
    sent["headers"] |= {"X-Popcorn-Cli-Id": token_of(stage.ada)}
    read = executor.submit(httpx.post, f"{site}/softmax/cpu/benchmark", timeout=60, trust_env=False, **sent)
    judged(stage, read, score_us=900.0, logs={"stdout": "hello", "stderr": ""})
    answer = read.result(PATIENCE_S)
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert b"\r" not in answer.content
    found = [(kind, json.loads(data)) for kind, data in events(iter([answer.content]))]
    assert {kind for kind, _ in found[:-1]} == {"status"}
    assert all(data["status"] == "processing" and type(data["elapsed_time"]) is int for _, data in found[:-1])
    kind, result = found[-1]
    assert (kind, result["status"], len(result["reports"])) == ("result", "success", 1)
    run = result["results"][0]["runs"]["benchmark"]
    assert (run["run"]["stdout"], run["run"]["passed"], run["profile"]) == ("hello", True, None)
    assert run["start"] <= run["end"]


def test_profile_comes_with_its_report_and_a_zip_archive(stage, site, executor) -> None:
    row = profiled.Row(name="aten::mul", calls=1, us=60.0)
    told = {"wall_us": 100.0, "cpu_us": 100.0, "cores": 1, "outside": 0.7, "operators": (row,)}
    seen = profiled.Traced(**told, files={"operators.txt": base64.b64encode(b"a table").decode()})
    sent = multipart(CODE)
    sent["headers"] |= {"X-Popcorn-Cli-Id": token_of(stage.ada)}
    read = executor.submit(httpx.post, f"{site}/profile/softmax/cpu", timeout=60, trust_env=False, **sent)
    judged(stage, read, profile=profiled.on_cpu("rows=8", seen, None).model_dump(mode="json"))
    kind, data = list(events(iter([read.result(PATIENCE_S).content])))[-1]
    assert kind == "result"
    run = json.loads(data)["results"][0]["runs"]["profile.0"]
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(run["profile"]["trace"]))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {"operators.txt": b"a table"}
    assert run["run"]["result"]["benchmark-count"] == 1
    report = base64.b64decode(run["run"]["result"]["benchmark.0.report"]).decode()
    assert report.startswith("Latency bounds this kernel: 70 %")
    assert "aten::mul" in report


def test_stream_that_is_refused_is_a_plain_answer(stage, site, ada) -> None:
    from leaderboard.submissions.models import Submission

    with pytest.raises(Failed, match="404: board: no such board"):
        ada.stream(CODE, "sofmax", "cpu", "profile")
    with pytest.raises(Failed, match="400: hardware: softmax is not judged on 'B200'"):
        ada.stream(CODE, "softmax", "B200", "test")
    assert not Submission.objects.exists()


def test_stream_without_a_place_names_the_submission(stage, site) -> None:
    """Beyond the streams of a user, the submission is accepted all the same, and the client can ask for it."""
    from leaderboard.web.stream import MAX_STREAMS_A_USER

    submission = stage.submit()
    token = token_of(stage.ada)
    address = f"{site.removesuffix('/popcorn')}/api/v1/submissions/{submission.pk}/events"
    with httpx.Client(timeout=30, trust_env=False, headers={"Authorization": f"Bearer {token}"}) as client:
        held = [client.send(client.build_request("GET", address), stream=True) for _ in range(MAX_STREAMS_A_USER)]
        chunks = [answer.iter_bytes() for answer in held]
        assert all(next(chunk).startswith(b": hello") for chunk in chunks)
        ada = Popcorn(site, token)
        with pytest.raises(Failed, match=r"Submission \d+ goes on, but you have too many open streams"):
            ada.stream(CODE, "softmax", "cpu", "test")
        assert len(ada.list("softmax")) == 2
        ada.close()
        for answer in held:
            answer.close()
    connections.close_all()
