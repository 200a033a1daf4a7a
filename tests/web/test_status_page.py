"""The status page: machines, queue and wait by hardware for everybody, and incidents written by staff."""

import re
from datetime import timedelta
from html import unescape

from django.test import Client
from django.utils import timezone

from leaderboard.judging.models import Runner
from leaderboard.operations.models import Incident


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def test_everybody_sees_machines_and_expected_wait(stage) -> None:
    stage.now = timezone.now() - timedelta(minutes=5)
    done = stage.submit()
    stage.judge(done)
    Runner.objects.update(last_seen_at=timezone.now())
    status = Client().get("/api/v1/status").json()
    (cpu,) = status["machines"]
    assert (cpu["hardware"], cpu["ready"], cpu["queued"], cpu["wait_s"]) == ("cpu", 1, 0, 0)
    assert (status["ok"], status["summary"]) == (True, "Everything works")
    stage.submit()
    stage.submit()
    (cpu,) = Client().get("/api/v1/status").json()["machines"]
    assert (cpu["queued"], cpu["wait_s"]) == (2, 2)
    assert "about 2 seconds" in text(Client().get("/status"))


def test_hardware_without_a_machine_is_named(stage) -> None:
    Runner.objects.update(last_seen_at=timezone.now() - timedelta(hours=1))
    page = text(Client().get("/status"))
    assert "No machine with cpu is at work" in page
    assert Client().get("/api/v1/status").json()["ok"] is False


def test_a_closed_competition_is_not_on_the_page(stage) -> None:
    stage.board.competition.visibility = "closed"
    stage.board.competition.save()
    assert Client().get("/api/v1/status").json()["machines"] == []


def test_staff_report_an_incident_and_end_it(stage, browser) -> None:
    Runner.objects.update(last_seen_at=timezone.now())
    olga = browser(stage.olga)
    sent = {"title": "Results are late", "text": "One <b>host</b> is being repaired."}
    assert "Published." in text(olga.post("/status/incidents", sent, follow=True))
    page = text(Client().get("/status"))
    assert "Results are late." in page
    assert "One &lt;b&gt;host&lt;/b&gt; is being repaired." in page
    assert "<form" not in page[page.index("<main") : page.index("</main")]
    status = Client().get("/api/v1/status").json()
    assert (status["ok"], status["incidents"][0]["notes"][0]["text"]) == (False, sent["text"])
    incident = Incident.objects.get()
    olga.post(f"/status/incidents/{incident.pk}", {"text": "Repaired.", "ends": "on"})
    assert Client().get("/api/v1/status").json()["ok"] is True
    assert "Repaired." in text(Client().get("/status"))
    again = olga.post(f"/status/incidents/{incident.pk}", {"text": "Or not."}, follow=True)
    assert "report another incident" in text(again)


def test_an_old_incident_stays_on_the_page_until_it_ends_and_90_days_after(stage, browser) -> None:
    Runner.objects.update(last_seen_at=timezone.now())
    incident = Incident.objects.create(title="H200 waits", began_at=timezone.now() - timedelta(days=100))
    assert Client().get("/api/v1/status").json()["summary"] == "H200 waits"
    browser(stage.olga).post(f"/status/incidents/{incident.pk}", {"text": "Repaired.", "ends": "on"})
    shown = Client().get("/status").context
    assert (shown["current"], list(shown["past"])) == ([], [incident])
    Incident.objects.update(ended_at=timezone.now() - timedelta(days=91))
    assert not Client().get("/status").context["past"]


def test_a_wrong_incident_is_refused_with_the_field(stage, browser) -> None:
    olga = browser(stage.olga)
    answer = olga.post("/status/incidents", {"title": "", "text": ""})
    assert answer.status_code == 400
    assert "Not saved. Fix Title, Text, for everybody below." in unescape(re.sub(r"<[^>]*>", "", text(answer)))
    assert browser(stage.ada).post("/status/incidents", {"title": "x", "text": "x"}).status_code == 404
    assert not Incident.objects.exists()


def test_a_note_that_is_refused_is_not_lost(stage, browser) -> None:
    olga = browser(stage.olga)
    olga.post("/status/incidents", {"title": "Results are late", "text": "A host is being repaired."})
    answer = olga.post(f"/status/incidents/{Incident.objects.get().pk}", {"text": "x" * 2_001})
    assert answer.status_code == 400
    assert "x" * 2_001 in text(answer)
