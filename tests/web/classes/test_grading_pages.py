"""Pages of grading: a rubric, two graders with remarks, moderation, release, a student's grade, appeal, files.

test_pages_hold.py opens each of the pages in a browser; here people press through them, refusals included.
"""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from leaderboard.classes import assignments, people
from leaderboard.classes.models import Appeal, Assignment, Course, Grade, Remark, Rubric, Work
from leaderboard.classes.rubrics import check_criteria, default_criteria
from leaderboard.classes.work import start_work
from leaderboard.competitions.models import Role
from leaderboard.matches.acts import predict
from leaderboard.matches.worklog import hand_in, save_section
from leaderboard.web.classes.grading_forms import criteria_of, rows_of
from tests.e2e.browser import SCENES, Watched, chromium
from tests.web.live_site import live_site
from tests.web.test_pages_are_strict import check
from tests.web.test_pages_hold import axe_faults
from tests.web.test_slow_pages_starve_nobody import cookies_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.leaderboard.stage import Stage

PAGE = "/classes/kernels-101"
GRADING = f"{PAGE}/grading"
DAY = timedelta(days=1)
THREE = {f"score-{one['key']}": 3 for one in default_criteria()}
ZERO = dict.fromkeys(THREE, 0)
LEVELS = [f"level_{points}" for points in range(5)]


