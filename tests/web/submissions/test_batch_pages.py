"""Pages and report of a batch: who sees them, which attempts count, and the slider p in a browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard import pipeline
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.judging.batches import settle
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Batch, Takedown
from leaderboard.submissions.permissions import release_code
from tests.e2e.browser import Watched, chromium
from tests.leaderboard.stage import SOURCE, Stage, make_board
from tests.web.live_site import live_site
from tests.web.test_pages_are_strict import check

if TYPE_CHECKING:
    from leaderboard.accounts.models import User
    from leaderboard.competitions.models import Board

THIN = "\N{NARROW NO-BREAK SPACE}"


def send(stage: Stage, size: int, *, mode: str = "benchmark", boards: tuple[Board, ...] = (), **told: Any) -> Batch:
    boards = boards or (stage.board,) * size
    uploads = [
        Upload(
            board=boards[number % len(boards)].slug,
            hardware="cpu",
            mode=mode,
            filename=f"k{number}.py",
            data=SOURCE + f"KERNEL = {stage.sent + number}\n".encode(),
            lineage={"cost_usd": 0.25} if told.get("cost") else {},
        )
        for number in range(size)
    ]
    stage.sent += size
    return pipeline.submit_batch(
        uploads, mode=mode, budget_s=600, owner=told.get("owner", stage.ada), now=stage.later(1)
    )


def finish(stage: Stage, *told: dict[str, Any]) -> None:
    for one in told:
        stage.report(stage.claim(), **one)


FAST, SLOW, WRONG = {"ratio": 0.5}, {"ratio": 1.25}, {"outcome": "wrong", "reason": "mismatch"}
WRONG |= {"cases": ({"stage": "check", "name": "secret 1", "public": False, "good": False, "reason": "mismatch"},)}
BROKEN = {"outcome": "build_error", "reason": "syntax"}


def report(tool: Any, user: User, batch: Batch, **query: Any) -> dict[str, Any]:
    answer = tool(user).get(f"/api/v1/batches/{batch.pk}/report", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_figures_count_judged_candidates_alone(stage, tool) -> None:
    batch = send(stage, 6)
    finish(stage, FAST, SLOW, WRONG, BROKEN, {"outcome": "infra_error"})
    told = report(tool, stage.ada, batch)
    assert (told["state"], told["size"], told["judged"], told["correct"], told["faster"]) == ("running", 6, 4, 2, 1)
    assert told["stages"] == {"sent": 1, "parsed": 0, "built": 0, "ran": 1, "correct": 0, "timed": 2}
    assert [row["k"] for row in told["figures"]] == [1, 2, 4]
    assert [round(row["pass_at_k"]["value"], 3) for row in told["figures"]] == [0.5, 0.833, 1.0]
    assert [round(row["fast_p_at_k"]["value"], 3) for row in told["figures"]] == [0.25, 0.5, 1.0]
    assert [round(row["best_of_k"], 3) for row in told["figures"]] == [1.25, 1.5, 2.0]
    assert all(
        row["pass_at_k"]["low"] <= row["pass_at_k"]["value"] <= row["pass_at_k"]["high"] for row in told["figures"]
    )
    assert told["device_s_per_speedup"] == pytest.approx(told["spent_s"]) == 5.0
    assert (told["cost_usd"], told["cost_usd_per_speedup"]) == (None, None)
    assert [one["judged"] for one in told["candidates"]] == [True] * 4 + [False] * 2
    assert report(tool, stage.ada, batch, p=2.5)["figures"][-1]["fast_p_at_k"]["value"] == 0


def test_several_problems_are_averaged_up_to_the_fewest_attempts(stage, tool) -> None:
    other = make_board("scan")
    batch = send(stage, 5, boards=(stage.board, other))  # three attempts and two
    finish(stage, FAST, WRONG, FAST, WRONG, FAST)
    told = report(tool, stage.ada, batch)
    assert [(one["board"], one["attempts"], one["correct"]) for one in told["problems"]] == [
        ("softmax", 3, 3),
        ("scan", 2, 0),
    ]
    assert [(row["k"], row["pass_at_k"]["value"]) for row in told["figures"]] == [(1, 0.5), (2, 0.5)]


def test_a_mode_without_times_has_no_speedups(stage, tool, browser) -> None:
    batch = send(stage, 2, mode="test")
    finish(stage, {}, WRONG)
    told = report(tool, stage.ada, batch)
    assert (told["correct"], told["faster"], told["figures"][0]["best_of_k"]) == (1, 0, None)
    assert "fast-p-steps" not in page(browser, stage.ada, batch)


def test_costs_count_when_every_candidate_names_one(stage, tool) -> None:
    batch = send(stage, 2, cost=True)
    finish(stage, FAST, WRONG)
    told = report(tool, stage.ada, batch)
    assert (told["cost_usd"], told["cost_usd_per_speedup"]) == (0.5, 0.5)


def test_a_held_pass_counts_as_failed(stage, tool, browser) -> None:
    batch = send(stage, 2, mode="ranked")
    finish(stage, {"ratio": 0.3}, {"ratio": 0.8})
    told = report(tool, stage.ada, batch)
    assert (told["judged"], told["correct"], told["not_standing"]) == (2, 1, 1)
    assert "Review holds or rejected 1 pass; they count as failed." in page(browser, stage.ada, batch)


@pytest.mark.parametrize("p", ["-1", "1001", "nan", "x"])
def test_a_wrong_p_is_named(stage, tool, p: str) -> None:
    batch = send(stage, 1)
    answer = tool(stage.ada).get(f"/api/v1/batches/{batch.pk}/report?p={p}")
    assert answer.status_code == 400
    assert [one["field"] for one in answer.json()["errors"]] == ["p"]


def page(browser: Any, user: User | None, batch: Batch) -> str:
    answer = browser(user).get(f"/batches/{batch.pk}")
    assert answer.status_code == 200
    check(answer)
    return answer.content.decode()


def test_owner_sees_figures_stages_costs_and_candidates(stage, browser) -> None:
    batch = send(stage, 4, cost=True)
    finish(stage, FAST, SLOW, WRONG, BROKEN)
    text = page(browser, stage.ada, batch)
    assert "4 of 4 candidates judged in mode benchmark: 2 correct, 1 surely faster than the baseline" in text
    assert text.count("<circle class=") == 4 + 2, "and the legend's"
    assert "$1.00" in text
    assert "aria-valuetext" not in text
    assert re.findall(r"Candidate \d|/submissions/\d+\"", text)
    listed = browser(stage.ada).get("/batches").content.decode()
    assert f'href="/batches/{batch.pk}"' in listed
    assert f'href="/batches/{batch.pk}"' not in browser(stage.cleo).get("/batches").content.decode()


def test_a_batch_without_a_verdict_has_no_figures(stage, browser, tool) -> None:
    batch = send(stage, 2)
    assert "No candidate is judged yet" in page(browser, stage.ada, batch)
    assert report(tool, stage.ada, batch)["figures"] == []


def test_a_team_mate_sees_a_batch_of_the_team_and_strangers_do_not(stage, browser, tool) -> None:
    competition = stage.board.competition
    team = Entrant.objects.create(competition=competition, name="Duo", is_team=True, created_at=stage.now)
    for user in (stage.ada, stage.ben):
        told = {"entrant": team, "competition": competition, "user": user, "joined_at": stage.now}
        Membership.objects.create(role="captain" if user == stage.ada else "member", **told)
    batch = send(stage, 1)
    finish(stage, FAST)
    page(browser, stage.ben, batch)
    report(tool, stage.ben, batch)
    for person in (stage.cleo, stage.olga):
        assert browser(person).get(f"/batches/{batch.pk}").status_code == 404
        assert tool(person).get(f"/api/v1/batches/{batch.pk}/report").status_code == 404
    assert browser(None).get(f"/batches/{batch.pk}").status_code == 302
    assert browser(None).get("/batches/999999").status_code == 302, "an absent batch looks the same"


def test_everybody_sees_a_batch_once_all_of_its_code_is_public(stage, browser) -> None:
    batch = send(stage, 2, mode="ranked")
    finish(stage, {"ratio": 0.8}, WRONG)
    first, second = (one.submission for one in batch.candidates.order_by("number"))
    release_code(submission=first, actor=stage.ada, now=stage.later(1))
    assert browser(stage.cleo).get(f"/batches/{batch.pk}").status_code == 404, "one of two"
    release_code(submission=second, actor=stage.ada, now=stage.later(1))
    text = page(browser, None, batch)
    assert f'href="/entries/{first.pk}"' in text
    assert f"/submissions/{second.pk}" not in text
    Takedown.objects.create(submission=second, reason="a court's order", created_at=stage.now)
    assert browser(None).get(f"/batches/{batch.pk}").status_code == 302


def test_page_and_report_say_judged_before_and_name_the_submission_to_its_owner(stage, browser, tool) -> None:
    first = send(stage, 1, mode="test").candidates.get().submission
    finish(stage, {})
    stage.sent -= 1  # the same kernel again
    batch = send(stage, 1, mode="test")
    again = batch.candidates.get().submission
    named = f'judged before, as <a href="/submissions/{first.pk}">{first.pk}</a>'
    assert named in page(browser, stage.ada, batch)
    (told,) = report(tool, stage.ada, batch)["candidates"]
    assert (told["judged_before"], told["same_as"]) == (True, first.pk)
    release_code(submission=again, actor=stage.ada, now=stage.later(1))
    shown = page(browser, None, batch)
    assert "judged before" in shown
    assert f"/submissions/{first.pk}" not in shown
    (told,) = report(tool, stage.cleo, batch)["candidates"]
    assert (told["judged_before"], told["same_as"]) == (True, None)
    assert browser(stage.ada).get(f"/submissions/{again.pk}").status_code == 200


def test_a_batch_with_a_held_or_unfinished_candidate_is_not_public(stage, browser) -> None:
    held, unfinished = send(stage, 1, mode="ranked"), send(stage, 1, mode="ranked")
    finish(stage, {"ratio": 0.3})
    for batch in (held, unfinished):
        release_code(submission=batch.candidates.get().submission, actor=stage.ada, now=stage.later(1))
        settle(batch.pk, now=stage.now)
        assert browser(stage.cleo).get(f"/batches/{batch.pk}").status_code == 404
        page(browser, stage.ada, batch)


@pytest.mark.parametrize("size", [2, 6])
def test_the_page_reads_a_batch_with_a_fixed_number_of_queries(
    stage, browser, django_assert_max_num_queries, size: int
) -> None:
    batch = send(stage, size)
    finish(stage, *[FAST] * size)
    client = browser(stage.ada)
    client.get("/batches")
    with django_assert_max_num_queries(30):
        client.get(f"/batches/{batch.pk}")


@pytest.mark.browser
def test_the_slider_shows_fast_p_at_k_without_a_round_trip(transactional_db) -> None:
    from django.test import Client

    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    batch = send(stage, 4)
    finish(stage, {"ratio": 0.5, "half_width": 0.01}, {"ratio": 0.8, "half_width": 0.01}, WRONG, BROKEN)
    client = Client()
    client.force_login(stage.ada)
    with live_site() as site, chromium() as browser:
        context = browser.new_context(base_url=site.address)
        context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site.address}])
        watched = Watched(context.new_page(), site.address)
        watched.page.goto(f"/batches/{batch.pk}")
        figures, slider = watched.page.locator("[data-share]"), watched.page.locator("#p")
        assert figures.all_inner_texts() == [f"50{THIN}%", f"83.3{THIN}%", f"100{THIN}%"]
        asked: list[str] = []
        watched.page.on("request", lambda request: asked.append(request.url))
        slider.fill("1.5")
        assert figures.all_inner_texts() == [f"25{THIN}%", f"50{THIN}%", f"100{THIN}%"]
        assert watched.page.locator("output").inner_text() == "1.50×"
        slider.press("End")
        assert figures.all_inner_texts() == [f"0{THIN}%"] * 3
        assert (asked, watched.complaints) == ([], [])
        plain = browser.new_context(base_url=site.address, java_script_enabled=False)
        plain.add_cookies(context.cookies())
        without = plain.new_page()
        without.goto(f"/batches/{batch.pk}")
        assert not without.locator("#p").is_visible()
        without.get_by_text("As a table").click()
        cells = without.locator("#fast-p-table tbody tr").nth(3).locator("td").all_inner_texts()
        assert cells == ["1.5×", f"25{THIN}%", f"50{THIN}%", f"100{THIN}%"]
