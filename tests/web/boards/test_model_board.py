"""The model board: public kernels alone count, each number leads to them, and pass@1 counts failed attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leaderboard import pipeline
from leaderboard.competitions.models import Board, Competition
from leaderboard.entrants.models import Entrant
from leaderboard.standings.publish import retract
from leaderboard.submissions.intake import Upload
from tests.leaderboard.stage import SOURCE, Stage, make_board
from tests.web.boards.test_collections_are_ranked_by_fast_p import FILES, _board, time_compiled
from tests.web.test_pages_are_strict import check

if TYPE_CHECKING:
    from leaderboard.accounts.models import User
    from leaderboard.submissions.models import Submission

THIN = "\N{NARROW NO-BREAK SPACE}"
MODELS = "/competitions/kernelbench/models"
WRONG = {"outcome": "wrong", "reason": "mismatch"}


@pytest.fixture
def boards(stage: Stage) -> list[Board]:
    competition = Competition.objects.create(slug="kernelbench", name="KernelBench", scoring="fast_p")
    return [_board(competition, level, name) for level, name in FILES]  # of which the last cannot be judged


def send(stage: Stage, board: Board, model: str = "", owner: User | None = None, **told: Any) -> Submission:
    """Judge a ranked submission of a model; with `ratio`, its time beside the baseline's."""
    stage.sent += 1
    upload = Upload(
        board=board.slug,
        hardware=board.hardware,
        mode=told.pop("mode", "ranked"),
        filename="kernel.py",
        data=SOURCE + f"KERNEL = {stage.sent}\n".encode(),
        lineage={"model": model} if model else {},
    )
    submission = pipeline.submit(upload, owner=owner or stage.ada, now=stage.later(1))
    stage.judge(submission, **({"half_width": 0.01} if "ratio" in told else {}) | told)
    return submission


def lines(tool: Any, user: User, **query: Any) -> dict[str, dict[str, Any]]:
    answer = tool(user).get(f"/api/v1{MODELS}", query)
    assert answer.status_code == 200, answer.content
    return {line["model"]: line for line in answer.json()}


def page(browser: Any, address: str, user: User | None = None) -> str:
    answer = browser(user).get(address)
    assert answer.status_code == 200
    check(answer)
    return answer.content.decode()


def values(line: dict[str, Any], side: str) -> list[float]:
    return [round(share["value"], 3) for share in line[side]]


def test_each_number_leads_to_the_kernels_that_it_counts(stage, browser, boards) -> None:
    fast = send(stage, boards[0], "meta/llama-4:70b", ratio=0.6)
    slow = send(stage, boards[1], "meta/llama-4:70b", ratio=1.5)
    text = page(browser, MODELS)
    assert "2 of 3</a>" in text, "the dice cannot be judged"
    address = f"{MODELS}/meta/llama-4%3A70b?hardware=cpu"
    assert f'href="{address}"' in text
    assert f'href="{address}&amp;baseline=eager&amp;p=1">33.3{THIN}%</a>' in text
    both = page(browser, address)
    won = page(browser, f"{address}&baseline=eager&p=1")
    assert (f"/entries/{fast.pk}" in both, f"/entries/{slow.pk}" in both) == (True, True)
    assert (f"/entries/{fast.pk}" in won, f"/entries/{slow.pk}" in won) == (True, False)
    assert "No kernel counts here" in page(browser, f"{address}&p=2")
    for wrong in ("p=3", "baseline=luck", "hardware=H200"):
        assert browser(None).get(f"{MODELS}/meta/llama-4:70b?{wrong}").status_code == 404
    assert browser(None).get(f"{MODELS}/nobody").status_code == 404


def test_models_are_ranked_by_fast_1_with_intervals_over_all_problems(stage, tool, boards) -> None:
    send(stage, boards[0], "slow", ratio=0.995)
    send(stage, boards[0], "fast", ratio=0.6, owner=stage.ben)
    found = lines(tool, stage.cleo)
    assert list(found) == ["fast", "slow"]
    assert values(found["fast"], "eager") == [0.333, 0.333, 0.0]
    assert values(found["slow"], "eager") == [0.333, 0.0, 0.0], "its interval holds 1"
    assert found["fast"]["eager"][0]["low"] == pytest.approx(0.0615, abs=5e-4), "Wilson's of 1 of 3"
    assert found["fast"]["eager"][0]["high"] == pytest.approx(0.7923, abs=5e-4)
    assert found["fast"]["against_compiled"] == []


def test_pass_at_1_counts_failures_and_the_best_kernel_counts_once(stage, tool, boards) -> None:
    for ratio in (0.8, 0.7, 0.9):
        send(stage, boards[0], "m", ratio=ratio)
    send(stage, boards[0], "m", **WRONG)
    send(stage, boards[1], "m", **WRONG)
    send(stage, boards[1], "m", mode="test")
    send(stage, boards[2], "m", outcome="infra_error")
    line = lines(tool, stage.cleo)["m"]
    assert (line["attempts"], line["attempted"], line["kernels"], len(line["best"])) == (5, 2, 3, 1)
    assert line["pass_at_1"]["value"] == pytest.approx((3 / 4 + 0) / 2)
    assert line["best"][0]["ratio"] == pytest.approx(0.7)


