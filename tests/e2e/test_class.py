"""A class of seven scripted students from the roster to an erased account, on a real site with the real judge.

The teacher leads it by command. Each student predicts, sends kernels by hand, writes the worklog and hands it in:
three in time, two by an extension, one late, one never. For three of them a scripted model behind a real chat endpoint
plays. Two graders grade and disagree about one work, which the teacher moderates before all grades are released.
The student of this work appeals, and then leaves the site for good.
"""

import csv
import io
import json
import re
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from leaderboard.client import Client
from tests.cli.chat_server import ChatServer, chat_server
from tests.e2e.conftest import Stage, await_that
from tests.e2e.person import Person
from tests.e2e.play import MAKE_PEOPLE

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(900)]

CLASS, BOARD = "kernels-101", "softmax"
SAMPLES = Path("problems/library/kernels101/softmax/submissions")
RIGHT = (SAMPLES / "accepted/torch_copy.py").read_text()
WRONG = (SAMPLES / "wrong/no_maximum.py").read_text()
STUDENTS = [f"student-{number:02}" for number in range(1, 8)]
IN_TIME, EXTENDED, LATE, NEVER = STUDENTS[:3], STUDENTS[3:5], STUDENTS[5:6], STUDENTS[6:]
WITH_MODEL = STUDENTS[::3]
SOLVED = (IN_TIME[0], EXTENDED[0])  # by hand, the first at the second try; a timing takes the judge some 20 s
RIGHT_ANSWERS = (2,)  # of the model, by the number of its answer
SECTIONS = ("plan", "hand", "model", "head_to_head", "stuck")
GRADERS = ("grader-one", "grader-two")
CRITERIA = ("discipline", "depth", "head_to_head", "honesty")
WHY = "One array is read and one is written, with a few operations for each element, so memory bounds it."
KEY = "sk-known-to-this-test"


class School:
    """The stage with the class: olga teaches, the students have accounts of their own."""

    def __init__(self, stage: Stage, chat: ChatServer) -> None:
        self.stage, self.chat = stage, chat
        people = json.loads((stage.folder / "accounts.json").read_text())
        self.teacher_page = Person(stage.url, "olga", people["olga"]["password"])
        self.tokens = {name: told["token"] for name, told in people.items()}
        self.tokens |= json.loads(stage.manage("shell", "-v", "0", "-c", MAKE_PEOPLE % [*STUDENTS, *GRADERS]))
        self.matches: dict[str, int] = {}

    def client(self, name: str) -> Client:
        return Client(self.stage.url, self.tokens[name])

    def command(self, name: str, *arguments: str, code: int = 0) -> Any:
        """Run `photofinish` as this person, and return its JSON."""
        environment = self.stage.environment | {"PHOTOFINISH_TOKEN": self.tokens[name], "PROPOSER_API_KEY": KEY}
        one = Stage(self.stage.folder, self.stage.url, self.stage.database, environment)
        done = one.photofinish(*arguments, "--json")
        assert done.returncode == code, f"{name} {arguments}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout) if done.stdout else None

    def grid(self) -> dict[str, dict[str, Any]]:
        return {row["username"]: row for row in self.command("olga", "class", "grid", CLASS)}


def script(prompt: str, number: int) -> str:
    """One answer of the model is right; the rest leave the maximum out."""
    code = RIGHT if number in RIGHT_ANSWERS else WRONG
    return f"Answer {number}.\n\n```python\n{code.strip()}\n```\n"


def test_class_goes_from_the_roster_to_an_erased_account(stage: Stage, tmp_path: Path) -> None:
    with chat_server(script) as chat:
        school = School(stage, chat)
        assignment = prepare(school, tmp_path)
        play(school, assignment)
        hand_in(school, assignment)
        check_grid(school)
        check_pages(school)
        check_worklogs(school)
        works = grade(school, assignment)
        release(school, assignment, works)
        check_grades(school, assignment, works)
        appeal(school, assignment, works)
        erase(school, assignment, works)
    assert set(chat.keys) == {f"Bearer {KEY}"}
    assert KEY not in str(stage.rows("SELECT * FROM matches_match, matches_version"))


