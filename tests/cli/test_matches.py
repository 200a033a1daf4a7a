"""`photofinish match`: wrong use is named before anything is sent."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

MATCH = {
    "id": 3,
    "board": "softmax",
    "hardware": "cpu",
    "human": "ada",
    "model": "acme/coder-7b",
    "public": False,
    "closed_at": None,
    "said": "ada leads: 2.000× by hand, 1.250× by the machine.",
    "prediction": {"bound": "memory", "speedup": 2.5},
    "measured": {"bound": "", "light_share": 0.4, "sentence": ""},
    "compiled": 0.74,
    "human_versions": [
        {"number": 1, "submission": 7, "status": "done", "outcome": "wrong", "compiled": True, "correct": False},
        {"number": 2, "submission": 8, "status": "checking", "outcome": "", "reason": "tiles", "expected": 1.5},
    ],
    "machine_versions": [],
    "cases": [{"name": "n=8", "human": 0.5, "machine": 0.8, "ahead": "human"}],
}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("open", "softmax", "--model", "m", "--machine", "magic"), "machine: 'magic' is not one of search, prompts"),
        (("predict", "3", "--bound", "luck", "--expect", "2", "--why", "because"), "bound: 'luck' is not one of"),
        (("show", "three"), "MATCH: 'three' is not the number of a match"),
        (("send", "3", "nowhere.py"), "nowhere.py"),
        (("play", "3", "--proposer", "http://127.0.0.1:1/v1"), "model: missing"),
    ],
)
def test_wrong_use_is_named(photofinish: Photofinish, site: FakeSite, arguments: tuple[str, ...], words: str) -> None:
    ended = photofinish("match", *arguments)
    assert (ended.code, words in ended.err) == (2, True), ended.err
    assert not site.acts


def test_answer_without_code_is_not_sent(photofinish: Photofinish, site: FakeSite, tmp_path: Path) -> None:
    for name in ("prompt.txt", "answer.txt"):
        (tmp_path / name).write_text("I cannot.")
    ended = photofinish(
        *("match", "paste", "3", "--prompt", str(tmp_path / "prompt.txt"), "--answer", str(tmp_path / "answer.txt"))
    )
    assert ended.code == 2
    assert "has no code block" in ended.err
    assert not site.acts


def test_search_in_a_match_is_a_bounded_benchmark(photofinish: Photofinish, site: FakeSite) -> None:
    ended = photofinish("search", "softmax", "--proposer", "true", "--match", "3", "--mode", "ranked")
    assert ended.code == 2
    assert "match: takes at most 200 candidates, in mode benchmark" in ended.err


def test_closed_match_costs_no_prompt(photofinish: Photofinish, site: FakeSite) -> None:
    site.more["/matches/3"] = MATCH | {"closed_at": "2026-01-02T03:04:05Z"}
    ended = photofinish("match", "play", "3", "--proposer", "false")
    assert (ended.code, "match: 3 is closed" in ended.err) == (2, True), ended.err


def test_match_is_shown_in_words(photofinish: Photofinish, site: FakeSite) -> None:
    site.more["/matches/3"] = MATCH
    shown = photofinish("match", "show", "3").out
    for words in (
        "match 3, softmax on cpu: ada leads",
        "predicted: memory, 2.500×",
        "measured: bound unknown, 40",
        "torch.compile: 1.351×",
        "checking",
        "tiles",
    ):
        assert words in shown
    assert json.loads(photofinish("match", "show", "3", "--json").out) == MATCH


def test_closed_match_is_said(photofinish: Photofinish, site: FakeSite) -> None:
    site.act_answer = MATCH | {"closed_at": "2026-01-02T03:04:05Z"}
    assert "match 3: closed" in photofinish("match", "close", "3").out
    assert site.acts == [("/matches/3/close", {})]
