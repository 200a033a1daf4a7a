"""What the judge saw, for the sender and the team: cases, both clocks, machine; and a person's own notes."""

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.entrants.closing import close
from leaderboard.judging.models import Result
from leaderboard.pipeline import claim_work, hold_result
from leaderboard.submissions.models import Draft, Note, Welcome
from leaderboard.web.accounts.export import _tables
from tests.leaderboard.stage import Stage, make_board, make_runner
from tests.runner.judge.suspects import case, evidence
from tests.web.showcase import gpu_job

FIGURES = {"name": "n=8", "good": True, "public": True, "measured_us": 900.0, "baseline_us": 1000.0, "half_width": 0.01}

SEED = 4_611_686_018_427_387_000  # beyond the exact numbers of a browser
CHECK = {"case": "n=9", "seed": SEED, "public": False, "good": True, "reason": "", "message": "", "figures": []}
CHECK |= {"arguments": {"n": 9}}


@pytest.fixture
def measured(stage: Stage):
    submission = stage.submit(stage.ada)
    timed = case(candidate=9e5, baseline=1e6, name="n=8")
    for number, quad in enumerate(timed["quads"]):
        for block in quad["blocks"]:
            block["seeds"] = [SEED + number] if block["side"] == "candidate" else [1]
    told = {"ratio": 0.9, "cases": [FIGURES], "evidence": evidence(timed, checks=[CHECK])}
    stage.judge(submission, **told)
    return submission


