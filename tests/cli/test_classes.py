"""`photofinish class`: wrong use is named before anything is sent; tables, CSV and exit codes."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

BOARDS = [{"board": "softmax", "hardware": "cpu"}, {"board": "matmul", "hardware": "h200"}]
ASSIGNMENT = {"id": 5, "title": "One", "tier": 1, "boards": BOARDS, "due_at": "2027-03-01T12:00:00Z", "group_size": 1}
ROW: dict[str, Any] = {
    "student": "=Ada",
    "username": "ada",
    "section": "Monday",
    "assignment": "One",
    "level": 1,
    "stage": "handed in",
    "due_at": "2027-03-01T12:00:00Z",
    "handed_in_at": "2027-03-01T13:30:00Z",
    "late_s": 5400,
    "best_speedup": 2.0,
    "model_speedup": None,
    "last_activity_at": None,
    "stuck": "",
    "match": 3,
}


@pytest.fixture
def course(site: FakeSite) -> FakeSite:
    role = {"slug": "k", "name": "Kernels", "role": "teacher", "url": "/classes/k", "stuck_days": 3}
    site.more["/classes/k"] = role | {"assignments": [ASSIGNMENT]}
    site.more["/classes/k/sections"] = [{"name": "Monday", "students": 1, "expected": 2}]
    site.more["/classes/k/grid"] = [ROW, ROW | {"student": "", "username": "ben", "stuck": "no progress for 4 days"}]
    return site


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("join",), "code: give an invite code, or --roster CLASS"),
        (("join", "pfi_x", "--roster", "k"), "code: give an invite code, or --roster CLASS"),
        (("assign", "k", "--title", "One"), "--level, --due: required for a new assignment"),
        (("assign", "k", "--title", "One", "--level", "1", "--due", "soon"), "due: 'soon' is no time"),
        (("assign", "k", "--title", "One", "--level", "1", "--due", "2027-03-01"), "--board: name at least one board"),
        (("extend", "k", "5", "ada", "--until", "2027-03-01"), "an extension needs both --until and --reason"),
        (("extend", "k", "one"), "ASSIGNMENT: 'one' is not the number of an assignment"),
        (("roster", "k", "--import", "nowhere.csv"), "nowhere.csv: cannot be read"),
        (("work", "k", "5", "--model", "m", "--machine", "magic"), "machine: 'magic' is not one of search"),
        (("work", "k", "9", "--model", "m"), "ASSIGNMENT: '9' is none of this class"),
        (("work", "k", "5", "--model", "m"), "board: choose one of softmax on cpu, matmul on h200"),
        (("check", "k", "--must-fail", "x"), "ID: 'x' is not the number of a submission"),
    ],
)
def test_wrong_use_of_a_class_is_named(
    photofinish: Photofinish, course: FakeSite, arguments: tuple[str, ...], words: str
) -> None:
    ended = photofinish("class", *arguments)
    assert (ended.code, words in ended.err) == (2, True), ended.err
    assert not course.acts


def test_class_and_grid_are_shown(photofinish: Photofinish, course: FakeSite) -> None:
    shown = photofinish("class", "show", "k").out
    for words in ("Kernels; you are teacher", "softmax on cpu, matmul on h200", "2027-03-01 12:00 UTC", "Monday"):
        assert words in shown
    grid = photofinish("class", "grid", "k").out
    for words in ("handed in", "1:30:00", "2.000×", "never", "ben"):
        assert words in grid
    assert "=Ada" not in photofinish("class", "grid", "k", "--stuck").out
    rows = list(csv.DictReader(io.StringIO(photofinish("class", "grid", "k", "--csv").out)))
    assert [(row["student"], row["late_s"], row["model_speedup"]) for row in rows[:1]] == [("'=Ada", "5400", "")]


def test_assignment_has_boards_and_a_time_in_utc(photofinish: Photofinish, course: FakeSite) -> None:
    course.act_answer = ASSIGNMENT
    course.more["/boards/softmax"] = {"slug": "softmax", "hardware": ["cpu"]}
    new = ("--title", "One", "--level", "1", "--due", "2027-03-01T12:00", "--board", "softmax")
    assert "assignment 5: One" in photofinish("class", "assign", "k", *new).out
    photofinish("class", "assign", "k", "--change", "5", "--due", "2027-03-01T12:00+02:00")
    assert course.acts == [
        (
            "/classes/k/assignments",
            {"title": "One", "tier": 1, "due_at": "2027-03-01T12:00:00+00:00", "boards": BOARDS[:1]},
        ),
        ("/classes/k/assignments/5", {"due_at": "2027-03-01T12:00:00+02:00"}),
    ]


def test_roster_is_imported_from_a_file_with_a_byte_order_mark(
    photofinish: Photofinish, course: FakeSite, tmp_path: Path
) -> None:
    file = tmp_path / "roster.csv"
    file.write_bytes("\ufeffada,Ada".encode())
    course.act_answer = {"added": 1, "changed": 0, "unchanged": 0}
    assert "1 added, 0 changed, 0 unchanged" in photofinish("class", "roster", "k", "--import", str(file)).out
    assert course.acts == [("/classes/k/roster", {"text": "ada,Ada"})]
    file.write_bytes(b"\xff")
    assert "is not UTF-8 text" in photofinish("class", "roster", "k", "--import", str(file)).err


@pytest.mark.parametrize(("ready", "code"), [(True, 0), (False, 1)])
def test_check_ends_with_its_state(photofinish: Photofinish, course: FakeSite, ready: bool, code: int) -> None:
    planted = [{"id": 1, "submission": 7, "must_fail": True, "outcome": "wrong", "right": ready}]
    missing = "" if ready else "a verdict is not the expected one"
    course.more["/classes/k/check"] = [BOARDS[0] | {"ready": ready, "missing": missing, "planted": planted}]
    ended = photofinish("class", "check", "k")
    assert (ended.code, "7 must fail: " + ("yes" if ready else "NO") in ended.out) == (code, True), ended.out


def test_work_begins_on_the_chosen_board(photofinish: Photofinish, course: FakeSite) -> None:
    course.act_answer = {"id": 3, "url": "/matches/3"}
    ended = photofinish("class", "work", "k", "5", "--board", "matmul", "--model", "m")
    assert (ended.out.strip(), "predict first: photofinish match predict 3" in ended.err) == ("3", True)
    sent = {"board": "matmul", "hardware": "h200", "model": "m", "machine": "prompts"}
    assert course.acts == [("/classes/k/assignments/5/work", sent)]
