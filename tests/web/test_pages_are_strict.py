"""Every page answers, carries the content security policy, and contains no markup that the policy would block."""

import re
from dataclasses import replace

import pytest

from tests.leaderboard.competitions.test_problems_are_imported import SOFTMAX, bring_in, make_set
from tests.leaderboard.stage import make_problem

PUBLIC = ["/", "/boards", "/boards/softmax", "/boards/softmax/cpu", "/sign-in", "/sign-up", "/api/docs"]
PRIVATE = ["/boards/softmax/submit", "/welcome", "/submissions", "/tokens", "/account"]
INLINE = re.compile(
    r"<script(?![^>]*(?:\bsrc=|type=\"application/json\"))|<style|\sstyle=|\son[a-z]+=\"|javascript:", re.IGNORECASE
)


def check(answer) -> None:
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not INLINE.search(answer.content.decode())


@pytest.mark.parametrize("path", PUBLIC)
def test_public_page(stage, browser, path) -> None:
    answer = browser(None).get(path)
    assert answer.status_code == 200
    check(answer)


@pytest.mark.parametrize("path", PRIVATE)
def test_private_page_needs_somebody(stage, browser, path) -> None:
    assert browser(None).get(path).headers["Location"].startswith("/sign-in?next=")
    answer = browser(stage.ada).get(path)
    assert answer.status_code == 200
    check(answer)


@pytest.mark.parametrize("mode", ["test", "ranked"])
def test_submission_pages_at_every_stage(stage, browser, mode) -> None:
    submission = stage.submit(mode=mode)
    client, address = browser(stage.ada), f"/submissions/{submission.pk}"
    waiting = client.get(address)
    check(waiting)
    assert b"data-events=" in waiting.content
    assert b'http-equiv="refresh"' in waiting.content
    stage.judge(submission)
    ended = client.get(address)
    check(ended)
    assert b"data-events=" not in ended.content
    assert b'http-equiv="refresh"' not in ended.content
    assert b"Passed" in ended.content


@pytest.mark.parametrize(
    "path",
    [
        *("/nope", "/boards/nope", "/boards/softmax/nope", "/submissions/999999999999999999999"),
        *("/people/a%00", "/competitions/kernels-101/entrants/%00", "/boards/softmax/%00/discussion"),
        *("/collections/kernels-101/a%00", "/boards/softmax/%00", "/notifications/off/%00"),
    ],
)
def test_unknown_page_is_404_in_our_own_style(stage, browser, path) -> None:
    answer = browser(stage.ada).get(path)
    assert answer.status_code == 404
    assert b"Nothing crossed the line here" in answer.content
    check(answer)


def test_a_form_without_csrf_is_refused_in_our_own_style(stage) -> None:
    from django.test import Client

    answer = Client(enforce_csrf_checks=True).post("/sign-in", {"username": "ada", "password": "x"})
    assert answer.status_code == 403
    assert b"This form has expired" in answer.content


def test_a_bug_shows_no_traceback(stage, browser, settings) -> None:
    from leaderboard.competitions.models import ProblemVersion

    # a version never changes, hence a new version with a broken bundle
    broken = ProblemVersion.objects.create(problem=stage.board.problem, digest="sha256:" + "0" * 64, bundle={})
    type(stage.board).objects.filter(pk=stage.board.pk).update(version=broken)
    client = browser(None)
    client.raise_request_exception = False
    answer = client.get("/boards/softmax")
    assert answer.status_code == 500
    assert b"Something went wrong" in answer.content
    assert b"Traceback" not in answer.content


def test_what_a_competitor_typed_is_only_text(stage, browser) -> None:
    evil = "<script>alert(1)</script>"
    submission = stage.submit(mode="test")
    stage.judge(
        submission,
        outcome="wrong",
        reason=evil,
        message=evil,
        logs={"stdout": evil, "stderr": f"</samp>{evil}"},
        cases=({"name": evil, "public": True, "good": False, "reason": evil, "message": f"also {evil}"},),
    )
    page = browser(stage.ada).get(f"/submissions/{submission.pk}")
    assert evil.encode() not in page.content
    check(page)


def test_board_marks_ones_own_row_and_invites_when_empty(stage, browser) -> None:
    assert b"Nobody has crossed the line on cpu yet" in browser(None).get("/boards/softmax/cpu").content
    stage.judge(stage.submit(stage.ada), score_us=1234.5, ratio=0.8, half_width=0.012)
    page = browser(stage.ada).get("/boards/softmax/cpu").content.decode()
    assert "1.234\u202fms" in page or "1.235\u202fms" in page
    assert "1.250×" in page
    assert "±1.2\u202f%" in page
    assert "place-1 own" in page
    assert "place-1 own" not in browser(stage.cleo).get("/boards/softmax/cpu").content.decode()


def test_board_and_problem_say_how_they_rank(stage, browser) -> None:
    stage.judge(stage.submit())
    for address in ("/boards/softmax", "/boards/softmax/cpu"):
        page = browser(None).get(address).content.decode()
        assert "Ranks go by speedup: how many times as fast as the baseline that was timed beside the kernel" in page


def test_a_problem_page_says_what_is_timed_on_each_hardware(stage, browser) -> None:
    assert "Timing on" not in browser(None).get("/boards/softmax").content.decode()
    large = ({"rows": 8192, "cols": 8192, "seed": 1},)
    problem = make_problem(gpus=("cpu", "H200"), benchmarks_on={"H200": large})
    bring_in(make_set(replace(SOFTMAX, problem=problem)))
    answer = browser(None).get("/boards/softmax")
    check(answer)
    _, *parts = re.split(r"<h3>Timing on (cpu|H200)</h3>", answer.content.decode())
    names = [re.findall("<li><code>(.*?)</code>", part) for part in parts[1::2]]
    shown = dict(zip(parts[::2], names, strict=True))
    assert shown == {"H200": ["cols=8192 rows=8192"], "cpu": ["cols=4096 rows=512", "cols=1024 rows=64"]}
    told = browser(None).get("/api/v1/boards/softmax").json()["benchmarks_on"]
    assert told == {"H200": [*large], "cpu": [*problem.benchmarks]}


