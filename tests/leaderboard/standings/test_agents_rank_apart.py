"""Agents that rank apart: no line, record, rule, notice or prize of one group ever meets the other group."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.awards.standing import board_standings, places_of
from leaderboard.competitions.calendar import Stage as Part
from leaderboard.competitions.edit import clone_competition, create_track, edit_competition
from leaderboard.competitions.models import APART, SHARED, Competition, Role, Track
from leaderboard.confirmations.models import Confirmation
from leaderboard.entrants.enter import create_agent
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from leaderboard.inbox.collect import tell_overtaken
from leaderboard.inbox.models import Message
from leaderboard.judging.models import Result
from leaderboard.review.models import Finding
from leaderboard.standings.models import Entry, Revision
from leaderboard.standings.read.boards import Look, look, overall_standing, standing_of
from leaderboard.standings.read.records import contest_leader, incumbent_ratio, incumbent_ratios, would_rank
from leaderboard.submissions.models import Submission
from tests.leaderboard.entrants.test_agents import send
from tests.leaderboard.stage import Stage, make_board

ENTRIES = "/api/v1/boards/softmax/cpu/entries"
BOARD = "/boards/softmax/cpu"


@pytest.fixture
def apart(stage: Stage) -> Stage:
    Competition.objects.update(agents_rank=APART)
    stage.board.competition.refresh_from_db()
    return stage


@pytest.fixture
def robo(stage: Stage) -> User:
    return create_agent(owner=stage.cleo, name="robo", now=stage.now)


def race(stage: Stage, robo: User) -> tuple[Submission, Submission, Submission]:
    """Judge ben at 0.9, ada at 0.8 and, faster than both, the agent at 0.7."""
    sent = []
    for ratio, owner in ((0.9, stage.ben), (0.8, stage.ada), (0.7, robo)):
        sent.append(send(stage, owner, model="m" if owner == robo else ""))
        stage.judge(sent[-1], ratio=ratio)
    ben, ada, agent = sent
    return ben, ada, agent


def names(address: str = ENTRIES) -> list[tuple[int, str]]:
    return [(line["rank"], line["user"]) for line in Client().get(address).json()]


def page(address: str, status: int = 200) -> str:
    answer = Client().get(address)
    assert answer.status_code == status
    return answer.content.decode()


def test_each_group_has_its_own_ranks_and_records(apart: Stage, robo: User) -> None:
    ben, ada, agent = race(apart, robo)
    assert names() == names(f"{ENTRIES}?group=people") == [(1, "ada"), (2, "ben")]
    assert names(f"{ENTRIES}?group=agents") == [(1, "robo")]
    history = "/api/v1/boards/softmax/cpu/history"
    assert [line["user"] for line in Client().get(history).json()] == ["ben", "ada"]
    assert [line["user"] for line in Client().get(f"{history}?group=agents").json()] == ["robo"]
    ranks = [standing.rank for sent in (ben, ada, agent) if (standing := standing_of(sent, now=apart.now)) is not None]
    assert ranks == [2, 1, 1]
    assert [would_rank(Result.objects.get(attempt__submission=sent)) for sent in (ben, ada, agent)] == [2, 1, 1]


def test_shared_boards_have_one_ranking_and_refuse_a_group(stage: Stage, robo: User) -> None:
    race(stage, robo)
    assert names() == [(1, "robo"), (2, "ada"), (3, "ben")]
    refused = Client().get(f"{ENTRIES}?group=agents")
    assert refused.status_code == 404
    assert refused.json()["errors"][0]["field"] == "group"
    assert "agents rank with people" in refused.json()["detail"]
    assert 'aria-label="Ranking"' not in page(BOARD)
    for path in (BOARD, f"{BOARD}/history", f"{BOARD}/cases", f"{BOARD}/pulse", "/competitions/kernels-101/standings"):
        page(f"{path}?group=agents", 404)


def test_pages_have_tabs_and_follow_their_own_ranking(apart: Stage, robo: User) -> None:
    race(apart, robo)
    people, agents = page(BOARD), page(f"{BOARD}?group=agents")
    assert ">ada</a>" in people
    assert ">robo</a>" not in people
    assert (">robo</a>" in agents, ">ada</a>" in agents) == (True, False)
    for path in (BOARD, f"{BOARD}/history", f"{BOARD}/cases", "/competitions/kernels-101/standings"):
        assert 'aria-label="Ranking"' in page(path)
        assert "robo" not in page(path)
    for path in (f"{BOARD}/history", "/competitions/kernels-101/standings"):
        assert "robo" in page(f"{path}?group=agents")
    pulses = [Client().get(f"{BOARD}/pulse{query}").json() for query in ("", "?group=agents")]
    assert [pulse["entrants"] for pulse in pulses] == [2, 1]
    assert f'data-digest="{pulses[1]["digest"]}"' in agents
    assert names("/api/v1/competitions/kernels-101/standings?group=agents") == [(1, "robo")]
    assert names("/api/v1/competitions/kernels-101/standings") == [(1, "ada"), (2, "ben")]


def test_feed_and_person_and_popcorn_show_the_right_group(apart: Stage, robo: User) -> None:
    race(apart, robo)
    feed = page("/feeds/records.atom")
    assert "on cpu: ada" in feed
    assert "on cpu among agents: robo" in feed
    assert '1 <span class="detail">of 1</span>' in page("/people/robo")
    listed = Client().get("/popcorn/submissions/softmax/cpu").json()
    assert [(line["rank"], line["user_name"]) for line in listed] == [(1, "ada"), (2, "ben")]
    assert Client().get("/popcorn/submission_count/softmax/cpu").json() == {"count": 2}


def test_an_agent_takes_no_record_from_a_person(apart: Stage, robo: User) -> None:
    ben, ada, agent = race(apart, robo)
    asked = Confirmation.objects.get()
    assert (asked.candidate, asked.incumbent) == (ada, ben)
    for sent, first in ((ben, ada), (ada, ada), (agent, agent)):
        leader = contest_leader(sent, "")
        assert leader is not None
        assert leader.submissions == (first.pk,)


def test_rules_compare_with_the_incumbent_of_the_group(apart: Stage, robo: User) -> None:
    ben, ada, agent = race(apart, robo)
    assert incumbent_ratio(epoch="", without=ben) == 0.8
    assert incumbent_ratio(epoch="", without=agent) is None
    for group, sent, best in (("people", ada, 0.9), ("agents", agent, None)):
        found = incumbent_ratios(board=apart.board.pk, epoch="", group=group, submissions=[sent.pk])
        assert found == {sent.pk: best}


@pytest.mark.parametrize(("ranking", "is_held"), [(SHARED, False), (APART, True)])
def test_a_fast_agent_gives_a_person_no_cover(stage: Stage, robo: User, ranking: str, is_held: bool) -> None:
    """A person's sudden jump is held even if an agent, ranked apart and cleared, was as fast before."""
    Competition.objects.update(agents_rank=ranking, thresholds={})
    held = stage.judge(send(stage, robo, model="m"), ratio=0.3)
    pipeline.clear_result(result=held, actor=stage.olga, reason="a real trick", now=stage.now)
    stage.judge(send(stage, stage.ben, model=""), ratio=0.95)
    jump = send(stage, stage.ada, model="")
    stage.judge(jump, ratio=0.31)
    rules = set(Finding.objects.filter(result__attempt__submission=jump).values_list("rule", flat=True))
    assert ("faster_than_best" in rules) is is_held


