"""Competitions over /api/v1: details, entering, news, awards, standings, results of review, former leaders."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.access import NOT_GOOD, announcements_of, competition_of
from leaderboard.competitions.calendar import Phase, current_stage
from leaderboard.competitions.models import DIVISIONS, GROUPS, SCORINGS
from leaderboard.competitions.models import Track as TrackRow
from leaderboard.competitions.permissions import boards_seen_by, competitions_seen_by
from leaderboard.errors import UserError
from leaderboard.standings.ranking.overall import MOST_P
from leaderboard.standings.read.boards import Collection, board_records
from leaderboard.standings.read.model_board import ModelLine, model_lines
from leaderboard.web.api.base import AS_TABLE, Private, Public, cut, links, paged, parse
from leaderboard.web.api.serializers import (
    Estimate,
    Keyed,
    Left,
    LinesQuery,
    LongPage,
    Paging,
    Speedup,
    in_full_refused,
    optional_text,
)
from leaderboard.web.boards import cards, contests, standing
from leaderboard.web.boards.contests import track_said
from leaderboard.web.boards.model_pages import Asked, board_seen, lesson_for, set_seen
from leaderboard.web.boards.sampling import BUDGETS
from leaderboard.web.limits import check_code_tries
from leaderboard.web.organise import awards
from leaderboard.web.review.pages import RULE_MEANINGS, integrity_figures
from leaderboard.web.submissions.mine import what_is_left


class CompetitionSummary(drf.Serializer[Any]):
    slug = drf.CharField(source="competition.slug")
    name = drf.CharField(source="competition.name")
    visibility = drf.CharField(source="competition.visibility")
    phase = drf.ChoiceField(choices=[phase.value for phase in Phase], source="phase.phase")
    until = drf.DateTimeField(source="phase.until", allow_null=True, help_text="Next change of phase.")
    entrants = drf.IntegerField()


class Times(drf.Serializer[Any]):
    practice_at = drf.DateTimeField(allow_null=True)
    contest_at = drf.DateTimeField(allow_null=True)
    freeze_at = drf.DateTimeField(allow_null=True)
    deadline = drf.DateTimeField(allow_null=True)
    revealed_at = drf.DateTimeField(allow_null=True)
    final_at = drf.DateTimeField(allow_null=True)


class ProblemOf(drf.Serializer[Any]):
    board = drf.CharField(source="slug")
    title = drf.CharField()
    hardware = drf.ListField(child=drf.CharField())


class PhaseStep(drf.Serializer[Any]):
    title = drf.CharField()
    since = drf.DateTimeField(allow_null=True)
    until = drf.DateTimeField(allow_null=True)
    state = drf.ChoiceField(choices=["past", "now", "coming"])


class Prize(drf.Serializer[Any]):
    place = drf.IntegerField()
    amount = drf.DecimalField(max_digits=12, decimal_places=2, allow_null=True, help_text="null: no money.")
    currency = drf.CharField(allow_blank=True)
    other = drf.CharField(source="text", allow_blank=True)
    sponsor = drf.CharField(allow_blank=True)


class WonBy(drf.CharField):
    def to_representation(self, value: Any) -> str:
        return track_said(value)


class Track(drf.Serializer[Any]):
    slug = drf.CharField(source="track.slug")
    name = drf.CharField(source="track.name")
    description = drf.CharField(source="track.description", allow_blank=True)
    won_by = WonBy(source="track")
    divisions = drf.ListField(child=drf.CharField(), source="track.divisions")
    eligibility = drf.CharField(source="track.eligibility", allow_blank=True, help_text="What entrants declare.")
    ties = drf.ChoiceField(choices=TrackRow.TIE_RULES, source="track.tie_rule")
    prizes = Prize(many=True, source="track.prizes")


class News(drf.Serializer[Any]):
    title = drf.CharField()
    text = drf.CharField(allow_blank=True)
    created_at = drf.DateTimeField()


class You(drf.Serializer[Any]):
    entrant = drf.CharField(source="entrant.shown_name", default=None, allow_null=True)
    accepted = drf.BooleanField(source="has_accepted", help_text="Whether the current rules are accepted.")
    may_enter = drf.BooleanField(help_text="Whether the caller may enter, or accept changed rules.")
    team = drf.BooleanField(source="entrant.is_team", default=None, allow_null=True)
    division = drf.CharField(source="entrant.division", default=None, allow_null=True)
    quota = drf.SerializerMethodField(help_text="Remaining quotas of each board.")

    @extend_schema_field(Left(many=True))
    def get_quota(self, you: dict[str, Any]) -> Any:
        return Left(self.context["left"], many=True).data


class CompetitionDetail(CompetitionSummary):
    description = drf.CharField(source="competition.description", allow_blank=True)
    rules = drf.CharField(source="competition.rules", allow_blank=True)
    rules_digest = drf.CharField(allow_blank=True)
    meaning = drf.CharField(source="phase.meaning")
    phases = PhaseStep(many=True, source="phase.steps")
    times = Times(source="competition")
    divisions = drf.ListField(child=drf.CharField(), source="competition.divisions")
    agents_rank = drf.CharField(source="competition.agents_rank", help_text="`shared` with people, or `apart`.")
    max_team_size = drf.IntegerField(source="competition.max_team_size")
    merge_deadline = drf.DateTimeField(source="competition.merge_deadline", allow_null=True)
    problems = ProblemOf(many=True)
    tracks = Track(many=True)
    announcements = News(many=True)
    you = You(allow_null=True)


class EnterRequest(drf.Serializer[Any]):
    code = optional_text(200, "Invite code. 20 tries an hour.")
    rules_digest = optional_text(80, "409 if the rules changed.")
    division = optional_text(16, f"{', '.join(DIVISIONS)}; default: human")
    model_name = optional_text(200, "For agent and mixed.")


class Competitions(Public):
    @extend_schema(parameters=[LongPage], responses=CompetitionSummary(many=True))
    def get(self, request: Request) -> Response:
        """List the running, coming and past competitions that are listed for the caller."""
        query, found = parse(LongPage, request.query_params), contests.sections(request.user, timezone.now())
        summaries = [summary for section in found.values() for summary in section]
        return cut(request, summaries, query, CompetitionSummary, lambda one: one.competition.slug)


class Competition(Public):
    @extend_schema(responses=CompetitionDetail)
    def get(self, request: Request, slug: str) -> Response:
        """Return a competition with its rules, problems, announcements and the caller's entry."""
        return Response(_detail(request, slug))


