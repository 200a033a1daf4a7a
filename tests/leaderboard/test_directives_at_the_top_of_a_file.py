"""`#!POPCORN` and `#!PHOTOFINISH` lines: read where nothing else says it, overruled by what the sender says."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard import pipeline
from leaderboard.errors import UserError
from leaderboard.submissions.directives import Directives, read_directives
from leaderboard.submissions.models import Submission
from tests.leaderboard.stage import SOURCE, Stage, make_board


def send(stage: Stage, top: str, *, board: str = "", hardware: str = "") -> Submission:
    return pipeline.submit(
        owner=stage.ada,
        board_slug=board,
        hardware=hardware,
        mode="test",
        filename="kernel.py",
        data=top.encode() + SOURCE,
        now=stage.now,
    )


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ("", Directives()),
        ("#!POPCORN leaderboard softmax\n", Directives("softmax")),
        ("#!photofinish leaderboard softmax\n#!popcorn gpu H200\n", Directives("softmax", ("H200",))),
        ("# a comment\n\n//!POPCORN gpus A B\n", Directives("", ("A", "B"))),
        ("x = 1\n#!POPCORN leaderboard softmax\n", Directives()),
        ("#!/usr/bin/env python\n#!POPCORN gpu cpu\r\n", Directives("", ("cpu",))),
    ],
)
def test_top_comment_lines_are_read(top: str, expected: Directives) -> None:
    assert read_directives(top) == expected


@pytest.mark.parametrize("line", ["#!POPCORN", "#!POPCORN leaderboard", "#!POPCORN gpu A B", "#!PHOTOFINISH bord x"])
def test_a_directive_that_makes_no_sense_is_an_error(line: str) -> None:
    with pytest.raises(UserError) as caught:
        read_directives(line + "\nx = 1\n")
    assert caught.value.value == line


@given(st.lists(st.sampled_from(["#!POPCORN", "//!photofinish", "leaderboard", "gpu", "gpus", "x", "\n", "#", " "])))
def test_any_top_is_read_or_refused_politely(words: list[str]) -> None:
    with contextlib.suppress(UserError):
        assert isinstance(read_directives(" ".join(words)), Directives)


def test_the_file_says_where_it_goes(stage: Stage) -> None:
    sent = send(stage, "#!POPCORN leaderboard softmax\n#!POPCORN gpu cpu\n")
    assert sent.board == stage.board


def test_what_the_sender_says_wins(stage: Stage) -> None:
    other = make_board("vectoradd")
    assert send(stage, "#!POPCORN leaderboard softmax\n", board="vectoradd").board == other


def test_a_wrong_board_names_both(stage: Stage) -> None:
    with pytest.raises(UserError) as caught:
        send(stage, "#!POPCORN leaderboard sofmax\n", board="softmax")
    assert caught.value.value == "sofmax"
    assert "'softmax'" in caught.value.message


def test_wrong_hardware_names_both(stage: Stage) -> None:
    with pytest.raises(UserError) as caught:
        send(stage, "#!POPCORN gpus H200 cpu\n", board="softmax", hardware="cpu")
    assert (caught.value.field, caught.value.value) == ("hardware", "H200")
    assert "'cpu'" in caught.value.message