def page_of(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_the_sender_sees_cases_both_clocks_and_the_machine(stage, browser, measured) -> None:
    client = browser(stage.ada)
    assert f'href="/submissions/{measured.pk}/measured"' in page_of(client, f"/submissions/{measured.pk}")
    page = page_of(client, f"/submissions/{measured.pk}/measured")
    assert "n=8" in page
    assert "1.111×" in page
    assert "n=8 on the judge's clock. baseline:" in page
    assert "n=8 on the tenant's clock. baseline:" in page
    assert "rex" in page
    assert "vs incumbent" not in page


@pytest.mark.parametrize("who", ["owner", "reviewer"])
def test_a_job_on_a_gpu_shows_device_clocks_throttling_and_speed_of_light(stage, browser, who) -> None:
    """Of a recorded report, which the showcase has as well."""
    runner = make_runner("h200-1", "H200")
    submission = stage.submit(stage.ada, board=make_board(hardware="H200"))
    job = claim_work(runner=runner, now=stage.now)
    assert job is not None
    assert stage.report(job, runner=runner, **gpu_job())
    result = Result.objects.get(attempt__submission=submission)
    if who == "owner":
        page = page_of(browser(stage.ada), f"/submissions/{submission.pk}/measured")
        assert all(fact in page for fact in ("700 W", "1980 MHz", "580.159.04", "Clocks, temperatures and throttle"))
        machine = page.partition("More about the machine")[2].partition("</dl>")[0]
        titles = re.findall("<dt>(.*?)</dt>", machine)
    else:
        hold_result(result=result, actor=stage.olga, reason="a look", now=stage.later(1))
        page = page_of(browser(stage.olga), f"/review/{result.pk}")
        machine = page.partition("<summary>The machine")[2].partition("</dl>")[0]
        titles = re.findall("<dt>(.*?)</dt>", machine)
    assert {"cores of the runner", "memory of the host", "Linux kernel", "identity of the GPU"} <= set(titles)
    assert not [title for title in titles if "_" in title or title in ("machine", "kernel", "pcie")], "raw keys"
    assert "NVIDIA H200" in page
    assert "SM or core clock: 1980 to 1980 MHz" in page
    assert "memory clock: 3201 to 3201 MHz" in page
    assert "power cap in 1 of 80 blocks" in page
    assert "named no reason" not in page
    narrow = "\N{NARROW NO-BREAK SPACE}"
    assert all(f"{share}{narrow}%" in page for share in (38.5, 29.1)), "of the speed of light"
    for clock, median in (("judge's", f"985.8{narrow}µs"), ("tenant's", f"257.6{narrow}µs")):
        assert f"cols=8192 rows=8192 on the {clock} clock. baseline: 192 calls" in page
        assert f"candidate: 192 calls, median {median}" in page


def test_seeds_are_shown_after_the_contest(stage, browser, tool, measured) -> None:
    address = f"/submissions/{measured.pk}"
    hidden = "The seeds and arguments of all cases appear here when the contest is over"
    assert f"{hidden}; this board has no end yet" in page_of(browser(stage.ada), f"{address}/measured")
    Competition.objects.update(deadline=timezone.now() + timedelta(days=1))
    assert f"{hidden}, <time" in page_of(browser(stage.ada), f"{address}/measured")
    told = tool(stage.ada).get(f"/api/v1{address}/seeds").json()
    assert (told["public"], told["cases"]) == (False, [])
    assert told["public_at"].startswith("20")
    Competition.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    told = tool(stage.ada).get(f"/api/v1{address}/seeds").json()
    assert told["public"]
    secret, timed = told["cases"]
    assert (secret["kind"], secret["arguments"], secret["seeds"]) == ("secret", {"n": 9}, [str(SEED)])
    assert (timed["case"], timed["seeds"], timed["more"]) == ("n=8", [str(SEED + n // 2) for n in range(5)], 19)
    page = page_of(browser(stage.ada), f"{address}/measured")
    assert all(seed in page for case in told["cases"] for seed in case["seeds"])
    assert tool(stage.cleo).get(f"/api/v1{address}/seeds").status_code == 404


@pytest.mark.parametrize("who", ["ben", "olga"])
def test_nobody_else_sees_the_owners_page(stage, browser, measured, who) -> None:
    client = browser(getattr(stage, who))
    assert client.get(f"/submissions/{measured.pk}/measured").status_code == 404
    assert client.post(f"/submissions/{measured.pk}/note", {"text": "x"}).status_code == 404


def test_a_waiting_submission_has_no_measured_page(stage, browser) -> None:
    waiting = stage.submit(stage.ada)
    assert browser(stage.ada).get(f"/submissions/{waiting.pk}/measured").status_code == 404


def test_the_measured_page_asks_no_query_twice(stage, browser, measured) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = browser(stage.ada)
    with CaptureQueriesContext(connection) as asked:
        page_of(client, f"/submissions/{measured.pk}/measured")
    texts = [query["sql"] for query in asked if "SAVEPOINT" not in query["sql"]]
    assert len(texts) == len(set(texts))


def test_a_note_is_saved_shown_and_removed(stage, browser, measured) -> None:
    client, address = browser(stage.ada), f"/submissions/{measured.pk}"
    assert client.post(f"{address}/note", {"text": " tiles of\r\n64 "}).headers["Location"] == address
    assert "Your note is saved." in client.get(address).content.decode()
    assert "tiles of\n64" in page_of(client, address)
    assert "tiles of" in page_of(client, "/submissions")
    assert "tiles of" not in page_of(browser(stage.olga), address)
    client.post(f"{address}/note", {"text": " "})
    assert not Note.objects.exists()


@pytest.mark.parametrize("text", ["x" * 2001, "a\0b"])
def test_a_wrong_note_is_refused_with_a_reason(stage, browser, measured, text) -> None:
    answer = browser(stage.ada).post(f"/submissions/{measured.pk}/note", {"text": text}, follow=True)
    assert b"The note is not saved: " in answer.content
    assert not Note.objects.exists()


def test_drafts_and_notes_are_exported_and_erased_with_the_account(stage, browser, measured) -> None:
    client = browser(stage.ada)
    client.post("/boards/softmax/draft", {"code": "x = 1"})
    client.post(f"/submissions/{measured.pk}/note", {"text": "my idea"})
    Welcome.objects.create(user=stage.ada, began_at=stage.now)
    tables = _tables(User.objects.filter(pk=stage.ada.pk).values("pk"))
    assert [row["slug"] for row in tables["drafts"]] == ["softmax"]
    assert [row["text"] for row in tables["notes"]] == ["my idea"]
    close(account=stage.ada, erase=True, now=stage.later(1))
    assert [table.objects.exists() for table in (Draft, Note, Welcome)] == [False, False, False]