class Enter(Private):
    @extend_schema(request=EnterRequest, responses=CompetitionDetail)
    def post(self, request: Request, slug: str) -> Response:
        """Enter a competition, or accept its changed rules."""
        sent, user = parse(EnterRequest, request.data), self.caller(request)
        code = sent["code"]
        if code:
            check_code_tries(user.pk, request)
            competition = competition_of(code)
            if competition is None or competition.slug != slug:
                raise UserError("code", "", NOT_GOOD)
        else:
            competition = competitions_seen_by(user).filter(slug=slug).first()
        if competition is None:
            raise Http404
        pipeline.enter(user=user, competition=competition, now=timezone.now(), **sent)
        return Response(_detail(request, slug))


def _detail(request: Request, slug: str) -> Any:
    now = timezone.now()
    found = contests.contest(slug, request.user, now)
    left: list[dict[str, Any]] = []
    if isinstance(request.user, User):
        boards = boards_seen_by(request.user).with_parts().filter(competition=found.competition)
        left = what_is_left(request.user, boards, now)
    return CompetitionDetail(found, context={"left": left}).data


class Money(drf.Serializer[Any]):
    amount = drf.CharField(help_text="A decimal number.")
    currency = drf.CharField()


class Winner(drf.Serializer[Any]):
    place = drf.IntegerField(source="number")
    shared_by = drf.IntegerField(help_text="Number of winners that share the place.")
    winner = drf.CharField(source="name")
    money = Money(many=True)
    other = drf.ListField(child=drf.CharField(), source="things")
    sponsors = drf.CharField(allow_blank=True)
    reason = drf.CharField(source="why")


class Awards(Track):
    announced_at = drf.DateTimeField(allow_null=True, help_text="null: the winners are not announced yet.")
    winners = Winner(many=True)


class Counted(drf.IntegerField):
    """Count that may be withheld, as null, until the standing is final."""

    def to_representation(self, value: int) -> Any:
        return self.context["found"].told(value)


class Counts(drf.Serializer[Any]):
    held = Counted(allow_null=True)
    cleared = Counted(allow_null=True)
    rejected = Counted(allow_null=True)
    waiting = Counted(allow_null=True)
    again = Counted(allow_null=True, help_text="Judged again before a reviewer decided.")


