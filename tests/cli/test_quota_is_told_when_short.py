"""A notice about a nearly spent quota, on stderr; never in the way of the requested output."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

ONE_LEFT = {
    "board": "softmax",
    "hardware": "cpu",
    "mode": "ranked",
    "left": 1,
    "capacity": 12,
    "per_day": 12,
    "next_at": "2026-11-20T14:00:00Z",
}
NOTE = "1 of 12 ranked submissions to softmax on cpu left, the next at 2026-11-20 14:00 UTC\n"


def test_boards_say_where_little_is_left(site: FakeSite, photofinish: Photofinish) -> None:
    site.quota = [ONE_LEFT, {**ONE_LEFT, "mode": "test", "left": 100}]
    assert photofinish("boards").err == NOTE
    assert json.loads(photofinish("boards", "--json").out) == site.boards


def test_submit_says_what_is_left_of_its_own_mode(site: FakeSite, photofinish: Photofinish, kernel: Path) -> None:
    site.quota = [ONE_LEFT, {**ONE_LEFT, "mode": "test"}, {**ONE_LEFT, "board": "matmul"}]
    ended = photofinish("submit", str(kernel), "--board", "softmax", "--mode", "ranked", "--no-wait")
    assert (ended.code, ended.out) == (0, "7\n")
    assert ended.err.startswith(NOTE)
    assert ended.err.count("left, the next") == 1


def test_quota_is_told_when_asked_for(site: FakeSite, photofinish: Photofinish) -> None:
    site.quota = [ONE_LEFT]
    assert photofinish("quota").out.splitlines() == [
        "board\thardware\tmode\tleft\tof\ta day\tthe next",
        "softmax\tcpu\tranked\t1\t12\t12\t2026-11-20 14:00 UTC",
    ]
    assert json.loads(photofinish("quota", "--json").out) == [ONE_LEFT]
    assert "Nothing is spent" in photofinish("quota", "--board", "matmul").out
    site.quota = None
    refused = photofinish("quota", "--board", "sofmax")
    assert (refused.code, "there is softmax, matmul" in refused.err) == (2, True)


@pytest.mark.parametrize("quota", [None, [], [{"board": "softmax"}], [{**ONE_LEFT, "left": "no"}]])
def test_nothing_is_said_where_nothing_is_known(
    site: FakeSite, photofinish: Photofinish, kernel: Path, quota: list[dict[str, object]] | None
) -> None:
    site.quota = quota
    assert photofinish("boards").err == ""
    ended = photofinish("submit", str(kernel), "--board", "softmax", "--mode", "ranked", "--no-wait")
    assert (ended.code, "left" in ended.err) == (0, False)
