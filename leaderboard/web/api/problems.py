"""Problems over /api/v1: drafts as on their page; problem sets, uploaded or fetched from git, with a preview."""

from typing import Any, Final

from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.competitions import authoring, checks
from leaderboard.competitions.authoring import Draft, DraftFile
from leaderboard.competitions.importing import ask_fetch, discard_upload, take_upload
from leaderboard.competitions.models import Board, Competition, SetUpload
from leaderboard.errors import UserError
from leaderboard.web.api.base import Owners, ShortList, Staff, paged, parse
from leaderboard.web.api.organised_boards import OrganisedBoard
from leaderboard.web.api.serializers import Keyed, optional_text
from problems.formats import git, kernelbench
from problems.formats.files import MAX_ZIP_BYTES
from problems.spec import MAX_GPUS

MAX_CHARS: Final = 1_000_000  # of a text of a draft; the body of a request has a limit of its own
CHANGED: Final = "the site has changed in the meantime; read the new preview, then apply it again"


class DraftPart(drf.Serializer[Any]):
    kind = drf.ChoiceField(choices=authoring.KINDS)
    name = optional_text(100, "Of a starter its language; of the baseline nothing.")
    text = drf.CharField(max_length=MAX_CHARS, trim_whitespace=False)


class ProblemDraft(drf.Serializer[Any]):
    title = drf.CharField(max_length=200)
    description = drf.CharField(max_length=MAX_CHARS, trim_whitespace=False, allow_blank=True, help_text="Markdown.")
    settings = drf.CharField(max_length=MAX_CHARS, trim_whitespace=False, help_text="The rest of task.yml, as YAML.")
    files = DraftPart(many=True, max_length=authoring.MAX_FILES)  # type: ignore[call-arg]
    submission_name = drf.CharField(max_length=100, default="submission.py")


class NewProblem(ProblemDraft):
    slug = drf.CharField(max_length=checks.MAX_SLUG_CHARS, help_text="Name of the problem and its boards.")


class RevisedProblem(ProblemDraft):
    reason = optional_text(MAX_REASON_CHARS, "Required if a board has submissions.")


class DeleteProblemRequest(drf.Serializer[Any]):
    board = drf.CharField(max_length=64, source="name", help_text="Name of its boards in this competition.")
    slug = drf.CharField(max_length=64, help_text="The problem's own name, to confirm.")
    reason = drf.CharField(max_length=MAX_REASON_CHARS)


class CheckedProblem(drf.Serializer[Any]):
    digest = drf.CharField()
    hardware = drf.ListField(child=drf.CharField(), source="gpus")
    warnings = drf.ListField(child=drf.CharField())


class ImportedProblem(drf.Serializer[Any]):
    problem = drf.CharField()
    status = drf.CharField(help_text="created, updated, unchanged, unsupported or refused.")
    change = drf.CharField(allow_blank=True)
    field = drf.CharField(allow_blank=True)
    reason = drf.CharField(allow_blank=True)
    hardware = drf.ListField(child=drf.CharField())
    digest = drf.CharField(allow_blank=True)
    warnings = drf.ListField(child=drf.CharField())


class ImportedSet(drf.Serializer[Any]):
    file = drf.CharField()
    name = drf.CharField(allow_blank=True)
    status = drf.CharField(help_text="created, updated, unchanged, refused or skipped.")
    competition = drf.CharField(allow_blank=True, help_text="Slug.")
    visibility = drf.CharField(allow_blank=True)
    field = drf.CharField(allow_blank=True)
    reason = drf.CharField(allow_blank=True)
    warnings = drf.ListField(child=drf.CharField())
    problems = ImportedProblem(many=True)


class SetUploadLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk")
    filename = drf.CharField(help_text="Of a set from a git repository its address.")
    digest = drf.CharField(allow_blank=True)
    origin = drf.CharField(allow_blank=True, help_text="Address, commit and folder of a fetched set; else empty.")
    waiting = drf.BooleanField(source="is_waiting", help_text="The site has still to fetch it.")
    fault = drf.CharField(source="problem", allow_blank=True, help_text="Why it could not be fetched.")
    uploaded_by = drf.CharField(source="actor.username")
    created_at = drf.DateTimeField()
    applied_at = drf.DateTimeField(allow_null=True, help_text="null: a preview.")
    counts = drf.DictField(child=drf.IntegerField(), source="report.counts", help_text="Number of problems by status.")


class SetUploadDetail(SetUploadLine):
    hardware = drf.ListField(child=drf.CharField(), help_text="Chosen in place of the sets' own; empty: their own.")
    without_deadlines = drf.BooleanField()
    precision = drf.ChoiceField(choices=kernelbench.PRECISIONS)
    sets = ImportedSet(many=True, source="report.sets")


class ImportChoices(drf.Serializer[Any]):
    hardware = ShortList(
        child=drf.CharField(max_length=64), default=list, max_length=MAX_GPUS, help_text="Default: as the sets name it."
    )
    without_deadlines = drf.BooleanField(default=False)
    precision = drf.ChoiceField(
        choices=kernelbench.PRECISIONS,
        default=kernelbench.FP32,
        help_text="Of KernelBench files: fp16 and bf16 make variants with names of their own.",
        error_messages={"invalid_choice": f"is unknown; choose one of {', '.join(kernelbench.PRECISIONS)}"},
    )


class NewSetUpload(ImportChoices):
    archive = drf.FileField(allow_empty_file=True, max_length=200, help_text="Zip file of at most 5 MB.")


class NewSetFetch(ImportChoices):
    address = drf.CharField(max_length=git.MAX_ADDRESS_CHARS, help_text="https, of a public repository.")
    ref = optional_text(git.MAX_REF_CHARS, "Branch, tag or commit. Default: the default branch.")
    folder = optional_text(git.MAX_FOLDER_CHARS, "Of the sets in the repository. Default: all of it.")


class CheckDraft(Owners):
    @extend_schema(operation_id="check_draft", request=NewProblem, responses=CheckedProblem)
    def post(self, request: Request, slug: str) -> Response:
        """Read a draft of a problem as saving does. It changes nothing. Owners only."""
        self.competition(request, slug, "write a problem")
        sent = parse(NewProblem, request.data)
        found = authoring.specification_of(checks.check_slug("slug", sent["slug"]), draft_in(sent))
        return Response(CheckedProblem(found).data)


class Problems(Owners):
    @extend_schema(operation_id="write_problem", request=NewProblem, responses={201: OrganisedBoard(many=True)})
    def post(self, request: Request, slug: str) -> Response:
        """Create a problem with a board on each hardware; they open after the admission test. Owners only."""
        competition, sent = self.competition(request, slug, "write a problem"), parse(NewProblem, request.data)
        told: dict[str, Any] = {"slug": sent["slug"], "draft": draft_in(sent)}
        made = pipeline.write_problem(competition=competition, **told, **self.by(request))
        return Response(OrganisedBoard(made, many=True).data, status=201)


class OneProblem(Owners):
    @extend_schema(operation_id="problem_draft", responses=ProblemDraft)
    def get(self, request: Request, slug: str, name: str) -> Response:
        """Return the draft of a problem's present version, baseline included. Owners of its first competition only."""
        boards = _boards(self.competition(request, slug), name)
        authoring.check_may_revise(self.caller(request), boards[0].problem)
        return Response(ProblemDraft(authoring.draft_of(boards)).data)

    @extend_schema(operation_id="revise_problem", request=RevisedProblem, responses=OrganisedBoard(many=True))
    def post(self, request: Request, slug: str, name: str) -> Response:
        """Save a draft as a problem's next version, and return the changed boards. Owners only."""
        competition, sent = self.competition(request, slug, "change a problem"), parse(RevisedProblem, request.data)
        told: dict[str, Any] = {"slug": name, "draft": draft_in(sent), "reason": sent["reason"]}
        pipeline.revise_problem(competition=competition, **told, **self.by(request))
        return Response(OrganisedBoard(_boards(competition, name), many=True).data)


