"""The standing over a competition's boards: its calculation, its visibility and the acts on it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.competitions.models import CLOSED, Competition, Role
from tests.leaderboard.stage import make_board, mark_unsupported
from tests.web.test_pages_are_strict import check

PAGE = "/competitions/kernels-101/standings"
API = "/api/v1/competitions/kernels-101/standings"


@pytest.fixture
def raced(stage):
    """Ada leads the first board, ahead of ben; ben leads the second board with a submission sent while frozen."""
    stage.now = timezone.now() - timedelta(hours=2)
    other = make_board("other", "H200")
    stage.judge(stage.submit(stage.ada), ratio=0.6)
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    Competition.objects.update(freeze_at=stage.later(60))
    submission = stage.submit(stage.ben, board=other)
    from tests.leaderboard.stage import make_runner

    job = stage.claim(make_runner("ray", "H200"))
    assert job.submission_id == str(submission.pk)
    from leaderboard.judging.models import Runner

    stage.report(job, runner=Runner.objects.get(name="ray"), ratio=0.55)


def page(client, query: str = "") -> str:
    answer = client.get(PAGE + query)
    assert answer.status_code == 200
    check(answer)
    return answer.content.decode()


def names(client, query: str = "") -> list[tuple[int, str]]:
    return [(line["rank"], line["user"]) for line in client.get(API + query).json()]


def test_it_counts_what_is_shown(stage, browser, raced) -> None:
    text = page(browser(None))
    assert text.index(">ada") < text.index(">ben")
    assert "<strong>Frozen.</strong>" in text
    assert names(browser(None)) == [(1, "ada"), (2, "ben")]
    assert names(browser(None), "?hardware=H200") == []
    assert browser(None).get(API + "?full=true").status_code == 403
    Competition.objects.update(revealed_at=timezone.now())
    assert names(browser(None)) == [(1, "ben"), (2, "ada")]


def test_who_has_a_role_sees_it_in_full(stage, browser, raced) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.VIEWER)
    client = browser(stage.cleo)
    text = page(client)
    assert "The full standing, for organisers." in text
    assert text.index(">ben") < text.index(">ada")
    assert page(client, "?public=1").index(">ada") > 0
    assert names(client) == [(1, "ada"), (2, "ben")]
    assert names(client, "?full=true") == [(1, "ben"), (2, "ada")]


@pytest.mark.parametrize("how", ["points", "geometric_mean", "fast_p"])
def test_it_is_counted_as_asked(stage, browser, raced, how) -> None:
    assert "Scored by" in page(browser(None), f"?scoring={how}")
    [first, second] = browser(None).get(f"{API}?scoring={how}").json()
    assert first["user"] == "ada"
    assert first["boards"][0]["points"] == 25
    assert [first["score"], second["score"]] == {
        "points": [25, 18],
        "geometric_mean": [pytest.approx((1 / 0.6) ** 0.5), pytest.approx((1 / 0.8) ** 0.5)],
        "fast_p": [0.5, 0.5],
    }[how]


def test_a_problem_that_cannot_be_judged_does_not_count(stage, browser) -> None:
    judged, unsupported = make_board("layernorm"), make_board("vectoradd", "H200")
    mark_unsupported(unsupported)
    stage.judge(stage.submit(stage.ada), ratio=0.6)
    [line] = browser(None).get(f"{API}?scoring=fast_p").json()
    assert line["score"] == 0.5, "one of two, although the competition has three boards"
    assert "over 2 boards" in page(browser(None))
    assert browser(None).get(f"{PAGE}?hardware=H200").status_code == 404
    assert "of 1 over all boards, with kernels on 1" in browser(stage.ada).get("/").content.decode()
    mark_unsupported(judged)
    assert "over all boards" not in browser(stage.ada).get("/").content.decode(), "a single board is left"
    assert "no ranked kernel yet" not in browser(stage.ada).get("/").content.decode()


@pytest.mark.parametrize("query", ["?scoring=luck", "?hardware=B200", "?stage=practice", "?stage=x", "?from=-1"])
def test_what_no_link_says_is_not_there(stage, browser, query) -> None:
    assert browser(None).get(PAGE + query).status_code == 404


def test_a_closed_one_is_for_those_in_it(stage, browser, raced) -> None:
    Competition.objects.update(visibility=CLOSED)
    assert {browser(None).get(address).status_code for address in (PAGE, API)} == {404}
    assert browser(stage.cleo).post(f"{PAGE}/freeze", {"reason": "x"}).status_code == 404


def test_owners_find_the_acts_and_others_do_not(stage, browser) -> None:
    way = b'href="/organise/kernels-101/standing"'
    assert way in browser(stage.olga).get("/competitions/kernels-101/standings").content
    assert way not in browser(stage.cleo).get("/competitions/kernels-101/standings").content
