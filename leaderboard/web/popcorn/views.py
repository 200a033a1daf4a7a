"""The client's calls for competitors. Each looks up, makes one call to an act of the site, and answers in shapes.py.

A caller is known by a token of the site in the header `X-Popcorn-Cli-Id`, or as Bearer. A session is never enough. The
client shows errors from the field `detail` alone, and knows only JSON, whatever it accepts.
"""

from typing import Any, Final, NoReturn

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from rest_framework import serializers as drf
from rest_framework.exceptions import NotAuthenticated
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.access import redeem_code
from leaderboard.competitions.models import Board
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.names import look
from leaderboard.errors import UserError
from leaderboard.judging.attempts import cancel
from leaderboard.judging.lease import clock
from leaderboard.judging.models import Attempt
from leaderboard.review.standing import UNDER_REVIEW
from leaderboard.standings.publish import retract
from leaderboard.standings.read.code import readable_among
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import may_dispose
from leaderboard.web.api import base
from leaderboard.web.api.serializers import optional_text
from leaderboard.web.boards import cards, standing
from leaderboard.web.errors import body
from leaderboard.web.limits import check_code_tries
from leaderboard.web.popcorn import shapes
from leaderboard.web.submissions import view

HEADER: Final = "X-Popcorn-Cli-Id"
WAY_IN: Final = f"Create a token at {settings.SITE_URL}/tokens and write it as “cli_id: pf_…” into ~/.popcorn.yaml."
UNKNOWN: Final = f"{HEADER}: this token is unknown, expired or revoked. {WAY_IN}"
NOBODY: Final = f"{HEADER}: missing. {WAY_IN}"
ADMINS_WAY_IN: Final = f"Create a token with the scope “review” at {settings.SITE_URL}/tokens for POPCORN_ADMIN_TOKEN."
UNKNOWN_ADMIN: Final = f"Authorization: this token is unknown, expired or revoked. {ADMINS_WAY_IN}"
NO_ADMIN: Final = f"Authorization: missing. {ADMINS_WAY_IN}"
NO_PROFILES: Final = "this site profiles with its own runners; use `--mode profile`"


class CliAuthentication(base.BearerAuthentication):
    unknown = UNKNOWN

    def token_text(self, request: Request) -> str | None:
        text = request.headers.get(HEADER)
        return super().token_text(request) if text is None else text.strip()


class AdminAuthentication(CliAuthentication):
    unknown = UNKNOWN_ADMIN


class Public(base.Public):
    authentication_classes = [CliAuthentication]
    has_any_query = True
    content_negotiation_class = base.FirstAlways
    schema = None
    nobody = NOBODY

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        if not request.user.is_authenticated:
            raise NotAuthenticated(self.nobody)
        super().permission_denied(request, message, code)


class Private(Public, base.Private):
    pass


class Slice(drf.Serializer[Any]):
    limit = drf.IntegerField(default=50, min_value=1, max_value=100)
    offset = drf.IntegerField(default=0, min_value=0, max_value=1_000_000)


class SubmissionsQuery(Slice):
    leaderboard = optional_text(64, "Only this leaderboard.")


class CountQuery(drf.Serializer[Any]):
    user_id = optional_text(200, "Only lines of this entrant.")


class JoinRequest(drf.Serializer[Any]):
    code = drf.CharField(max_length=200)


def boards_named(viewer: Viewer, name: str) -> list[Board]:
    """Return the boards of a leaderboard, one per hardware. The client writes names in lower case."""
    found = boards_seen_by(viewer).select_related("competition").filter(slug__iexact=name.replace("\0", "?"))
    if not found:
        problem = f"there is no “{name[:64]}”, or you have no access to it; choose from the list of leaderboards"
        raise UserError("leaderboard", name, problem, 404)
    return list(found)


def place_of(viewer: Viewer, leaderboard: str, gpu: str) -> cards.Place:
    """Return the board of a leaderboard on a hardware, with its ranking."""
    card = cards.card(boards_named(viewer, leaderboard)[0].slug, viewer, timezone.now())
    found = next((place for place in card.places if place.hardware.lower() == gpu.lower()), None)
    if found is None:
        problem = f"{card.slug} is not judged on “{gpu[:64]}”; it has {', '.join(card.hardware)}"
        raise UserError("gpu", gpu, problem, 404)
    return found


def submission_of(viewer: User, pk: int) -> view.Opened:
    found = view.visible_to(viewer).filter(pk=pk).first()
    if found is None:
        text = f"there is no {pk}, or you have no access to it; `popcorn submissions list` shows yours"
        raise UserError("submission", pk, text, 404)
    return view.Opened(found, viewer)


class Health(Public):
    def get(self, request: Request) -> Response:
        return Response({"status": "ok"})


class Leaderboards(Public):
    def get(self, request: Request) -> Response:
        return Response(shapes.leaderboards(cards.cards(request.user, timezone.now())))


class Gpus(Public):
    def get(self, request: Request, leaderboard: str) -> Response:
        return Response([board.hardware for board in boards_named(request.user, leaderboard)])


