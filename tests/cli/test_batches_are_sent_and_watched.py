"""`photofinish batch` and `photofinish feedback`, and the same calls of the library."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from leaderboard.client import AsyncClient, Client
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import TOKEN, FakeSite

BATCH: dict[str, Any] = {
    "id": 9,
    "state": "done",
    "mode": "test",
    "size": 2,
    "arrived": 2,
    "budget_s": 60.0,
    "spent_s": 3.25,
    "stages": {"done": 2},
    "outcomes": {"passed": 1, "wrong": 1},
    "created_at": "2026-01-02T03:04:05Z",
    "settled_at": "2026-01-02T03:05:05Z",
    "candidates": [
        {"number": 1, "submission": 7, "board": "softmax", "hardware": "cpu", "status": "done", "outcome": "passed"},
        {"number": 2, "submission": 8, "board": "softmax", "hardware": "cpu", "status": "done", "outcome": "wrong"},
    ],
}


def feedback(arrival: int, outcome: str, **changes: Any) -> dict[str, Any]:
    about = {"submission": 6 + arrival, "candidate": arrival, "arrival": arrival, "status": "done", "review": None}
    told = {"about": about | {"filename": f"k{arrival}.py"}, "outcome": outcome, "reason": "", "message": "NaN at [0]"}
    return told | {"ratio": None, "score_us": None} | changes


@pytest.fixture(autouse=True)
def batch(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the site know a finished batch, whose feedback comes in two answers."""
    monkeypatch.setattr("leaderboard.client.clients.POLL_S", 0.01)
    results = [feedback(1, "passed", ratio=0.5, score_us=1234.5), feedback(2, "wrong", reason="nan")]
    usual = site.get

    def get(path: str, query: dict[str, list[str]]) -> tuple[int, object]:
        if path == "/batches/9/feedback":
            after = int(query["after"][0])
            assert query["wait"] == ["20"]
            return 200, results[after : after + 1]
        return usual(path, query)

    monkeypatch.setattr(site, "get", get)
    site.act_answer = {**BATCH, "state": "running", "arrived": 0, "settled_at": None}
    site.more = {"/batches/9": BATCH, "/batches": [BATCH]}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    names = [tmp_path / f"k{number}.py" for number in (1, 2)]
    for name in names:
        name.write_text(f"x = '{name.stem}'\n")
    return [str(name) for name in names]


@pytest.mark.usefixtures("signed_in")
def test_batch_submit_sends_all_files_at_once(site: FakeSite, photofinish: Photofinish, files: list[str]) -> None:
    ended = photofinish("batch", "submit", *files, "--board", "softmax", "--hardware", "cpu", "--budget", "60")
    assert (ended.code, ended.out) == (0, "9\n")
    ((path, body),) = site.acts
    assert path == "/batches"
    assert {name: body[name] for name in ("board", "hardware", "mode", "budget_s")} == {
        "board": "softmax",
        "hardware": "cpu",
        "mode": "test",
        "budget_s": 60.0,
    }
    assert [(one["filename"], one["code"]) for one in body["candidates"]] == [
        ("k1.py", "x = 'k1'\n"),
        ("k2.py", "x = 'k2'\n"),
    ]
    assert len(site.keys) == 1


@pytest.mark.usefixtures("signed_in")
def test_batch_submit_watches_until_the_last_verdict(photofinish: Photofinish, files: list[str]) -> None:
    ended = photofinish("batch", "submit", *files, "--board", "softmax", "--watch")
    assert ended.code == 1, "a candidate is wrong"
    first, second = ended.out.splitlines()
    assert first.startswith("1 k1.py: Passed")
    assert "2.00" in first
    assert second.startswith("2 k2.py: Wrong result")
    assert "NaN at [0]" in second
    assert "batch 9: done, 2 of 2 candidates ended (1 passed, 1 wrong), 3.2 of 60 s of device time" in ended.err
    told = json.loads(photofinish("batch", "submit", *files, "--watch", "--json").out)
    assert [one["outcome"] for one in told["results"]] == ["passed", "wrong"]


@pytest.mark.usefixtures("signed_in")
def test_batch_is_shown_listed_and_cancelled(site: FakeSite, photofinish: Photofinish) -> None:
    shown = photofinish("batch", "show", "9").out
    assert "batch 9: done, 2 of 2 candidates ended" in shown
    assert "wrong" in shown
    assert json.loads(photofinish("batch", "show", "9", "--json").out) == BATCH
    assert photofinish("batch", "show").out == shown, "the newest"
    assert "3.2 of 60 s" in photofinish("batch", "list").out
    site.act_answer = {**BATCH, "state": "cancelled"}
    assert photofinish("batch", "cancel", "9").out.startswith("batch 9: cancelled")
    assert site.acts[-1][0] == "/batches/9/cancel"