class DeleteProblem(Owners):
    @extend_schema(operation_id="delete_problem", request=DeleteProblemRequest, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Delete a problem without submissions, with its boards, versions and admission tests. Owners only."""
        competition, sent = (
            self.competition(request, slug, "delete a problem"),
            parse(DeleteProblemRequest, request.data),
        )
        authoring.delete_problem(competition=competition, **sent, **self.by(request))
        return Response(status=204)


def draft_in(sent: dict[str, Any]) -> Draft:
    parts = {name: sent[name] for name in ("title", "description", "settings", "submission_name")}
    return Draft(files=tuple(DraftFile(**part) for part in sent["files"]), **parts)


def _boards(competition: Competition, name: str) -> list[Board]:
    found = list(competition.boards.filter(slug=name).with_parts())
    if not found:
        raise UserError("name", name, "this competition has no board of that name", 404)
    return found


class Importing(Staff):
    doing = "import problem sets"


class Sets(Importing):
    parser_classes = [MultiPartParser]

    @extend_schema(operation_id="set_uploads", parameters=[Keyed], responses=SetUploadLine(many=True))
    def get(self, request: Request) -> Response:
        """List the uploads of problem sets, newest first. Administrators only."""
        found = SetUpload.objects.select_related("actor").defer("data")
        return paged(request, found, parse(Keyed, request.query_params), SetUploadLine, ["-pk"])

    @extend_schema(operation_id="upload_set", request=NewSetUpload, responses={201: SetUploadDetail})
    def post(self, request: Request) -> Response:
        """Upload problem sets or KernelBench as a zip file, and preview the import. Administrators only."""
        sent = parse(NewSetUpload, request.data)
        archive = sent.pop("archive")
        data = archive.read(MAX_ZIP_BYTES + 1)
        made = take_upload(filename=archive.name, data=data, **self.by(request), **sent)
        return Response(SetUploadDetail(made).data, status=201)


class FetchSet(Importing):
    @extend_schema(operation_id="fetch_set", request=NewSetFetch, responses={201: SetUploadDetail})
    def post(self, request: Request) -> Response:
        """Ask for problem sets from a git repository, previewed once `waiting` is false. Administrators only."""
        made = ask_fetch(**parse(NewSetFetch, request.data), **self.by(request))
        return Response(SetUploadDetail(made).data, status=201)


class OneSet(Importing):
    @extend_schema(operation_id="set_upload", responses=SetUploadDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return an upload with its preview or, once it is applied, with its result. Administrators only."""
        return Response(SetUploadDetail(_upload(pk)).data)


class ApplySet(Importing):
    @extend_schema(operation_id="apply_set", request=None, responses=SetUploadDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Import an upload exactly as previewed; 409 if the site has changed since. Administrators only."""
        if not pipeline.import_set(upload=_upload(pk), **self.by(request)):
            raise UserError("upload", pk, CHANGED, 409)
        return Response(SetUploadDetail(_upload(pk)).data)


class DiscardSet(Importing):
    @extend_schema(operation_id="discard_set", request=None, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        """Delete an upload that was not applied. Administrators only."""
        discard_upload(upload=_upload(pk), **self.by(request))
        return Response(status=204)


def _upload(pk: int) -> SetUpload:
    return get_object_or_404(SetUpload.objects.select_related("actor").defer("data"), pk=pk)


URLS: Final[list[URLPattern]] = [
    path("organise/<slug:slug>/drafts", CheckDraft.as_view()),
    path("organise/<slug:slug>/problems", Problems.as_view()),
    path("organise/<slug:slug>/problems/delete", DeleteProblem.as_view()),
    path("organise/<slug:slug>/problems/<slug:name>", OneProblem.as_view()),
    path("sets", Sets.as_view()),
    path("sets/git", FetchSet.as_view()),
    path("sets/<int:pk>", OneSet.as_view()),
    path("sets/<int:pk>/apply", ApplySet.as_view()),
    path("sets/<int:pk>/discard", DiscardSet.as_view()),
]
