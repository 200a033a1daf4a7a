"""`submit` in its many ways, `watch`, `show`, `diff`, `report`, `rm` and `open`."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from leaderboard.cli import boards, render
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import PASSED, WRONG, FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

CASES: list[dict[str, Any]] = [
    {"stage": "check", "name": "cols=3 rows=5", "good": True, "reason": "", "message": ""},
    {"stage": "time", "name": "cols=4096", "good": True, "measured_us": 500.0, "baseline_us": 1000.0, "ratio": 0.5},
]
MISSING = (400, {"detail": "board: missing", "code": "invalid", "errors": [{"field": "board", "message": "missing"}]})


def test_stdin_is_submitted(site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"def custom_kernel(data): return data\n")))
    assert photofinish("submit", "-", "--board", "softmax", "--filename", "fast.py").code == 0
    assert (site.sent[0]["filename"], site.sent[0]["code"][:3]) == ("fast.py", "def")


def test_several_hardware_are_submitted_each_once(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    ended = photofinish(
        "submit", str(kernel), "--board", "matmul", "--hardware", "cpu,h200", "--hardware", "cpu", "--json"
    )
    assert [sent["hardware"] for sent in site.sent] == ["cpu", "h200"]
    assert len(json.loads(ended.out)) == 2
    assert len(set(site.keys)) == 2


def test_worst_verdict_of_several_is_the_exit_code(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    site.verdict = WRONG
    assert photofinish("submit", str(kernel), "--board", "matmul", "--hardware", "cpu,h200").code == 1


def test_verdict_is_also_written_to_a_file(
    site: FakeSite, photofinish: Photofinish, kernel: Path, tmp_path: Path
) -> None:
    out = tmp_path / "verdict.json"
    photofinish("submit", str(kernel), "--board", "softmax", "--output", str(out))
    assert json.loads(out.read_text()) == PASSED


def test_missing_board_is_chosen_at_a_terminal(
    site: FakeSite, photofinish: Photofinish, kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "can_ask", lambda: True)
    answers = iter(["max", "mat"])
    monkeypatch.setattr("typer.prompt", lambda *asked, **more: next(answers))
    site.refusals = [MISSING]
    ended = photofinish("submit", str(kernel))
    assert ended.code == 0
    assert [sent["board"] for sent in site.sent] == ["", "softmax"]


def test_missing_hardware_is_chosen_by_number(
    site: FakeSite, photofinish: Photofinish, kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "can_ask", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *asked, **more: "2")
    site.refusals = [(400, {"detail": "choose one", "errors": [{"field": "hardware", "message": "choose one"}]})]
    assert photofinish("submit", str(kernel), "--board", "matmul").code == 0
    assert site.sent[1]["hardware"] == "h200"


def test_missing_board_without_a_terminal_is_the_sites_sentence(
    site: FakeSite, photofinish: Photofinish, kernel: Path
) -> None:
    site.refusals = [MISSING]
    ended = photofinish("submit", str(kernel))
    assert (ended.code, ended.err) == (2, "error: board: missing\n")


def test_show_lists_cases_and_what_to_try(site: FakeSite, photofinish: Photofinish) -> None:
    site.verdict = {**PASSED, "cases": CASES}
    rows = photofinish("show", "7").out.splitlines()
    assert "case\t\ttime\tbaseline\tspeedup\tinterval" in rows
    assert "cols=4096\tok\t500.0 µs\t1.000 ms\t2.000×\t" in rows
    site.verdict = {**WRONG, "message": "submission.py, line 3: wrong", "filename": "mine.py"}
    shown = photofinish("show", "7").out
    assert "mine.py, line 3: wrong" in shown
    assert "What to try: Often the cause is the last elements" in shown


def test_watch_and_show_without_a_number_take_the_newest(site: FakeSite, photofinish: Photofinish) -> None:
    assert photofinish("watch").out.splitlines()[0] == "Passed"
    assert photofinish("show").out.splitlines()[0] == "Passed"
    assert photofinish("watch", "7", "--json").code == 0


def test_diff_of_a_submission_and_a_file(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    site.verdict = {**PASSED, "code": "def custom_kernel(data):\n    return data + 1\n"}
    ended = photofinish("diff", "7", str(kernel))
    assert ended.code == 1
    assert "-    return data + 1" in ended.out.splitlines()
    assert "+    return data" in ended.out.splitlines()
    site.verdict = {**PASSED, "code": kernel.read_text()}
    assert photofinish("diff", "7", str(kernel)).code == 0


def test_diff_with_the_first_submission_names_the_way_out(site: FakeSite, photofinish: Photofinish) -> None:
    ended = photofinish("diff", "7")
    assert (ended.code, "name the other side" in ended.err) == (2, True)


def test_report_is_markdown_that_no_log_can_end(site: FakeSite, photofinish: Photofinish, tmp_path: Path) -> None:
    site.verdict = {**WRONG, "cases": CASES, "logs": {"stderr": "```\n# not a title"}, "code": "x = 1"}
    out = photofinish("report", "7").out.splitlines()
    assert out[0] == "# Submission 7: Wrong result (mismatch)"
    assert "| cols=4096 | ok | 500.0 µs | 1.000 ms | 2.000× |" in out
    assert "    # not a title" in out
    assert photofinish("report", "7", "-o", str(tmp_path / "r.md")).code == 0
    assert (tmp_path / "r.md").read_text().startswith("# Submission 7")


def test_a_withdrawn_kernel_is_called_so(site: FakeSite, photofinish: Photofinish) -> None:
    site.verdict = {**PASSED, "published": False, "rank": None, "withdrawn": True}
    ended = photofinish("show", "7")
    assert "Passed, withdrawn" in ended.out
    assert "withdrawn: this kernel is off its board" in ended.out
    assert render.in_short(site.verdict) == "withdrawn"
    assert render.in_short(site.verdict | {"review": "rejected"}) == "rejected"


def test_a_remix_names_its_origin(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    photofinish("submit", str(kernel), "--board", "softmax", "--remix-of", "12")
    photofinish("submit", str(kernel), "--board", "softmax")
    assert [sent.get("remixed_from") for sent in site.sent] == [12, None]
    site.verdict = {**PASSED, "remixed_from": 12}
    assert "remix of     submission 12" in photofinish("show", "7").out
    assert "remix of     submission 12" in photofinish("report", "7").out


def test_a_report_has_the_seeds_once_they_are_public(site: FakeSite, photofinish: Photofinish) -> None:
    case = {"case": "n=8", "kind": "secret", "arguments": {"n": 8}, "seeds": ["4611686018427387904"], "more": 0}
    site.more["/submissions/7/seeds"] = {"public": True, "public_at": "2026-01-01T00:00:00Z", "cases": [case]}
    assert "| n=8 | secret | n=8 | 4611686018427387904 |" in photofinish("report", "7").out
    site.more["/submissions/7/seeds"] = {"public": False, "public_at": "2027-01-01T00:00:00Z", "cases": []}
    assert "The seeds of the cases are public from 2027-01-01 00:00 UTC on." in photofinish("report", "7").out


def test_rm_withdraws_a_ranked_kernel_and_cancels_a_waiting_one(site: FakeSite, photofinish: Photofinish) -> None:
    refused = photofinish("rm", "7")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert photofinish("rm", "7", "--yes").out == "submission 7: withdrawn from its board\n"
    assert site.acts == [("/submissions/7/retract", {"reason": ""})]
    site.verdict = {**PASSED, "status": "queued", "outcome": "", "published": False}
    assert photofinish("rm", "7", "--yes").out == "submission 7: cancelled\n"
    site.verdict = {**WRONG, "published": False}
    assert "stays in your list" in photofinish("rm", "7", "--yes").out


def test_open_prints_the_address_of_a_page(
    site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(boards.webbrowser, "open", lambda address: opened.append(address) or True)
    assert photofinish("open", "7").out == f"{site.url}/submissions/7\n"
    assert photofinish("open", "softmax", "--print").out == f"{site.url}/boards/softmax\n"
    assert opened == [f"{site.url}/submissions/7"]


def test_boards_are_paged(site: FakeSite, photofinish: Photofinish) -> None:
    site.boards = [{**site.boards[0], "slug": f"board-{number:03}"} for number in range(120)]
    first = photofinish("boards")
    assert len(first.out.splitlines()) == 51
    assert "boards 1 to 50; more with --page 2, or --all" in first.err
    assert photofinish("boards", "--page", "3").out.splitlines()[1].startswith("board-100")
    assert len(photofinish("boards", "--all").out.splitlines()) == 121


def test_long_list_of_names_in_a_message_is_shortened(site: FakeSite, photofinish: Photofinish) -> None:
    site.boards = [{**site.boards[0], "slug": f"board-{number:03}"} for number in range(320)]
    ended = photofinish("board", "nope")
    assert "and 300 more; `photofinish boards WORD` finds one" in ended.err