class RunnerQueue(Public):
    def get(self, request: Request, gpu: str) -> Response:
        seen = boards_seen_by(request.user).filter(hardware__iexact=gpu.replace("\0", "?"))
        hardware = seen.order_by().values_list("hardware", flat=True).first()
        if hardware is None:
            problem = f"no leaderboard is judged on “{gpu[:64]}”; each leaderboard lists its own"
            raise UserError("gpu", gpu, problem, 404)
        return Response(shapes.queue(hardware, timezone.now()))


class Ranking(Public):
    def get(self, request: Request, leaderboard: str, gpu: str) -> Response:
        query, place = base.parse(Slice, request.query_params), place_of(request.user, leaderboard, gpu)
        asked = standing.Asked(start=query["offset"], most=query["limit"])
        shown = standing.show(place.board, asked, request.user, timezone.now(), known=place.look)
        ids = [row.ranked.entry.submission_id for row in shown.rows]
        readable = readable_among(ids, request.user, timezone.now())
        names = dict(Submission.objects.filter(pk__in=readable).values_list("pk", "filename"))
        return Response([shapes.ranking_line(row, place.board, names) for row in shown.rows])


class Count(Public):
    def get(self, request: Request, leaderboard: str, gpu: str) -> Response:
        query, place = base.parse(CountQuery, request.query_params), place_of(request.user, leaderboard, gpu)
        name = query["user_id"]
        if not name:
            return Response({"count": len(place.look.current.places)})
        alike = Entrant.objects.filter(competition=place.board.competition, looks__contains=[look(name)])
        named = [entrant.pk for entrant in alike if entrant.shown_name == name]
        return Response({"count": sum(pk in place.look.current.at for pk in named)})


class Submit(Private):
    parser_classes = [MultiPartParser]

    def post(self, request: Request, leaderboard: str, gpu: str, mode: str) -> Response:
        """Queue a submission; the client then asks for it every five seconds."""
        if mode.lower() not in shapes.MODES:
            raise UserError("mode", mode, f"there is no “{mode[:64]}”; choose {', '.join(shapes.MODES)}")
        file = request.FILES.get("file")
        if not isinstance(file, UploadedFile):
            raise UserError("file", None, "missing; send the source as the multipart part “file”, with a filename")
        ours, now = shapes.MODES[mode.lower()], clock()
        upload = Upload(board=leaderboard, hardware=gpu, mode=ours, filename=file.name or "", data=file.read())
        made = pipeline.submit(upload, owner=self.caller(request), now=now, token=self.token(request))
        attempt = Attempt.objects.current().only("pk").get(submission=made)
        answer = {
            "status": "accepted",
            "details": {"id": made.pk, "job_status_id": attempt.pk},
            "runner_queue": shapes.queue(made.board.hardware, now),
        }
        return Response(answer, status=202)


class Submissions(Private):
    def get(self, request: Request) -> Response:
        query, mine = base.parse(SubmissionsQuery, request.query_params), view.sent_by(self.caller(request))
        if query["leaderboard"]:
            mine = mine.filter(board__slug__iexact=query["leaderboard"])
        part = mine.order_by(*view.NEWEST_FIRST)[query["offset"] : query["offset"] + query["limit"]]
        return Response([shapes.summary(item) for item in view.shown_list(part)])


class OneSubmission(Private):
    reason = "deleted with popcorn"

    def get(self, request: Request, pk: int) -> Response:
        return Response(shapes.details(submission_of(self.caller(request), pk), timezone.now()))

    def delete(self, request: Request, pk: int) -> Response:
        """Cancel an unfinished submission, and take a ranked kernel off its board. The site keeps every submission."""
        actor, now = self.caller(request), timezone.now()
        item = submission_of(actor, pk)
        if not item.is_finished:
            cancel(submission=item.submission, actor=actor, reason=self.reason, now=now)
        elif item.published or item.review == UNDER_REVIEW:
            retract(submission=item.submission, actor=actor, reason=self.reason, now=now)
        elif not (may_dispose(actor, item.submission) or actor.is_staff):
            raise UserError("submission", pk, "only its owner or an administrator may delete it", 403)
        return Response({"status": "ok", "submission_id": pk})


class Join(Private):
    def post(self, request: Request) -> Response:
        sent, user = base.parse(JoinRequest, request.data), self.caller(request)
        check_code_tries(user.pk, request)
        code = redeem_code(text=sent["code"], user=user, now=timezone.now())
        opened = code.competition.boards.all() if code.opens_all else code.boards.all()
        return Response({"status": "ok", "leaderboards": sorted(set(opened.values_list("slug", flat=True)))})


class NotHere(Public):
    """A call without a counterpart on this site: it names the way that there is instead."""

    permission_classes = []  # whatever the scopes of the token
    problem = "There is no such call. docs/popcorn.md of this site's software lists those of the client."

    def get(self, request: Request, **kwargs: Any) -> Response:
        return body(404, self.problem)

    post = put = patch = delete = get
