"""`photofinish class grading`: begin, read, score, remark, moderate, release and answer appeals."""

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ..client import Client, Misuse
from ..client.values import JSON, mappings, number
from ..wording.figures import NONE
from .classes import AsCsv, AssignmentId, Slug, print_rows, text_of
from .config import connected
from .render import AsJson, Columns, Screen, line, when

app = typer.Typer(no_args_is_help=True, help="Grading: works, scores, remarks, moderation, release, appeals, rubrics.")

WorkId = Annotated[str, typer.Argument(metavar="WORK", help="Number; `photofinish class grades` has it.")]
Levels = Annotated[
    list[str] | None, typer.Option("--score", metavar="CRITERION=LEVEL", help="Repeat it; levels are 0 to 4.")
]
Comment = Annotated[str, typer.Option("--text", help="Comment; the authors read it after the release.")]

GRADES: Final[Columns] = {
    "student": lambda one: one.get("student") or one.get("username", ""),
    "section": "section",
    "assignment": "assignment",
    "state": "state",
    "handed in": when("handed_in_at", "no"),
    "points": lambda one: _points(one),
    "work": lambda one: NONE if one.get("work") is None else one["work"],
}
RUBRICS: Final[Columns] = {
    "rubric": "id",
    "name": "name",
    "version": "version",
    "frozen": when("frozen_at", "no"),
    "criteria": lambda one: ", ".join(f"{part.get('key')} {part.get('weight')} %" for part in _parts(one)),
}


