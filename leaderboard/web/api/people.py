"""People over /api/v1: profiles, comparison of entries, search, and problems with the caller's status."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.models import User
from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.competitions.words import MOST_CHARS
from leaderboard.entrants.models import Entrant
from leaderboard.submissions.diff import Diff
from leaderboard.web.api.base import AS_TABLE, NOBODY, Public, cut, paged, parse
from leaderboard.web.api.serializers import HALF_WIDTH, Keyed, LongPage, Speedup, optional_text
from leaderboard.web.forms import MAX_KEY
from leaderboard.web.people import problems, profiles
from leaderboard.web.people.compare import comparison
from leaderboard.web.people.search import found_for

RATIO: Final = "Candidate / baseline, below 1 faster."


class PersonBoard(drf.Serializer[Any]):
    """The line of a person's entrant on a board, in its current stage and timing epoch."""

    board = drf.CharField(source="board.slug")
    title = drf.CharField(source="board.title")
    hardware = drf.CharField(source="board.hardware")
    competition = drf.CharField(source="board.competition.slug")
    entrant = drf.CharField(source="entrant.shown_name")
    rank = drf.IntegerField(source="line.rank")
    tied = drf.BooleanField(source="line.is_tied")
    entrants = drf.IntegerField(source="of", help_text="Entrants on the board.")
    ratio = drf.FloatField(source="line.value.ratio", help_text=RATIO)
    speedup = Speedup(source="line.value.ratio")
    score_us = drf.FloatField(source="line.score_us")
    submission = drf.IntegerField(source="line.entry.submission_id")
    was_first = drf.BooleanField(help_text="Whether the board's first entry is theirs.")


class PersonBadge(drf.Serializer[Any]):
    text = drf.CharField()
    url = drf.CharField()


class PersonWeek(drf.Serializer[Any]):
    since = drf.DateTimeField()
    entries = drf.IntegerField(source="lines")


class PersonTeam(drf.Serializer[Any]):
    name = drf.SerializerMethodField()
    url = drf.SerializerMethodField()

    def get_name(self, team: tuple[Entrant, str]) -> str:
        return team[0].shown_name

    def get_url(self, team: tuple[Entrant, str]) -> str:
        return team[1]


class PersonProfile(drf.Serializer[Any]):
    name = drf.CharField()
    boards = PersonBoard(many=True, help_text="First places first, at most 100.")
    badges = PersonBadge(many=True, help_text="Awards, first places, and first entries of a board.")
    activity = PersonWeek(many=True, source="results.weeks", help_text="Entries by week, of the last year.")
    teams = PersonTeam(many=True)


class PersonEntry(drf.Serializer[Any]):
    submission = drf.IntegerField(source="submission_id")
    board = drf.CharField(source="board.slug")
    hardware = drf.CharField(source="board.hardware")
    entrant = drf.CharField(source="entrant.shown_name")
    ratio = drf.FloatField(help_text=RATIO)
    score_us = drf.FloatField()
    epoch = drf.CharField(allow_blank=True)
    submitted_at = drf.DateTimeField()


class CompareQuery(drf.Serializer[Any]):
    a = drf.IntegerField(min_value=1, max_value=MAX_KEY, help_text="Number of a published entry.")
    b = drf.IntegerField(min_value=1, max_value=MAX_KEY, help_text="Number of the other entry.")


class ComparedEntry(drf.Serializer[Any]):
    submission = drf.IntegerField(source="entry.submission_id")
    board = drf.CharField(source="entry.board.slug")
    hardware = drf.CharField(source="entry.board.hardware")
    user = drf.CharField(source="entry.entrant.shown_name")
    rank = drf.IntegerField(source="standing.rank", allow_null=True)
    ratio = drf.FloatField(source="standing.value.ratio", help_text=RATIO)
    speedup = Speedup(source="standing.value.ratio")
    score_us = drf.FloatField(source="standing.score_us")
    half_width = drf.FloatField(source="standing.value.half_width", allow_null=True, help_text=HALF_WIDTH)
    epoch = drf.CharField(source="entry.epoch", allow_blank=True)
    submitted_at = drf.DateTimeField(source="entry.submitted_at")


class CaseTime(drf.Serializer[Any]):
    measured_us = drf.FloatField()
    baseline_us = drf.FloatField(allow_null=True)
    ratio = drf.FloatField(allow_null=True)
    half_width = drf.FloatField(allow_null=True)


class ComparedCase(drf.Serializer[Any]):
    name = drf.CharField()
    first = CaseTime(allow_null=True)
    second = CaseTime(allow_null=True)
    change = drf.FloatField(allow_null=True, help_text="How many times as fast the second is.")


class CodeDifference(drf.Serializer[Any]):
    lines = drf.SerializerMethodField(help_text="A unified diff without its heads.")
    cut = drf.BooleanField(source="is_cut", help_text="Whether further lines are left out.")
    refusal = drf.CharField(allow_blank=True, help_text="Why there is no diff.")
    added = drf.IntegerField()
    removed = drf.IntegerField()

    def get_lines(self, diff: Diff) -> list[str]:
        return [line.text for line in diff.lines]


