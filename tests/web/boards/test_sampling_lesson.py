"""The sampling lesson: independent samples apart from serial chains, and costs for their sender alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest
from django.core.management import call_command

from leaderboard import pipeline
from leaderboard.competitions.models import Board, Competition
from leaderboard.judging.attempts import rejudge
from leaderboard.submissions.intake import Upload
from tests.e2e.browser import Watched, chromium
from tests.leaderboard.stage import SOURCE, Stage
from tests.web.boards.test_collections_are_ranked_by_fast_p import FILES, _board
from tests.web.boards.test_model_board import WRONG, page
from tests.web.live_site import live_site
from tests.web.page_table import Entry
from tests.web.test_pages_hold import axe_faults, faults_of

if TYPE_CHECKING:
    from pathlib import Path

    from leaderboard.submissions.models import Submission

PAGE = "/competitions/kernelbench/sampling"


@pytest.fixture
def boards(stage: Stage) -> list[Board]:
    competition = Competition.objects.create(slug="kernelbench", name="KernelBench", scoring="fast_p")
    return [_board(competition, level, name) for level, name in FILES]


def draw(stage: Stage, board: Board, ratio: float | None, *, parents: Any = (), **told: Any) -> Submission:
    """Judge a kernel of model m; wrong without a ratio."""
    stage.sent += 1
    owner, mode = told.pop("owner", stage.ada), told.pop("mode", "ranked")
    code = SOURCE + f"KERNEL = {stage.sent}\n".encode()
    lineage = {"model": "m", "strategy": "samples"} | told
    upload = Upload(board.slug, board.hardware, mode, "k.py", code, parents=tuple(parents), lineage=lineage)
    submission = pipeline.submit(upload, owner=owner, now=stage.later(1))
    stage.judge(submission, **({"ratio": ratio, "half_width": 0.01} if ratio else WRONG))
    return submission


def get(client: Any, address: str = PAGE, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/api/v1{address}", query)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def chain(stage: Stage, board: Board, *ratios: float | None, strategy: str = "refine", **told: Any) -> None:
    last: list[int] = []
    for ratio in ratios:
        last = [draw(stage, board, ratio, parents=last, strategy=strategy, run="r", **told).pk]


def test_coverage_is_observed_and_fitted_over_a_problem_set(stage: Stage, tool: Any, boards: list[Board]) -> None:
    for ratio in (0.8, None, None, 0.7):
        draw(stage, boards[0], ratio)
        draw(stage, boards[1], None)
    found = get(tool(stage.cleo))
    assert (found["model"], found["problems"], found["samples"], found["turns"]) == ("m", 2, 8, 0)
    assert [row["observed"]["value"] for row in found["coverage"]] == pytest.approx([0.25, (1 - 1 / 6) / 2, 0.5])
    assert found["fit"]["never"]["low"] < found["fit"]["never"]["value"] < found["fit"]["never"]["high"]
    alone = get(tool(stage.cleo), f"/boards/{boards[0].slug}/{boards[0].hardware}/sampling")
    assert (alone["problems"], alone["fit"]["p"]["value"]) == (1, pytest.approx(0.5))


def test_success_may_ask_for_a_speedup(stage: Stage, tool: Any, boards: list[Board]) -> None:
    for ratio in (0.9, 0.7, 1.5):
        draw(stage, boards[0], ratio)
    ones = {p: get(tool(stage.cleo), p=p)["coverage"][0]["observed"]["value"] for p in (0, 1, 1.25)}
    assert ones == {0: 1, 1: pytest.approx(2 / 3), 1.25: pytest.approx(1 / 3)}


def test_serial_turns_stand_beside_as_many_samples(stage: Stage, tool: Any, boards: list[Board]) -> None:
    for ratio in (None, None, 0.9, None):
        draw(stage, boards[0], ratio)
    chain(stage, boards[0], None, 0.9)
    chain(stage, boards[0], None, None, strategy="serial", owner=stage.ben)
    found = get(tool(stage.cleo))
    assert (found["samples"], found["turns"]) == (4, 4), "a turn is no independent sample"
    rows = [(row["turn"], row["serial"]["value"], row["k"], row["samples"]["value"]) for row in found["equal_cost"]]
    assert rows == [(1, 0, 1, 0.25), (2, 0.5, 2, 0.5)]


def test_an_evolved_kernel_is_neither_a_sample_nor_a_turn(stage: Stage, tool: Any, boards: list[Board]) -> None:
    first = draw(stage, boards[0], 0.9, strategy="evolve")
    draw(stage, boards[0], 0.8, parents=[first.pk], strategy="evolve")
    found = get(tool(stage.cleo))
    assert (found["samples"], found["turns"]) == (1, 0)


def test_without_a_strategy_descent_makes_a_chain(stage: Stage, tool: Any, boards: list[Board]) -> None:
    chain(stage, boards[0], None, 0.8, strategy="")
    draw(stage, boards[0], 0.8, strategy="")
    found = get(tool(stage.cleo))
    assert (found["samples"], found["turns"]) == (1, 2)


def test_costs_are_for_their_sender_alone(stage: Stage, tool: Any, browser: Any, boards: list[Board]) -> None:
    for ratio in (0.8, None):
        draw(stage, boards[0], ratio, mode="benchmark", cost_usd=0.5)
    chain(stage, boards[0], None, 0.8, mode="benchmark", cost_usd=1.0)
    assert get(tool(stage.ben))["models"] == [], "a benchmark has no entry"
    assert get(tool(stage.ben), mine=True)["models"] == []
    found = get(tool(stage.ada), mine=True, by="cost")
    assert [(row["budget"], row["k"]) for row in found["equal_cost"]] == [(1.0, 2), (2.0, 4)]
    refused = tool(stage.ada).get(f"/api/v1{PAGE}", {"by": "cost"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "by")
    refused = browser(None).get(f"/api/v1{PAGE}", {"mine": True})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "mine")
    assert "by US dollars" in page(browser, f"{PAGE}?of=mine", stage.ada)
    assert browser(stage.ada).get(f"{PAGE}?by=cost").status_code == 404


def test_device_seconds_are_those_of_the_current_attempt(stage: Stage, tool: Any, boards: list[Board]) -> None:
    code = SOURCE + b"KERNEL = 99\n"
    upload = Upload(boards[0].slug, boards[0].hardware, "benchmark", "k.py", code, lineage={"model": "m"})
    sent = pipeline.submit(upload, owner=stage.ada, now=stage.later(1))
    job = stage.claim()
    stage.later(900)
    stage.report(job)
    stage.olga.is_superuser = stage.olga.is_staff = True
    stage.olga.save()
    rejudge(submission=sent, actor=stage.olga, reason="a bug", now=stage.later(1))
    stage.report(stage.claim())
    chain(stage, boards[0], None, 0.8, mode="benchmark")
    found = get(tool(stage.ada), mine=True, by="seconds")
    assert [row["k"] for row in found["equal_cost"]] == [1, 2]


def test_an_own_result_that_review_holds_counts_as_failed(stage: Stage, tool: Any, boards: list[Board]) -> None:
    draw(stage, boards[0], 0.3)
    draw(stage, boards[0], 0.8)
    for mine in (False, True):
        assert get(tool(stage.ada), mine=mine)["coverage"][0]["observed"]["value"] == 0.5


def test_pages_teach_with_plots_tables_and_commands(stage: Stage, browser: Any, boards: list[Board]) -> None:
    assert "--strategy samples --mode ranked" in page(browser, PAGE)
    for board in boards[:2]:
        for ratio in (0.8, None, None):
            draw(stage, board, ratio)
        chain(stage, board, None, 0.8)
    text = page(browser, PAGE)
    assert text.count("<figure") == 2
    assert "stay unsolved however many samples" in text
    address = f"/boards/{boards[0].slug}/{boards[0].hardware}"
    assert f'href="{address}/sampling"' in page(browser, address)
    assert "stay unsolved" not in page(browser, f"{address}/sampling"), "a single problem tells nothing about it"
    assert f'href="{PAGE}?hardware=cpu"' in page(browser, "/competitions/kernelbench/models")
    for wrong in ("p=5", "p=x", "p=nan", "by=luck", "model=nobody", "hardware=H9"):
        assert browser(None).get(f"{PAGE}?{wrong}").status_code == 404, wrong


def test_a_model_without_an_entry_stays_private(stage: Stage, tool: Any, boards: list[Board]) -> None:
    draw(stage, boards[0], None)
    assert get(tool(stage.cleo))["models"] == []
    assert tool(stage.cleo).get(f"/api/v1{PAGE}", {"model": "m"}).status_code == 404


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_with_both_plots_fits_and_is_accessible(
    transactional_db: None,
    stage: Stage,
    boards: list[Board],
    scheme: Literal["light", "dark"],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    settings.STATIC_ROOT = str(tmp_path)
    monkeypatch.setenv("STATIC_ROOT", str(tmp_path))
    call_command("collectstatic", interactive=False, verbosity=0)
    for board in boards[:2]:
        for ratio in (None, 0.8, None, None, None):
            draw(stage, board, ratio)
        chain(stage, board, None, None, 0.8)
    address = f"{PAGE}?hardware=cpu&model=m"
    with live_site() as site, chromium() as browser:
        watched = Watched(browser.new_context(base_url=site.address, color_scheme=scheme).new_page(), site.address)
        faults = faults_of(watched, Entry("visitor", address), {}) + axe_faults(watched.page, {})
        assert watched.page.locator("figure.fast-p path.curve").count() == 8, "two curves in each plot, and its legend"
        watched.page.locator("form.slider input[type=range]").fill("1.5")
        assert watched.page.locator("form.slider output").inner_text() == "1.5×"
        watched.page.screenshot(path=tmp_path / f"{scheme}.png", full_page=True)
    assert not faults, faults
