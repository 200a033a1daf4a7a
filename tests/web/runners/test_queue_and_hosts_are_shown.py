"""The live page shows the queue, the running attempts and each runner's work; its JSON shows the same."""

from datetime import timedelta

from django.utils import timezone

from leaderboard import pipeline
from leaderboard.admissions.ask import ask_test
from leaderboard.competitions.models import Competition, Role
from leaderboard.judging import runners
from leaderboard.judging.live import SILENT, hosts, queues
from leaderboard.judging.models import Runner
from tests.leaderboard.rejudging_stage import set_of
from tests.leaderboard.stage import make_board, make_runner
from tests.web.test_pages_are_strict import check

ADDRESS = "/organise/kernels-101/state"


def test_the_queue_by_hardware(stage) -> None:
    make_board(hardware="H200")
    stage.submit()
    first = stage.submit(stage.ben)
    stage.claim()
    competition = stage.board.competition
    h200, cpu = queues(["cpu", "H200"], competition_id=competition.pk, now=stage.now)
    assert (cpu.queued, cpu.running, cpu.own_queued, cpu.own_running, cpu.runners) == (1, 1, 1, 1, 1)
    assert cpu.oldest_at == first.created_at
    assert (h200.queued, h200.oldest_at, h200.runners) == (0, None, 0)
    other = Competition.objects.create(slug="other", name="Other")
    assert queues(["cpu"], competition_id=other.pk, now=stage.now)[0].own_queued == 0
    assert queues(["cpu"], competition_id=other.pk, now=stage.now + 2 * SILENT)[0].runners == 0


def test_only_attempts_that_could_be_claimed_in_the_open_make_a_queue_old(stage, settings) -> None:
    settings.REMEASURE_AFTER_S = 600
    submission = stage.submit()
    stage.judge(submission)
    set_of(stage, submission)
    [cpu] = queues(["cpu"], competition_id=stage.board.competition_id, now=stage.now)
    assert (cpu.queued, cpu.oldest_at) == (1, None), "a shadow attempt comes last"
    stage.judge(stage.submit(), outcome="unmeasurable", reason="voids")
    due = stage.now + timedelta(seconds=600)
    for moved, oldest_at in ((-1, None), (1, due)):
        now = due + timedelta(seconds=moved)
        assert queues(["cpu"], competition_id=stage.board.competition_id, now=now)[0].oldest_at == oldest_at


def test_what_each_runner_does(stage) -> None:
    for name in ("idle", "silent", "suspended", "aside", "unseen"):
        make_runner(name)
    Runner.objects.filter(name="idle").update(last_seen_at=stage.now)
    Runner.objects.filter(name="silent").update(last_seen_at=stage.now - 2 * SILENT)
    runners.suspend(runner=Runner.objects.get(name="suspended"), actor=None, reason="It lies.", now=stage.now)
    runners.set_aside(runner=Runner.objects.get(name="aside"), reason="Too hot.", now=stage.now)
    submission = stage.submit()
    stage.claim()
    found = {host.name: host for host in hosts(["cpu"], now=stage.now)}
    assert {name: host.state for name, host in found.items()} == {
        "aside": "set aside",
        "idle": "idle",
        "rex": "judging",
        "silent": "silent",
        "suspended": "suspended",
        "unseen": "never seen",
    }
    assert (found["rex"].submission, found["rex"].stage) == (submission.pk, "claimed")
    assert (found["suspended"].why, found["aside"].why) == ("It lies.", "Too hot.")


def test_runner_that_does_an_admission_test_is_not_idle(stage, browser) -> None:
    ask_test(version=stage.board.version, hardware="cpu", actor=stage.olga, now=stage.now)
    assert pipeline.claim_work(runner=stage.rex, now=stage.later(1)) is not None
    [rex] = hosts(["cpu"], now=stage.now)
    assert (rex.state, rex.stage, rex.submission) == ("judging", "admission", None)
    told = browser(stage.olga).get(f"{ADDRESS}.json").json()
    assert told["runners"]["rex"]["doing"] == "admission"
    queue = told["queues"]["cpu"]
    assert (queue["running"], queue["requested_running"], queue["requested_queued"]) == (0, 1, 0)
    assert '<span class="detail">admission</span>' in browser(stage.olga).get("/runners").content.decode()


def test_page_and_json_say_the_same(stage, browser) -> None:
    submission = stage.submit()
    stage.claim()
    client = browser(stage.olga)
    page = client.get(ADDRESS)
    check(page)
    told = client.get(f"{ADDRESS}.json").json()
    assert told["queues"]["cpu"]["running"] == 1
    assert told["runners"]["rex"]["doing"] == f"claimed: submission {submission.pk}"
    text = page.content.decode()
    assert f'data-live="runners/rex/doing">claimed: submission {submission.pk}<' in text
    assert 'data-live="queues/cpu/running">1<' in text
    assert 'data-keys="cpu / rex"' in text


def test_what_others_send_is_not_named(stage, browser) -> None:
    other = Competition.objects.create(slug="other", name="Other")
    Role.objects.create(competition=other, user=stage.ben, role=Role.VIEWER)
    board = make_board("matmul")
    type(board).objects.filter(pk=board.pk).update(competition=other)
    submission = stage.submit()
    stage.claim()
    told = browser(stage.ben).get("/organise/other/state.json").json()
    assert told["runners"]["rex"]["doing"] == "claimed: another competition’s"
    assert str(submission.pk) not in str(told["runners"]["rex"]["submission"])


def test_hardware_without_a_runner_is_marked(stage, browser) -> None:
    stage.submit()
    Runner.objects.update(last_seen_at=timezone.now() - timedelta(days=1))
    assert browser(stage.olga).get(f"{ADDRESS}.json").json()["queues"]["cpu"]["tone"] == "bad"


def test_problem_page_and_api_list_the_languages_of_each_hardware(stage, browser, tool) -> None:
    make_board(hardware="H200")
    make_runner("big", hardware="H200")
    told = {"gxx": "12.2.0", "triton": "3.6.0", "python": "3.12.1"}
    Runner.objects.filter(name="big").update(fingerprint=told)
    make_runner("other", hardware="H200")
    Runner.objects.filter(name="other").update(fingerprint={"triton": "3.7.0"})
    expected = ["C++ (g++) 12.2.0", "Triton 3.6.0 and 3.7.0"]
    assert tool(stage.ada).get("/api/v1/boards/softmax").json()["languages"]["H200"] == expected
    page = browser(None).get("/boards/softmax")
    check(page)
    assert (
        "<dt>Languages on H200</dt><dd>PyTorch, C++ (g++) 12.2.0, Triton 3.6.0 and 3.7.0</dd>" in page.content.decode()
    )
    Runner.objects.filter(hardware="H200").update(suspended_at=stage.now)
    assert "Languages on" not in browser(None).get("/boards/softmax").content.decode()
