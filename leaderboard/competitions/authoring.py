"""Problems written on the site: a draft is the text of a task.yml beside its files, and becomes a new version.

A draft passes the same checks as an imported folder, because it is read by the same code. Its files get names of our
own on the disk, so a draft's names never touch a path. A version never changes: saving a draft creates a version and
points the boards of the problem to it, as an import does.
"""

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import yaml
from django.db import IntegrityError, connection, transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions import edit
from leaderboard.competitions.checks import check_slug
from leaderboard.competitions.models import Board, Competition, Problem, ProblemVersion, Role
from leaderboard.competitions.permissions import check_role, competitions_of, has_problem
from leaderboard.errors import UserError
from problems.fields import ProblemError
from problems.formats.files import Files, parse_yaml
from problems.formats.gpumode import SUBMISSION_MARK, TASK_FILE, read_task
from problems.spec import FUNCTION
from problems.spec import Problem as Specification

TASK: Final = "task"  # beside the reference, at the judge
STARTER: Final = "starter"
BASELINE: Final = "baseline"
KINDS: Final = (TASK, STARTER, BASELINE)
MAX_FILES: Final = 24  # of a draft; a larger problem comes as a zip file
OWN_FIELDS: Final = ("title", "description", "files", "templates", "baseline")  # of task.yml, not among `settings`
AS_IN_BUNDLE: Final = (
    *("lang", "entry", "ranking_by", "gpus", "untuned_on", "tests", "benchmarks", "benchmarks_on", "fuzz"),
    *("tolerance", "precision", "speed_of_light", "level", "tags"),
)
TIMEOUTS: Final = ("test_timeout", "benchmark_timeout", "ranked_timeout")


@dataclass(frozen=True)
class DraftFile:
    """A file of a draft. `name`: of a starter its language; of the baseline nothing."""

    kind: str
    name: str
    text: str


@dataclass(frozen=True)
class Draft:
    """A problem as its author edits it. `settings`: the rest of task.yml, as YAML."""

    title: str
    description: str
    settings: str
    files: tuple[DraftFile, ...]
    submission_name: str = "submission.py"


def draft_of(boards: Iterable[Board]) -> Draft:
    """Return the draft of a problem's present versions. Hardware may differ in the timed cases.

    Raise UserError for a problem that cannot be edited here.
    """
    bundles = {board.hardware: board.version.bundle for board in boards}
    specifications = {hardware: Specification.from_bundle(bundle) for hardware, bundle in bundles.items()}
    first = next(iter(specifications.values()))
    if first.interface != FUNCTION:
        raise UserError("problem", first.slug, "it is a KernelBench file: import its collection again to change it")
    found = dict(next(iter(bundles.values())))
    others = {name: one for name, one in specifications.items() if one.benchmarks != first.benchmarks}
    if others:
        found["benchmarks_on"] = {name: bundles[name]["benchmarks"] for name in others}
    found["untuned_on"] = [name for name, one in specifications.items() if name in one.untuned_on]
    settings = {key: found[key] for key in AS_IN_BUNDLE if found.get(key) not in (None, "", [], {})}
    settings |= {key: found[f"{key}_s"] for key in TIMEOUTS if f"{key}_s" in found}
    if fuzz := settings.get("fuzz"):
        settings["fuzz"] = {**fuzz["args"], "cases": fuzz["cases"]}
    if first.build is not None:
        settings["config"] = first.build.to_json()
    files = [DraftFile(TASK, name, text) for name, text in first.files.items()]
    files += [DraftFile(BASELINE, "", first.baseline)] if first.baseline else []
    files += [DraftFile(STARTER, language, text) for language, text in first.templates.items()]
    if len(files) > MAX_FILES:
        text = f"it has {len(files)} files, and this page takes {MAX_FILES}: send it as a zip file"
        raise UserError("problem", first.slug, text)
    return Draft(first.title, first.description, as_yaml(settings), tuple(files), first.submission_name)


def as_yaml(settings: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)


