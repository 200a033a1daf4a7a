"""The end of a competition over /api/v1: its standing as a whole, tracks with prizes, awards, confirmations."""

from typing import Any, Final

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.awards import life
from leaderboard.awards.models import WITHDRAWN, Award
from leaderboard.competitions import checks, edit
from leaderboard.competitions.calendar import Phase, is_frozen_at, phase_at
from leaderboard.competitions.models import DIVISIONS, Competition, Prize, Role, Track
from leaderboard.competitions.permissions import check_role
from leaderboard.confirmations import models as confirmations
from leaderboard.confirmations.models import Confirmation
from leaderboard.errors import UserError
from leaderboard.judging.archive import look
from leaderboard.standings import freeze
from leaderboard.web.api.base import Owners, Shape, ShortList, act_view, parse
from leaderboard.web.api.competitions import Winner
from leaderboard.web.api.serializers import ReasonRequest, optional_text
from leaderboard.web.boards.competition_pages import AWARD_ACTS
from leaderboard.web.organise import standing_pages
from leaderboard.web.organise.awards import desk

MAX_TRACK_CHARS: Final = 5_000
PARAMS: Final = ("hardware", "board", "tag", "speedup")  # of a track's kind


class FinaliseRequest(ReasonRequest):
    anyway = drf.BooleanField(default=False, help_text="Although results are held or submissions not judged.")


class StandingState(drf.Serializer[Any]):
    phase = drf.ChoiceField(choices=[phase.value for phase in Phase])
    frozen = drf.BooleanField()
    held = drf.IntegerField(help_text="Results of the contest that wait for a decision.")
    unjudged = drf.IntegerField(help_text="Submissions to the contest that are not judged yet.")
    possible = drf.ListField(child=drf.CharField(), help_text="Acts on the standing that are possible now.")


class PrizeRequest(drf.Serializer[Any]):
    place = drf.IntegerField(min_value=1, max_value=edit.MAX_PLACE)
    amount = drf.DecimalField(
        max_digits=12, decimal_places=2, allow_null=True, default=None, help_text="null: no money."
    )
    currency = optional_text(3, "Three letters of ISO 4217, with an amount.")
    other = drf.CharField(source="text", max_length=200, allow_blank=True, default="", help_text="Prize besides money.")
    sponsor = optional_text(128)


class PlaceRequest(drf.Serializer[Any]):
    place = drf.IntegerField(min_value=1, max_value=edit.MAX_PLACE)


class TrackSettings(drf.Serializer[Any]):
    name = drf.CharField(max_length=checks.MAX_NAME_CHARS)
    kind = drf.ChoiceField(choices=Track.KINDS)
    hardware = optional_text(64, "For the kinds `hardware`, `board` and `first_to_beat`.")
    board = optional_text(64, "For the kinds `board` and `first_to_beat`.")
    tag = optional_text(32, "For the kind `tag`.")
    speedup = drf.FloatField(
        min_value=0.01, max_value=100_000, allow_null=True, default=None, help_text="For the kind `first_to_beat`."
    )
    divisions = ShortList(child=drf.ChoiceField(choices=DIVISIONS), max_length=len(DIVISIONS), default=list(DIVISIONS))
    eligibility = optional_text(MAX_TRACK_CHARS, "What entrants declare.")
    ties = drf.ChoiceField(choices=Track.TIE_RULES, source="tie_rule", default=Track.EARLIER)
    description = optional_text(MAX_TRACK_CHARS)
    position = drf.IntegerField(min_value=0, max_value=1_000, default=0, help_text="Lower numbers are listed first.")


