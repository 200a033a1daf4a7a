"""Admission tests on pages and over the API, visible to organisers only."""

from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.admissions.door import newest_tests, newest_verdicts
from leaderboard.admissions.models import FAILED, PASSED, AdmissionTest, CompiledTiming
from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.judging.models import DONE, ERROR
from leaderboard.judging.runners import greet
from problems.spec import COMPILED
from tests.leaderboard.stage import make_board, make_problem, mark_unsupported

LINES = [
    {"name": "admission/reference", "expected": "accepted", "got": "passed 9 cases", "good": True, "explained": ""},
    {"name": "admission/zeros", "expected": "wrong", "got": "passed 9 cases", "good": False, "explained": "<b>why"},
    {"name": "admission/half", "expected": "wrong", "got": "does not apply", "good": None, "explained": "integers"},
]


@pytest.fixture
def failed(stage) -> AdmissionTest:
    lines = [line | {"figures": {}} for line in LINES]
    return AdmissionTest.objects.create(
        version=stage.board.version,
        hardware="cpu",
        state=DONE,
        outcome=FAILED,
        message="The admission test failed: zeros.",
        told={"passed": False, "marks": ["near_constant"], "cases": 9, "margin": 12.34, "lines": lines},
        created_at=stage.now,
        finished_at=stage.now,
    )


def test_the_table_says_what_was_tried_and_what_came(stage, browser, failed) -> None:
    page = browser(stage.olga).get(f"/admission/{failed.pk}").content.decode()
    for said in ("Zeros", "must be refused", "passed 9 cases", "12.3 times", "near_constant", "closed to submissions"):
        assert said in page, said
    assert "&lt;b&gt;why" in page


def test_the_list_says_which_boards_are_closed(stage, browser, failed) -> None:
    page = browser(stage.olga).get("/admission").content.decode()
    assert "closed" in page
    assert f"/admission/{failed.pk}" in page


def test_a_test_that_waits_calls_for_no_act_of_an_organiser(stage, browser, failed) -> None:
    client, overview = browser(stage.olga), f"/organise/{stage.board.competition.slug}"
    page = client.get(overview).content.decode()
    assert 'without a passed admission test</a> <span class="chip warn">action needed' in page
    told = {"version": stage.board.version, "hardware": "cpu", "gate": True, "created_at": stage.now}
    AdmissionTest.objects.create(**told)
    page = client.get(overview).content.decode()
    assert "waiting for their admission test</a></li>" in page
    assert "without a passed" not in page


def test_the_list_asks_for_no_test_of_what_cannot_be_judged(stage, browser) -> None:
    mark_unsupported(make_board("vectoradd"))
    client = browser(stage.olga)
    assert "cannot be judged here</a>" in client.get("/organise/kernels-101").content.decode()
    every = client.get("/admission").content.decode()
    assert every.count("not judged here") == 1
    assert "Test vectoradd" not in every
    assert 'href="/boards/vectoradd/cpu"' not in client.get("/admission", {"show": "not tested"}).content.decode()


def test_the_list_shows_what_is_near_constant_closed_or_not_tested(stage, browser, failed) -> None:
    make_board("vectoradd")
    client = browser(stage.olga)
    every, marked, closed, untested, odd = (
        client.get("/admission", {"show": show}).content.decode()
        for show in ("all", "near_constant", "closed", "not tested", "telepathy")
    )
    names = ('href="/boards/softmax/cpu"', 'href="/boards/vectoradd/cpu"')
    for page in (every, odd):
        assert all(name in page for name in names)
    for page in (marked, closed):
        assert tuple(name in page for name in names) == (True, False)
    assert tuple(name in untested for name in names) == (False, True)
    assert "near_constant 1" in every
    AdmissionTest.objects.update(told={})
    assert "No board is near_constant." in client.get("/admission?show=near_constant").content.decode()


def test_nobody_else_sees_it(stage, browser, failed) -> None:
    for user in (stage.ada, stage.cleo):
        client = browser(user)
        for path in ("/admission", f"/admission/{failed.pk}", "/api/v1/admission", f"/api/v1/admission/{failed.pk}"):
            assert client.get(path).status_code == 404
        for path in ("/admission/ask", f"/admission/{failed.pk}/override"):
            assert client.post(path, {"board": stage.board.pk, "reason": "mine"}).status_code == 404
    assert browser(None).get("/admission").status_code == 302
    assert browser(None).get("/api/v1/admission").status_code == 401
    failed.refresh_from_db()
    assert failed.overridden_at is None