def test_the_problem_page_knows_the_limit_of_a_call() -> None:
    from leaderboard.web.boards.pages import CALL_LIMIT_S, FIRST_CALL_LIMIT_S
    from runner.judge.limits import CALL_S, FIRST_CALL_S

    assert (CALL_LIMIT_S, FIRST_CALL_LIMIT_S) == (CALL_S, FIRST_CALL_S)


def test_readyz_and_robots(stage, browser) -> None:
    assert browser(None).get("/readyz").json() == {"ok": True, "database": "ok", "broker": "ok"}
    assert b"Disallow: /submissions" in browser(None).get("/robots.txt").content


def test_cases_that_only_agree_are_folded_away(stage, browser) -> None:
    """The report has the shape of the judge's own: checks first, then timings."""
    agree = [{"stage": "check", "name": f"secret {n}", "public": False, "good": True, "reason": ""} for n in (1, 2)]
    times = {"measured_us": 4.0, "baseline_us": 8.0}
    timed = {"stage": "time", "name": "size=8", "public": True, "good": True} | times
    submission = stage.submit()
    stage.judge(submission, cases=(*agree, timed))
    page = browser(stage.ada).get(f"/submissions/{submission.pk}").content.decode()
    assert "2 other cases agree with the reference, 2 of them secret" in page
    assert page.index("size=8") < page.index("secret 1")
    assert "2.000×" in page
    assert "4.000\u202fµs" in page
    assert "8.000\u202fµs" in page
    assert page.count("900.0") == 1, "the time of the run is the verdict's, not the case's"
    assert "cautious for noise" not in page


def test_speedup_below_the_quotient_of_its_times_is_explained_wherever_its_sender_sees_it(stage, browser) -> None:
    times = {"measured_us": 8.0, "baseline_us": 8.0, "ratio": 1.25, "half_width": 0.2}
    timed = {"stage": "time", "name": "size=8", "public": True, "good": True} | times
    submission = stage.submit()
    stage.judge(submission, cases=(timed, {**timed, "name": "size=16", "ratio": 1.0}))
    client = browser(stage.ada)
    for address in (
        f"/submissions/{submission.pk}",
        f"/submissions/{submission.pk}/measured",
        f"/entries/{submission.pk}",
    ):
        page = client.get(address).content.decode()
        assert page.count("cautious for noise; the two times alone give 1.000×") == 1, address
    cautious, certain = client.get(f"/api/v1/submissions/{submission.pk}").json()["cases"]
    assert (cautious["speedup"], cautious["times_alone"]) == (0.8, 1.0)
    assert (certain["speedup"], certain["times_alone"]) == (1.0, None)


def test_the_case_that_failed_stands_first(stage, browser) -> None:
    good = {"stage": "check", "name": "size=1", "public": True, "good": True, "reason": "", "message": ""}
    bad = {"stage": "check", "name": "secret 1", "public": False, "good": False, "reason": "nan", "message": "NaN at 3"}
    submission = stage.submit(mode="test")
    stage.judge(submission, outcome="wrong", reason="nan", message="Secret case 1: NaN at 3", cases=(good, bad))
    page = browser(stage.ada).get(f"/submissions/{submission.pk}").content.decode()
    assert '<tr class="failed">' in page
    assert page.index("secret 1</code>") < page.index("size=1</code>")
    assert page.count("NaN at 3") == 1, "what the verdict says is not said again"


def test_a_station_that_was_never_reached_is_not_shown_as_passed(stage, browser) -> None:
    submission = stage.submit()
    stage.judge(submission, outcome="build_error", reason="syntax", message="line 1")
    page = browser(stage.ada).get(f"/submissions/{submission.pk}").content.decode()
    assert 'data-state="claimed" class="past"' in page
    assert 'data-state="timing" class="skipped"' in page
    assert 'data-state="done" class="end"' in page


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("/boards/", "/boards"),
        ("/boards/softmax/cpu/?sort=time&q=a%20b", "/boards/softmax/cpu?sort=time&q=a%20b"),
        ("/competitions/open/entrants/Zoë%3F/", "/competitions/open/entrants/Zo%C3%AB%3F"),
    ],
)
def test_slash_at_the_end_of_a_pages_address_leads_to_the_page(stage, browser, asked, page) -> None:
    for method in ("get", "head"):
        answer = getattr(browser(None), method)(asked)
        assert (answer.status_code, answer.headers["Location"]) == (301, page)


@pytest.mark.parametrize(
    "asked", ["/nothing/", "/boards//", "//evil.example/", "//evil.example/boards/", "/api/v1/boards/", "/popcorn/x/"]
)
def test_slash_at_the_end_leads_to_no_other_address(stage, browser, asked) -> None:
    answer = browser(None).get("/", PATH_INFO=asked)  # a client takes two slashes for a host
    assert answer.status_code == 404
    assert "Location" not in answer.headers


def test_slash_at_the_end_of_a_form_leads_nowhere(stage, browser) -> None:
    assert browser(stage.ada).post("/tokens/", {"name": "x"}).status_code == 404
    assert browser(stage.ada).get("/admin/").status_code != 301