class TrackRequest(TrackSettings):
    """Any of the settings; the others stay."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"partial": True})
        for field in self.fields.values():
            field.required = False


class OrganisedTrack(TrackSettings):
    slug = drf.CharField()
    prizes = PrizeRequest(many=True)


class SkippedEntrant(drf.Serializer[Any]):
    name = drf.CharField()
    reason = drf.CharField()


class AwardPair(drf.Serializer[Any]):
    upper = drf.CharField()
    lower = drf.CharField()
    where = drf.CharField()
    gap = drf.CharField()
    confirmation = drf.SerializerMethodField(help_text="State of the runs that confirm it.")
    why = drf.CharField(allow_blank=True)
    settled = drf.BooleanField(source="is_settled")

    def get_confirmation(self, pair: dict[str, Any]) -> str:
        return str(pair["said"][0])


class AwardStep(drf.Serializer[Any]):
    state = drf.CharField()
    by = drf.CharField(source="actor.username")
    reason = drf.CharField(allow_blank=True)
    at = drf.DateTimeField(source="created_at")


class AwardDesk(drf.Serializer[Any]):
    track = drf.CharField(source="track.slug")
    state = drf.SerializerMethodField(
        help_text="Of the award: nothing proposed, proposed, confirmed, approved, announced."
    )
    stale = drf.BooleanField(source="is_stale", default=False, help_text="It no longer follows from the standing.")
    winners = Winner(many=True, default=list)
    skipped = SkippedEntrant(many=True, default=list, help_text="Entrants who may not win.")
    pairs = AwardPair(many=True, default=list, help_text="Neighbours whose order runners confirm.")
    steps = AwardStep(many=True, default=list)

    def get_state(self, shown: dict[str, Any]) -> str:
        return str(shown["state"][0])


class ConfirmationLine(drf.Serializer[Any]):
    id = drf.IntegerField(source="asked.pk")
    board = drf.CharField(source="asked.board.slug")
    hardware = drf.CharField(source="asked.hardware")
    cause = drf.ChoiceField(choices=confirmations.CAUSES, source="asked.cause")
    candidate = drf.IntegerField(source="asked.candidate_id", help_text="Submission.")
    incumbent = drf.IntegerField(source="asked.incumbent_id", help_text="Submission.")
    state = drf.SerializerMethodField()
    runs = drf.CharField(allow_blank=True, help_text="In words.")
    waits = drf.BooleanField(help_text="For a reviewer.")
    closed = drf.CharField(source="asked.close_reason", allow_blank=True, help_text="Why it was closed.")
    has_report = drf.BooleanField()
    created_at = drf.DateTimeField(source="asked.created_at")

    def get_state(self, row: dict[str, Any]) -> str:
        return str(row["said"][0])


class SettledConfirmation(drf.Serializer[Any]):
    id = drf.IntegerField(source="pk", help_text="Of the new runs, if they were asked for again.")
    state = drf.CharField()
    outcome = drf.CharField(allow_blank=True)


class Standing(Owners):
    @extend_schema(operation_id="standing_state", responses=StandingState)
    def get(self, request: Request, slug: str) -> Response:
        """Return the phase of a competition, its open work, and the acts on its standing that are possible."""
        return _standing(self.competition(request, slug))


class StandingAct(Owners):
    name: str

    def post(self, request: Request, slug: str) -> Response:
        competition = self.competition(request, slug, f"{self.name} its standing")
        sent = parse(_sent_with(self.name), request.data)
        standing_pages.OFFERS[self.name].act(competition=competition, **self.by(request), **sent)
        competition.refresh_from_db()
        return _standing(competition)


def _sent_with(act: str) -> Shape:
    return FinaliseRequest if act == freeze.FINALISE else ReasonRequest


def _standing(competition: Competition) -> Response:
    now = timezone.now()
    left = freeze.waiting(competition, now)
    found = {
        "phase": phase_at(competition.schedule, now).value,
        "frozen": is_frozen_at(competition.schedule, now),
        "held": left.held,
        "unjudged": left.unjudged,
        "possible": sorted(standing_pages.possible(competition, now)),
    }
    return Response(StandingState(found).data)


class Tracks(Owners):
    @extend_schema(operation_id="tracks", responses=OrganisedTrack(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the tracks of a competition with their prizes."""
        found = self.competition(request, slug).tracks.prefetch_related("prizes")
        return Response(OrganisedTrack([_shown(track) for track in found], many=True).data)

    @extend_schema(operation_id="create_track", request=TrackSettings, responses={201: OrganisedTrack})
    def post(self, request: Request, slug: str) -> Response:
        """Add a track. Owners only."""
        competition, sent = self.competition(request, slug, "add a track"), parse(TrackSettings, request.data)
        track = edit.create_track(competition=competition, settings=_settings(sent), **self.by(request))
        return _answer(track, 201)


class TrackAct(Owners):
    """Base of the calls on a track."""

    def track(self, request: Request, slug: str, track: str, act: str) -> Track:
        tracks: QuerySet[Track] = self.competition(request, slug, act).tracks.select_related("competition")
        return get_object_or_404(tracks, slug=track)