def read(client: Any, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    check(answer)
    text: str = answer.content.decode()
    return text


@pytest.fixture
def course(stage: Stage) -> Course:
    stage.now = timezone.now() - 10 * DAY
    course = people.make_course(competition=stage.board.competition, actor=stage.olga, now=stage.now)
    for user in (stage.ben, stage.cleo):
        Role.objects.create(competition=course.competition, user=user, role=Role.REVIEWER)
    people.import_roster(course=course, text="ada,=Ada", actor=stage.olga, now=stage.now)
    people.join_by_roster(course=course, user=stage.ada, now=stage.now)
    return course


@pytest.fixture
def work(stage: Stage, course: Course) -> Work:
    """A work that is handed in and due, for two graders."""
    assignment = assignments.add_assignment(
        course=course, boards=[stage.board], actor=stage.olga, now=stage.now, title="Softmax", tier=1,
        due_at=timezone.now() - DAY, graders_each=2, moderate_from=10,
    )  # fmt: skip
    made = start_work(
        assignment=assignment, board=stage.board, user=stage.ada, model="a/b", machine="pasted", now=stage.now
    )
    why = "Each row is read once."
    predict(match=made.match, author=stage.ada, bound="memory", speedup=2.0, why=why, now=stage.now)
    text = "First <line>\nthen 2.1× (#999999)"
    save_section(match=made.match, section="hand", text=text, revision=0, author=stage.ada, now=stage.now)
    hand_in(match=made.match, author=stage.ada, now=stage.now)
    return made


def test_two_graders_a_teacher_and_a_student_walk_from_begin_to_appeal(stage: Stage, work: Work, browser: Any) -> None:
    olga, ben, cleo, ada = (browser(one) for one in (stage.olga, stage.ben, stage.cleo, stage.ada))
    address, release = f"{GRADING}/works/{work.pk}", f"{GRADING}/{work.assignment_id}/release"
    assert "grading has not begun" in read(olga, GRADING)
    read(ben, address, 404)
    assert ben.post(f"{GRADING}/{work.assignment_id}/begin").status_code == 404
    assert olga.post(f"{GRADING}/{work.assignment_id}/begin").url == GRADING
    read(ada, f"{PAGE}/grades/{work.pk}", 404)
    page = read(ben, f"{address}?section=hand&line=2")
    assert "no version of this match" in page
    assert "First &lt;line&gt;" in page

    assert ben.post(f"{address}/remarks", {"section": "hand", "line": 9, "text": "?"}).status_code == 400
    sent = {"section": "hand", "line": 2, "number": "2.1×", "text": "Where is its report?"}
    assert ben.post(f"{address}/remarks", sent).url == f"{address}#hand"
    assert ben.post(address, {"score-depth": 2, "text": "", "save": "draft"}).status_code == 302
    assert ben.post(address, {"score-depth": 2, "text": "", "save": "submit"}).status_code == 400
    assert ben.post(address, THREE | {"text": "Sound.", "save": "submit"}).status_code == 302
    assert "Where is its report?" not in read(cleo, address)
    assert "75.0 of 100" not in read(cleo, address)
    assert cleo.post(address, ZERO | {"text": "", "save": "submit"}).status_code == 302
    assert "The graders differ by 75.0 points" in read(cleo, address)

    assert olga.post(release).status_code == 302
    assert "1 to moderate" in read(olga, GRADING)
    assert ben.post(f"{address}/moderate", THREE | {"text": "x"}).status_code == 404
    assert olga.post(f"{address}/moderate", THREE | {"text": ""}).status_code == 400
    assert olga.post(f"{address}/moderate", THREE | {"text": "Ben is right."}).url == address
    read(ada, f"{PAGE}/grades/{work.pk}", 404)
    assert olga.post(release).status_code == 302
    assert Assignment.objects.get().released_at is not None

    assert "Read the grade" in read(ada, f"{PAGE}/mine")
    page = read(ada, f"{PAGE}/grades/{work.pk}")
    assert "75.0 of 100" in page
    assert "Where is its report?" in page
    for stranger in (ben, olga):
        read(stranger, f"{PAGE}/grades/{work.pk}", 404)
    assert ada.post(f"{PAGE}/grades/{work.pk}", {"text": "No."}).status_code == 400
    assert ada.post(f"{PAGE}/grades/{work.pk}", {"text": "My plan says why it is 2.1."}).status_code == 302
    assert "Appeals that wait" in read(olga, GRADING)
    answer = f"{GRADING}/appeals/{Appeal.objects.get().pk}/answer"
    changed = THREE | {"score-depth": 4, "text": "It does."}
    assert ben.post(answer, changed).status_code == 404
    assert olga.post(answer, changed).url == address
    assert "82.5 of 100" in read(ada, f"{PAGE}/grades/{work.pk}")
    assert Grade.objects.count() == 3
    remark = Remark.objects.get()
    assert ben.post(f"{GRADING}/remarks/{remark.pk}/remove").status_code == 302
    assert Remark.objects.exists()

    rows = list(csv.DictReader(io.StringIO(olga.get(f"{GRADING}/{work.assignment_id}/grades.csv").content.decode())))
    assert [(row["student"], row["state"], row["points"], row["level_of_depth"]) for row in rows] == [
        ("'=Ada", "graded", "82.5", "4.0")
    ]
    assert ben.get(f"{GRADING}/{work.assignment_id}/grades.json").json()["rows"][0]["points"] == 82.5
    assert ada.get(f"{GRADING}/{work.assignment_id}/grades.csv").status_code == 404


@pytest.mark.parametrize(("scores", "is_changed"), [(THREE, True), ({}, False)])
def test_answer_with_the_levels_of_the_first_grader_replaces_the_mean(
    stage: Stage, work: Work, browser: Any, scores: dict[str, int], is_changed: bool
) -> None:
    """Regression: they counted as unchanged, although the mean of two graders was in force."""
    Assignment.objects.update(moderate_from=None)
    olga, address, agreed = browser(stage.olga), f"{GRADING}/works/{work.pk}", {"score-depth": 3}
    olga.post(f"{GRADING}/{work.assignment_id}/begin")
    for grader, given in ((stage.ben, THREE), (stage.cleo, ZERO | agreed)):
        browser(grader).post(address, given | {"text": "", "save": "submit"})
    olga.post(f"{GRADING}/{work.assignment_id}/release")
    browser(stage.ada).post(f"{PAGE}/grades/{work.pk}", {"text": "My plan says why it is 2.1."})
    assert read(olga, address).count(" checked") == 1  # the level on which the graders agree
    answer = f"{GRADING}/appeals/{Appeal.objects.get().pk}/answer"
    assert olga.post(answer, agreed | scores | {"text": "An answer."}).url == address
    assert Grade.objects.filter(moderated=True).exists() == is_changed


def test_a_teacher_writes_a_rubric_and_an_assignment_uses_it(stage: Stage, course: Course, browser: Any) -> None:
    olga = browser(stage.olga)
    read(olga, f"{GRADING}/rubrics/new")
    rows = rows_of(default_criteria())
    sent: dict[str, Any] = {"name": "Ours", "form-TOTAL_FORMS": 5, "form-INITIAL_FORMS": 4}
    sent |= {f"form-{place}-{key}": value for place, row in enumerate(rows) for key, value in row.items()}
    refused = olga.post(f"{GRADING}/rubrics/new", sent | {"form-0-weight": 31})
    assert refused.status_code == 400
    assert "make it 100 %" in refused.content.decode()
    extra = {"form-4-name": "Style", "form-4-weight": 10, "form-0-weight": 20}
    extra |= {f"form-4-level_{points}": f"level {points}" for points in range(5)}
    assert olga.post(f"{GRADING}/rubrics/new", sent | extra).url == f"{GRADING}/rubrics"
    made = Rubric.objects.get()
    assert [one["key"] for one in made.criteria][-1] == "c_style"
    assert "Ours, version 1" in read(olga, f"{GRADING}/rubrics")
    read(olga, f"{GRADING}/rubrics/{made.pk}")
    due = timezone.now() + 7 * DAY
    setting = {
        "title": "One",
        "tier": 1,
        "boards": [stage.board.pk],
        "due_at": f"{due:%Y-%m-%dT%H:%M}",
        "group_size": 1,
    }
    setting |= {"rubric": made.pk, "graders_each": 1, "moderate_from": 10}
    refused = olga.post(f"{PAGE}/assignments", setting)
    assert "Needs two graders" in refused.content.decode()
    assert olga.post(f"{PAGE}/assignments", setting | {"graders_each": 2}).status_code == 302
    assert (Assignment.objects.get().rubric, Assignment.objects.get().moderate_from) == (made, 10)


def test_new_criteria_get_keys_of_their_own() -> None:
    """Regression: names in other scripts had the same key, as had long names with the same beginning."""
    long = "Correctness and discipline of "
    rows = [
        {"key": "", "name": "深さ"},
        {"key": "c_2", "name": "Saved before"},
        {"key": "", "name": "正確さ"},
        {"key": "", "name": f"{long}measurement"},
        {"key": "", "name": f"{long}reports"},
    ]
    found = criteria_of([row | {"weight": 20} | dict.fromkeys(LEVELS, "A level.") for row in rows])
    keys = [one["key"] for one in check_criteria(found)]
    assert keys == ["c", "c_2", "c_3", "c_correctness_and_discipline_of", "c_correctness_and_discipline_2"]


class Reader:
    """A person's page of a real browser, which is checked in both themes, wide and narrow."""

    def __init__(self, browser: Browser, site: str, cookies: dict[str, str]) -> None:
        context = browser.new_context(base_url=site)
        context.add_cookies([{"name": name, "value": value, "url": site} for name, value in cookies.items()])
        self.watched = Watched(context.new_page(), site)
        self.page = self.watched.page
        self.page.set_default_timeout(20_000)

    def press(self, name: str, within: str = "main") -> None:
        self.page.locator(within).get_by_role("button", name=name, exact=True).click()

    def choose(self, level: int, form: str) -> None:
        """Choose this level of each criterion by the keyboard."""
        for one in default_criteria():
            self.page.locator(f'{form} input[name="score-{one["key"]}"][value="{level}"]').press("Space")

    def holds(self, words: str, *, refused: bool = False) -> None:
        self.page.get_by_text(words).first.wait_for()
        for scheme, width in SCENES:
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size({"width": width, "height": 900})
            self.watched.fits()
            assert axe_faults(self.page, {}) == [], (words, scheme, width)
        if refused:  # Chromium reports the status
            assert "status of 4" in self.watched.complaints.pop()
        self.watched.is_calm()


@pytest.mark.browser
@pytest.mark.timeout(600)
def test_grading_is_pressed_through_in_a_browser(transactional_db: None, stage: Stage, work: Work) -> None:
    cookies = [cookies_of(one) for one in (stage.olga, stage.ben, stage.cleo, stage.ada)]
    address, score, answer = (
        f"{GRADING}/works/{work.pk}",
        f'form[action$="/works/{work.pk}"]',
        'form[action$="/answer"]',
    )
    grade = f"{PAGE}/grades/{work.pk}"
    with live_site() as site, chromium() as browser:
        olga, ben, cleo, ada = (Reader(browser, site.address, one) for one in cookies)
        olga.page.goto(GRADING)
        olga.press("Begin to grade Softmax")
        olga.holds("Grading has begun")
        remark_and_score(ben, address, score)
        cleo.page.goto(address)
        cleo.choose(0, score)
        cleo.press("Submit", score)
        cleo.holds("The graders differ by 75.0 points")
        moderate_and_release(olga, address)
        ada.page.goto(grade)
        ada.page.get_by_role("textbox", name="Appeal").fill("My plan says why it is 2.1.")
        ada.press("Appeal")
        ada.holds("Your appeal is sent.")
        olga.page.goto(f"{address}#appeals")
        olga.page.locator(f"{answer} textarea").fill("It does.")
        olga.choose(4, answer)
        olga.holds("My plan says why it is 2.1.")
        olga.press("Answer", answer)
        olga.holds("Answered.")
        ada.page.goto(grade)
        ada.holds("100.0 of 100")


def remark_and_score(ben: Reader, address: str, score: str) -> None:
    """Remark on a line that a link names, be refused without all levels, and submit a grade."""
    form = 'form[action$="/remarks"]'
    ben.page.goto(address)
    ben.page.get_by_text("Lines of “The attempt by hand”").click()
    ben.page.get_by_role("link", name="Remark on line 2 of “The attempt by hand”").click()
    remark = ben.page.locator(form)
    assert (remark.locator("select").input_value(), remark.locator('[name="line"]').input_value()) == ("hand", "2")
    remark.locator("textarea").fill("Where is its report?")
    ben.press("Remark", form)
    ben.holds("Where is its report?")
    ben.page.locator(f'{score} input[name="score-depth"][value="2"]').press("Space")
    ben.press("Submit", score)
    ben.holds("choose a level of", refused=True)
    ben.choose(3, score)
    ben.press("Submit", score)
    ben.holds("Submitted.")


def moderate_and_release(olga: Reader, address: str) -> None:
    """Be refused while a difference waits, moderate it, and release."""
    moderate = 'form[action$="/moderate"]'
    olga.page.goto(GRADING)
    olga.press("Release the grades of Softmax")
    olga.holds("1 to moderate")
    olga.page.goto(address)
    olga.choose(3, moderate)
    olga.press("Moderate", moderate)
    olga.holds("give 1 to", refused=True)
    olga.page.locator(f"{moderate} textarea").fill("Ben is right.")
    olga.press("Moderate", moderate)
    olga.holds("Moderated.")
    olga.page.goto(GRADING)
    olga.press("Release the grades of Softmax")
    olga.holds("All grades are released.")
