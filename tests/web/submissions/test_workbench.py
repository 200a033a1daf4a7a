"""The loop of the submit page: drafts, starters, syntax errors, own code again and compared, the welcome."""

import html
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.competitions.models import Board, Competition, ProblemVersion
from leaderboard.entrants.models import Membership
from leaderboard.submissions import workspace
from leaderboard.submissions.models import Draft, Submission, Takedown, Welcome
from leaderboard.web import limits
from leaderboard.web.submissions import syntax
from leaderboard.web.submissions.syntax import marked_lines
from problems.spec import Build
from tests.leaderboard.stage import make_board, make_problem

CODE = "def custom_kernel(data):\n    return data\n"
ADDRESS = "/boards/softmax/submit"
DRAFT = "/boards/softmax/draft"


def page_of(client, address=ADDRESS) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def give_starters(**templates) -> None:
    told = make_problem(templates=templates)
    version = ProblemVersion.objects.create(
        digest=told.digest, problem=Board.objects.get(slug="softmax", hardware="cpu").problem, bundle=told.to_bundle()
    )
    Board.objects.filter(slug="softmax").update(version=version)


def test_a_draft_is_kept_and_restored(stage, browser) -> None:
    client = browser(stage.ada)
    sent = {"code": "x = 1\r\n", "filename": "fast.py", "hardware": "cpu", "mode": "ranked"}
    assert client.post(DRAFT, sent).json()["fault"] is None
    page = page_of(client)
    assert "x = 1\n" in page
    assert "Your draft, saved" in page
    assert 'value="ranked" checked' in page
    assert 'value="fast.py"' in page


def test_a_person_has_one_draft_a_board(stage, browser) -> None:
    make_board("vectoradd")
    client = browser(stage.ada)
    for slug, code in (("softmax", "a = 1"), ("softmax", "a = 2"), ("vectoradd", "b = 1")):
        client.post(f"/boards/{slug}/draft", {"code": code})
    assert set(Draft.objects.values_list("slug", "source")) == {("softmax", "a = 2"), ("vectoradd", "b = 1")}


def test_a_draft_is_its_authors_alone(stage, browser) -> None:
    browser(stage.ada).post(DRAFT, {"code": "secret_idea = 1"})
    for person in (stage.ben, stage.olga):
        assert "secret_idea" not in page_of(browser(person))


@pytest.mark.parametrize(
    ("code", "status"), [("x" * 1_000_001, 413), ("é" * 600_000, 413), ("a\0b", 400), ("x" * 1_000_000, 200)]
)
def test_a_draft_has_a_limit_of_size(stage, browser, monkeypatch, code, status) -> None:
    monkeypatch.setattr(syntax, "fault_in", lambda source: None)
    answer = browser(stage.ada).post(DRAFT, {"code": code})
    assert answer.status_code == status
    assert Draft.objects.exists() == (status == 200)
    assert ("not saved" in answer.json().get("detail", "")) == (status != 200)


def test_the_oldest_drafts_go_first(stage, monkeypatch) -> None:
    monkeypatch.setattr(workspace, "MOST_DRAFTS", 3)
    rest = {"filename": "", "hardware": "cpu", "mode": "test"}
    for place in range(5):
        workspace.save_draft(user=stage.ada, slug=f"b{place}", source="x", **rest, now=stage.later(1))
    assert set(Draft.objects.values_list("slug", flat=True)) == {"b2", "b3", "b4"}


def test_emptying_or_discarding_a_draft_removes_it(stage, browser) -> None:
    client = browser(stage.ada)
    client.post(DRAFT, {"code": "x"})
    assert client.post(DRAFT, {"code": " \n"}).json() == {"saved_at": None, "fault": None}
    assert not Draft.objects.exists()
    client.post(DRAFT, {"code": "x"})
    assert client.post(f"{DRAFT}/discard").headers["Location"] == ADDRESS
    assert not Draft.objects.exists()


