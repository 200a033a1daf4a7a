"""Rubrics: the criteria of a grade with weights and levels, in versions.

The site's default is data of this module; a class may have its own. A rubric that has graded is frozen, and a change of
it makes the next version. Speed has no criterion in the default: the worklog is graded.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.classes.models import Course, Rubric
from leaderboard.classes.permissions import check_teacher
from leaderboard.competitions.checks import check_text
from leaderboard.entrants.names import clean_text
from leaderboard.errors import UserError

MOST_RUBRICS: Final = 100  # of a course, versions included
MOST_CRITERIA: Final = 12
TOP: Final = 4  # points of the highest level; the lowest has 0
NAME_CHARS: Final = 128
DESCRIPTION_CHARS: Final = 600
DEFAULT_NAME: Final = "Worklog"
_KEY: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")

DEFAULT: Final[tuple[tuple[str, str, int, tuple[str, ...]], ...]] = (
    (
        "discipline",
        "Correctness and measurement discipline",
        30,
        (
            "No version by hand passes the gate “correct”, and the text does not say why.",
            "A version is correct, but figures have no report, or the prediction came after the first run.",
            "Most figures link to their report. Predictions exist but are not compared with measurements.",
            "Every figure links to its report, and every prediction stands beside its measurement.",
            "In addition, doubtful measurements are repeated, and differences within noise are called ties.",
        ),
    ),
    (
        "depth",
        "Depth of the worklog by hand",
        30,
        (
            "The attempt by hand is missing, or a list of versions without a word.",
            "Changes are described, their reasons are not.",
            "Each version has a reason, and few reasons name a mechanism.",
            "Each reason names a mechanism, such as traffic, occupancy or launches, and the result is explained by it.",
            "In addition, wrong hypotheses are kept, tested and used for the next step.",
        ),
    ),
    (
        "head_to_head",
        "Quality of the head-to-head",
        30,
        (
            "The comparison with the model is missing.",
            "It names the winner alone.",
            "It compares both kernels case by case, without a cause of the gap.",
            "It explains the gap by mechanism, with figures of both reports.",
            "In addition, it tests the explanation, by a profile or by a changed kernel.",
        ),
    ),
    (
        "honesty",
        "Honesty",
        10,
        (
            "A claim contradicts its report, or help is concealed.",
            "Failures are left out.",
            "Failures are named, without what they cost.",
            "Failures, help and prompts are complete.",
            "In addition, the text says what remains unknown.",
        ),
    ),
)


def default_criteria() -> list[dict[str, Any]]:
    return [criterion(key, name, weight, descriptions) for key, name, weight, descriptions in DEFAULT]


def criterion(key: str, name: str, weight: int, descriptions: Sequence[str]) -> dict[str, Any]:
    """Return a criterion as a rubric stores it. `descriptions`: of the levels, from 0 points up."""
    levels = [{"points": points, "description": text} for points, text in enumerate(descriptions)]
    return {"key": key, "name": name, "weight": weight, "levels": levels}


def site_rubric(now: datetime) -> Rubric:
    """Return the site's rubric as of this release. A change of DEFAULT makes its next version."""
    last = Rubric.objects.filter(course=None, name=DEFAULT_NAME).order_by("-version").first()
    if last is not None and last.criteria == default_criteria():
        return last
    version = last.version + 1 if last else 1
    values = {"criteria": default_criteria(), "created_at": now}
    return Rubric.objects.get_or_create(course=None, name=DEFAULT_NAME, version=version, defaults=values)[0]


@transaction.atomic
def save_rubric(
    *, course: Course, name: str, criteria: Sequence[Mapping[str, Any]], actor: User, now: datetime
) -> Rubric:
    """Add a rubric to a class, or change the newest version of this name. A frozen version gets a successor."""
    check_teacher(actor, course, "write a rubric")
    name = clean_text("name", name, most=NAME_CHARS)
    if not name:
        raise UserError("name", "", "name the rubric")
    checked = check_criteria(criteria)
    Course.objects.select_for_update().get(pk=course.pk)  # of two first saves, the second waits
    last = Rubric.objects.filter(course=course, name=name).order_by("-version").first()
    if last is not None and last.criteria == checked:
        return last
    if last is not None and last.frozen_at is None:
        before, last.criteria = last.criteria, checked
        last.save(update_fields=["criteria"])
        record("edit_rubric", last, actor=actor, now=now, before={"criteria": before}, after={"criteria": checked})
        return last
    if course.rubrics.count() >= MOST_RUBRICS:
        raise UserError("name", name, f"a class has at most {MOST_RUBRICS} versions of rubrics", status=409)
    version = last.version + 1 if last else 1
    made = Rubric.objects.create(course=course, name=name, version=version, criteria=checked, created_at=now)
    record("add_rubric", made, actor=actor, now=now, after={"name": name, "version": version, "criteria": checked})
    return made


def check_criteria(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the criteria as they are stored. Raise UserError for a wrong one."""
    if not 1 <= len(criteria) <= MOST_CRITERIA:
        raise UserError("criteria", len(criteria), f"give 1 to {MOST_CRITERIA} criteria")
    found = [_checked(place, one) for place, one in enumerate(criteria, 1)]
    for field in ("key", "name"):
        values = [one[field].casefold() for one in found]
        if double := next((value for value in values if values.count(value) > 1), ""):
            raise UserError("criteria", double, f"is the {field} of two criteria; each has its own")
    total = sum(one["weight"] for one in found)
    if total != 100:
        raise UserError("weight", total, "is the sum of the weights; make it 100 %")
    return found


def _checked(place: int, one: Mapping[str, Any]) -> dict[str, Any]:
    at = f"criterion {place}"
    name = clean_text("criteria", str(one.get("name", "")), most=NAME_CHARS)
    if not name:
        raise UserError("criteria", "", f"name {at}")
    key = str(one.get("key", ""))
    if not _KEY.fullmatch(key):
        raise UserError("criteria", key, f"is no key of {at}; use small letters, digits and _, at most 32")
    weight = one.get("weight")
    if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= 100:
        raise UserError("weight", weight, f"is no weight of {at}; give 1 to 100 per cent")
    levels = one.get("levels") or ()
    if [level.get("points") for level in levels] != list(range(TOP + 1)):
        raise UserError("criteria", len(levels), f"{at} needs the levels 0 to {TOP}, in this order")
    texts = [
        check_text(
            f"level {level['points']} of {at}", str(level.get("description", "")), least=1, most=DESCRIPTION_CHARS
        ).strip()
        for level in levels
    ]
    return criterion(key, name, weight, texts)


def check_scores(rubric: Rubric, scores: Mapping[str, Any], *, complete: bool) -> dict[str, int]:
    """Return levels by criterion. Raise UserError for an unknown criterion or level, and if `complete`, for a gap."""
    keys = [one["key"] for one in rubric.criteria]
    for key, points in scores.items():
        if key not in keys:
            raise UserError("scores", key, f"is no criterion of the rubric; these are: {', '.join(keys)}")
        if isinstance(points, bool) or not isinstance(points, int) or not 0 <= points <= TOP:
            raise UserError("scores", points, f"is no level of {key}; give 0 to {TOP}")
    missing = [one["name"] for one in rubric.criteria if one["key"] not in scores]
    if complete and missing:
        raise UserError("scores", None, f"choose a level of: {', '.join(missing)}")
    return {key: scores[key] for key in keys if key in scores}


def percent_of(rubric: Rubric, scores: Mapping[str, int]) -> float:
    """Return the weighted points of complete scores, of 100."""
    points: int = sum(one["weight"] * scores[one["key"]] for one in rubric.criteria)
    return points / TOP
