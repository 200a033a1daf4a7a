"""The fleet's pages: enrol a host by a code, set a share, read a host's health and history, retire it."""

import re

from django.utils import timezone

from leaderboard.judging.fleet import keep_health, state_software
from leaderboard.judging.models import Enrolment, Runner, Share
from runner.wire import Canary, Health, Software


def test_code_is_shown_once_and_can_be_withdrawn(stage, browser) -> None:
    olga = browser(stage.olga)
    page = olga.post("/enrolments", {"name": "tex", "hardware": "H200", "minutes": "60"}, follow=True).content.decode()
    shown = re.search(r"RUNNER_HARDWARE=H200 runner enrol http\S+ (pfe_[\w-]{43})</code>", page)
    assert shown
    again = olga.get("/runners").content.decode()
    assert shown[1] not in again
    code = Enrolment.objects.get()
    assert f'action="/enrolments/{code.pk}/withdraw"' in again
    olga.post(f"/enrolments/{code.pk}/withdraw")
    assert f'action="/enrolments/{code.pk}/withdraw"' not in olga.get("/runners").content.decode()
    refused = olga.post(
        "/enrolments", {"name": "rex", "hardware": "cpu", "minutes": "60"}, follow=True
    ).content.decode()
    assert "there is a runner of this name" in refused
    assert "choose one of" in olga.post("/enrolments", {"name": "x", "minutes": "9"}, follow=True).content.decode()


def test_host_page_shows_health_software_canaries_and_history(stage, browser) -> None:
    now, image = timezone.now(), f"sha256:{'c' * 64}"
    canaries = (Canary(now.timestamp() - 90, False, 0.0, "<b>ecc</b>"), Canary(now.timestamp() - 30, True, 36.0))
    keep_health(runner=stage.rex, health=Health(2_000_000_000, 50_000_000_000, 61.5, canaries), now=now)
    state_software(runner=stage.rex, software=Software("0.0.9", 3, (image,)), now=now)
    olga = browser(stage.olga)
    assert ">1.9\xa0GB of disk left<" in olga.get("/runners").content.decode()
    olga.post("/runners/rex/suspend", {"reason": "noisy fan"})
    page = olga.get("/runners/rex").content.decode()
    for text in ("nearly full", "61.5 °C", image, "this site has", "&lt;b&gt;ecc&lt;/b&gt;", "noisy fan"):
        assert text in page
    assert "36.00\u202fµs" in page
    assert page.index(">passed<") < page.index(">failed<"), "the newest canary comes first"
    olga.post("/runners/rex/reinstate", {"reason": "a new fan"})
    assert Runner.objects.get().standing == ""


def test_retired_runner_leaves_the_list_and_keeps_its_page(stage, browser) -> None:
    olga = browser(stage.olga)
    assert "say why" in olga.post("/runners/rex/retire", {"reason": ""}, follow=True).content.decode()
    page = olga.post("/runners/rex/retire", {"reason": "sold"}, follow=True).content.decode()
    assert "Retired: sold" in page
    assert 'action="/runners/rex/drain"' not in page
    listed = olga.get("/runners").content.decode()
    assert "<h2>Retired</h2>" in listed
    assert 'href="/runners/rex"' in listed
    assert 'action="/runners/rex/drain"' not in listed
    assert browser(stage.ada).get("/runners/rex").status_code == 404


def test_refused_software_is_explained_on_both_pages(stage, browser) -> None:
    Runner.objects.update(skew="wire: this site speaks version 1; upgrade the older side")
    olga = browser(stage.olga)
    for address in ("/runners", "/runners/rex"):
        page = olga.get(address).content.decode()
        assert ">refused<" in page
        assert "upgrade the older side" in page


def test_share_form_sets_a_share_and_names_a_wrong_number(stage, browser) -> None:
    olga = browser(stage.olga)
    form = {"board": "kernels-101 cpu", "percent": "30", "reason": "the final"}
    assert "30 %" in olga.post("/shares", form, follow=True).content.decode()
    assert "expected 1 to 99" in olga.post("/shares", form | {"percent": "0"}, follow=True).content.decode()
    assert "whole number" in olga.post("/shares", form | {"percent": "x"}, follow=True).content.decode()
    assert Share.objects.get().percent == 30