def test_a_draft_of_a_closed_competition_answers_like_an_absent_board(stage, browser) -> None:
    Competition.objects.update(visibility="closed")
    for slug in ("softmax", "nothing"):
        assert browser(stage.ada).post(f"/boards/{slug}/draft", {"code": "x"}).status_code == 404
    assert not Draft.objects.exists()


def test_a_draft_ends_when_its_code_is_sent(stage, browser) -> None:
    client = browser(stage.ada)
    client.post(DRAFT, {"code": CODE})
    assert client.post(ADDRESS, {"code": CODE, "mode": "test", "hardware": "cpu"}).status_code == 302
    assert not Draft.objects.exists()
    page = page_of(client)
    assert "Your last sent code" in page
    assert CODE in page


def test_a_draft_names_its_first_syntax_error(stage, browser) -> None:
    fault = browser(stage.ada).post(DRAFT, {"code": "x = 1\nf(:\n"}).json()["fault"]
    assert (fault["line"], fault["column"]) == (2, 3)
    assert browser(stage.ada).post(DRAFT, {"code": "int f(:", "filename": "k.cu"}).json()["fault"] is None


def test_a_person_has_a_number_of_syntax_checks_a_minute(stage, browser, monkeypatch) -> None:
    """Each check takes up to a second of a processor. Drafts and refused submissions share the number."""
    monkeypatch.setattr(limits, "SYNTAX_USER", limits.Limit("syntax check user", 2, 3600), raising=False)
    client = browser(stage.ada)
    assert client.post(DRAFT, {"code": "f(:"}).json()["fault"]
    refused = client.post(ADDRESS, {"code": "f(:", "mode": "test", "hardware": "cpu"})
    assert b"Python cannot read" in refused.content
    late = client.post(DRAFT, {"code": "f(:"}).json()
    assert (late["fault"], bool(late["saved_at"])) == (None, True)
    assert browser(stage.ben).post(DRAFT, {"code": "f(:"}).json()["fault"]


@pytest.mark.parametrize("code", ["x" * 20_000, "x = '" + "\\" * 20_000 + "'", "a = 1\x07"])
def test_a_draft_that_is_no_source_reaches_no_compiler(stage, browser, monkeypatch, code) -> None:
    """Long words and many backslashes cost the compiler hundreds of megabytes."""
    monkeypatch.setattr(syntax.subprocess, "run", lambda *_, **__: pytest.fail("it was compiled"))
    answer = browser(stage.ada).post(DRAFT, {"code": code}).json()
    assert (answer["fault"], bool(answer["saved_at"])) == (None, True)


def test_python_with_a_syntax_error_is_not_sent(stage, browser) -> None:
    answer = browser(stage.ada).post(ADDRESS, {"code": "x = 1\ndef f(:\n", "mode": "test", "hardware": "cpu"})
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 400
    assert "Python cannot read line 2, column 7: invalid syntax. Nothing was sent, and no quota was used" in page
    assert not Submission.objects.exists()


def test_code_for_a_board_of_cuda_is_not_read_as_python(stage, browser) -> None:
    told = make_problem(submission_name="submission.cu", lang="cu", build=Build())
    version = ProblemVersion.objects.create(digest=told.digest, problem=stage.board.problem, bundle=told.to_bundle())
    Board.objects.update(version=version)
    client, code = browser(stage.ada), "__global__ void f(float *x) {}\n"
    assert client.post(DRAFT, {"code": code}).json()["fault"] is None
    page = client.post(ADDRESS, {"code": code, "mode": "test", "hardware": "cpu"}).content
    assert b"Python cannot read" not in page


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\n", None),
        ("foo(1,\n", "line 1, column 4: '(' was never closed"),
        ("return 5", "line 1, column 1: 'return' outside function"),
        ("if 1:\n\tx\n        y\n", "line 3, column 1: inconsistent use of tabs and spaces in indentation"),
        ("x = 9 ** 9 ** 9", None),
        ("-" * 100_000 + "1", None),
        ("# -*- coding: latin-1 -*-\nx = 1\n", None),
    ],
)
def test_the_syntax_check_names_line_and_column(source, expected) -> None:
    found = syntax.fault_in(source)
    assert (str(found) if found else None) == expected