def specification_of(slug: str, draft: Draft) -> Specification:
    """Return the problem that a draft describes. Raise UserError that names the field of the draft or of task.yml."""
    task = _task(draft)
    with tempfile.TemporaryDirectory(prefix="photofinish-draft-") as place:
        folder = Path(place)
        for at, one in enumerate(draft.files):
            (folder / f"{at}.txt").write_text(one.text, encoding="utf-8", errors="surrogatepass")
        text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True)
        (folder / TASK_FILE).write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            found = read_task(folder, folder, slug, Files())
        except ProblemError as error:
            field = error.field if error.field in ("title", "description") else "settings"
            where = error.field
            if found_at := re.match(r"files\[(\d+)\]", where):  # the first is the submission
                names = ["", *(one.name for one in draft.files if one.kind == TASK)]
                where = names[int(found_at[1])] or where
            raise UserError(field, where, f"{where}: {error.message}") from error
    if found.unsupported:
        raise UserError("settings", found.unsupported, f"this site could not judge it: {found.unsupported}")
    if not found.gpus:
        raise UserError("settings", "gpus", "gpus: is missing; name the hardware of the boards, such as gpus: [cpu]")
    return found


def _task(draft: Draft) -> dict[str, Any]:
    """Return the task.yml of a draft. Its files are named by their position."""
    try:
        settings = parse_yaml(draft.settings, "settings")
    except ProblemError as error:
        raise UserError("settings", "", error.message) from error
    if not isinstance(settings, dict):
        raise UserError("settings", draft.settings[:80], "expected lines such as `ranking_by: geom`")
    for key in OWN_FIELDS:
        if key in settings:
            raise UserError("settings", key, f"{key}: has a field of its own on this page; take it out here")
    if len(draft.files) > MAX_FILES:
        text = f"{len(draft.files)} files, at most {MAX_FILES} on this page: send a zip file"
        raise UserError("files", len(draft.files), text)
    files: list[dict[str, str]] = [{"name": draft.submission_name, "source": SUBMISSION_MARK}]
    task = {**settings, "title": draft.title, "description": draft.description, "files": files}
    templates: dict[str, str] = {}
    for at, one in enumerate(draft.files):
        if one.kind not in KINDS:
            raise UserError("files", one.kind, f"choose one of {', '.join(KINDS)}")
        if one.kind == BASELINE and "baseline" in task:
            raise UserError("files", one.name, "there are two baselines; a problem has one")
        if one.kind == STARTER and one.name in templates:
            raise UserError("files", one.name, f"there are two starters called {one.name}")
        if one.kind == TASK:
            files.append({"name": one.name, "source": f"{at}.txt"})
        elif one.kind == STARTER:
            templates[one.name] = f"{at}.txt"
        else:
            task["baseline"] = f"{at}.txt"
    return task | {"templates": templates}


@transaction.atomic
def create_problem(*, competition: Competition, actor: User, slug: str, draft: Draft, now: datetime) -> list[Board]:
    """Create a problem with a board of this competition on each hardware that it names."""
    check_role(actor, competition, Role.OWNER, "write a problem")
    found = specification_of(check_slug("slug", slug), draft)
    edit.lock_names()
    if Problem.objects.filter(slug=slug).exists():
        raise UserError("slug", slug, "there is a problem of this name; choose another", status=409)
    problem = Problem.objects.create(slug=slug, title=found.title)
    record("create_problem", problem, actor=actor, now=now, after={"competition": competition.slug, "slug": slug})
    return [
        edit.add_board(
            competition=competition,
            actor=actor,
            version=_version(problem, found.on(hardware), now),
            hardware=hardware,
            slug=slug,
            now=now,
        )
        for hardware in found.gpus
    ]


def check_may_revise(actor: User, problem: Problem) -> None:
    """Raise UserError unless `actor` owns the first competition with this problem, whose baseline a draft shows."""
    if not has_problem(actor, problem):
        text = "it comes from another competition: only owners of that, or an administrator, may change it"
        raise UserError("problem", problem.slug, text, status=403)


