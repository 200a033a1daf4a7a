"""Import problem sets: competitions, problems, versions and boards, or a dry run; report each problem's outcome.

Imports run one at a time, and are safe to repeat. Each set has its own transaction within a common transaction, and
each problem within its set's. A refused set or problem does not affect the rest, and a dry run does everything and
keeps nothing. Command and pages both use this module.

A problem with changed text or cases gets a new version and its boards point at it; attempts keep the version they had.
Boards that the set no longer names stay, with their submissions. Fields that an organiser edited on the site (`edited`)
stay as they are, and the import reports them.

Different set names may lead to the same address. A set fills the competition at its address only if the competition
has, or once had, the set's name. An organiser may therefore rename it and import again. The audit has its earlier
names: from creation, imports and edits.
"""

import hashlib
import json
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.text import slugify

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_staff
from leaderboard.audit.models import Row
from leaderboard.audit.record import changed, record
from leaderboard.competitions.checks import MAX_SLUG_CHARS
from leaderboard.competitions.edit import free_slug, lock_names
from leaderboard.competitions.models import CLOSED, PUBLIC, Board, Competition, Problem, ProblemVersion, Role, SetUpload
from leaderboard.errors import UserError
from problems.fields import ProblemError
from problems.formats import git, kernelbench
from problems.formats.files import unpack
from problems.formats.folders import SetFile, adapted, read_sets
from problems.formats.gpumode import ProblemSet, SetEntry
from problems.sizes import too_large
from problems.spec import MAX_GPUS, as_words

CREATED: Final = "created"
UPDATED: Final = "updated"
UNCHANGED: Final = "unchanged"
UNSUPPORTED: Final = "unsupported"
REFUSED: Final = "refused"
SKIPPED: Final = "skipped"
STATUSES: Final = (CREATED, UPDATED, UNCHANGED, UNSUPPORTED, REFUSED)
_NAMING: Final = ("create_competition", "clone_competition", "edit_competition", "import_set")


@dataclass(frozen=True)
class Import:
    """An import of sets: the person, the source (the audit's reason), the time, and how new competitions start."""

    actor: User | None  # None: the site's own console
    source: str
    now: datetime
    origin: str = ""  # of new versions: address and commit
    publish: bool = False  # a new competition is public at once; else closed: only its organisers see it


@dataclass(frozen=True)
class ProblemReport:
    """Outcome of one problem: `reason` explains why it is unsupported, the error in `field`, or the change."""

    problem: str
    status: str
    change: str = ""  # created, updated or unchanged; "" if refused
    field: str = ""
    reason: str = ""
    hardware: tuple[str, ...] = ()
    digest: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetReport:
    """Outcome of one YAML file: created, updated, unchanged, refused or skipped.

    An updated set has the changes of the competition itself in `reason`, a refused set has `field` and `reason`.
    `visibility` is its competition's, after the import.
    """

    file: str
    name: str
    status: str
    competition: str = ""
    visibility: str = ""
    field: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()
    problems: tuple[ProblemReport, ...] = ()