def test_a_syntax_check_that_takes_too_long_refuses_nothing(monkeypatch) -> None:
    monkeypatch.setattr(syntax, "WALL_S", 0.001)
    assert syntax.fault_in("def f(:") is None


def test_the_syntax_check_executes_nothing(tmp_path) -> None:
    assert syntax.fault_in(f"open({str(tmp_path / 'made')!r}, 'w').write('x')\n") is None
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("submission.py, line 3: invalid syntax\nx = = 1", [(3, "invalid syntax")]),
        (
            '  File "submission.py", line 4, in custom_kernel\n    helper()\n  File "other.py", line 9, in helper\n'
            '  File "submission.py", line 8, in helper\n    1 / 0\nZeroDivisionError: division by zero\n',
            [(4, "ZeroDivisionError: division by zero"), (8, "ZeroDivisionError: division by zero")],
        ),
        (
            'Case rows=1, cols=2:   File "submission.py", line 2, in custom_kernel\n    raise ValueError("odd")\n'
            "ValueError: odd\n",
            [(2, "ValueError: odd")],
        ),
        ("kernel.cu(12): error: expected a ;\nmain.cu(3): error: no", [(12, "expected a ;")]),
        ("/tmp/work/kernel.cu:7:5: error: no member\n", [(7, "no member")]),
        ("The output differs in line 5.", []),
        ("", []),
    ],
)
def test_lines_that_a_verdict_names_are_marked(message, expected) -> None:
    assert marked_lines(message, "kernel.cu") == expected


def test_code_is_edited_and_sent_again(stage, browser) -> None:
    first = stage.submit(stage.ada, mode="test")
    message = 'File "submission.py", line 2, in custom_kernel\nValueError: odd'
    stage.judge(first, outcome="runtime_error", message=message)
    stage.submit(stage.ada, mode="ranked")
    client = browser(stage.ada)
    assert f'href="{ADDRESS}?from={first.pk}"' in page_of(client, f"/submissions/{first.pk}")
    page = page_of(client, f"{ADDRESS}?from={first.pk}")
    assert first.source.rstrip("\n") in page
    assert 'value="kernel.py"' in page
    assert 'value="test" checked' in page
    assert json.dumps([[2, "ValueError: odd"]]) in page


def test_code_of_others_is_not_opened(stage, browser) -> None:
    hers = stage.submit(stage.ada)
    for person in (stage.ben, stage.olga):
        page = page_of(browser(person), f"{ADDRESS}?from={hers.pk}")
        assert "KERNEL" not in page
    for wrong in ("9" * 30, "x", "-1", "²"):
        assert "The code of" not in page_of(browser(stage.ada), f"{ADDRESS}?from={wrong}")


def test_code_that_is_taken_down_is_not_opened(stage, browser) -> None:
    hers = stage.submit(stage.ada)
    Takedown.objects.create(submission=hers, reason="a secret", created_at=stage.now)
    for address in (ADDRESS, f"{ADDRESS}?from={hers.pk}"):
        assert "KERNEL" not in page_of(browser(stage.ada), address)
    answer = browser(stage.ada).post(f"/submissions/{hers.pk}/send", follow=True)
    assert b"Not sent: the code is taken down." in answer.content


def test_a_starter_opens_without_javascript_and_leaves_the_draft(stage, browser) -> None:
    give_starters(Python="from_python = 1\n", C="from_c = 1\n")
    client = browser(stage.ada)
    client.post(DRAFT, {"code": "mine = 1"})
    page = page_of(client, f"{ADDRESS}?start=C")
    assert ">\nfrom_c = 1\n</textarea>" in page
    assert "You have a draft" in page
    assert "mine = 1" in page_of(client)


