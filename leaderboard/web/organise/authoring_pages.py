"""Problems written in the browser: a new problem, and the next version of a problem with its differences.

Nothing is kept until it is saved. "Check" reads a draft as saving does and shows the differences, and changes nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

import leaderboard.cli
from leaderboard import pipeline
from leaderboard.competitions import authoring
from leaderboard.competitions.authoring import BASELINE, STARTER, TASK, Draft, DraftFile
from leaderboard.competitions.models import Board, Competition
from leaderboard.errors import UserError
from leaderboard.submissions.diff import unified
from leaderboard.submissions.models import Submission
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import add_refusal
from leaderboard.web.organise.forms import DeleteForm, DraftForm
from leaderboard.web.organise.gate import competition_page, posted, send, shell
from problems.formats.files import parse_yaml

SCAFFOLD: Final = Path(leaderboard.cli.__file__).parent / "scaffold"  # of `photofinish problem new`
NAME: Final = "@NAME@"  # in the scaffold: the problem's address
SPARE_ROWS: Final = 2  # empty, for further files
KINDS: Final = ((TASK, "Reference, or a file beside it"), (BASELINE, "Baseline"), (STARTER, "Starter"))


@competition_page("GET", "POST")
def new(request: HttpRequest, competition: Competition) -> HttpResponse:
    before = example()
    form, draft = _sent(request, before, is_new=True)

    def save(**arguments: Any) -> str:
        slug = form.cleaned_data["slug"]
        boards = pipeline.write_problem(competition=competition, slug=slug, **arguments)
        hardware = ", ".join(board.hardware for board in boards)
        return f"Created {boards[0].title} with boards on {hardware}. They accept submissions after the admission test."

    return _page(request, competition, form, before, draft, save, boards=())


@competition_page("GET", "POST")
def revise(request: HttpRequest, competition: Competition, name: str) -> HttpResponse:
    boards = list(competition.boards.filter(slug=name).with_parts())
    if not boards:
        raise Http404
    try:
        authoring.check_may_revise(user_of(request), boards[0].problem)
        before = authoring.draft_of(boards)
    except UserError as error:
        return shell(request, competition, "problem", {"refusal": error.message, "boards": boards}, status=error.status)
    form, draft = _sent(request, before, is_new=False)

    def save(**arguments: Any) -> str:
        reason = form.cleaned_data["reason"]
        changed = pipeline.revise_problem(competition=competition, slug=name, reason=reason, **arguments)
        if not changed:
            return "Nothing was changed."
        hardware = ", ".join(board.hardware for board in changed)
        return f"Saved a new version for {hardware}. It accepts submissions after the admission test."

    return _page(request, competition, form, before, draft, save, boards=boards)


@competition_page("GET", "POST")
def delete(request: HttpRequest, competition: Competition, name: str) -> HttpResponse:
    board = get_object_or_404(competition.boards.filter(slug=name).select_related("problem").order_by("pk")[:1])
    form = DeleteForm(posted(request))
    form.fields["slug"].label = "Name of the problem"
    act, to = (
        partial(authoring.delete_problem, competition=competition, name=name),
        f"/organise/{competition.slug}/boards",
    )
    answer = send(request, form, act, to=to, done=f"Deleted the problem {board.problem}.", names={"board": "slug"})
    sent = Submission.objects.filter(board__problem=board.problem_id).count()
    return answer or shell(request, competition, "delete_problem", {"form": form, "board": board, "sent": sent})


@cache
def example() -> Draft:
    """Return the problem with which `photofinish problem new` begins."""

    def text(name: str) -> str:
        return (SCAFFOLD / f"{name}.txt").read_text(encoding="utf-8")

    task = text("task.yml")
    known: Any = parse_yaml(task, "task.yml")
    rest = task.partition("\ntests:")[2]  # before it stand the fields of their own
    settings = f"tests:{rest}".replace("baseline: baseline.py\n", "")
    files = [DraftFile(TASK, "reference.py", text("reference.py")), DraftFile(BASELINE, "", text("baseline.py"))]
    files += [DraftFile(STARTER, language, text(name)) for language, name in known["templates"].items()]
    return Draft("", known["description"], f"lang: py\n{settings}", tuple(files))


def _sent(request: HttpRequest, before: Draft, *, is_new: bool) -> tuple[DraftForm, Draft]:
    """Return the form, and the draft that was sent; else the draft before."""
    form = DraftForm(posted(request), initial=asdict(before))
    del form.fields["reason" if is_new else "slug"]
    if not form.is_bound:
        return form, before
    sent = form.cleaned_data if form.is_valid() else form.data
    slug = form.cleaned_data.get("slug", "") or NAME
    rows = zip(*(request.POST.getlist(name) for name in ("kind", "name", "text")), strict=False)
    files = (DraftFile(kind, name.strip(), text.replace("\r\n", "\n").replace(NAME, slug)) for kind, name, text in rows)
    return form, Draft(
        title=sent.get("title", ""),
        description=sent.get("description", "").replace("\r\n", "\n"),
        settings=sent.get("settings", "").replace("\r\n", "\n"),
        files=tuple(one for one in files if one.text.strip()),
        submission_name=sent.get("submission_name", ""),
    )


def _page(
    request: HttpRequest,
    competition: Competition,
    form: DraftForm,
    before: Draft,
    draft: Draft,
    save: Any,
    *,
    boards: Sequence[Board],
) -> HttpResponse:
    checked = None
    if form.is_bound and form.is_valid():
        slug = boards[0].problem.slug if boards else form.cleaned_data["slug"]
        try:
            if request.POST.get("act") == "save":
                messages.success(request, save(draft=draft, actor=user_of(request), now=timezone.now()))
                return redirect(f"/organise/{competition.slug}/boards")
            checked = authoring.specification_of(slug, draft)
        except UserError as error:
            add_refusal(form, error)
            form.refused = error.status
    context = {
        "form": form,
        "draft": draft,
        "boards": boards,
        "sent": sum(board.submissions.count() for board in boards),
        "checked": checked,
        "differences": differences(before, draft) if form.is_bound and boards else [],
        "rows": [*draft.files, *(DraftFile(TASK, "", "") for _ in range(SPARE_ROWS))][: authoring.MAX_FILES],
        "kinds": KINDS,
    }
    return shell(request, competition, "problem", context, status=form.status)


def differences(before: Draft, after: Draft) -> list[dict[str, Any]]:
    """Return the differing parts of two drafts, each with its unified diff."""
    old, new = _texts(before), _texts(after)
    found = ((name, unified(old.get(name, ""), new.get(name, ""))) for name in dict.fromkeys((*old, *new)))
    return [{"name": name, "diff": diff} for name, diff in found if not diff.is_same]


def _texts(draft: Draft) -> dict[str, str]:
    named = {TASK: "{}", STARTER: "Starter {}", BASELINE: "Baseline"}
    parts = {"Title": draft.title, "Description": draft.description, "Settings": draft.settings}
    parts["Name of a submission’s file"] = draft.submission_name
    return parts | {named.get(one.kind, "{}").format(one.name): one.text for one in draft.files}
