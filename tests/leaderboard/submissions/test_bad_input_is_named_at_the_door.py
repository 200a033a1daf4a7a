"""Every error of a submission names its field and a remedy, and leaves no row."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leaderboard import pipeline
from leaderboard.competitions.models import Board, ProblemVersion
from leaderboard.errors import UserError
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Submission
from problems.formats.gpumode import load_problem
from tests.leaderboard.stage import NOON, SOURCE, Stage, make_board

CUDA = Path(__file__).parents[2] / "problems" / "scale_cu"


def send(stage: Stage, **changes: Any) -> Submission:
    asked: dict[str, Any] = {
        "board": "softmax",
        "hardware": "cpu",
        "mode": "ranked",
        "filename": "kernel.py",
        "data": SOURCE,
    }
    return pipeline.submit(Upload(**{**asked, **changes}), owner=stage.ada, now=stage.now)


def refused(stage: Stage, **changes: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        send(stage, **changes)
    assert not Submission.objects.exists()
    return caught.value


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"", 400, "empty"),
        (b" \n\t\n", 400, "blanks"),
        (b"\xef\xbb\xbf", 400, "blanks"),
        (b"x = 1\x00\n", 400, "NUL byte at offset 5"),
        (b"x = '\xff'\n", 400, "byte 0xff at offset 5"),
        ("x = 'é'\n".encode("utf-16"), 400, "NUL"),
        (b"#" * 1_000_001, 413, "1,000,001 bytes; a submission has at most 1,000,000"),
        (b"\x7fELF\x02\x01\x01\x00\x00", 400, "ELF"),
        (b"PK\x03\x04\x14\x00", 400, "zip"),
        (b"\x1f\x8b\x08\x00", 400, "gzip"),
        (b"%PDF-1.7\nblah", 400, "PDF"),
        (b"\x89PNG\r\n\x1a\n", 400, "picture"),
        (b"MZ\x90\x00\x03", 400, "Windows"),
        (b"<!DOCTYPE html><html></html>", 400, "HTML"),
        (b"\n<?xml version='1.0'?>", 400, "HTML"),
        (b"x = 1\n\x1b[31m", 400, "control character 0x1b in line 2"),
    ],
)
def test_what_is_plainly_not_python_is_refused(stage: Stage, data: bytes, status: int, words: str) -> None:
    error = refused(stage, data=data)
    assert (error.field, error.status) == ("code", status)
    assert words in error.message


@pytest.mark.parametrize(
    "data",
    [
        b"def custom_kernel(:\n",  # the judge explains syntax errors
        b"MZ = 1\n",
        b"PK = {}\n",
        b"#" * 999_999 + b"\n",
        b"\xef\xbb\xbfx = 1\n",
        "x = 'é ✓'\r\n\x0c\n".encode(),
    ],
)
def test_odd_but_honest_text_is_taken(stage: Stage, data: bytes) -> None:
    assert send(stage, data=data).size_bytes <= 1_000_000


@pytest.mark.parametrize(
    ("filename", "words"),
    [
        ("kernel.cu", "must end in .py"),
        ("../kernel.py", "without folders"),
        ("a\\kernel.py", "without folders"),
        (".py", "letters, digits"),
        ("ker\nnel.py", "letters, digits"),
        ("-rf.py", "letters, digits"),
        ("k" * 98 + ".py", "at most 100"),
    ],
)
def test_a_bad_filename_is_refused(stage: Stage, filename: str, words: str) -> None:
    error = refused(stage, filename=filename)
    assert error.field == "filename"
    assert words in error.message


def test_unknown_board_suggests_near_ones(stage: Stage) -> None:
    error = refused(stage, board="sofmax")
    assert (error.field, error.value, error.status) == ("board", "sofmax", 404)
    assert "no such board: 'sofmax'; did you mean softmax?" in error.message


def test_unknown_board_unlike_any_lists_them(stage: Stage) -> None:
    make_board("vectoradd")
    assert "softmax, vectoradd" in refused(stage, board="zzz").message


def test_a_file_without_a_name_gets_the_problems_own(stage: Stage) -> None:
    assert send(stage, filename="").filename == "submission.py"


def test_a_problem_in_cuda_c_takes_files_that_say_so(stage: Stage) -> None:
    board = Board.objects.get(slug="softmax", hardware="cpu")
    problem = load_problem(CUDA)
    version = ProblemVersion.objects.create(problem=board.problem, digest=problem.digest, bundle=problem.to_bundle())
    Board.objects.filter(pk=board.pk).update(version=version)
    assert "must end in .cu" in refused(stage).message
    assert send(stage, filename="kernel.cu").filename == "kernel.cu"


@pytest.mark.parametrize("field", ["board", "hardware", "mode"])
def test_a_long_wrong_value_is_cut_short(stage: Stage, field: str) -> None:
    assert len(refused(stage, **{field: "x" * 100_000}).message) < 200


def test_missing_board_lists_them(stage: Stage) -> None:
    assert "name one of softmax" in refused(stage, board="").message


def test_unknown_hardware_lists_what_there_is(stage: Stage) -> None:
    error = refused(stage, hardware="H200")
    assert (error.field, error.value) == ("hardware", "H200")
    assert "softmax is not judged on 'H200'; it has cpu" in error.message


def test_only_hardware_need_not_be_named_and_two_must(stage: Stage) -> None:
    assert send(stage, hardware="").board.hardware == "cpu"
    make_board("vectoradd")
    make_board("vectoradd", hardware="H200")
    with pytest.raises(UserError, match="choose one of H200, cpu"):
        send(stage, board="vectoradd", hardware="")


def test_unknown_mode_lists_them(stage: Stage) -> None:
    error = refused(stage, mode="leaderboard")
    assert (error.field, error.value) == ("mode", "leaderboard")
    assert "test, benchmark, ranked" in error.message


def test_after_the_deadline_it_is_closed_and_says_since_when(stage: Stage) -> None:
    make_board("vectoradd", deadline=NOON)
    error = refused(stage, board="vectoradd")
    assert (error.field, error.status) == ("board", 409)
    assert "2026-11-20 12:00 UTC" in error.message


def test_a_moment_before_the_deadline_it_is_open(stage: Stage) -> None:
    board = make_board("vectoradd", deadline=NOON + timedelta(microseconds=1))
    assert send(stage, board="vectoradd").board == board


def test_text_in_the_answer_has_the_promised_shape(stage: Stage) -> None:
    body = refused(stage, mode="x" * 500).as_json()
    assert body["errors"][0]["field"] == "mode"
    assert len(body["errors"][0]["value"]) <= 201
    assert body["detail"].startswith("mode: ")