def test_an_override_needs_a_reason_and_is_shown(stage, browser, failed) -> None:
    client, at = browser(stage.olga), f"/admission/{failed.pk}"
    assert "Enter a reason." in client.post(f"{at}/override", {"reason": " "}).content.decode()
    assert client.post(f"{at}/override", {"reason": "zeros are right"}).status_code == 302
    page = client.get(at).content.decode()
    assert "Overridden by olga" in page
    assert "zeros are right" in page
    assert "Accept submissions anyway" not in page
    assert client.post(f"{at}/override", {"reason": "again"}).status_code == 409


def test_an_older_test_offers_no_override(stage, browser, failed) -> None:
    client = browser(stage.olga)
    assert "Accept submissions anyway" in client.get(f"/admission/{failed.pk}").content.decode()
    told = {"version": failed.version, "hardware": "cpu", "created_at": stage.now, "finished_at": stage.now}
    newer = AdmissionTest.objects.create(state=DONE, outcome=ERROR, **told)
    assert "Accept submissions anyway" not in client.get(f"/admission/{failed.pk}").content.decode()
    assert "Accept submissions anyway" in client.get(f"/admission/{newer.pk}").content.decode()


def test_asking_leads_to_the_test(stage, browser) -> None:
    client = browser(stage.olga)
    answer = client.post("/admission/ask", {"board": stage.board.pk})
    test = AdmissionTest.objects.get()
    assert answer.headers["Location"] == f"/admission/{test.pk}"
    page = client.get(f"/admission/{test.pk}").content.decode()
    assert "Waiting for a runner" in page
    assert f'<a href="/organise/{stage.board.competition.slug}/state">queue and hosts</a>' in page
    for nonsense in ("", "x", "9" * 30, "-1"):
        assert client.post("/admission/ask", {"board": nonsense}).status_code == 404


def test_the_api_says_the_same(stage, browser, failed) -> None:
    client = browser(stage.olga)
    (summary,) = client.get("/api/v1/admission").json()
    assert (summary["problem"], summary["outcome"], summary["open"]) == ("softmax", "failed", False)
    marked = [len(client.get("/api/v1/admission", {"mark": mark}).json()) for mark in ("near_constant", "x")]
    assert marked == [1, 0]
    assert client.get("/api/v1/admission", {"mark": "\0"}).json()["errors"][0]["field"] == "mark"
    detail = client.get(f"/api/v1/admission/{failed.pk}").json()
    assert [line["good"] for line in detail["lines"]] == [True, False, None]
    asked = client.post("/api/v1/admission", {"board": "softmax", "hardware": "cpu"}, content_type="application/json")
    assert (asked.status_code, asked.json()["state"]) == (201, "queued")
    AdmissionTest.objects.filter(pk=asked.json()["id"]).update(state=DONE, outcome=PASSED, finished_at=stage.now)
    assert client.get(f"/api/v1/admission/{failed.pk}").json()["open"] is True, "the newest test counts"


@pytest.mark.parametrize(
    ("got", "shown"),
    [
        ("passed", "It passes test mode as it is"),
        ("wrong (none)", "its verdict in test mode is: wrong (none)."),
        ("infra_error (sandbox)", "No admission test has judged it yet."),
    ],
)
def test_a_problem_shows_the_outcome_of_its_starter_but_no_fault_of_the_runner(stage, browser, got, shown) -> None:
    found = make_problem(templates={"Python": "def custom_kernel(data):\n    return data\n"})
    version = ProblemVersion.objects.create(problem=stage.board.problem, digest=found.digest, bundle=found.to_bundle())
    Board.objects.filter(pk=stage.board.pk).update(version=version)
    told = {"lines": [{"name": "starter/Python", "expected": "passed", "got": got, "good": None, "explained": ""}]}
    told = {"told": told, "created_at": stage.now, "finished_at": stage.now}
    AdmissionTest.objects.create(version=version, hardware="cpu", state=DONE, outcome=PASSED, **told)
    assert shown in browser(stage.ada).get("/boards/softmax").content.decode()


