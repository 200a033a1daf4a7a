"""Problem sets, for organisers: send a zip file, preview its import, apply it."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.admissions.door import unadmitted_boards
from leaderboard.competitions.importing import CREATED
from leaderboard.competitions.models import CLOSED, Board, SetUpload
from leaderboard.competitions.uploads import take_upload
from leaderboard.errors import UserError
from leaderboard.judging.models import DONE
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import SetForm
from leaderboard.web.organise.gate import posted, restricted_page
from problems.formats.files import MAX_ZIP_BYTES

PAST_ROWS: Final = 50


@restricted_page("GET", "POST")
def index(request: HttpRequest) -> HttpResponse:
    form, status = SetForm(posted(request), request.FILES or None), 200
    if form.is_valid():
        sent = form.cleaned_data
        archive = sent.pop("archive")
        data = archive.read(MAX_ZIP_BYTES + 1)
        try:
            upload = take_upload(actor=user_of(request), filename=archive.name, data=data, now=timezone.now(), **sent)
            return redirect(f"/sets/{upload.pk}")
        except UserError as error:
            form.add_error("archive", f"{error.value}: {error.message}.")
            status = error.status
    elif form.is_bound:
        status = 400
    uploads = SetUpload.objects.select_related("actor").defer("data")[:PAST_ROWS]
    return render(request, "web/sets.html", {"form": form, "uploads": uploads}, status=status)


@restricted_page("GET", "HEAD")
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    upload = get_object_or_404(SetUpload.objects.select_related("actor").defer("data"), pk=pk)
    sets = upload.report["sets"]
    changes = {line["change"] for one in sets for line in one["problems"]} | {one["status"] for one in sets}
    for one in sets:
        has_new_boards = any(line["change"] == CREATED for line in one["problems"])
        one["shows_at_once"] = has_new_boards and one["visibility"] not in ("", CLOSED) and one["status"] != CREATED
    applied = [one["competition"] for one in sets if upload.applied_at and one["competition"]]
    closed = unadmitted_boards(Board.objects.filter(competition__slug__in=applied))
    context = {
        "failed": [(board, test) for board, test in closed if test.state == DONE],
        "waiting": sum(test.state != DONE for _, test in closed),
        "upload": upload,
        "has_changes": bool(changes & {"created", "updated"}),
    }
    return render(request, "web/set_upload.html", context)


@restricted_page("POST")
def apply(request: HttpRequest, pk: int) -> HttpResponse:
    upload = get_object_or_404(SetUpload.objects.defer("data"), pk=pk)
    try:
        if pipeline.import_set(upload=upload, actor=user_of(request), now=timezone.now()):
            messages.success(
                request,
                "Imported. New boards accept submissions once their problem has passed its admission test. "
                "A new competition is visible to its organisers only, until one of them publishes it.",
            )
        else:
            messages.warning(request, "Not imported: the site has changed in the meantime. Check the new preview.")
    except UserError as error:
        messages.warning(request, f"Not imported: {error.message}.")
    return redirect(f"/sets/{pk}")
