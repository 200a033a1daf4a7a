"""The runners' page: an organiser drains a runner, rotates its token, or revokes its tokens."""

import re

from django.utils import timezone

from leaderboard.audit.models import Row
from leaderboard.judging.models import Runner
from leaderboard.judging.runners import find_runner
from leaderboard.pipeline import claim_work


def test_drain_button_stops_claims_until_resume(stage, browser) -> None:
    stage.submit()
    olga = browser(stage.olga)
    assert 'action="/runners/rex/drain"' in olga.get("/runners").content.decode()
    page = olga.post("/runners/rex/drain", follow=True).content.decode()
    assert "finishes what it judges and claims nothing more" in page
    assert 'action="/runners/rex/resume"' in page
    assert ">draining<" in page
    assert claim_work(runner=stage.rex, now=stage.now) is None
    olga.post("/runners/rex/resume")
    assert claim_work(runner=stage.rex, now=stage.now) is not None
    acts = Row.objects.filter(actor=stage.olga).order_by("id")
    assert [row.act for row in acts] == ["drain_runner", "undrain_runner"]


def test_rotate_shows_the_new_token_of_a_runner_once(stage, browser) -> None:
    olga = browser(stage.olga)
    page = olga.post("/runners/rex/rotate", {"reason": "once a year"}, follow=True).content.decode()
    token = re.search(r'<code id="new-token">(pfr_[^<]+)</code>', page)
    assert token
    assert find_runner(token[1], now=timezone.now()) == stage.rex
    assert "pfr_" + token[1][4:] not in olga.get("/runners").content.decode()


def test_revoke_wants_a_reason_and_shows_it(stage, browser) -> None:
    olga = browser(stage.olga)
    assert "say why" in olga.post("/runners/rex/revoke", {"reason": ""}, follow=True).content.decode()
    assert Runner.objects.get().revoked_at is None
    page = olga.post("/runners/rex/revoke", {"reason": "<b>stolen</b>"}, follow=True).content.decode()
    assert "&lt;b&gt;stolen&lt;/b&gt;" in page
    assert 'action="/runners/rex/drain"' not in page
    assert browser(stage.ada).post("/runners/rex/drain").status_code == 404