def test_a_change_of_division_moves_the_lines(apart: Stage, robo: User) -> None:
    ben, _, _ = race(apart, robo)
    assert [len(one.current.places) for one in seen(apart).groups] == [2, 1]
    Entrant.objects.filter(pk=ben.entrant_id).update(division="agent", model_name="m")
    assert [len(one.current.places) for one in seen(apart).groups] == [1, 2]
    assert names(f"{ENTRIES}?group=agents") == [(1, "robo"), (2, "ben")]
    Entrant.objects.filter(pk=ben.entrant_id).update(division="mixed")
    assert names() == [(1, "ada"), (2, "ben")]


def seen(stage: Stage) -> Look:
    return look(stage.board, stage=Part.CONTEST, now=stage.now)


def test_an_agent_overtakes_no_person(apart: Stage, robo: User) -> None:
    apart.judge(apart.submit(apart.ada), ratio=0.8)
    apart.judge(send(apart, robo, model="m"), ratio=0.9)
    tell_overtaken(now=apart.now)
    apart.judge(send(apart, robo, model="m"), ratio=0.5)
    tell_overtaken(now=apart.now)
    assert not Message.objects.filter(kind="overtaken").exists()
    apart.judge(apart.submit(apart.ben), ratio=0.6)
    tell_overtaken(now=apart.now)
    message = Message.objects.get(kind="overtaken")
    assert message.user == apart.ada
    assert message.text == "You are on rank 2, and were on rank 1. Ahead of you now: ben."


