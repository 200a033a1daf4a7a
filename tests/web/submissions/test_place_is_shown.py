"""Page and API show a waiting submission's place in the queue."""

from django.test import Client
from django.utils import timezone

from leaderboard.judging.models import Runner


def test_page_and_api_show_the_place_until_a_runner_takes_it(stage, browser) -> None:
    stage.now = timezone.now()
    stage.submit(stage.ben)
    submission = stage.submit()
    ada: Client = browser(stage.ada)
    Runner.objects.update(last_seen_at=timezone.now())
    found = ada.get(f"/api/v1/submissions/{submission.pk}").json()["queue"]
    assert found == {
        "position": 2,
        "queued": 2,
        "runners": 1,
        "wait_s": None,
        "text": "2nd of 2 in the queue for cpu.",
    }
    assert "2nd of 2 in the queue for cpu." in ada.get(f"/submissions/{submission.pk}").content.decode()
    Runner.objects.update(last_seen_at=None)
    page = ada.get(f"/submissions/{submission.pk}").content.decode()
    assert "No runner of cpu is connected; it waits." in page
    stage.claim()
    stage.claim()
    assert ada.get(f"/api/v1/submissions/{submission.pk}").json()["queue"] is None
    assert "in the queue for" not in ada.get(f"/submissions/{submission.pk}").content.decode()