class OneTrack(TrackAct):
    @extend_schema(operation_id="edit_track", request=TrackRequest, responses=OrganisedTrack)
    def post(self, request: Request, slug: str, track: str) -> Response:
        """Change settings of a track before winners are announced; new eligibility is declared anew. Owners only."""
        found = self.track(request, slug, track, "change a track")
        settings = _settings(_values(found) | parse(TrackRequest, request.data))
        return _answer(edit.edit_track(track=found, settings=settings, **self.by(request)))


class RemoveTrack(TrackAct):
    @extend_schema(operation_id="remove_track", request=None, responses={204: None})
    def post(self, request: Request, slug: str, track: str) -> Response:
        """Remove a track with its prizes, if no award was ever proposed in it. Owners only."""
        edit.remove_track(track=self.track(request, slug, track, "remove a track"), **self.by(request))
        return Response(status=204)


class PutPrize(TrackAct):
    @extend_schema(operation_id="put_prize", request=PrizeRequest, responses=OrganisedTrack)
    def post(self, request: Request, slug: str, track: str) -> Response:
        """Set the prize for a place of a track. Owners only."""
        found = self.track(request, slug, track, "set a prize")
        edit.put_prize(track=found, **self.by(request), **parse(PrizeRequest, request.data))
        return _answer(found)


class RemovePrize(TrackAct):
    @extend_schema(operation_id="remove_prize", request=PlaceRequest, responses=OrganisedTrack)
    def post(self, request: Request, slug: str, track: str) -> Response:
        """Remove the prize for a place of a track. Owners only."""
        found = self.track(request, slug, track, "remove a prize")
        place = parse(PlaceRequest, request.data)["place"]
        prize = get_object_or_404(Prize.objects.select_related("track__competition"), track=found, place=place)
        edit.remove_prize(prize=prize, **self.by(request))
        return _answer(found)