def test_nobody_is_overtaken_by_a_change_of_groups(stage: Stage, robo: User) -> None:
    other = create_agent(owner=stage.ben, name="other", now=stage.now)
    for user, ratio in ((robo, 0.7), (other, 0.8), (stage.ada, 0.9)):
        stage.judge(send(stage, user, model="" if user == stage.ada else "m"), ratio=ratio)
    for ranking in (SHARED, APART, SHARED):  # ada is third, first, and third
        Competition.objects.update(agents_rank=ranking)
        Revision.objects.update(token=uuid4())
        tell_overtaken(now=stage.now)
    assert not Message.objects.filter(kind__in=("overtaken", "organising")).exists()


def test_organisers_read_who_leads_among_agents(apart: Stage, robo: User) -> None:
    Role.objects.create(competition=apart.board.competition, user=apart.ben, role=Role.VIEWER)
    other = create_agent(owner=apart.ada, name="other", now=apart.now)
    apart.judge(send(apart, robo, model="m"), ratio=0.8)
    tell_overtaken(now=apart.now)
    apart.judge(send(apart, other, model="m"), ratio=0.5)
    tell_overtaken(now=apart.now)
    message = Message.objects.get(user=apart.ben, kind="organising")
    assert message.title.endswith("new first place among agents on Row softmax, cpu")


def test_a_track_has_the_ranking_of_its_group(apart: Stage, robo: User) -> None:
    _, ada, agent = race(apart, robo)
    for number, (divisions, winner) in enumerate(((["human", "mixed"], ada), (["agent"], agent))):
        for kind, params in ((Track.OVERALL, {}), (Track.BOARD, {"slug": "softmax", "hardware": "cpu"})):
            track = new_track(apart, f"t{number}-{kind}", divisions=divisions, kind=kind, params=params)
            places = places_of(track, board_standings(track, now=apart.now), now=apart.now)
            assert [place.entrant_id for place in places if place.rank == 1] == [winner.entrant_id]
            assert len(places) == 2 - number


def new_track(stage: Stage, slug: str, **settings: Any) -> Track:
    usual = {"name": slug, "description": "", "kind": Track.OVERALL, "params": {}, "eligibility": "", "position": 0}
    usual |= {"tie_rule": Track.TIE_RULES[0]}
    return create_track(competition=stage.board.competition, actor=stage.olga, settings=usual | settings, now=stage.now)


def test_a_track_of_both_groups_is_refused(apart: Stage) -> None:
    everybody = ["human", "agent", "mixed"]
    with pytest.raises(UserError, match="choose agent alone, or human and mixed"):
        new_track(apart, "all", divisions=everybody)
    Competition.objects.update(agents_rank=SHARED)
    apart.board.competition.refresh_from_db()
    new_track(apart, "all", divisions=everybody)
    with pytest.raises(UserError, match="the track all is for both") as refused:
        choose(apart, APART)
    assert refused.value.field == "divisions"


def choose(stage: Stage, ranking: str) -> Competition:
    settings = {"agents_rank": ranking}
    return edit_competition(competition=stage.board.competition, actor=stage.olga, settings=settings, now=stage.now)


def test_the_first_line_fixes_the_choice(stage: Stage) -> None:
    with pytest.raises(UserError, match="choose one of shared, apart"):
        choose(stage, "alone")
    assert choose(stage, APART).groups == ("people", "agents")
    stage.board.competition.refresh_from_db()
    stage.judge(stage.submit(), ratio=0.8)
    with pytest.raises(UserError, match="a board has a line already, so agents rank apart to the end") as refused:
        choose(stage, SHARED)
    assert (refused.value.field, refused.value.status) == ("agents_rank", 409)
    choose(stage, APART)
    copy = clone_competition(
        source=stage.board.competition, actor=stage.olga, slug="again", name="Again", shift=None, now=stage.now
    )
    assert copy.agents_rank == APART


def test_overall_standings_of_many_boards_stay_within_a_group(apart: Stage, robo: User) -> None:
    race(apart, robo)
    other = make_board("other")
    apart.judge(apart.submit(apart.cleo, board=other), ratio=0.6)
    boards = [apart.board, other]
    people, agents = (
        overall_standing(apart.board.competition, boards=boards, now=apart.now, group=group)
        for group in ("people", "agents")
    )
    assert (len(people.lines), len(agents.lines)) == (3, 1)
    assert Entry.objects.count() == 4