def grades(
    context: typer.Context,
    slug: Slug,
    assignment: Annotated[str, typer.Argument(metavar="ASSIGNMENT", help="Only of this assignment.")] = "",
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Show the grades of a class, a line for each student and assignment. Graders and teachers only."""
    with connected(context) as site:
        found = site.class_grades(slug, assignment)
    print_rows(Screen(), found, GRADES, as_csv, as_json, ("points",), ("section", "handed in"))


def grade(context: typer.Context, slug: Slug, assignment: AssignmentId, as_json: AsJson = False) -> None:
    """Show your released grade of an assignment, with remarks and appeals."""
    with connected(context) as site:
        found: JSON = site.own_grade(slug, assignment)
    _show(Screen(), found, as_json)


def appeal(
    context: typer.Context,
    slug: Slug,
    assignment: AssignmentId,
    text: Annotated[str, typer.Option(help="Name the criterion and the place in your worklog.")],
    as_json: AsJson = False,
) -> None:
    """Object to your released grade, in the first 14 days."""
    with connected(context) as site:
        made: JSON = site.appeal_grade(slug, assignment, text)
    Screen().answer(made, f"appeal {line(made.get('id'), 20)} is sent", as_json)


@app.command()
def begin(context: typer.Context, slug: Slug, assignment: AssignmentId, as_json: AsJson = False) -> None:
    """Freeze the rubric, and take no hand-in any more. Teachers only."""
    with connected(context) as site:
        done: JSON = site.begin_grading(slug, assignment)
    Screen().answer(done, f"{line(done.get('title'))}: grading has begun", as_json)


@app.command()
def release(context: typer.Context, slug: Slug, assignment: AssignmentId, as_json: AsJson = False) -> None:
    """Show all grades of an assignment to its students. Teachers only."""
    with connected(context) as site:
        done: JSON = site.release_grades(slug, assignment)
    Screen().answer(done, f"{line(done.get('title'))}: all grades are released", as_json)


@app.command()
def show(context: typer.Context, slug: Slug, work: WorkId, as_json: AsJson = False) -> None:
    """Show a handed-in work: texts, checks, grades, remarks, appeals."""
    with connected(context) as site:
        found: JSON = site.class_work(slug, work)
    _show(Screen(), found, as_json)


@app.command()
def score(
    context: typer.Context,
    slug: Slug,
    work: WorkId,
    level: Levels = None,
    text: Comment = "",
    draft: Annotated[bool, typer.Option("--draft", help="Save it without submitting.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit your grade of a work, or save a draft. Graders only."""
    with connected(context) as site:
        done: JSON = site.grade_work(slug, work, _scores(level), text, final=not draft)
    said = "the draft is saved" if draft else f"submitted; the work is {line(done.get('state'), 32)}"
    Screen().answer(done, f"work {line(work, 20)}: {said}", as_json)


@app.command()
def moderate(
    context: typer.Context,
    slug: Slug,
    work: WorkId,
    text: Annotated[str, typer.Option(help="The reason; the authors read it after the release.")],
    level: Levels = None,
    as_json: AsJson = False,
) -> None:
    """Replace the grades of two graders. Teachers only."""
    with connected(context) as site:
        done: JSON = site.moderate_work(slug, work, _scores(level), text)
    Screen().answer(done, f"work {line(work, 20)}: moderated, {_points(done)} points", as_json)


@app.command()
def remark(
    context: typer.Context,
    slug: Slug,
    work: WorkId,
    section: Annotated[str, typer.Option(help="Of the worklog, such as hand.")],
    text: Annotated[str, typer.Option(help="The remark.")],
    at: Annotated[int | None, typer.Option("--line", min=1, help="Of the section's text.")] = None,
    figure: Annotated[str, typer.Option("--number", help="A figure as the text has it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Comment a section of a worklog, a line of it, or a number in it. Graders only."""
    with connected(context) as site:
        made: JSON = site.remark_work(slug, work, section=section, text=text, line=at, number=figure)
    Screen().answer(made, f"remark {line(made.get('id'), 20)}", as_json)


@app.command()
def unremark(
    context: typer.Context,
    slug: Slug,
    number_of: Annotated[str, typer.Argument(metavar="REMARK", help="Number.")],
    as_json: AsJson = False,
) -> None:
    """Remove a remark of yours before the release."""
    with connected(context) as site:
        site.remove_remark(slug, number_of)
    Screen().answer({"removed": number_of}, f"remark {line(number_of, 20)}: removed", as_json)


@app.command()
def answer(
    context: typer.Context,
    slug: Slug,
    number_of: Annotated[str, typer.Argument(metavar="APPEAL", help="Number; `show` has it.")],
    text: Annotated[str, typer.Option(help="The authors read it at once.")],
    level: Levels = None,
    as_json: AsJson = False,
) -> None:
    """Answer an appeal. With scores, they replace the grade. Teachers only."""
    with connected(context) as site:
        done: JSON = site.answer_grade_appeal(slug, number_of, text, _scores(level) if level else None)
    Screen().answer(done, f"appeal {line(number_of, 20)}: answered", as_json)


@app.command()
def rubrics(
    context: typer.Context,
    slug: Slug,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON: a list of criteria with key, name, weight and five levels."),
    ] = None,
    name: Annotated[str, typer.Option(help="Of the saved rubric.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the rubrics of a class, or save a rubric. A frozen version gets a successor."""
    screen = Screen()
    with connected(context) as site:
        if save is None:
            screen.table(site.rubrics(slug), RUBRICS, as_json=as_json)
            return
        if not name:
            raise Misuse("--name: name the rubric")
        made: JSON = _saved(site, slug, name, text_of(save))
    screen.answer(made, f"rubric {line(made.get('id'), 20)}, version {line(made.get('version'), 20)}", as_json)


def _saved(site: Client, slug: str, name: str, text: str) -> JSON:
    try:
        criteria = json.loads(text)
    except (ValueError, RecursionError):
        raise Misuse("--save: is not JSON; write a list of criteria") from None
    if not isinstance(criteria, list) or not all(isinstance(one, dict) for one in criteria):
        raise Misuse("--save: write a list of criteria with key, name, weight and levels")
    return site.save_rubric(slug, name, criteria)


def _scores(given: list[str] | None) -> dict[str, int]:
    """Return levels by criterion. Raises Misuse."""
    found: dict[str, int] = {}
    for one in given or ():
        key, _, value = one.partition("=")
        if not key or not value.isdecimal() or len(value) > 2:
            raise Misuse(f"--score: {one!r} is not CRITERION=LEVEL, such as depth=3")
        found[key] = int(value)
    return found


def _show(screen: Screen, found: JSON, as_json: bool) -> None:
    if as_json:
        screen.json(found)
        return
    screen.say(f"work {line(found.get('work'), 20)}: {line(found.get('state'), 32)}, {_points(found)} points")
    for name, text in dict(found.get("texts") or {}).items():
        screen.say(f"\n== {line(name, 32)}")
        for place, written in enumerate(str(text).split("\n"), 1):
            screen.say(f"{place:4} {line(written, 1_000)}")
    for check in mappings(found.get("checks")):
        state = {True: "yes", False: "NO"}.get(check.get("good"), "?")  # type: ignore[arg-type]
        screen.say(f"check {line(check.get('section'), 32)}: {line(check.get('text'))}: {state}")
    for one in mappings(found.get("grades")):
        levels = ", ".join(f"{line(key, 32)} {line(value, 4)}" for key, value in dict(one.get("scores") or {}).items())
        kind = "moderated by" if one.get("moderated") else "graded by" if one.get("submitted_at") else "draft of"
        screen.say(f"{kind} {line(one.get('grader'), 150)}: {levels}. {line(one.get('text'), 10_000)}")
    for one in mappings(found.get("remarks")):
        at = line(one.get("section"), 32) + (f", line {line(one.get('line'), 20)}" if one.get("line") else "")
        screen.say(f"remark {line(one.get('id'), 20)} on {at}: {line(one.get('text'), 2_000)}")
    for one in mappings(found.get("appeals")):
        said = line(one.get("answer"), 4_000) or "not answered yet"
        screen.say(f"appeal {line(one.get('id'), 20)}: {line(one.get('text'), 4_000)} → {said}")


def _parts(rubric: JSON) -> list[dict[str, Any]]:
    return mappings(rubric.get("criteria"))


def _points(row: JSON) -> str:
    points = number(row.get("points"))
    return NONE if points is None else f"{points:.1f}"