def prepare(school: School, folder: Path) -> str:
    """Make the class, fill its roster, assign with two extensions, and pass the start-up check."""
    olga = school.client("olga")
    olga.make_class(CLASS, stuck_days=2)
    rows = [f"{name},{name.title()},{('Monday', 'Friday')[number % 2]}" for number, name in enumerate(STUDENTS)]
    (folder / "roster.csv").write_text("login,name,section\n" + "\n".join(rows))
    made = school.command("olga", "class", "roster", CLASS, "--import", str(folder / "roster.csv"))
    assert made == {"added": 7, "changed": 0, "unchanged": 0}
    for name in STUDENTS:
        assert school.client(name).join_class_by_roster(CLASS)["role"] == "student"
    due, until = ((datetime.now(UTC) + timedelta(hours=hours)).isoformat() for hours in (1, 48))
    for name in GRADERS:
        school.teacher_page.fill(f"/organise/{CLASS}/roles", "", username=name, role="reviewer")
    new = ["--title", "Softmax", "--level", "1", "--due", due, "--board", BOARD, "--hardware", "cpu"]
    new += ["--graders", "2", "--moderate-from", "20"]
    assignment = str(school.command("olga", "class", "assign", CLASS, *new)["id"])
    for name in EXTENDED:
        given = ("--until", until, "--reason", f"{name} was ill")
        school.command("olga", "class", "extend", CLASS, assignment, name, *given)
    planted = {kind: plant(school, kind, code) for kind, code in (("--must-fail", WRONG), ("--must-pass", RIGHT))}
    school.command("olga", "class", "check", CLASS, *(word for pair in planted.items() for word in pair), code=1)
    school.stage.begin_runner("rex", school.stage.manage("create_runner", "rex", "--hardware", "cpu").strip())
    for submission in planted.values():
        olga.follow(submission)
    [board] = school.command("olga", "class", "check", CLASS)
    assert (board["ready"], [one["outcome"] for one in board["planted"]]) == (True, ["wrong", "passed"])
    return assignment


def plant(school: School, kind: str, code: str) -> str:
    sent = {"board": BOARD, "hardware": "cpu", "mode": "test", "filename": "kernel.py", "code": code}
    return str(school.client("olga").submit(**sent)["id"])


def play(school: School, assignment: str) -> None:
    """Let every student predict and send by hand; the model plays for some of them. The judge has the last word."""

    def by_hand(name: str) -> None:
        site = school.client(name)
        work = site.start_work(CLASS, assignment, board=BOARD, hardware="cpu", model="scripted-1")
        match = school.matches[name] = work["id"]
        site.predict(match, bound="memory", speedup=1.1, why=WHY)
        site.send_version(match, RIGHT if name in SOLVED[1:] else WRONG)
        if name == SOLVED[0]:
            site.send_version(match, RIGHT, reason="The maximum is subtracted first.", expected=1.0)

    def by_model(name: str) -> None:
        proposer = ("--proposer", school.chat.url, "--model", "any")
        school.command(name, "match", "play", str(school.matches[name]), *proposer)

    for name in STUDENTS:
        by_hand(name)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(by_model, WITH_MODEL))
    waiting = "SELECT count(*) FROM judging_attempt WHERE state NOT IN ('done', 'lost')"
    await_that(lambda: school.stage.rows(waiting) == [(0,)], within_s=240, every_s=0.2)


def hand_in(school: School, assignment: str) -> None:
    """Hand in: three in time, then the due time passes, then two with an extension and one without."""
    for name in IN_TIME:
        write(school, name)
    school.client("olga").edit_assignment(CLASS, assignment, due_at=datetime.now(UTC).isoformat())
    for name in (*EXTENDED, *LATE):
        write(school, name)


def write(school: School, name: str) -> None:
    """Write the worklog with a claim that links its report, and hand it in."""
    site, match = school.client(name), school.matches[name]
    best = site.match(match)["human_versions"][-1]["submission"]
    for section in SECTIONS:
        text = f"## {section}\n\n{name}: submission #{best} reads $2n$ floats."
        site.save_section(match, section, text, revision=0)
    assert site.hand_in(match)["missing"] == []


