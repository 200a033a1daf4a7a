"""Reading commands: boards, rankings, own submissions; for people and for scripts."""

import json

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import PASSED, FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")


def test_board_as_json_is_a_list_best_first_and_nothing_else(site: FakeSite, photofinish: Photofinish) -> None:
    ended = photofinish("board", "softmax", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == site.entries


def test_board_in_a_pipe_is_columns_apart_by_tabs(photofinish: Photofinish) -> None:
    rows = [row.split("\t") for row in photofinish("board", "softmax").out.splitlines()]
    assert rows[0] == ["rank", "who", "speedup", "interval", "time", "submitted"]
    assert rows[1] == ["1", "cleo", "2.500×", "±0.4 %", "900.0 µs", "2026-01-01 00:00 UTC"]
    assert len(rows) == 3


def test_a_long_board_is_fetched_page_by_page(site: FakeSite, photofinish: Photofinish) -> None:
    site.entries = [{**site.entries[0], "submission": number} for number in range(2_100)]
    for limit in (2_050, 5_000):
        told = json.loads(photofinish("board", "softmax", "--json", "--limit", str(limit)).out)
        assert told == site.entries[:limit]


def test_board_is_cut_at_the_limit(photofinish: Photofinish) -> None:
    assert len(json.loads(photofinish("board", "softmax", "--json", "--limit", "1").out)) == 1


def test_board_of_several_hardware_asks_which(photofinish: Photofinish) -> None:
    ended = photofinish("board", "matmul")
    assert ended.code == 2
    assert "cpu, h200" in ended.err
    assert photofinish("board", "matmul", "--hardware", "h200").code == 0


@pytest.mark.parametrize("more", [(), ("--hardware", "cpu")])
def test_unknown_board_is_named_and_those_that_exist_are_listed(
    photofinish: Photofinish, more: tuple[str, ...]
) -> None:
    ended = photofinish("board", "sofmax", "--json", *more)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: board: 'sofmax' is not known; there is softmax, matmul\n"


def test_unknown_hardware_is_named_and_that_of_the_board_is_listed(photofinish: Photofinish) -> None:
    ended = photofinish("board", "matmul", "--hardware", "H100")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: hardware: matmul is not judged on 'H100'; there is cpu, h200\n"


def test_boards_are_listed(photofinish: Photofinish) -> None:
    assert "softmax\tSoftmax\tcpu\tnone\topen" in photofinish("boards").out


def test_own_submissions_are_listed(photofinish: Photofinish) -> None:
    assert "7\t2026-01-02 03:04 UTC\tkernel.py\tsoftmax\tcpu\tranked\tpassed" in photofinish("list").out
    assert json.loads(photofinish("list", "--json").out) == [PASSED]


def test_own_submissions_of_one_board(photofinish: Photofinish) -> None:
    assert json.loads(photofinish("list", "--board", "softmax", "--json").out) == [PASSED]
    assert photofinish("list", "--board", "matmul", "--json").out == "[]\n", "a board that exists, with none of ours"


def test_own_submissions_of_a_board_that_does_not_exist(photofinish: Photofinish) -> None:
    ended = photofinish("list", "--board", "nope")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: board: 'nope' is not known; there is softmax, matmul\n"


def test_who_is_tied_is_marked(site: FakeSite, photofinish: Photofinish) -> None:
    site.entries = [{**entry, "rank": 1, "tied": True} for entry in site.entries]
    rows = photofinish("board", "softmax").out.splitlines()[1:]
    assert [row.split("\t")[0] for row in rows] == ["1=", "1="]


def test_boards_need_no_token(site: FakeSite, photofinish: Photofinish, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PHOTOFINISH_TOKEN")
    assert photofinish("board", "softmax").code == 0