@pytest.mark.usefixtures("signed_in")
def test_candidates_judged_before_are_named_and_fresh_is_sent(
    site: FakeSite, photofinish: Photofinish, files: list[str]
) -> None:
    first, second = BATCH["candidates"]
    site.more = {"/batches/9": {**BATCH, "candidates": [{**first, "same_as": 5}, {**second, "same_as": None}]}}
    shown = photofinish("batch", "show", "9").out
    assert "2 of 2 candidates ended, 1 of them judged before (1 passed, 1 wrong)" in shown
    assert shown.count("judged before as") == 1
    assert "passed, judged before as 5" in shown
    assert "1 of them judged before" in photofinish("batch", "submit", *files, "--watch").err
    assert "fresh" not in site.acts[-1][1]
    photofinish("batch", "submit", *files, "--fresh")
    assert site.acts[-1][1]["fresh"] is True


@pytest.mark.usefixtures("signed_in")
def test_wrong_use_of_batch_is_explained(photofinish: Photofinish, files: list[str]) -> None:
    assert "at most 256" in photofinish("batch", "submit", *(files * 129)).err
    assert "mode: 'profile' is not one of" in photofinish("batch", "submit", *files, "--mode", "profile").err
    assert photofinish("batch", "show", "x").code == 2


@pytest.mark.usefixtures("signed_in")
def test_feedback_is_printed_as_json_or_text(site: FakeSite, photofinish: Photofinish) -> None:
    site.more["/submissions/7/feedback"] = feedback(1, "passed")
    assert json.loads(photofinish("feedback", "7").out) == feedback(1, "passed")
    site.answer_with = (200, b"Outcome: passed.\nx\x1b[2J", {"Content-Type": "text/plain"})
    ended = photofinish("feedback", "7", "--text", "--limit", "200")
    assert (ended.code, ended.out) == (0, "Outcome: passed.\nx[2J\n")


@pytest.mark.usefixtures("signed_in")
def test_batch_report_prints_figures_stages_and_costs(site: FakeSite, photofinish: Photofinish) -> None:
    share = {"value": 0.25, "low": 0.046, "high": 0.699}
    told = {
        "id": 9,
        "judged": 4,
        "correct": 2,
        "faster": 1,
        "p": 1.5,
        "figures": [{"k": 1, "pass_at_k": share, "fast_p_at_k": share, "best_of_k": 1.25}],
        "stages": {"sent": 1, "timed": 3},
        "spent_s": 12.5,
        "device_s_per_speedup": 12.5,
        "cost_usd": 0.5,
        "cost_usd_per_speedup": 0.5,
    }
    site.more["/batches/9/report"] = told
    shown = photofinish("batch", "report", "9", "--p", "1.5").out
    assert "batch 9: 4 judged, 2 correct, 1 surely faster than the baseline" in shown
    assert "fast_1.5@k" in shown
    assert "25 % (4.6 % to 69.9 %)" in shown
    assert "1.250×" in shown
    assert "stages: sent 1, timed 3" in shown
    assert "device time: 12.50 s, 12.50 s per verified speedup" in shown
    assert "cost: 0.5000 US dollars, 0.5000 US dollars per verified speedup" in shown
    assert json.loads(photofinish("batch", "report", "9", "--json").out) == told
    site.more["/batches/9/report"] = {**told, "cost_usd": None, "figures": [], "device_s_per_speedup": None}
    assert "cost" not in photofinish("batch", "report", "9").out


def test_both_clients_follow_a_batch(site: FakeSite) -> None:
    heard: list[str] = []
    with Client(site.url, TOKEN) as connection:
        assert connection.follow_batch(9, lambda found: heard.append(found["outcome"])) == BATCH

    async def follow() -> object:
        async with AsyncClient(site.url, TOKEN) as connection:
            return await connection.follow_batch(9, lambda found: heard.append(found["outcome"]))

    assert asyncio.run(follow()) == BATCH
    assert heard == ["passed", "wrong"] * 2


@pytest.mark.usefixtures("signed_in")
def test_a_batch_names_its_lineage(site: FakeSite, photofinish: Photofinish, files: list[str]) -> None:
    lineage = ["parents=7, 8", 'sampling={"temperature": 1}', "cost_usd=0.5", "idea=a = b", "run=r1"]
    options = [part for one in lineage for part in ("--lineage", one)]
    assert photofinish("batch", "submit", *files, *options).code == 0
    told = {"parents": [7, 8], "sampling": {"temperature": 1}, "cost_usd": 0.5, "idea": "a = b", "run": "r1"}
    ((_, body),) = site.acts
    assert [one["lineage"] for one in body["candidates"]] == [told, told]
    for wrong in ("model", "colour=red", "cost_usd=much", "sampling={", "parents=7,x", f"sampling={'[' * 99_999}"):
        assert photofinish("batch", "submit", *files, "--lineage", wrong).code == 2
    for endless in ("cost_usd=inf", 'sampling={"temperature": 1e999}'):
        name = endless.partition("=")[0]
        assert f"--lineage {name}: " in photofinish("batch", "submit", *files, "--lineage", endless).err