def _settings(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the settings for the acts, which keep the parameters that the kind needs."""
    hardware, slug, tag, speedup = (sent.pop(name) for name in PARAMS)
    params = {"hardware": hardware, "slug": slug, "tag": tag} | ({"ratio": 1 / speedup} if speedup else {})
    return sent | {"params": params}


def _values(track: Track) -> dict[str, Any]:
    """Return the settings as TrackSettings has them."""
    known, ratio = track.params, track.params.get("ratio")
    params = {"hardware": known.get("hardware", ""), "board": known.get("slug", ""), "tag": known.get("tag", "")}
    values = {name: getattr(track, name) for name in edit.TRACK_FIELDS if name != "params"} | params
    return values | {"speedup": round(1 / ratio, 6) if ratio else None}


def _shown(track: Track) -> dict[str, Any]:
    return _values(track) | {"slug": track.slug, "prizes": track.prizes.all()}


def _answer(track: Track, status: int = 200) -> Response:
    return Response(OrganisedTrack(_shown(track)).data, status=status)


class AwardsToDecide(Owners):
    @extend_schema(operation_id="awards_to_decide", responses=AwardDesk(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the tracks with the state of their awards, before they are announced too. Owners only."""
        competition = self.competition(request, slug)
        check_role(self.caller(request), competition, Role.OWNER, "read proposed awards")
        return Response(AwardDesk([_desk(track) for track in competition.tracks.all()], many=True).data)


class Propose(TrackAct):
    @extend_schema(operation_id="propose_award", request=None, responses=AwardDesk)
    def post(self, request: Request, slug: str, track: str) -> Response:
        """Propose the winners of a track from the present standing. Owners only."""
        found = self.track(request, slug, track, "propose winners")
        life.propose_award(track=found, **self.by(request))
        return Response(AwardDesk(_desk(found)).data)


class AwardAct(TrackAct):
    name: str

    def post(self, request: Request, slug: str, track: str) -> Response:
        found = self.track(request, slug, track, f"{self.name} an award")
        run, argument, _ = AWARD_ACTS[self.name]
        sent = parse(AWARD_SENT[self.name][0], request.data)
        award = _living(found)
        if award is None:
            raise UserError("award", found.slug, "nothing is proposed for this track; propose it first", 409)
        run(award=award, **self.by(request), **({argument: sent["reason"]} if argument else {}))
        return Response(AwardDesk(_desk(found)).data)


def _living(track: Track) -> Award | None:
    awards = Award.objects.filter(track=track).exclude(state=WITHDRAWN)
    return awards.select_related("track__competition", "announcement").prefetch_related("steps__actor").first()


def _desk(track: Track) -> dict[str, Any]:
    award = _living(track)
    names = life.names_of([award.content]) if award else {}
    return {"track": track, **desk(award, names, timezone.now())}


class ConfirmRequest(drf.Serializer[Any]):
    reason = optional_text(MAX_REASON_CHARS, "Why it counts as confirmed although the runs do not show it.")


AWARD_SENT: Final[dict[str, tuple[Shape | None, str]]] = {  # the page calls the same acts
    "confirm": (ConfirmRequest, "Ask runners for the missing confirmations of a proposed award. Owners only."),
    "approve": (ReasonRequest, "Approve a confirmed award. Owners only."),
    "announce": (None, "Announce an approved award, with its winners. Owners only."),
    "withdraw": (ReasonRequest, "Withdraw an award and its announcement. Owners only."),
}


class Confirmations(Owners):
    @extend_schema(operation_id="confirmations", responses=ConfirmationLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the newest 200 confirmations of first places and awards."""
        rows = standing_pages.rows_of(self.competition(request, slug), self.caller(request))
        return Response(ConfirmationLine(rows, many=True).data)


class ConfirmationReport(Owners):
    @extend_schema(
        operation_id="confirmation_report",
        responses={(200, "application/json"): {"type": "object", "additionalProperties": {}}},
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return the runner's report of a confirmation. 404 for people with a part in it."""
        competition = self.competition(request, slug)
        report, problem = look(standing_pages.report_of(competition, pk, self.caller(request)))
        if problem:
            raise UserError("report", pk, problem, 503)
        return Response(report)


class SettleConfirmation(Owners):
    name: str

    def post(self, request: Request, slug: str, pk: int) -> Response:
        competition = self.competition(request, slug, "settle a confirmation", Role.REVIEWER)
        asked = get_object_or_404(Confirmation, pk=pk, board__competition=competition)
        act, _ = standing_pages.ACTS[self.name]
        done = act(asked=asked, reason=parse(ReasonRequest, request.data)["reason"], **self.by(request))
        return Response(SettledConfirmation(done).data)


SETTLE: Final = {
    "ask": "Ask runners for new runs of an undecided confirmation. Reviewers only.",
    "close": "Close an undecided confirmation. Reviewers only.",
}
_AT: Final = "organise/<slug:slug>"
_TRACK: Final = f"{_AT}/tracks/<slug:track>"
URLS: Final[list[URLPattern]] = [
    path(f"{_AT}/standing", Standing.as_view()),
    *(
        path(
            f"{_AT}/standing/{name}",
            act_view(
                StandingAct,
                f"{name}_standing",
                f"{str(offer.act.__doc__).splitlines()[0]} Owners only.",
                _sent_with(name),
                StandingState,
                name=name,
            ).as_view(),
        )
        for name, offer in standing_pages.OFFERS.items()
    ),
    path(f"{_AT}/tracks", Tracks.as_view()),
    path(_TRACK, OneTrack.as_view()),
    path(f"{_TRACK}/remove", RemoveTrack.as_view()),
    path(f"{_TRACK}/prizes", PutPrize.as_view()),
    path(f"{_TRACK}/prizes/remove", RemovePrize.as_view()),
    path(f"{_AT}/awards", AwardsToDecide.as_view()),
    path(f"{_TRACK}/award/propose", Propose.as_view()),
    *(
        path(
            f"{_TRACK}/award/{name}",
            act_view(AwardAct, f"{name}_award", description, sent, AwardDesk, name=name).as_view(),
        )
        for name, (sent, description) in AWARD_SENT.items()
    ),
    path(f"{_AT}/confirmations", Confirmations.as_view()),
    path(f"{_AT}/confirmations/<int:pk>", ConfirmationReport.as_view()),
    *(
        path(
            f"{_AT}/confirmations/<int:pk>/{name}",
            act_view(
                SettleConfirmation, f"{name}_confirmation", description, ReasonRequest, SettledConfirmation, name=name
            ).as_view(),
        )
        for name, description in SETTLE.items()
    ),
]