@dataclass(frozen=True)
class Report:
    dry_run: bool
    sets: tuple[SetReport, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Problems by status, in the order of STATUSES; a set that was refused whole counts as one refused problem."""
        found = Counter(problem.status for one in self.sets for problem in one.problems)
        found[REFUSED] += sum(one.status == REFUSED and not one.problems for one in self.sets)
        return {status: found[status] for status in STATUSES if found[status]}

    @property
    def has_changes(self) -> bool:
        changes = {change for one in self.sets for change in (one.status, *(each.change for each in one.problems))}
        return bool(changes - {UNCHANGED, REFUSED, SKIPPED, ""})

    def to_json(self) -> dict[str, Any]:
        return {"dry_run": self.dry_run, "counts": self.counts, "sets": [asdict(one) for one in self.sets]}


@dataclass(frozen=True)
class _Filled:
    """A competition as the set leaves it: changed fields before and after, and fields that were kept."""

    competition: Competition
    change: str
    before: dict[str, Any]
    after: dict[str, Any]
    kept: Sequence[str] = ()  # fields edited here, for which the set has different values


def import_sets(files: Iterable[SetFile], act: Import, *, dry_run: bool) -> Report:
    """Import the sets. A faulty set or problem raises nothing: it is a part of the report."""
    with transaction.atomic():
        lock_names()
        taken: dict[str, str] = {}
        report = Report(dry_run, tuple(_import(file, act, taken) for file in files))
        if dry_run:
            transaction.set_rollback(True)
    return report


def _import(file: SetFile, act: Import, taken: dict[str, str]) -> SetReport:
    """Import one file. `taken` maps a competition's slug to its file in this import."""
    if file.found is None:
        assert file.fault is not None
        status, reason = (SKIPPED, "it lists no problems") if file.is_foreign else (REFUSED, file.fault.message)
        return SetReport(file.label, "", status, field=file.fault.field, reason=reason)
    try:
        with transaction.atomic():
            slug = slugify(file.name)[:MAX_SLUG_CHARS]
            if not slug:
                raise UserError("name", file.name, "a set's name needs a letter or a digit of ASCII")
            if slug in taken:
                same = f"{taken[slug]} is a set of this name already, or of one that comes to the same address ({slug})"
                raise UserError("name", file.name, f"{same}; rename one of them")
            report = _bring_in(file.label, file.found, slug, act)
            if report.competition:
                taken[slug] = file.label
            else:
                transaction.set_rollback(True)  # refused problems alone create no competition
    except UserError as error:
        return SetReport(file.label, file.name, REFUSED, field=error.field, reason=error.message)
    return report


def _bring_in(label: str, found: ProblemSet, slug: str, act: Import) -> SetReport:
    """Bring in a set within the caller's transaction. Raise UserError if the set itself cannot be brought in."""
    filled = _competition(found, slug, act)
    competition = filled.competition
    problems = (
        *(_problem(competition, entry, act) for entry in found.entries),
        *(ProblemReport(fault.name, REFUSED, "", fault.field, fault.message) for fault in found.faults),
    )
    own = tuple(warning for warning in found.warnings if warning.startswith(f"{label.split('/')[-1]}: "))
    if not any(problem.change for problem in problems):
        status, reason = REFUSED, "none of its problems could be read"
        if not problems:
            status, reason = SKIPPED, "it lists no problems"
        return SetReport(label, found.name, status, "", "", "problems", reason, own, problems)
    if {filled.change, *(problem.change for problem in problems)} - {UNCHANGED, ""}:
        reports = [asdict(problem) for problem in problems if problem.change != UNCHANGED]
        after = filled.after | {"name": found.name, "set": filled.change, "problems": reports}
        told: dict[str, Any] = {"actor": act.actor, "reason": act.source, "now": act.now}
        record("import_set", competition, before=filled.before, after=after, **told)
    return SetReport(
        file=label,
        name=found.name,
        status=filled.change,
        competition=competition.slug,
        visibility=competition.visibility,
        # Names and times with their values, but not a description, because it is long.
        reason="; ".join(
            f"new {key}" if key == "description" else _change(key, filled.before[key], new)
            for key, new in filled.after.items()
        ),
        warnings=(*own, *_differences(filled, problems)),
        problems=problems,
    )


def _differences(filled: _Filled, problems: Sequence[ProblemReport]) -> Iterator[str]:
    """Warn of differences that stay: boards that the set does not name any more, and fields edited here."""
    named = {(problem.problem, hardware) for problem in problems for hardware in problem.hardware}
    refused = {problem.problem for problem in problems if problem.status == REFUSED}
    for board in Board.objects.filter(competition=filled.competition).exclude(slug__in=refused):
        if (board.slug, board.hardware) not in named:
            yield f"{board} is not in the set any more; it stays"
    yield from (f"the {key} of the competition was edited here; it stays" for key in filled.kept)


def _competition(problem_set: ProblemSet, slug: str, act: Import) -> _Filled:
    wanted: dict[str, Any] = {name: getattr(problem_set, name) for name in ("name", "description", "deadline")}
    if problem_set.scoring:
        wanted["scoring"] = problem_set.scoring
    known = Competition.objects.select_for_update(no_key=True).filter(slug=slug).first()
    if known is None:
        visibility = PUBLIC if act.publish else CLOSED
        competition = Competition.objects.create(slug=slug, created_at=act.now, visibility=visibility, **wanted)
        if act.actor is not None:
            Role.objects.create(competition=competition, user=act.actor, role=Role.OWNER, created_at=act.now)
        return _Filled(competition, CREATED, {}, {})
    _check_is_of(known, problem_set.name)
    before = {key: getattr(known, key) for key in wanted}
    kept = _set(known, wanted)
    old, new = changed(before, {key: getattr(known, key) for key in wanted})
    if new:
        known.save(update_fields=list(new))
    return _Filled(known, UPDATED if new else UNCHANGED, old, new, kept)


def _set(row: Competition | Board, wanted: Mapping[str, Any]) -> list[str]:
    """Set fields from the set; return the fields that were kept because they were edited here."""
    differing = [key for key, value in wanted.items() if getattr(row, key) != value]
    for key in differing:
        if key not in row.edited:
            setattr(row, key, wanted[key])
    return [key for key in differing if key in row.edited]


def _change(key: str, before: str | datetime | None, after: str | datetime | None) -> str:
    if after is None:
        return f"{key} removed, before {_shown(before)}"
    return f"new {key} {_shown(after)}, " + ("where there was none" if before is None else f"before {_shown(before)}")


def _shown(value: str | datetime | None) -> str:
    if value is None:
        return "none"
    return repr(value) if isinstance(value, str) else f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _problem(competition: Competition, entry: SetEntry, act: Import) -> ProblemReport:
    """Bring in a problem under a name that no other competition has; the same set gets the same name each time."""
    asked = entry.slug
    try:
        with transaction.atomic():
            slug = free_slug(competition, asked)
            entry = replace(entry, slug=slug, problem=replace(entry.problem, slug=slug)) if slug != asked else entry
            if not entry.gpus:
                raise UserError("gpus", slug, "no hardware is named for this problem; add `gpus: [cpu]`")
            boards = {hardware: _board(competition, entry, hardware, act) for hardware in entry.gpus}
    except UserError as error:
        return ProblemReport(asked, REFUSED, "", error.field, error.message)
    others = Board.objects.filter(competition=competition, slug=slug).exclude(hardware__in=entry.gpus)
    changes = [f"{hardware}: {change}" for hardware, (change, _) in boards.items() if change != UNCHANGED]
    change = UPDATED if changes else UNCHANGED
    if all(each == CREATED for each, _ in boards.values()) and not others.exists():
        change = CREATED
    unsupported = entry.problem.unsupported
    warnings = [] if slug == asked else [f"another competition has a board {asked}; here it is {slug}"]
    for hardware, (_, kept) in boards.items():
        warnings += [f"{hardware}: its {key} was edited here; it stays" for key in kept]
    if not unsupported:  # hardware without room for the problem's inputs, before a runner finds out
        warnings += too_large(entry.problem, entry.gpus)
    return ProblemReport(
        problem=slug,
        status=UNSUPPORTED if unsupported else change,
        change=change,
        reason=unsupported or ("; ".join(changes) if change == UPDATED else ""),
        hardware=tuple(boards),
        digest=entry.problem.on(entry.gpus[0]).digest,
        warnings=(*warnings, *entry.problem.warnings),
    )


def _board(competition: Competition, entry: SetEntry, hardware: str, act: Import) -> tuple[str, list[str]]:
    """Return the change of the board, and the fields that were kept because they were edited here."""
    specification = entry.problem.on(hardware)
    problem, _ = Problem.objects.update_or_create(slug=specification.slug, defaults={"title": specification.title})
    version, _ = ProblemVersion.objects.get_or_create(
        digest=specification.digest,
        defaults={
            "problem": problem,
            "bundle": specification.to_bundle(),
            "origin": act.origin,
            "created_at": act.now,
        },
    )
    place = {"slug": entry.slug, "hardware": hardware}
    board = Board.objects.select_for_update(no_key=True).filter(**place).first()
    if board is None:
        made = {"problem": version.problem, "version": version, "deadline": entry.deadline, "created_at": act.now}
        Board.objects.create(competition=competition, **place, **made)
        return CREATED, []
    before = {"version": board.version.digest, "deadline": board.deadline}
    kept = _set(board, {"version": version, "deadline": entry.deadline})
    after = {"version": board.version.digest, "deadline": board.deadline}
    if after == before:
        return UNCHANGED, kept
    board.problem = board.version.problem
    board.save(update_fields=["problem", "version", "deadline"])
    record("update_board", board, actor=act.actor, reason=act.source, now=act.now, before=before, after=after)
    changes = (f"{key} removed" if after[key] is None else f"new {key}" for key in after if after[key] != before[key])
    return " and ".join(changes), kept


def _check_is_of(competition: Competition, set_name: str) -> None:
    """Raise UserError if this competition belongs to another set, or was made on the site under another name."""
    label = Competition._meta.label_lower
    rows = Row.objects.filter(object_type=label, object_id=str(competition.pk), act__in=_NAMING)
    earlier = [name for names in rows.values_list("before__name", "after__name") for name in names]
    known = {_normalised(name) for name in (competition.name, *earlier) if isinstance(name, str)}
    if _normalised(set_name) not in known:
        raise UserError(
            "name",
            set_name,
            f"{set_name!r} comes to the address {competition.slug}, and there is the competition {competition.name!r}; "
            "change the name in the set (import_kernelbench: --name), or, if that competition is meant, rename it to "
            f"{set_name!r} in its settings on the site and import again",
        )


def _normalised(name: str) -> str:
    """Return a name that equals every name that differs only in case, width or spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


KEPT_FOR: Final = timedelta(days=1)  # for an upload that is not applied
MAX_WAITING: Final = 5  # per organiser: each may hold 5 MB
ONLY_KERNELBENCH: Final = f"is for KernelBench files only; choose {kernelbench.FP32} for sets in the format of GPU MODE"
FETCHED_BY: Final = timedelta(minutes=5)  # longer than git may take


def take_upload(
    *,
    actor: User,
    filename: str,
    data: bytes,
    now: datetime,
    hardware: Sequence[str] = (),
    without_deadlines: bool = False,
    precision: str = kernelbench.FP32,
) -> SetUpload:
    """Keep the archive with the report of a dry run. Raise UserError if it has nothing to import."""
    upload = _new_upload(
        actor, hardware, precision, filename=filename, without_deadlines=without_deadlines, created_at=now
    )
    upload.data, upload.digest = data, "sha256:" + hashlib.sha256(data).hexdigest()
    upload.report = _plain(_imported(upload, Import(actor, "a dry run", now), dry_run=True))
    _keep(upload, now)
    return upload


def ask_fetch(
    *,
    actor: User,
    address: str,
    ref: str,
    folder: str,
    now: datetime,
    hardware: Sequence[str] = (),
    without_deadlines: bool = False,
    precision: str = kernelbench.FP32,
) -> SetUpload:
    """Keep the wish to fetch a set from a git repository; `fetch_waiting` fulfils it. Raises UserError."""
    upload = _new_upload(actor, hardware, precision, without_deadlines=without_deadlines, created_at=now, data=b"")
    source = git.Source(address.strip(), ref.strip(), folder.strip().strip("/"))
    try:
        git.check_source(source, settings.PROBLEM_GIT_HOSTS)
    except ProblemError as error:
        raise UserError(error.field, getattr(source, error.field), error.message) from error
    upload.filename = source.address.removeprefix("https://")[:200]
    upload.address, upload.ref, upload.folder = source.address, source.ref, source.folder
    upload.report = _plain(Report(dry_run=True, sets=()))
    _keep(upload, now)
    return upload


def _new_upload(actor: User, hardware: Sequence[str], precision: str, **fields: Any) -> SetUpload:
    check_staff(actor, "import problem sets")
    if precision not in kernelbench.PRECISIONS:
        raise UserError("precision", precision, f"is unknown; choose one of {', '.join(kernelbench.PRECISIONS)}")
    try:
        words = as_words(list(hardware), "hardware", MAX_GPUS)
    except ProblemError as error:
        raise UserError("hardware", ", ".join(hardware), error.message) from error
    return SetUpload(actor=actor, hardware=list(words), precision=precision, **fields)


def fetch_waiting(*, now: datetime) -> bool:
    """Fetch the set that has waited longest, and preview it. False: none waits. The sweeper calls it.

    A fetch that its sweeper did not survive begins again after FETCHED_BY.
    """
    with transaction.atomic():
        waiting = SetUpload.objects.exclude(address="").filter(commit="", problem="")
        idle = waiting.filter(Q(fetching_since=None) | Q(fetching_since__lt=now - FETCHED_BY))
        upload = idle.select_for_update(skip_locked=True).order_by("pk").first()
        if upload is None:
            return False
        upload.fetching_since = now
        upload.save(update_fields=["fetching_since"])
    source = git.Source(upload.address, upload.ref, upload.folder)
    try:
        git.check_source(source, settings.PROBLEM_GIT_HOSTS)  # once more: the list may have changed
        fetched = git.fetch(source)
        upload.data, upload.digest = fetched.data, "sha256:" + hashlib.sha256(fetched.data).hexdigest()
        upload.commit = fetched.commit
        upload.report = _plain(_imported(upload, Import(upload.actor, "a dry run", now), dry_run=True))
    except (ProblemError, UserError) as error:
        upload.data, upload.commit, upload.problem = b"", "", str(error)[:500]
    names = ("data", "digest", "commit", "problem", "report")
    SetUpload.objects.filter(pk=upload.pk).update(**{name: getattr(upload, name) for name in names})  # unless discarded
    return True


def _keep(upload: SetUpload, now: datetime) -> None:
    """Store an upload, and delete the actor's oldest without an import."""
    with transaction.atomic():
        waiting = SetUpload.objects.filter(applied_at=None)
        waiting.filter(created_at__lt=now - KEPT_FOR).delete()
        mine = waiting.filter(actor=upload.actor).values_list("pk", flat=True)
        SetUpload.objects.filter(pk__in=list(mine[MAX_WAITING - 1 :])).delete()
        upload.save()


@transaction.atomic
def apply_upload(*, upload: SetUpload, actor: User, now: datetime) -> bool:
    """Apply an upload; return False if its effect would now differ from the preview.

    Then nothing is imported and the report is new.
    """
    check_staff(actor, "import problem sets")
    upload = _unapplied(upload)
    if upload.address and not upload.commit:
        raise UserError("upload", upload.pk, upload.problem or "it is not fetched yet; wait a moment", status=409)
    act = Import(actor, f"upload {upload.pk}: {upload}", now, upload.origin)
    with transaction.atomic():
        report = _imported(upload, act, dry_run=False)
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


@transaction.atomic
def discard_upload(*, upload: SetUpload, actor: User, now: datetime) -> None:
    """Delete an upload that was not applied; an applied upload stays as the record of its import."""
    check_staff(actor, "import problem sets")
    upload = _unapplied(upload)
    record("discard_set", upload, actor=actor, reason=str(upload), now=now)
    upload.delete()


def _unapplied(upload: SetUpload) -> SetUpload:
    """Return the upload, locked. Raise UserError if it was applied, or discarded meanwhile."""
    found = SetUpload.objects.select_for_update().filter(pk=upload.pk).first()
    if found is None:
        raise UserError("upload", upload.pk, "it was discarded; send it again", status=404)
    if found.applied_at is not None:
        raise UserError("upload", upload.pk, "it was applied already; send it again to import it anew", status=409)
    return found


def _imported(upload: SetUpload, act: Import, *, dry_run: bool) -> Report:
    hardware = tuple(upload.hardware)
    try:
        with tempfile.TemporaryDirectory(prefix="photofinish-sets-") as place:
            folder = Path(place) / "archive"
            folder.mkdir()
            unpack(bytes(upload.data), folder)
            if (collection := kernelbench.find_collection(folder)) is None:
                if upload.precision != kernelbench.FP32:
                    raise UserError("precision", upload.precision, ONLY_KERNELBENCH)
                files = read_sets(folder)
            elif not hardware:
                text = "KernelBench names no hardware: fill in the field Hardware, such as H200"
                raise ProblemError("hardware", text)
            else:
                found = kernelbench.load_collection(collection, hardware=hardware, precision=upload.precision)
                files = [SetFile(kernelbench.NAME, found=found)]
    except ProblemError as error:
        raise UserError("archive", upload.filename, str(error).removeprefix("archive: ")) from error
    chosen = [adapted(file, hardware=hardware, without_deadlines=upload.without_deadlines) for file in files]
    return import_sets(chosen, act, dry_run=dry_run)


def _plain(report: Report) -> Any:
    """Return the report as the database returns it."""
    return json.loads(json.dumps(report.to_json()))