def test_starters_stand_by_language_and_hardware(stage, browser) -> None:
    make_board("softmax", "H200")
    give_starters(Python="in python", CUDA="in cuda")
    page = page_of(browser(stage.ada))
    h200, cpu = page.split('data-hardware="H200"')[1].split('data-hardware="cpu"')
    assert ("Python starter" in cpu, "CUDA starter" in cpu) == (True, False)
    assert ("Python starter" in h200, "CUDA starter" in h200) == (True, True)


def test_a_tested_kernel_is_sent_ranked_by_a_button(stage, browser) -> None:
    tested = stage.submit(stage.ada, mode="test")
    stage.judge(tested)
    client = browser(stage.ada)
    assert "Send ranked" in page_of(client, f"/submissions/{tested.pk}")
    location = client.post(f"/submissions/{tested.pk}/send", {"mode": "ranked"}).headers["Location"]
    sent = Submission.objects.latest("pk")
    assert location == f"/submissions/{sent.pk}"
    assert (sent.mode, sent.source, sent.filename, sent.board_id) == (
        "ranked",
        tested.source,
        tested.filename,
        tested.board_id,
    )


def test_a_refused_button_explains_itself(stage, browser, settings) -> None:
    settings.UNFINISHED_AT_ONCE = 1
    tested = stage.submit(stage.ada, mode="test")
    stage.judge(tested)
    client = browser(stage.ada)
    client.post(f"/submissions/{tested.pk}/send")
    answer = client.post(f"/submissions/{tested.pk}/send", follow=True)
    assert b"Not sent: " in answer.content
    assert Submission.objects.count() == 2


def test_only_the_sender_sends_again(stage, browser) -> None:
    tested = stage.submit(stage.ada, mode="test")
    stage.judge(tested)
    for person in (stage.ben, stage.olga):
        assert browser(person).post(f"/submissions/{tested.pk}/send").status_code == 404
    assert "Send ranked" not in page_of(browser(stage.olga), f"/submissions/{tested.pk}")


def test_a_closed_board_offers_no_sending(stage, browser) -> None:
    tested = stage.submit(stage.ada, mode="test")
    stage.judge(tested)
    Board.objects.update(deadline=timezone.now())
    page = page_of(browser(stage.ada), f"/submissions/{tested.pk}")
    assert "Send ranked" not in page
    assert "Edit and send again" not in page


def test_a_submission_is_compared_with_ones_best(stage, browser) -> None:
    slow, best, new = (stage.submit(stage.ada) for _ in range(3))
    for submission, ratio in ((slow, 0.95), (best, 0.9), (new, 0.99)):
        stage.judge(submission, ratio=ratio, score_us=1000 * ratio)
    client = browser(stage.ada)
    address = f"/submissions/{new.pk}/compare/{best.pk}"
    assert f'href="{address}"' in page_of(client, f"/submissions/{new.pk}")
    assert f"/compare/{slow.pk}" in page_of(client, f"/submissions/{best.pk}"), "the best is compared with the next"
    page = page_of(client, address)
    assert "+10" in page.replace("\u2009", " "), "990 µs after 900 µs"
    assert "-KERNEL" in page
    assert "+KERNEL" in page


def test_others_submissions_are_not_compared(stage, browser) -> None:
    hers, his = stage.submit(stage.ada), stage.submit(stage.ben)
    for person, pair in ((stage.ada, (hers, his)), (stage.ben, (hers, his)), (stage.olga, (hers, his))):
        one, other = pair
        for address in (f"/submissions/{one.pk}/compare/{other.pk}", f"/submissions/{other.pk}/compare/{one.pk}"):
            assert browser(person).get(address).status_code == 404
    assert browser(stage.ada).get(f"/submissions/{hers.pk}/compare/{hers.pk}").status_code == 404
    assert browser(stage.ada).get(f"/submissions/{hers.pk}/compare/999999").status_code == 404