def check_grid(school: School) -> None:
    grid = school.grid()
    assert set(grid) == set(STUDENTS)
    assert {name for name in STUDENTS if grid[name]["stage"] == "handed in"} == {*IN_TIME, *EXTENDED, *LATE}
    assert {name for name in STUDENTS if grid[name]["late_s"] is not None} == set(LATE)
    assert {grid[name]["stage"] for name in NEVER} == {"compiled"}
    assert {name for name in STUDENTS if grid[name]["best_speedup"]} == set(SOLVED)
    assert all(grid[name]["best_speedup"] > 0.3 for name in SOLVED)
    outcomes = Counter(outcome for (outcome,) in school.stage.rows(VERDICTS))
    passed, versions = len(SOLVED) + len(RIGHT_ANSWERS), len(STUDENTS) + 1 + len(WITH_MODEL)
    assert outcomes == {"passed": passed, "wrong": versions - passed}


VERDICTS = """
SELECT attempt.outcome FROM matches_version AS version
  JOIN judging_attempt AS attempt ON attempt.submission_id = version.submission_id AND attempt.is_current
"""


def check_pages(school: School) -> None:
    """Read the pages of the class as its teacher, and as nobody of the class."""
    page = school.teacher_page.read(f"/classes/{CLASS}")
    for words in ("handed in: 6", "late", "fast<sub>p</sub> of the class", "ready"):
        assert words in page, words
    assert school.teacher_page.read(f"/classes/{CLASS}/grid.csv").count("\n") == 8
    match = school.matches[EXTENDED[0]]
    for address in (f"/matches/{match}", f"/matches/{match}/worklog"):
        assert EXTENDED[0] in school.teacher_page.read(address)
    stranger = Person(
        school.stage.url, "ada", json.loads((school.stage.folder / "accounts.json").read_text())["ada"]["password"]
    )
    for address in (f"/classes/{CLASS}", f"/matches/{match}", f"/matches/{match}/worklog"):
        stranger.read(address, status=404)


def check_worklogs(school: School) -> None:
    """Every hand-in has its texts, the prediction before the first version, and facts of the real judge."""
    for name in (*IN_TIME, *EXTENDED, *LATE):
        match = school.matches[name]
        [handed] = school.client(name).hand_ins(match)
        document = school.client("olga").worklog(match, handed["id"])
        assert (document["missing"], document["hand_in"]) == ([], handed)
        plan = {fact["name"]: fact for fact in document["facts"]["plan"]}
        assert plan["first version"]["text"].endswith("after the prediction")
        assert ("measured" in plan) == (name in SOLVED)
        assert ("first try" in {fact["name"] for fact in document["facts"]["model"]}) == (name in WITH_MODEL)
        assert all(text.endswith("floats.") for text in document["texts"].values())


def grade(school: School, assignment: str) -> dict[str, str]:
    """Let two graders score all works, and disagree about the first; return the works by student."""
    for name in EXTENDED:
        school.command("olga", "class", "extend", CLASS, assignment, name, "--withdraw")
    school.command("olga", "class", "grading", "begin", CLASS, assignment)
    rows = {row["username"]: row for row in school.command("grader-one", "class", "grades", CLASS, assignment)}
    works = {name: str(row["work"]) for name, row in rows.items() if row["state"] == "to grade"}
    assert set(works) == {*IN_TIME, *EXTENDED, *LATE}
    for grader in GRADERS:
        for name, work in works.items():
            level = 1 if (grader, name) == (GRADERS[1], IN_TIME[0]) else 3
            text = f"Read by {grader}."
            if name == IN_TIME[0]:
                scores = [word for key in CRITERIA for word in ("--score", f"{key}={level}")]
                school.command(grader, "class", "grading", "score", CLASS, work, *scores, "--text", text)
            else:
                school.client(grader).grade_work(CLASS, work, dict.fromkeys(CRITERIA, level), text)
    found = school.command("grader-one", "class", "grading", "show", CLASS, works[IN_TIME[0]])
    assert found["state"] == "to moderate"
    assert {check["good"] for check in found["checks"]} >= {True}
    remark = ("--section", "hand", "--line", "3", "--text", "Which bandwidth does that give?")
    school.command("grader-one", "class", "grading", "remark", CLASS, works[IN_TIME[0]], *remark)
    return works


