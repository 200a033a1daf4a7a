"""Uploaded problem sets: an organiser sends a zip file, sees a preview of its import, and applies it.

No part of an archive stays on the site's disk: it is unpacked in a temporary folder for the act. The applied import is
always the import that was shown.
"""

import hashlib
import json
import tempfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.competitions.importing import Import, Report, import_sets
from leaderboard.competitions.models import SetUpload
from leaderboard.errors import UserError
from problems.fields import ProblemError
from problems.formats import kernelbench
from problems.formats.files import unpack
from problems.formats.folders import SetFile, adapted, read_sets

KEPT_FOR: Final = timedelta(days=1)  # for an upload that is not applied
MAX_WAITING: Final = 5  # per organiser: each may hold 5 MB


def take_upload(
    *,
    actor: User,
    filename: str,
    data: bytes,
    now: datetime,
    hardware: tuple[str, ...] = (),
    without_deadlines: bool = False,
) -> SetUpload:
    """Keep the archive with the report of a dry run. Raise UserError if it has nothing to import."""
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    upload = SetUpload(actor=actor, filename=filename, digest=digest, data=data, created_at=now)
    upload.hardware, upload.without_deadlines = list(hardware), without_deadlines
    upload.report = _plain(_import(upload, Import(actor, "a dry run", now), dry_run=True))
    with transaction.atomic():
        waiting = SetUpload.objects.filter(applied_at=None)
        waiting.filter(created_at__lt=now - KEPT_FOR).delete()
        mine = waiting.filter(actor=actor).values_list("pk", flat=True)
        SetUpload.objects.filter(pk__in=list(mine[MAX_WAITING - 1 :])).delete()
        upload.save()
    return upload


@transaction.atomic
def apply_upload(*, upload: SetUpload, actor: User, now: datetime) -> bool:
    """Apply an upload; return False if its effect would now differ from the preview.

    Then nothing is imported and the report is new.
    """
    upload = SetUpload.objects.select_for_update().get(pk=upload.pk)
    if upload.applied_at is not None:
        raise UserError("upload", upload.pk, "it was applied already; send the archive again", status=409)
    act = Import(actor, f"upload {upload.pk}: {upload}", now)
    with transaction.atomic():
        report = _import(upload, act, dry_run=False)
        is_as_shown = bool(_plain(report)["sets"] == upload.report["sets"])
        if not is_as_shown:
            transaction.set_rollback(True)
    if is_as_shown:
        upload.applied_at, upload.data = now, b""
    else:
        report = replace(report, dry_run=True)
    upload.report = _plain(report)
    upload.save(update_fields=["report", "applied_at", "data"])
    return is_as_shown


def _import(upload: SetUpload, act: Import, *, dry_run: bool) -> Report:
    hardware = tuple(upload.hardware)
    try:
        with tempfile.TemporaryDirectory(prefix="photofinish-sets-") as place:
            folder = Path(place) / "archive"
            folder.mkdir()
            unpack(bytes(upload.data), folder)
            if (collection := kernelbench.find_collection(folder)) is None:
                files = read_sets(folder)
            elif not hardware:
                text = "KernelBench names no hardware: fill in the field Hardware, such as H200"
                raise ProblemError("hardware", text)
            else:
                found = kernelbench.load_collection(collection, hardware=hardware)
                files = [SetFile(kernelbench.NAME, found=found)]
    except ProblemError as error:
        raise UserError("archive", upload.filename, str(error).removeprefix("archive: ")) from error
    chosen = [adapted(file, hardware=hardware, without_deadlines=upload.without_deadlines) for file in files]
    return import_sets(chosen, act, dry_run=dry_run)


def _plain(report: Report) -> Any:
    """Return the report as the database returns it."""
    return json.loads(json.dumps(report.to_json()))