@pytest.mark.parametrize("address", ["/boards/softmax", "/boards/softmax/cpu", "/boards/softmax/submit"])
def test_a_page_of_a_board_asks_no_query_twice(stage, browser, failed, address) -> None:
    client = browser(stage.ada)
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    queries = [query["sql"] for query in asked.captured_queries]
    assert sum('FROM "admissions_admissiontest"' in query for query in queries) <= 2
    assert [query for query, times in Counter(queries).items() if times > 1] == []


def test_newest_tests_reads_one_row_of_each_version_and_hardware(stage, failed) -> None:
    told = {"version": failed.version, "state": DONE, "created_at": stage.now, "finished_at": stage.now}
    made = [
        AdmissionTest.objects.create(hardware=hardware, outcome=outcome, **told)
        for hardware in ("cpu", "h200")
        for outcome in (FAILED, PASSED, ERROR)
    ]
    with CaptureQueriesContext(connection) as asked:
        newest = newest_tests(AdmissionTest.objects.all())
    assert newest == {(failed.version_id, "cpu"): made[2], (failed.version_id, "h200"): made[5]}
    with connection.cursor() as cursor:
        cursor.execute(asked.captured_queries[0]["sql"])
        assert len(cursor.fetchall()) == 2
    assert list(newest_verdicts([failed.version])) == [made[1], made[4]]


@pytest.fixture
def compilable(stage) -> Board:
    """The stage's board, whose problem has the template, in an epoch that its runner has named."""
    found = make_problem(templates={COMPILED: "import torch\n"})
    board = stage.board
    board.version = ProblemVersion.objects.create(problem=board.problem, digest=found.digest, bundle=found.to_bundle())
    board.save()
    greet(runner=stage.rex, fingerprint={}, epoch="driver-1", now=stage.now)
    return board


def test_timings_of_torch_compile_over_the_api(stage, browser, compilable) -> None:
    sent = {"board": "softmax", "hardware": "cpu"}
    olga = browser(stage.olga)
    asked = olga.post("/api/v1/admission/compiled", sent, content_type="application/json")
    assert asked.status_code == 201, asked.content
    assert (asked.json()["epoch"], asked.json()["state"], asked.json()["ratio"]) == ("driver-1", "queued", None)
    assert [row["id"] for row in olga.get("/api/v1/admission/compiled").json()] == [asked.json()["id"]]
    ada = browser(stage.ada)
    assert ada.get("/api/v1/admission/compiled").status_code == 404
    assert ada.post("/api/v1/admission/compiled", sent, content_type="application/json").status_code == 404
    assert CompiledTiming.objects.count() == 1


def test_the_list_asks_for_a_timing_of_torch_compile(stage, browser) -> None:
    client = browser(stage.olga)
    assert "Time torch.compile" not in client.get("/admission").content.decode(), "no problem has the template"
    found = make_problem(templates={COMPILED: "import torch\n"})
    board = stage.board
    board.version = ProblemVersion.objects.create(problem=board.problem, digest=found.digest, bundle=found.to_bundle())
    board.save()
    assert "not timed" in client.get("/admission").content.decode()
    answer = client.post("/admission/compiled", {"board": board.pk}, follow=True).content.decode()
    assert "No runner of cpu has named a timing epoch yet" in answer
    greet(runner=stage.rex, fingerprint={}, epoch="driver-1", now=stage.now)
    answer = client.post("/admission/compiled", {"board": board.pk}, follow=True).content.decode()
    assert "queued" in answer
    timing = CompiledTiming.objects.get()
    told = {"outcome": PASSED, "ratio": 0.5, "half_width": 0.02, "score_us": 40.0, "state": DONE}
    CompiledTiming.objects.update(finished_at=stage.now, **told)
    assert "2.000×" in client.get("/admission").content.decode()
    assert timing.asked_by == stage.olga
    assert browser(stage.ada).post("/admission/compiled", {"board": board.pk}).status_code in (403, 404)
    assert CompiledTiming.objects.count() == 1
