"""On a terminal every word of a verdict and every value of a table can be read, however narrow it is."""

import datetime as dt
import re

import pytest
from rich.cells import cell_len

from leaderboard.cli import render
from tests.cli.conftest import Photofinish, Terminal
from tests.cli.fake_site import WRONG, FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

LONG = (
    "case cols=4096 rows=512: 2,097,152 of 2,097,152 elements differ; the first at [0, 0]: expected 0.000244140625, "
    "got 0.00048828125 (rtol 0.001, atol 1e-08); " + "x" * 90
)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def rows(seen: str) -> list[str]:
    return [row.rstrip() for row in _ESCAPES.sub("", seen).replace("\r", "").split("\n")]


@pytest.mark.parametrize("columns", [20, 50, 100])
def test_long_reason_wraps_inside_the_panel(site: FakeSite, terminal: Terminal, columns: int) -> None:
    site.verdict = {**WRONG, "reason": "a_reason_longer_than_the_edge_of_the_panel_can_hold_here", "message": LONG}
    code, seen = terminal(columns, "show", "7")
    assert code == 1
    panel = [row for row in rows(seen) if row[:1] in "╭│╰" and row]
    assert max(map(cell_len, panel)) <= columns
    text = "".join(panel)
    said = re.sub(r"[\s│╭╮╰╯─]", "", text)
    assert re.sub(r"\s", "", LONG) in said
    assert "Wrongresult(a_reason_longer_than_the_edge_of_the_panel_can_hold_here)" in said


def test_long_reason_in_a_pipe_is_one_line(site: FakeSite, photofinish: Photofinish) -> None:
    site.verdict = {**WRONG, "message": LONG}
    assert LONG in photofinish("show", "7").out.splitlines()


def test_narrow_board_leaves_columns_out(terminal: Terminal) -> None:
    code, seen = terminal(36, "board", "softmax")
    assert code == 0
    assert [row.split() for row in rows(seen)[:3]] == [
        ["rank", "who", "speedup", "interval"],
        ["1", "cleo", "2.500×", "±0.4", "%"],
        ["2", "ada", "2.000×", "–"],
    ]


def test_narrow_list_leaves_columns_out(site: FakeSite, terminal: Terminal) -> None:
    site.verdict = {**WRONG, "ratio": 0.5}
    code, seen = terminal(50, "list")
    age = render.age(WRONG["created_at"], dt.datetime.now(dt.UTC))
    assert code == 0
    assert [row.split() for row in rows(seen)[:2]] == [
        ["id", "when", "file", "board", "verdict"],
        ["7", *age.split(), "kernel.py", "softmax", "wrong"],
    ]


def test_wide_terminal_shows_every_column(terminal: Terminal) -> None:
    _, seen = terminal(120, "board", "softmax")
    assert "submitted" in seen
    assert "2026-01-02 03:04 UTC" in seen


def test_value_wider_than_the_terminal_folds(site: FakeSite, terminal: Terminal) -> None:
    site.entries[0]["user"] = "c" + "l" * 60
    _, seen = terminal(40, "board", "softmax")
    assert "…" not in seen
    assert seen.count("l") >= 60