class Outcomes(Counts):
    rule = drf.CharField(allow_blank=True, help_text='"": all rules that held fewer than five results.')
    meaning = drf.SerializerMethodField()

    def get_meaning(self, outcomes: Any) -> str:
        return RULE_MEANINGS.get(outcomes.rule, "")


class ByItself(drf.Serializer[Any]):
    rejected = Counted(source="held", allow_null=True)
    overturned = Counted(source="cleared", allow_null=True, help_text="Automatic rejections that a reviewer cleared.")


class Appeals(drf.Serializer[Any]):
    made = Counted(source="appeals", allow_null=True)
    granted = Counted(allow_null=True)
    upheld = Counted(allow_null=True)


class Podium(drf.Serializer[Any]):
    board = drf.CharField(source="board.slug")
    hardware = drf.CharField(source="board.hardware")
    place = drf.IntegerField()
    cleared = drf.BooleanField(source="is_cleared", help_text="False: rejected.")
    by_two = drf.BooleanField()
    reason = drf.CharField()
    on = drf.DateField(source="at.date")


class IntegrityFigures(drf.Serializer[Any]):
    """Figures of review. A null number is under five; it is published once the standing is final."""

    as_of = drf.DateTimeField()
    exact = drf.BooleanField(source="is_exact", help_text="The standings are final, and no number is withheld.")
    rules = Outcomes(many=True, help_text="A result counts for each rule that held it.")
    total = Counts(help_text="Each result counts once.")
    by_itself = ByItself(help_text="Automatic rejections.")
    median_wait_s = drf.FloatField(source="median_wait.total_seconds", allow_null=True)
    rejudged = Counted(allow_null=True)
    appeals = Appeals(source="*")
    podium = Podium(many=True)


class Record(drf.Serializer[Any]):
    user = drf.CharField(source="entry.entrant.shown_name")
    submission = drf.IntegerField(source="entry.submission_id")
    since = drf.DateTimeField(source="record.since")
    until = drf.DateTimeField(source="record.until", allow_null=True, help_text="null: still held.")
    ratio = drf.FloatField(source="record.value.ratio", help_text="Candidate / baseline at that time.")
    speedup = Speedup(source="record.value.ratio")
    gain = drf.FloatField(
        source="record.gain", allow_null=True, help_text="Times as fast as the previous holder; null: the first."
    )