def test_a_first_submission_has_nothing_to_compare(stage, browser) -> None:
    first = stage.submit(stage.ada)
    stage.judge(first)
    assert "Compare with my best" not in page_of(browser(stage.ada), f"/submissions/{first.pk}")


def test_pages_of_the_loop_ask_no_query_twice(stage, browser) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    for ratio in (0.9, 0.95):
        stage.judge(stage.submit(stage.ada), ratio=ratio)
    client, new = browser(stage.ada), Submission.objects.latest("pk")
    client.post(DRAFT, {"code": "x"})
    for address in (ADDRESS, f"{ADDRESS}?from={new.pk}", "/welcome"):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            page_of(client, address)
        texts = [query["sql"] for query in asked]
        assert len(texts) == len(set(texts)), address


def test_sign_up_leads_to_the_welcome(stage, browser) -> None:
    client = browser(None)
    password = "hurdle-Rail-99"
    answer = client.post("/sign-up", {"username": "dora", "password1": password, "password2": password})
    assert answer.headers["Location"] == "/welcome"
    assert Welcome.objects.get().user.username == "dora"


def test_the_welcome_proposes_open_boards_with_a_starter_and_a_runner(stage, browser) -> None:
    make_board("vectoradd")
    make_board("softmax", "H200")
    client = browser(stage.ada)
    assert "No open board has starter code" in page_of(client, "/welcome")
    give_starters(Python="from_python = 1\n")
    type(stage.rex).objects.update(last_seen_at=timezone.now())
    page = page_of(client, "/welcome")
    assert page.count("Start with ") == 1
    assert f'href="{ADDRESS}?start=Python&mode=test&hardware=cpu"' in page
    Competition.objects.update(visibility="closed")
    assert "softmax" not in page_of(client, "/welcome")


def test_the_welcome_ends_in_a_passing_test_run(stage, browser) -> None:
    Welcome.objects.create(user=stage.ada, began_at=timezone.now())
    client = browser(stage.ada)
    assert "Dismiss the welcome" in page_of(client)
    failed = stage.submit(stage.ada, mode="test")
    stage.judge(failed, outcome="runtime_error", message="odd")
    passed = stage.submit(stage.ada, mode="test")
    stage.judge(passed)
    later = stage.submit(stage.ada, mode="test")
    stage.judge(later)
    assert "Dismiss the welcome" not in page_of(client), "the pass has ended it"
    assert "Not passed yet." in page_of(client, f"/submissions/{failed.pk}")
    assert "Your first test run passed." in page_of(client, f"/submissions/{passed.pk}")
    assert "Your first test run passed." not in page_of(client, f"/submissions/{later.pk}")
    assert "first test run" not in page_of(browser(stage.olga), f"/submissions/{passed.pk}")
    assert client.post("/welcome/dismiss").headers["Location"] == "/boards"
    assert "first test run" not in page_of(client, f"/submissions/{passed.pk}")


def test_an_old_welcome_is_shown_no_more(stage, browser) -> None:
    Welcome.objects.create(user=stage.ada, began_at=timezone.now() - timedelta(days=15))
    assert "Dismiss the welcome" not in page_of(browser(stage.ada))


def test_a_team_mate_opens_code_of_the_team(stage, browser) -> None:
    hers = stage.submit(stage.ada)
    Membership.objects.create(
        entrant=hers.entrant,
        competition=hers.board.competition,
        user=stage.ben,
        role=Membership.MEMBER,
        joined_at=stage.now,
    )
    assert "KERNEL" in page_of(browser(stage.ben), f"{ADDRESS}?from={hers.pk}")


def test_the_problem_is_folded_above_the_editor(stage, browser) -> None:
    page = page_of(browser(stage.ada))
    fold = page[page.index('id="problem"') : page.index('id="workbench"')]
    for part in ("Softmax of each row.", "Timed", "reference.py", "custom_kernel"):
        assert part in fold