def release(school: School, assignment: str, works: dict[str, str]) -> None:
    """Moderate the work with two different grades, without which nothing is released."""
    school.command("olga", "class", "grading", "release", CLASS, assignment, code=4)
    scores = [word for key in CRITERIA for word in ("--score", f"{key}=2")]
    moderated = ("moderate", CLASS, works[IN_TIME[0]], *scores, "--text", "Both read it again.")
    assert school.command("olga", "class", "grading", *moderated)["points"] == 50.0
    assert school.client(IN_TIME[0]).notifications(kind="review") == []
    school.command("olga", "class", "grading", "release", CLASS, assignment)


def check_grades(school: School, assignment: str, works: dict[str, str]) -> None:
    """Read the grades as students, as files of the class, and in an account's export."""
    wanted = dict.fromkeys(works, 75.0) | {IN_TIME[0]: 50.0}
    assert {name: school.client(name).own_grade(CLASS, assignment)["points"] for name in works} == wanted
    for name in NEVER:
        own = school.command(name, "class", "grade", CLASS, assignment)
        assert (own["state"], own["points"], own["grades"]) == ("not handed in", None, [])
    rows = csv.DictReader(io.StringIO(school.teacher_page.read(f"/classes/{CLASS}/grading/{assignment}/grades.csv")))
    table = {row["username"]: row for row in rows}
    assert set(table) == set(STUDENTS)
    assert {name: float(row["points"]) for name, row in table.items() if row["points"]} == wanted
    assert table[IN_TIME[0]]["level_of_depth"] == "2.0"
    [told] = school.client(IN_TIME[0]).notifications(kind="review")
    assert told["url"] == f"/classes/{CLASS}/grades/{works[IN_TIME[0]]}"
    school.stage.manage("shell", "-v", "0", "-c", SET_PASSWORD % (IN_TIME[0], KEY))
    student = Person(school.stage.url, IN_TIME[0], KEY)
    assert "Both read it again." in student.read(told["url"])
    page = student.read("/account/password")
    sent = {"csrfmiddlewaretoken": re.findall('csrfmiddlewaretoken" value="([^"]+)"', page)[0]}
    packed = zipfile.ZipFile(io.BytesIO(student.client.post("/account/export", data=sent).content))
    kept = json.loads(packed.read("account.json"))
    assert [one["moderated"] for one in kept["grades"]] == [False, False, True]
    student.read(f"/classes/{CLASS}/grades/{works[IN_TIME[1]]}", status=404)


SET_PASSWORD = """
from leaderboard.accounts.models import User
user = User.objects.get(username=%r)
user.set_password(%r)
user.save()
"""


def appeal(school: School, assignment: str, works: dict[str, str]) -> None:
    text = "Line 3 of the section by hand names the floats, so depth deserves a higher level."
    sent = school.command(IN_TIME[0], "class", "appeal", CLASS, assignment, "--text", text)
    scores = [word for key in CRITERIA for word in ("--score", f"{key}={3 if key == 'depth' else 2}")]
    answered = (str(sent["id"]), *scores, "--text", "Indeed.")
    school.command("olga", "class", "grading", "answer", CLASS, *answered)
    assert school.command(IN_TIME[0], "class", "grade", CLASS, assignment)["points"] == 57.5


def erase(school: School, assignment: str, works: dict[str, str]) -> None:
    """Erase the student who appealed: the scores stay without a name, and the texts about the worklog go."""
    name, work = IN_TIME[0], works[IN_TIME[0]]
    before = school.teacher_page.read(f"/classes/{CLASS}/grading/{assignment}/grades.json")
    assert name in before.lower()
    Person(school.stage.url, name, KEY).fill("/account/close", "", how="erase", username=name)
    after = school.teacher_page.read(f"/classes/{CLASS}/grading/{assignment}/grades.json")
    assert name not in after.lower()
    [row] = [row for row in json.loads(after)["rows"] if str(row["work"]) == work]
    assert (row["username"].partition("-")[0], row["points"]) == ("deleted", 57.5)
    [(texts, remarks, appeals)] = school.stage.rows(TEXTS_ABOUT.format(work))
    assert (texts, remarks, appeals) == (["", "", ""], 0, [""])
    assert name not in school.teacher_page.read(f"/classes/{CLASS}/grading/works/{work}").lower()


TEXTS_ABOUT = """
SELECT (SELECT array_agg(text) FROM classes_grade WHERE work_id = {0}),
       (SELECT count(*) FROM classes_remark WHERE work_id = {0}),
       (SELECT array_agg(text) FROM classes_appeal WHERE work_id = {0})
"""
