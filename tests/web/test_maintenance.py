"""Maintenance: people read, staff and runners change, everybody else gets 503 with the sentence and a time."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from leaderboard.audit.models import Row
from leaderboard.judging.models import Attempt
from leaderboard.operations.models import Maintenance
from leaderboard.submissions.models import Submission

SENTENCE = "The database moves to a new machine."
CODE = "def custom_kernel(data):\n    return data\n"
SENT = {"board": "softmax", "hardware": "cpu", "mode": "test", "filename": "kernel.py", "code": CODE}


@pytest.fixture(autouse=True)
def _stage_is_now(stage) -> None:
    stage.now = timezone.now() - timedelta(minutes=5)


@pytest.fixture
def maintenance(stage, browser) -> None:
    answer = browser(stage.olga).post("/status/maintenance", {"minutes": "30", "sentence": SENTENCE}, follow=True)
    assert "Maintenance is on" in answer.content.decode()


def test_maintenance_refuses_submissions_of_the_api_with_sentence_and_time(stage, tool, maintenance) -> None:
    ada = tool(stage.ada)
    for answer in (
        ada.post("/api/v1/submissions", SENT, content_type="application/json"),
        ada.post("/api/v1/submissions", SENT),  # as a form with a file
        ada.post("/api/v1/submissions/1/cancel"),
        ada.post("/api/v1/competitions/spring/enter", {}, content_type="application/json"),
    ):
        assert answer.status_code == 503
        assert answer.json()["detail"].endswith(f"UTC: {SENTENCE} Nothing was changed.")
        assert 29 * 60 < int(answer["Retry-After"]) <= 30 * 60
    assert not Submission.objects.exists()


def test_maintenance_refuses_forms_with_a_page(stage, browser, maintenance) -> None:
    ada = browser(stage.ada)
    for address in ("/boards/softmax/submit", "/tokens", "/sign-up", "/competitions/spring/enter"):
        answer = ada.post(address, {"code": CODE})
        assert (answer.status_code, "Retry-After" in answer) == (503, True), address
        assert "Nothing was changed" in answer.content.decode()
        assert SENTENCE in answer.content.decode()
    assert not Submission.objects.exists()


def test_maintenance_leaves_reading_and_sign_in_open(stage, browser, tool, maintenance) -> None:
    stage.ada.set_password("hurdle-Rail-99")
    stage.ada.save()
    visitor = Client()
    assert visitor.post("/sign-in", {"username": "ada", "password": "hurdle-Rail-99"}).status_code == 302
    for address in ("/", "/boards/softmax", "/submissions", "/status"):
        page = visitor.get(address)
        assert page.status_code == 200
        assert SENTENCE in page.content.decode(), "every page announces it"
    assert visitor.post("/sign-out").status_code == 302
    assert tool(stage.ada).get("/api/v1/submissions").status_code == 200
    status = visitor.get("/api/v1/status").json()
    assert (status["ok"], status["maintenance"]["text"]) == (False, SENTENCE)


def test_maintenance_lets_runners_claim_and_report(stage, browser) -> None:
    from leaderboard.judging.runners import create_runner
    from runner.wire import Report, dump

    submission = stage.submit()
    runner, token = create_runner(name="tex", hardware="cpu", now=stage.now)
    stage.rex.delete()
    call_command("maintenance", "begin", "30", SENTENCE, stdout=StringIO())
    headers, kind = {"Authorization": f"Bearer {token}"}, "application/json"
    door = Client(headers=headers)
    job = door.post("/api/runner/v1/claim", {"hardware": "cpu"}, content_type=kind).json()
    report = dump(Report(job["attempt_id"], job["token"], "wrong"))
    address = f"/api/runner/v1/attempts/{job['attempt_id']}/report"
    assert door.post(address, report, content_type=kind).json() == {"recorded": True}
    assert Attempt.objects.get(submission=submission, runner=runner).state == "done"


def test_maintenance_is_ended_by_staff_and_audited(stage, browser, tool, maintenance) -> None:
    olga = browser(stage.olga)
    assert browser(stage.ada).post("/status/maintenance/end").status_code == 503
    assert olga.post("/status/maintenance", {"minutes": "90", "sentence": "It takes longer."}).status_code == 302
    assert Maintenance.objects.get().until > timezone.now() + timedelta(minutes=80)
    assert olga.post("/status/maintenance/end").status_code == 302
    answer = tool(stage.ada).post("/api/v1/submissions", SENT, content_type="application/json")
    assert answer.status_code == 201, answer.content
    assert b"Maintenance" not in Client().get("/boards").content
    acts = Row.objects.filter(act__contains="maintenance").order_by("pk").values_list("act", "actor", "reason")
    olgas = stage.olga.pk
    assert list(acts) == [
        ("begin_maintenance", olgas, SENTENCE),
        ("begin_maintenance", olgas, "It takes longer."),
        ("end_maintenance", olgas, "It takes longer."),
    ]


def test_maintenance_past_its_announced_end_still_holds(stage, tool, maintenance) -> None:
    Maintenance.objects.update(until=timezone.now() - timedelta(hours=1))
    answer = tool(stage.ada).post("/api/v1/submissions", SENT, content_type="application/json")
    assert (answer.status_code, answer["Retry-After"]) == (503, "60")


def test_maintenance_command_names_wrong_values(db) -> None:
    with pytest.raises(CommandError, match=r"minutes: expected 1 to 10,080"):
        call_command("maintenance", "begin", "0", SENTENCE)
    with pytest.raises(CommandError, match=r"sentence: expected 1 to 300 characters"):
        call_command("maintenance", "begin", "5", " ")
    with pytest.raises(CommandError, match="maintenance: is not on"):
        call_command("maintenance", "end")


def test_maintenance_form_names_wrong_fields(stage, browser) -> None:
    answer = browser(stage.olga).post("/status/maintenance", {"minutes": "0", "sentence": SENTENCE})
    assert answer.status_code == 400
    assert "Not saved. Fix" in answer.content.decode()
    assert not Maintenance.objects.exists()
