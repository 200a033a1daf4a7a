"""The whole path of a submission through real parts only: command line, site, queue, runner, judge, Docker, board."""

import json
import re
from pathlib import Path

import docker
import pytest

from leaderboard.judging import content_store
from runner.evidence import schema, verdict
from sandbox.policy import LABEL
from tests.e2e.browser import Watched, chromium
from tests.e2e.conftest import Stage, await_that
from tests.e2e.test_browser_first_race import sign_up

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timeout(480)]

SAMPLES = Path("problems/library/kernels101/softmax/submissions")
TRIES = 2  # the site itself repeats a run that a disturbed machine could not time, up to three times each


@pytest.mark.timed
def test_a_kernel_is_submitted_judged_and_ranked(stage: Stage, tmp_path: Path) -> None:
    stage.begin_runner("rex", stage.manage("create_runner", "rex", "--hardware", "cpu").strip())

    sample = str(SAMPLES / "accepted/torch_copy.py")
    for _ in range(TRIES):
        passed = stage.photofinish("submit", sample, "--board", "softmax", "--mode", "ranked")
        if "could not be timed" not in passed.stdout + passed.stderr:
            break
    assert passed.returncode == 0, passed.stdout + passed.stderr
    (entry,) = json.loads(stage.photofinish("board", "softmax", "--json").stdout)
    assert (entry["rank"], entry["user"]) == (1, "ada")
    assert 100 < entry["score_us"] < 100_000
    ((digest,),) = stage.rows(
        "SELECT digest FROM judging_resultarchived AS place JOIN judging_result AS result ON result.id = of_id"
        " WHERE outcome = 'passed'"
    )
    evidence = json.loads(content_store.get(digest) or b"{}")["evidence"]
    assert evidence["certified"] is True
    replayed = verdict.decide(schema.parse_run(evidence))
    assert replayed.outcome == "passed"
    kept = stage.rows("SELECT ratio, score_us FROM judging_result WHERE outcome = 'passed'")
    assert kept == [(replayed.ratio, replayed.score_us)]

    wrong = stage.photofinish("submit", str(SAMPLES / "wrong/no_maximum.py"), "--board", "softmax", "--mode", "test")
    assert wrong.returncode == 1
    assert "nan" in wrong.stdout.lower() + wrong.stderr.lower()
    assert len(json.loads(stage.photofinish("board", "softmax", "--json").stdout)) == 1


@pytest.mark.browser
@pytest.mark.timed
def test_a_newcomer_in_the_browser_is_judged_and_ranked(stage: Stage) -> None:
    """All parts from sign-up to the board are real: browser, site, runner, judge, containers."""
    stage.begin_runner("rex", stage.manage("create_runner", "rex", "--hardware", "cpu").strip())
    with chromium() as chrome:
        page = chrome.new_context(base_url=stage.url).new_page()
        page.set_default_timeout(10_000)
        sign_up(Watched(page, stage.url), "newcomer")
        for _ in range(TRIES):
            page.goto("/boards/softmax/submit")
            page.get_by_label("Your file").set_input_files(SAMPLES / "accepted/torch_copy.py")
            page.get_by_text("Ranked", exact=True).click()
            page.get_by_role("button", name="Send it to the judge").click()
            verdict_heading = page.get_by_role("heading", name=re.compile("^(Passed|Correct)"))
            verdict_heading.wait_for(timeout=90_000)
            if "could not be timed" not in verdict_heading.inner_text():
                break
        told = page.locator("main").inner_text()
        page.goto("/boards/softmax/cpu")
        assert page.locator("tbody tr").count() == 1, told
        assert "newcomer" in page.locator("tbody tr").inner_text()


def test_a_killed_runner_leaves_no_container_once_it_is_back(
    stage: Stage, tmp_path: Path, docker_client: docker.DockerClient
) -> None:
    """kill -9 of runner and judge in mid-attempt, containers frozen: the next start clears them and judges anew."""
    token = stage.manage("create_runner", "rex", "--hardware", "cpu").strip()
    runner = stage.begin_runner("rex", token)
    sent = stage.photofinish("submit", str(SAMPLES / "accepted/torch_copy.py"), "--board", "softmax", "--no-wait")
    assert sent.returncode == 0, sent.stderr
    await_that(lambda: stage.attempts()[0][0] in ("checking", "timing"), within_s=90)
    runner.kill()
    runner.wait()
    left = containers_of(docker_client, tmp_path / "rex")
    assert left

    stage.begin_runner("rex", token)
    shown = stage.photofinish("show", sent.stdout.strip())

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert stage.attempts() == [("lost", "", False), ("done", "passed", True)]
    assert not left & containers_of(docker_client, tmp_path / "rex")


def containers_of(client: docker.DockerClient, state: Path) -> set[str]:
    """Return the containers of the runner with this state folder; their label begins with its id."""
    found, own = client.containers.list(all=True, ignore_removed=True), (state / "id").read_text()
    return {str(box.id) for box in found if box.labels.get(LABEL, "").startswith(own)}