def test_held_rejected_and_withdrawn_results_do_not_count(stage, tool, boards) -> None:
    send(stage, boards[0], "m", ratio=0.8)
    held = send(stage, boards[1], "m", ratio=0.3)
    withdrawn = send(stage, boards[2], "m", ratio=0.7)
    retract(submission=withdrawn, actor=stage.ada, reason="a bug", now=stage.later(1))
    line = lines(tool, stage.cleo)["m"]
    assert (len(line["best"]), line["attempts"]) == (1, 3)
    assert line["pass_at_1"]["value"] == pytest.approx(1 / 3)
    result = held.attempts.get().result
    pipeline.reject_result(result=result, actor=stage.olga, reason="it cheats", now=stage.later(1))
    assert len(lines(tool, stage.cleo)["m"]["best"]) == 1


def test_a_cleared_result_counts(stage, tool, boards) -> None:
    send(stage, boards[0], "m", ratio=0.8)
    result = send(stage, boards[1], "m", ratio=0.3).attempts.get().result
    assert len(lines(tool, stage.cleo)["m"]["best"]) == 1
    pipeline.clear_result(result=result, actor=stage.olga, reason="it is sound", now=stage.later(1))
    line = lines(tool, stage.cleo)["m"]
    assert (len(line["best"]), line["pass_at_1"]["value"]) == (2, 1.0)


def test_torch_compile_is_a_second_baseline_where_it_has_a_time(stage, tool, browser, boards) -> None:
    time_compiled(stage, boards[0], ratio=0.8)
    for board in boards[:2]:
        send(stage, board, "m", ratio=0.5)
    line = lines(tool, stage.cleo)["m"]
    assert values(line, "eager") == [0.667, 0.667, 0.0]
    assert values(line, "against_compiled") == [0.333, 0.333, 0.0], "2.0 / 1.25 is above 1"
    assert [one["least_against_compiled"] is None for one in line["best"]] == [False, True]
    assert "torch.compile has a time on 1 of 3 problems" in page(browser, MODELS)
    assert page(browser, f"{MODELS}/m?baseline=compile&p=1").count("/entries/") == 1


def test_an_entrant_of_the_agents_division_names_the_model(stage, tool, boards) -> None:
    first = send(stage, boards[0], ratio=0.8)
    assert lines(tool, stage.cleo) == {}, "people name none"
    Entrant.objects.filter(pk=first.entrant_id).update(division="agent", model_name="Some model 4")
    send(stage, boards[1], "named", ratio=0.8)
    found = lines(tool, stage.cleo)
    assert {name: [one["board"] for one in line["best"]] for name, line in found.items()} == {
        "Some model 4": ["kb1-001-double"],
        "named": ["kb1-002-triple"],
    }


def test_a_model_without_a_public_kernel_stays_private(stage, tool, browser, boards) -> None:
    send(stage, boards[0], "secret-model", **WRONG)
    send(stage, boards[0], "secret-model", ratio=0.3)
    assert lines(tool, stage.cleo) == {}
    assert "secret-model" not in page(browser, MODELS)
    assert "No model has a public kernel on cpu yet" in page(browser, MODELS)


def test_any_competition_has_a_model_board_for_each_hardware(stage, tool, browser) -> None:
    make_board("softmax", hardware="H200")
    send(stage, stage.board, "m", ratio=0.8)
    text = page(browser, "/competitions/kernels-101/models?hardware=cpu")
    assert "Against the baseline" in text
    assert "No model has a public kernel on H200" in page(browser, "/competitions/kernels-101/models?hardware=H200")
    assert 'href="/competitions/kernels-101/models"' in page(browser, "/competitions/kernels-101")
    assert browser(None).get("/competitions/nope/models").status_code == 404


def test_the_api_pages_through_models(stage, tool, boards) -> None:
    for name in ("a", "b", "c"):
        send(stage, boards[0], name, ratio=0.8)
    assert list(lines(tool, stage.cleo, limit=2)) == ["a", "b"]
    assert list(lines(tool, stage.cleo, limit=2, offset=2)) == ["c"]
    answer = tool(stage.cleo).get(f"/api/v1{MODELS}?limit=51")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "limit")


@pytest.mark.parametrize("models", [1, 4])
def test_the_model_board_reads_a_fixed_number_of_queries(
    stage, browser, boards, django_assert_max_num_queries, models: int
) -> None:
    for number in range(models):
        for board in boards[:3]:
            send(stage, board, f"m{number}", ratio=0.8)
    for number in range(10):
        _board(boards[0].competition, 1, f"{number + 10}_More.py")
    client = browser(None)
    client.get("/boards")
    with django_assert_max_num_queries(20):
        client.get(MODELS)