@transaction.atomic
def revise_problem(
    *, competition: Competition, actor: User, slug: str, draft: Draft, now: datetime, reason: str = ""
) -> list[Board]:
    """Point the boards of a problem to the draft's version; return the boards that changed.

    Boards of other competitions keep their version. Submissions stay ranked by the version that judged them until
    organisers re-judge them, so a reason is needed where a board has submissions. `slug`: of the boards.
    """
    check_role(actor, competition, Role.OWNER, "change a problem")
    of_this = competition.boards.filter(slug=slug)
    boards = list(of_this.select_for_update(of=("self",)).with_parts().order_by("pk"))
    if not boards:
        raise UserError("slug", slug, "this competition has no board of that name", status=404)
    problem = boards[0].problem
    check_may_revise(actor, problem)
    found = specification_of(problem.slug, draft)
    versions = {board.pk: _version(problem, found.on(board.hardware), now) for board in boards}
    changed = [board for board in boards if versions[board.pk] != board.version]
    if any(board.submissions.exists() for board in changed):
        check_reason(reason)
    if changed and problem.title != found.title:
        problem.title = found.title
        problem.save(update_fields=["title"])
    for board in changed:
        before, board.version = board.version.digest, versions[board.pk]
        board.edited = sorted({*board.edited, "version"})
        board.save(update_fields=["version", "edited"])
        after = {"version": board.version.digest}
        record("edit_board", board, actor=actor, reason=reason, now=now, before={"version": before}, after=after)
    return changed


@transaction.atomic
def delete_problem(
    *, competition: Competition, name: str, actor: User, slug: str, reason: str, now: datetime
) -> Problem:
    """Delete a problem without submissions, with its boards, versions and admission tests.

    `name`: of its boards in this competition. `slug`: as typed to confirm.
    """
    check_role(actor, competition, Role.OWNER, "delete a problem")
    check_reason(reason)
    here = competition.boards.filter(slug=name).first()
    if here is None:
        raise UserError("board", name, "this competition has no board of that name", status=404)
    problem = Problem.objects.select_for_update().get(pk=here.problem_id)
    if slug != problem.slug:
        raise UserError("slug", slug, f"type {problem.slug} to confirm")
    every = Board.objects.filter(problem=problem)
    if every.exclude(competition__in=competitions_of(actor, Role.OWNER)).exists():
        text = "boards of other competitions have this problem, too: remove this competition's, or ask an administrator"
        raise UserError("problem", problem.slug, text, status=403)
    boards = list(every.select_for_update(of=("self",)).with_parts().order_by("pk"))
    if used := [str(board) for board in boards if board.submissions.exists()]:
        text = f"submissions to {', '.join(used[:3])} are kept: close the boards of this problem instead"
        raise UserError("slug", slug, text, status=409)
    for board in boards:
        edit.remove_board(board=board, actor=actor, now=now)
    versions = list(problem.versions.defer("bundle"))
    before = {"slug": slug, "title": problem.title, "versions": [version.digest for version in versions]}
    record("delete_problem", problem, actor=actor, reason=reason, now=now, before=before)
    kinds = ("admission_tests", "compiled_timings")  # of the app above
    tests = [getattr(version, kind).all() for version in versions for kind in kinds]
    if any(found.filter(runner__isnull=False, finished_at=None).exists() for found in tests):
        raise UserError("slug", slug, "a runner tests it at this moment; wait for the end of the test", 409)
    for found in tests:
        found.delete()
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT photofinish_delete_versions(%s)", [problem.pk])
    except IntegrityError:
        text = "earlier submissions were judged by it, and are kept: close its boards instead"
        raise UserError("slug", slug, text, status=409) from None
    problem.delete()
    return problem


def _version(problem: Problem, found: Specification, now: datetime) -> ProblemVersion:
    version, _ = ProblemVersion.objects.get_or_create(
        digest=found.digest, defaults={"problem": problem, "bundle": found.to_bundle(), "created_at": now}
    )
    return version
