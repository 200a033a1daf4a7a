"""Grading over /api/v1: two graders, moderation, release, the student's grade, an appeal, rubrics, tables."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from leaderboard.classes.models import Assignment, Remark
from leaderboard.classes.rubrics import DEFAULT
from tests.web.api.test_api_of_matches import get, post
from tests.web.classes.test_grading_pages import course, work  # noqa: F401  fixtures

if TYPE_CHECKING:
    from leaderboard.classes.models import Work
    from tests.leaderboard.stage import Stage

PATH = "/classes/kernels-101"
THREE = {key: 3 for key, *_ in DEFAULT}
ZERO = dict.fromkeys(THREE, 0)


def test_a_work_is_graded_by_two_moderated_released_and_appealed(stage: Stage, work: Work, tool: Any) -> None:  # noqa: F811
    olga, ben, cleo = (tool(one, "review", "read") for one in (stage.olga, stage.ben, stage.cleo))
    ada, place = tool(stage.ada), f"{PATH}/works/{work.pk}"
    assignment = f"{PATH}/assignments/{work.assignment_id}"
    post(ben, f"{assignment}/begin-grading", 403)
    post(ada, f"{place}/grade", 403, scores=THREE)
    assert ben.get(f"/api/v1{place}").status_code == 404, "before the grading begins"
    assert post(olga, f"{assignment}/begin-grading", 200)["grading_began_at"]
    read = get(ben, place)
    assert (read["state"], read["authors"], read["grades"]) == ("to grade", ["ada"], [])
    assert read["texts"]["hand"].startswith("First <line>")
    assert any(check["good"] is False for check in read["checks"])
    post(ben, f"{place}/grade", 200, scores={"depth": 1}, final=False)
    assert post(ben, f"{place}/grade", 400, scores={"depth": 5})["errors"][0]["field"] == "scores.depth"
    assert "choose a level of" in post(ben, f"{place}/grade", 400, scores={"depth": 1})["errors"][0]["message"]
    made = post(ben, f"{place}/remarks", section="hand", line=2, number="2.1×", text="Which report?")
    other = post(ben, f"{place}/remarks", section="hand", text="To be removed")
    post(cleo, f"{PATH}/remarks/{other['id']}/remove", 403)
    assert ben.post(f"/api/v1{PATH}/remarks/{other['id']}/remove").status_code == 204
    assert get(cleo, place)["remarks"] == get(cleo, place)["grades"] == [], "before the own grade"
    post(ben, f"{place}/grade", 200, scores=THREE, text="Good")
    assert post(cleo, f"{place}/grade", 200, scores=ZERO)["state"] == "to moderate"
    assert [one["grader"] for one in get(cleo, place)["grades"]] == ["ben", "cleo"]
    assert "1 to moderate" in post(olga, f"{assignment}/release", 409)["errors"][0]["message"]
    post(cleo, f"{place}/moderate", 403, scores=THREE, text="Mine")
    assert post(olga, f"{place}/moderate", 200, scores=THREE, text="Both read it again.")["points"] == 75.0
    assert ada.get(f"/api/v1{assignment}/grade").status_code == 404, "before the release"
    assert post(olga, f"{assignment}/release", 200)["released_at"]
    own = get(ada, f"{assignment}/grade")
    assert (own["points"], own["remarks"][0]["id"], "checks" in own) == (75.0, made["id"], False)
    assert [one["moderated"] for one in own["grades"]] == [True]
    assert tool(stage.ben).get(f"/api/v1{assignment}/grade").status_code == 404, "of its authors alone"
    sent = post(ada, f"{assignment}/appeal", text="Section hand, line 1, names a mechanism.")
    post(ben, f"{PATH}/appeals/{sent['id']}/answer", 403, text="No.")
    done = post(olga, f"{PATH}/appeals/{sent['id']}/answer", 200, text="Indeed.", scores=THREE | {"depth": 4})
    assert (done["answer"], done["answered_by"]) == ("Indeed.", "olga")
    assert get(ada, f"{assignment}/grade")["points"] == 82.5
    assert Remark.objects.count() == 1


def test_grades_are_a_table_with_levels(stage: Stage, work: Work, tool: Any) -> None:  # noqa: F811
    olga = tool(stage.olga, "review", "read")
    [row] = get(olga, f"{PATH}/grades")
    assert (row["username"], row["state"], row["work"], row["levels"]) == ("ada", "to grade", work.pk, {})
    post(olga, f"{PATH}/assignments/{work.assignment_id}/begin-grading", 200)
    [row] = get(olga, f"{PATH}/grades?assignment={work.assignment_id}")
    assert row["levels"] == dict.fromkeys(THREE)
    answer = olga.get(f"/api/v1{PATH}/grades?format=csv")
    [header, line] = csv.reader(io.StringIO(answer.content.decode()))
    assert dict(zip(header, line, strict=True))["student"] == "'=Ada", "no formula for a spreadsheet"
    assert olga.get(f"/api/v1{PATH}/grades?assignment=999999").status_code == 404
    assert tool(stage.ada, "review").get(f"/api/v1{PATH}/grades").status_code == 404


def test_rubric_is_saved_in_versions_and_chosen_by_an_assignment(stage: Stage, work: Work, tool: Any) -> None:  # noqa: F811
    olga = tool(stage.olga, "review", "read")
    criteria = [{"key": "all", "name": "All", "weight": 100, "levels": list("abcde")}]
    made = post(olga, f"{PATH}/rubrics", name="Short", criteria=criteria)
    assert (made["version"], made["criteria"]) == (1, criteria)
    place = f"{PATH}/assignments/{work.assignment_id}"
    assert post(olga, place, 200, rubric=made["id"], graders_each=2, moderate_from=30)["rubric"] == made["id"]
    assert post(olga, place, 404, rubric=999999)["errors"][0]["field"] == "rubric"
    post(olga, f"{place}/begin-grading", 200)
    changed = [criteria[0] | {"name": "Everything"}]
    assert post(olga, f"{PATH}/rubrics", name="Short", criteria=changed)["version"] == 2
    assert [one["frozen_at"] is None for one in get(olga, f"{PATH}/rubrics")] == [False, True]
    assert Assignment.objects.get().rubric_id == made["id"]
    wrong = [criteria[0] | {"weight": 50}]
    assert post(olga, f"{PATH}/rubrics", 400, name="Half", criteria=wrong)["errors"][0]["field"] == "weight"
    assert post(olga, f"{PATH}/rubrics", 400, name="None", criteria=[])["errors"][0]["field"] == "criteria"
