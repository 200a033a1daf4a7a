"""Runners of one host stand together: the place that they state in hello, the host's page, the API."""

import json

import pytest
from django.test import Client

from leaderboard.judging.runners import create_runner, greet
from runner.wire import Place
from tests.leaderboard.stage import make_runner
from tests.web.test_pages_are_strict import check


@pytest.fixture
def rack(stage) -> None:
    """rex and two more on a host, and another runner elsewhere."""
    places = {"tex": Place("rack-7", 1, "26-38", 1), "rex": Place("rack-7", 0, "2-14", 0)}
    places |= {"max": Place("rack-7", 2, "2,30", None), "far": Place("rack-8", 0, "0-3", 0)}
    for name, place in places.items():
        runner = stage.rex if name == "rex" else make_runner(name)
        greet(runner=runner, fingerprint={"cpu": "EPYC"}, epoch="", place=place, now=stage.now)


@pytest.mark.usefixtures("rack")
def test_host_page_shows_devices_states_cores_and_jobs_in_order(stage, browser) -> None:
    submission = stage.submit()
    stage.claim()
    olga = browser(stage.olga)
    olga.post("/runners/tex/suspend", {"reason": "a hot GPU"})
    page = olga.get("/hosts/rack-7")
    check(page)
    text = page.content.decode()
    rows = [text.index(f'<a href="/runners/{name}">') for name in ("rex", "tex", "max")]
    assert rows == sorted(rows)
    rex, tex, last = text[rows[0] : rows[1]], text[rows[1] : rows[2]], text[rows[2] :]
    for words in (f'<a href="/submissions/{submission.pk}">', ">judging<", ">2-14<", ">0</td>"):
        assert words in rex
    for words in (">suspended<", "a hot GPU", ">26-38<"):
        assert words in tex
    assert ">2,30<" in last
    assert 'data-label="NUMA node">–<' in last
    assert "far" not in text
    assert browser(stage.ada).get("/hosts/rack-7").status_code == 404
    assert olga.get("/hosts/rack-9").status_code == 404


@pytest.mark.usefixtures("rack")
def test_list_and_runner_page_lead_to_the_host(stage, browser) -> None:
    olga = browser(stage.olga)
    listed = olga.get("/runners").content.decode()
    assert listed.count('<a href="/hosts/rack-7">') == 3
    page = olga.get("/runners/tex").content.decode()
    assert 'device 1 of host <a href="/hosts/rack-7">' in page
    assert "NUMA node 1" in page


@pytest.mark.usefixtures("rack")
def test_retired_runner_leaves_its_host(stage, browser) -> None:
    olga = browser(stage.olga)
    olga.post("/runners/far/retire", {"reason": "sold"})
    assert olga.get("/hosts/rack-8").status_code == 404


def test_hello_states_the_place_and_a_wrong_place_is_named(stage, browser) -> None:
    runner, token = create_runner(name="tex", hardware="cpu", now=stage.now)
    client = Client(headers={"authorization": f"Bearer {token}"})

    def hello(**changes: object):
        sent = {"wire": 1, "hardware": "cpu", "fingerprint": {}} | changes
        return client.post("/api/runner/v1/hello", data=json.dumps(sent), content_type="application/json")

    place = {"host": "rack-7", "device": 3, "cores": "26-38,40", "node": 0}
    assert hello(place=place).status_code == 200
    runner.refresh_from_db()
    assert runner.place == place
    for wrong, field in (
        ({"host": "../x"}, "place.host"),
        ({"device": -1}, "place.device"),
        ({"cores": "<b>"}, "place.cores"),
        ({"node": "first"}, "place.node"),
        ([], "place"),
    ):
        answer = hello(place=wrong)
        assert answer.status_code == 400
        assert field in answer.content.decode()
    assert hello().status_code == 200, "a runner from before states none"
    runner.refresh_from_db()
    assert runner.place["host"] == ""
    assert 'href="/hosts/' not in browser(stage.olga).get("/runners").content.decode()
