"""`#!POPCORN` and `#!PHOTOFINISH` lines are used as defaults; fields of the request override them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard import pipeline
from leaderboard.errors import UserError
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Submission
from problems.directives import DirectiveError, Directives, overruled_directives, read_directives, with_board
from tests.leaderboard.stage import SOURCE, Stage, make_board


def send(stage: Stage, top: str, *, board: str = "", hardware: str = "") -> Submission:
    return pipeline.submit(
        Upload(board=board, hardware=hardware, mode="test", filename="kernel.py", data=top.encode() + SOURCE),
        owner=stage.ada,
        now=stage.now,
    )


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ("", Directives()),
        ("#!POPCORN leaderboard softmax\n", Directives("softmax")),
        ("#!photofinish leaderboard softmax\n#!popcorn gpu H200\n", Directives("softmax", ("H200",))),
        ("#!photofinish BOARD softmax\n#!popcorn hardware H200\n", Directives("softmax", ("H200",))),
        ("\ufeff#!POPCORN leaderboard softmax\n", Directives("softmax")),
        ("# a comment\n\n//!POPCORN gpus A B\n", Directives("", ("A", "B"))),
        ("x = 1\n#!POPCORN leaderboard softmax\n", Directives()),
        ("#!/usr/bin/env python\n#!POPCORN gpu cpu\r\n", Directives("", ("cpu",))),
    ],
)
def test_top_comment_lines_are_read(top: str, expected: Directives) -> None:
    assert read_directives(top) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#!PHOTOFINISH leaderboard softmax\nx = 1\n", "#!PHOTOFINISH leaderboard my-board\nx = 1\n"),
        ("// of ours\n//!popcorn  Board a\r\nint x;\n", "// of ours\n//!popcorn  Board my-board\r\nint x;\n"),
        ("#!PHOTOFINISH gpu cpu\nx = 1\n", "#!PHOTOFINISH gpu cpu\nx = 1\n"),
        ("#!PHOTOFINISH leaderboard\nx = 1\n", "#!PHOTOFINISH leaderboard\nx = 1\n"),
    ],
)
def test_starter_code_names_the_board_that_shows_it(source: str, expected: str) -> None:
    assert with_board(source, "my-board") == expected


@pytest.mark.parametrize(
    "line",
    ["#!POPCORN", "#!POPCORN leaderboard", "#!POPCORN leaderboard a b", "#!PHOTOFINISH bord x"],
)
def test_a_directive_that_makes_no_sense_names_its_line(line: str) -> None:
    with pytest.raises(DirectiveError, match="line 2: ") as caught:
        read_directives("# my kernel\n" + line + "\nx = 1\n")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("first", "second"),
    [("board softmax", "leaderboard matmul"), ("gpu H200", "gpus H200 B200"), ("licence MIT", "license Apache-2.0")],
)
def test_directives_that_contradict_each_other_are_an_error(first: str, second: str) -> None:
    with pytest.raises(DirectiveError, match=r"line 2: the .* contradicts the earlier .*; keep one"):
        read_directives(f"#!PHOTOFINISH {first}\n#!POPCORN {second}\n")
    assert read_directives(f"#!PHOTOFINISH {first}\n#!POPCORN {first.upper()}\n") != Directives()


@given(st.lists(st.sampled_from(["#!POPCORN", "//!photofinish", "leaderboard", "gpu", "gpus", "x", "\n", "#", " "])))
def test_any_top_is_read_or_refused_politely(words: list[str]) -> None:
    with contextlib.suppress(DirectiveError):
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
    assert (caught.value.field, caught.value.value) == ("code", "sofmax")
    assert "'softmax'" in caught.value.message


def test_wrong_hardware_names_both(stage: Stage) -> None:
    with pytest.raises(UserError) as caught:
        send(stage, "#!POPCORN gpus H200 cpu\n", board="softmax", hardware="cpu")
    assert (caught.value.field, caught.value.value) == ("code", "H200")
    assert "'cpu'" in caught.value.message


@pytest.mark.parametrize("hardware", ["H200", "h200", "gpu-x"])
def test_directives_name_board_and_hardware_in_either_case(stage: Stage, hardware: str) -> None:
    board = make_board("Softmax_v2", hardware)
    sent = send(stage, f"#!PHOTOFINISH board SOFTMAX_V2\n#!PHOTOFINISH gpu {hardware.swapcase()}\n")
    assert sent.board == board
    assert send(stage, "", board="softmax_V2", hardware=hardware.swapcase()).board == board


def test_boards_that_differ_in_case_only_are_told_apart_by_their_exact_spelling(stage: Stage) -> None:
    other = make_board("SOFTMAX")
    assert send(stage, "#!PHOTOFINISH board SOFTMAX\n").board == other
    assert send(stage, "#!PHOTOFINISH board softmax\n").board == stage.board


def test_directives_that_are_overruled_are_named() -> None:
    source = "#!PHOTOFINISH board matmul\n#!PHOTOFINISH gpus A B\n"
    assert overruled_directives(source, board="MATMUL", hardware="b") == []
    assert overruled_directives(source, board="softmax", hardware="cpu") == [
        "The file names the board matmul, but it was sent to softmax, and that counts.",
        "The file names the hardware A, B, but it was sent to cpu, and that counts.",
    ]
    assert overruled_directives("#!PHOTOFINISH bord x\n", board="softmax", hardware="cpu") == []
