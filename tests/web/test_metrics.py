"""/metrics shows the site's state to holders of its token; alerts and dashboard ask for figures that exist."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from leaderboard.judging.management.commands import sweep
from leaderboard.judging.models import LOST, Attempt, Runner, Watch
from leaderboard.judging.sweep import beat, expire_leases
from leaderboard.operations.models import Mail
from leaderboard.web import metrics
from tests.leaderboard.stage import Stage

TOKEN = "m" * 40
MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"


@pytest.fixture
def figures(settings):
    """Return the samples of /metrics, by name and labels."""
    settings.METRICS_TOKEN = TOKEN

    def ask() -> dict[tuple[str, ...], float]:
        answer = Client(headers={"Authorization": f"Bearer {TOKEN}"}).get("/metrics")
        assert answer.status_code == 200
        found = {}
        for family in text_string_to_metric_families(answer.content.decode()):
            for sample in family.samples:
                key = (sample.name, *(value for _, value in sorted(sample.labels.items())))
                assert key not in found, f"{key} is given twice"
                found[key] = sample.value
        return found

    return ask


def test_without_a_token_in_the_settings_there_is_no_address(db: None) -> None:
    assert Client().get("/metrics").status_code == 404


@pytest.mark.parametrize("given", [None, "Bearer ", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer é"])
def test_a_wrong_token_is_refused(db: None, settings, given: str | None) -> None:
    settings.METRICS_TOKEN = TOKEN
    answer = Client(headers={"Authorization": given} if given else {}).get("/metrics")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")


def test_queue_runners_and_waits_are_those_of_the_site(stage: Stage, figures) -> None:
    stage.now = timezone.now() - timedelta(minutes=10)
    first, _ = stage.submit(), stage.submit()
    stage.later(30)
    stage.judge(first)
    found = figures()
    assert found["photofinish_queue_queued", "cpu"] == 1
    assert found["photofinish_queue_running", "cpu"] == 0
    assert 500 < found["photofinish_queue_oldest_seconds", "cpu"] < 700
    assert 20 < found["photofinish_wait_seconds", "cpu", "0.5"] < 120
    assert found["photofinish_database_up",] == found["photofinish_broker_up",] == 1
    assert found["photofinish_held_results",] == 0


def test_lost_attempts_and_backups_are_counted(stage: Stage, figures) -> None:
    assert ("photofinish_backup_age_seconds",) not in figures(), "none was made"
    stage.submit()
    job = stage.claim()
    Attempt.objects.filter(pk=job.attempt_id).update(state=LOST, finished_at=stage.now, is_current=False)
    now = timezone.now()
    beat(now=now)
    sweep.sweep_once()
    Watch.objects.update(backed_up_at=now - timedelta(hours=2))
    found = figures()
    assert found["photofinish_attempts_lost", "cpu"] == 1
    assert found["photofinish_backup_age_seconds",] == pytest.approx(7200, abs=60)
    assert found["photofinish_sweep_age_seconds",] < 60


def test_failures_of_ours_are_counted_with_submissions_given_up_for_half_an_hour(stage: Stage, figures) -> None:
    stage.now = timezone.now() - timedelta(minutes=10)
    key = ("photofinish_attempts_failed", "cpu")
    stage.submit(mode="test")
    assert figures()[key] == 0
    stage.report(stage.claim(), outcome="infra_error", reason="judge_died")
    for _ in range(3):
        stage.claim()
        expire_leases(now=stage.later(61))
    assert figures()[key] == 2
    Attempt.objects.filter(outcome="infra_error").update(finished_at=timezone.now() - timedelta(minutes=31))
    assert figures()[key] == 0


def test_a_sweep_that_fails_does_not_renew_the_age_of_the_last_sweep(
    db: None, figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*, now: object) -> None:
        raise RuntimeError("a batch that cannot be settled")

    monkeypatch.setattr(sweep.batches, "settle_unsettled", fail)
    with pytest.raises(RuntimeError):
        sweep.sweep_once()
    assert ("photofinish_sweep_age_seconds",) not in figures()


def test_the_age_of_waiting_mail_is_shown(db: None, figures) -> None:
    now = timezone.now()
    assert 0 <= figures()["photofinish_mail_oldest_seconds",] < 60
    for hours, given_up_at in ((1, None), (2, None), (9, now)):
        then = now - timedelta(hours=hours)
        Mail.objects.create(subject="", sealed="", created_at=then, try_at=now, given_up_at=given_up_at)
    assert figures()["photofinish_mail_oldest_seconds",] == pytest.approx(7200, abs=60)


def test_without_the_database_the_process_still_answers(db: None, figures, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(now: object) -> None:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(metrics, "_site_figures", away)
    found = figures()
    assert found["photofinish_database_up",] == 0
    assert found["photofinish_event_streams",] >= 0


def test_the_number_of_queries_does_not_grow(stage: Stage, figures, django_assert_max_num_queries) -> None:
    for _ in range(3):
        stage.submit()
    with django_assert_max_num_queries(21):
        figures()


def test_alerts_and_dashboard_ask_for_figures_that_exist(stage: Stage, figures) -> None:
    beat(now=timezone.now())
    sweep.sweep_once()
    call_command("note_backup")
    stage.judge(stage.submit())
    Runner.objects.update(health={"disk_free_bytes": 4_000_000_000})
    known = {name for name, *_ in figures()}
    known |= {f"photofinish_{name}" for name in ("request_seconds_bucket", "request_seconds_count")}
    known |= {f"photofinish_{name}" for name in ("place_wait_seconds_bucket", "phase_seconds_bucket")}
    known |= {f"photofinish_{name}_total" for name in ("requests_refused", "claims", "verdicts", "sign_ins")}
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    asked = [rule["expr"] for rule in rules] + [target["expr"] for panel in panels for target in panel["targets"]]
    names = set(re.findall(r"photofinish_\w+", " ".join(asked)))
    assert names <= known, sorted(names - known)
    assert {f"photofinish_{name}" for name in ("queue_queued", "held_results", "backup_age_seconds")} <= names
    assert all(rule["annotations"]["summary"].endswith(".") for rule in rules)