class Announcements(Public):
    @extend_schema(parameters=[Keyed], responses=News(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the announcements of a competition, newest first."""
        query = parse(Keyed, request.query_params)
        competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
        return paged(request, announcements_of(competition, request.user), query, News, ["-pk"])


class AwardsOf(Public):
    @extend_schema(parameters=[LongPage], responses=Awards(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List tracks and prizes of a competition, and its winners once they are announced."""
        query = parse(LongPage, request.query_params)
        competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
        shown = awards.shown(competition, request.user, now=timezone.now(), as_owner=False)
        return cut(request, shown, query, Awards, lambda one: one["track"].pk)


class IntegrityOf(Public):
    @extend_schema(responses=IntegrityFigures)
    def get(self, request: Request, slug: str) -> Response:
        """Return figures of a competition's review that name no person. A null number is under five, until the end."""
        _, found = integrity_figures(slug, request.user, timezone.now())
        return Response(IntegrityFigures(found, context={"found": found}).data)


class RecordsQuery(Paging):
    group = drf.ChoiceField(
        choices=GROUPS, required=False, help_text="Where agents rank apart from people. Default: people."
    )


class History(Public):
    renderer_classes = AS_TABLE

    @extend_schema(parameters=[RecordsQuery], responses=Record(many=True))
    def get(self, request: Request, slug: str, hardware: str) -> Response:
        """List the holders of first place of a board, oldest first, in its current stage and timing epoch."""
        query, now = parse(RecordsQuery, request.query_params), timezone.now()
        board = cards.card(slug, request.user, now).place(hardware).board
        stage = current_stage(board.competition.schedule, now)
        group = standing.check_group(board.competition, query.get("group", ""))
        found = board_records(board, stage=stage, now=now, group=group)
        return cut(request, found, query, Record, lambda line: line.record.since.isoformat())


class BoardResult(drf.Serializer[Any]):
    board = drf.CharField(source="board.slug")
    hardware = drf.CharField(source="board.hardware")
    rank = drf.IntegerField(source="cell.rank")
    tied = drf.BooleanField(source="cell.is_tied")
    ratio = drf.FloatField(source="cell.value.ratio", help_text="Candidate / baseline, below 1 faster.")
    speedup = Speedup(source="cell.value.ratio")
    points = drf.FloatField(source="cell.points")


class StandingsLine(drf.Serializer[Any]):
    rank = drf.IntegerField(source="line.rank", help_text="Tied entrants share a rank: 1, 1, 3.")
    tied = drf.BooleanField(source="line.is_tied")
    user = drf.CharField(source="entrant.shown_name")
    division = drf.CharField(source="entrant.division")
    affiliation = drf.CharField(source="entrant.affiliation", allow_blank=True)
    score = drf.FloatField(source="line.score", help_text="Points, mean speedup or share, by `scoring`.")
    low = drf.FloatField(source="line.low", allow_null=True)
    high = drf.FloatField(source="line.high", allow_null=True)
    solved = drf.IntegerField(source="line.solved")
    boards = drf.SerializerMethodField()

    @extend_schema_field(BoardResult(many=True))
    def get_boards(self, row: Any) -> Any:
        pairs = zip(self.context["boards"], row.cells, strict=True)
        found = [{"board": board, "cell": cell} for board, cell in pairs if cell is not None]
        return BoardResult(found, many=True).data


class StandingsQuery(LinesQuery):
    hardware = optional_text(64, "Only boards of this hardware.")
    scoring = drf.ChoiceField(choices=SCORINGS, required=False, help_text="Default: the competition's own.")


class ModelKernel(drf.Serializer[Any]):
    """A model's best public kernel of a problem. A speedup's lower end is what fast_p compares with p."""

    board = drf.CharField()
    entry = drf.IntegerField()
    ratio = drf.FloatField(help_text="candidate / baseline")
    least_speedup = drf.FloatField(help_text="0: the interval is unknown.")
    least_against_compiled = drf.FloatField(allow_null=True, help_text="null: torch.compile has no time.")


class ModelBoardLine(drf.Serializer[Any]):
    """A model on a competition's problems, as senders name it."""

    model = drf.CharField()
    problems = drf.IntegerField(help_text="Of the set, on this hardware.")
    kernels = drf.IntegerField(help_text="Public kernels of all problems.")
    pass_at_1 = Estimate()
    attempts = drf.IntegerField(source="tries", help_text="Judged ranked attempts.")
    attempted = drf.SerializerMethodField(help_text="Problems with an attempt.")
    eager = Estimate(many=True, help_text="fast_0, fast_1 and fast_2 against the baseline.")
    against_compiled = Estimate(many=True, help_text="Against torch.compile; empty: it has no time on any problem.")
    best = drf.SerializerMethodField()

    def get_attempted(self, line: ModelLine) -> int:
        return len(line.attempts)

    @extend_schema_field(ModelKernel(many=True))
    def get_best(self, line: ModelLine) -> Any:
        found = [
            {
                "board": slug,
                "entry": kernel.submissions[0],
                "ratio": kernel.ratio,
                "least_speedup": line.eager_answers[slug].least_speedup,
                "least_against_compiled": line.compiled_answers[slug].least_speedup
                if slug in line.compiled_answers
                else None,
            }
            for slug, kernel in sorted(line.best.items())
        ]
        return ModelKernel(found, many=True).data


class ModelsQuery(Paging):
    hardware = optional_text(64, "Default: the competition's first.")
    limit = drf.IntegerField(default=20, min_value=1, max_value=50, help_text="At most 50.")


class Models(Public):
    @extend_schema(parameters=[ModelsQuery], responses=ModelBoardLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Return the models with public kernels on a competition's problems, best first by fast_1."""
        query = parse(ModelsQuery, request.query_params)
        found = model_lines(set_seen(request.user, slug, query["hardware"]))
        return cut(request, found, query, ModelBoardLine, key=lambda line: line.model)


class SamplingQuery(drf.Serializer[Any]):
    model = optional_text(128, "Default: the model with the most entries, or of your own submissions.")
    p = drf.FloatField(default=0.0, min_value=0.0, max_value=MOST_P, help_text="0: correct; else faster than p times.")
    by = drf.ChoiceField(choices=list(BUDGETS), default="samples", help_text="Of equal cost. Public: samples alone.")
    mine = drf.BooleanField(default=False, help_text="Your own submissions in every mode, instead of public entries.")


class SamplingOfSetQuery(SamplingQuery):
    hardware = optional_text(64, "Default: the competition's first.")


class CoverageFit(drf.Serializer[Any]):
    """coverage(k) = (1 - never)(1 - (1 - p)^k), with profile likelihood intervals."""

    never = Estimate(help_text="Share of problems that no number of samples solves.")
    p = Estimate(help_text="Chance of a sample at any further problem.")


class CoverageAtK(drf.Serializer[Any]):
    k = drf.IntegerField()
    observed = Estimate(allow_null=True, help_text="null: some problem has fewer samples.")
    fitted = Estimate(allow_null=True)


class TurnAtEqualCost(drf.Serializer[Any]):
    """Serial feedback after some turns, and as many independent samples as cost the same."""

    turn = drf.IntegerField(source="serial.turn")
    serial = Estimate(source="serial.share")
    budget = drf.FloatField(allow_null=True, help_text="Mean spending on a chain, in the unit of `by`; null: unknown.")
    k = drf.IntegerField(allow_null=True, help_text="Samples at this budget; null: a cost is unknown.")
    samples = Estimate(allow_null=True, help_text="null: no such sample, or no fit.")


class SamplingLesson(drf.Serializer[Any]):
    """How far more samples help a model, against serial feedback at equal cost."""

    model = drf.CharField(help_text='"": no model has a kernel here.')
    models = drf.ListField(child=drf.CharField())
    problems = drf.IntegerField(help_text="With an independent sample.")
    samples = drf.IntegerField(help_text="Independent ones.")
    turns = drf.IntegerField(help_text="Submissions of chains.")
    fit = CoverageFit(allow_null=True)
    coverage = CoverageAtK(many=True)
    equal_cost = TurnAtEqualCost(many=True)


def _sampling_answer(request: Request, found: Collection, query: dict[str, Any]) -> Response:
    if query["mine"] and not request.user.is_authenticated:
        raise UserError("mine", True, "your own submissions need a sign-in; send a token, or mine=false")
    if query["by"] != "samples" and not query["mine"]:
        raise UserError("by", query["by"], "spending belongs to the sender; choose samples, or add mine=true")
    asked = Asked(query["model"], query["p"], query["by"], query["mine"])
    models, model, lesson = lesson_for(request.user, found, asked)
    answer = {
        "model": model,
        "models": list(models),
        "problems": len(lesson.tallies) if lesson else 0,
        "samples": lesson.total if lesson else 0,
        "turns": lesson.turns if lesson else 0,
        "fit": lesson.fit if lesson else None,
        "coverage": lesson.rows if lesson else [],
        "equal_cost": lesson.knobs if lesson else [],
    }
    return Response(SamplingLesson(answer).data)


class SamplingOfBoard(Public):
    @extend_schema(parameters=[SamplingQuery], responses=SamplingLesson)
    def get(self, request: Request, slug: str, hardware: str) -> Response:
        """Return how far more samples help a model on a board, against serial feedback at equal cost."""
        query = parse(SamplingQuery, request.query_params)
        return _sampling_answer(request, board_seen(request.user, slug, hardware), query)


class SamplingOfSet(Public):
    @extend_schema(parameters=[SamplingOfSetQuery], responses=SamplingLesson)
    def get(self, request: Request, slug: str) -> Response:
        """Return how far more samples help a model over a competition's problems, against serial feedback."""
        query = parse(SamplingOfSetQuery, request.query_params)
        return _sampling_answer(request, set_seen(request.user, slug, query["hardware"]), query)


class Standings(Public):
    renderer_classes = AS_TABLE

    @extend_schema(parameters=[StandingsQuery], responses=StandingsLine(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Return the overall standings of a competition, best first."""
        query = parse(StandingsQuery, request.query_params)
        asked = standing.Asked(name=request.path, **query)
        shown = standing.show_overall(slug, asked, request.user, timezone.now())
        if query["in_full"] and not shown.sees_more:
            raise in_full_refused(shown.competition)
        lines = StandingsLine(shown.rows, many=True, context={"boards": shown.standing.boards})
        return Response(lines.data, headers=links(request, shown.page, shown.total))