class Comparison(drf.Serializer[Any]):
    first = ComparedEntry()
    second = ComparedEntry()
    same_problem = drf.BooleanField()
    comparable = drf.BooleanField(help_text="Whether board and timing epoch are the same.")
    change = drf.FloatField(help_text="How many times as fast the second is, by the ratios to the baseline.")
    cases = ComparedCase(many=True, source="pairs", help_text="Timed cases of the same problem.")
    code = CodeDifference(source="diff")


class SearchQuery(drf.Serializer[Any]):
    q = drf.CharField(max_length=MOST_CHARS, help_text="Words; each begins a word of the name.")


class SearchHit(drf.Serializer[Any]):
    title = drf.CharField()
    about = drf.CharField(allow_blank=True)
    url = drf.CharField(help_text="Page on the site.")


class SearchResults(drf.Serializer[Any]):
    people = SearchHit(many=True)
    problems = SearchHit(many=True)
    competitions = SearchHit(many=True)


class ProblemsQuery(LongPage):
    text = optional_text(MOST_CHARS, "Words of title, name, competition or tags.")
    tag = optional_text(64)
    level = drf.IntegerField(required=False, min_value=0, max_value=1_000)
    hardware = optional_text(64)
    status = drf.ChoiceField(
        choices=list(problems.STATUSES), required=False, help_text="The caller's own; needs a sign-in."
    )
    open = drf.BooleanField(default=False, help_text="Only problems that take submissions.")


class ProblemLine(drf.Serializer[Any]):
    slug = drf.CharField()
    title = drf.CharField()
    competition = drf.CharField()
    competition_slug = drf.CharField()
    hardware = drf.ListField(child=drf.CharField())
    tags = drf.ListField(child=drf.CharField())
    level = drf.IntegerField(allow_null=True)
    open = drf.BooleanField(source="is_open")
    status = drf.CharField(allow_blank=True, help_text="ranked, tried or new; empty without a sign-in.")
    ranks = drf.SerializerMethodField(help_text="The caller's ranks by hardware.")

    @extend_schema_field(drf.DictField(child=drf.IntegerField()))
    def get_ranks(self, line: problems.Line) -> dict[str, int]:
        return dict(line.ranks)


class Person(Public):
    @extend_schema(responses=PersonProfile)
    def get(self, request: Request, username: str) -> Response:
        """Return the public profile of a person. 404 for a person without a public entry."""
        return Response(PersonProfile(profiles.profile_of(username, request.user)).data)


class PersonEntries(Public):
    renderer_classes = AS_TABLE

    @extend_schema(operation_id="person_entries", parameters=[Keyed], responses=PersonEntry(many=True))
    def get(self, request: Request, username: str) -> Response:
        """List the public entries of a person, newest first."""
        query = parse(Keyed, request.query_params)
        found = profiles.profile_of(username, request.user).results.lines
        return paged(request, found, query, PersonEntry, profiles.NEWEST)


class EntrantOfCompetition(Public):
    @extend_schema(responses=PersonProfile)
    def get(self, request: Request, slug: str, name: str) -> Response:
        """Return the profile of a team, a pseudonym or a person within a competition."""
        return Response(PersonProfile(profiles.profile_of_entrant(slug, name.replace("\0", "?"), request.user)).data)


class Compare(Public):
    @extend_schema(operation_id="compare", parameters=[CompareQuery], responses=Comparison)
    def get(self, request: Request) -> Response:
        """Compare two published entries: figures, timed cases, and code that the caller may see."""
        query = parse(CompareQuery, request.query_params)
        found = comparison(query["a"], query["b"], request.user)
        first, second = found["sides"]
        return Response(Comparison(found | {"first": first, "second": second}).data)


class Search(Public):
    @extend_schema(operation_id="search", parameters=[SearchQuery], responses=SearchResults)
    def get(self, request: Request) -> Response:
        """Search people, problems and competitions by words of their names. At most 20 of each."""
        text = parse(SearchQuery, request.query_params)["q"]
        return Response(SearchResults(found_for(request, text)).data)


class Problems(Public):
    renderer_classes = AS_TABLE

    @extend_schema(operation_id="problems", parameters=[ProblemsQuery], responses=ProblemLine(many=True))
    def get(self, request: Request) -> Response:
        """List the problems by title, with tags, level, and the caller's status and ranks."""
        query = parse(ProblemsQuery, request.query_params)
        if query.get("status") and not isinstance(request.user, User):
            raise NotAuthenticated(NOBODY)
        given = {name: str(query.get(name, "")) for name in ("tag", "level", "hardware", "status")}
        given |= {"q": query["text"], "open": "1" if query["open"] else ""}
        every = problems.lines(boards_seen_by(request.user, listed=True), request.user)
        found = [line for line in every if problems.matches(line, given)]
        return cut(request, found, query, ProblemLine, lambda line: line.slug)
