"""Agents: accounts of programs with an owner, in the division Agent, with a named model and tokens of limits."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from leaderboard import pipeline
from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.tokens import find_token, issue_token
from leaderboard.competitions.edit import clone_competition
from leaderboard.competitions.models import PUBLIC, Competition, Role
from leaderboard.entrants import teams
from leaderboard.entrants.enter import MOST_AGENTS, create_agent, enter, entrant_of
from leaderboard.errors import RateLimited, UserError
from leaderboard.review.suspension import suspend
from leaderboard.standings.models import Entry
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Submission
from leaderboard.web.submissions.batches import shown
from tests.leaderboard.stage import SOURCE, Stage


@pytest.fixture
def agent(stage: Stage) -> User:
    return create_agent(owner=stage.ada, name="robo", now=stage.now)


def token_of(owner: User, stage: Stage, **limits: int) -> ApiToken:
    return issue_token(owner=owner, name="search", scopes=["read", "submit"], now=stage.now, **limits)[0]


def send(stage: Stage, owner: User, *, model: str = "qwen3-coder", mode: str = "ranked", **told: Any) -> Submission:
    stage.sent += 1
    data = SOURCE + f"N = {stage.sent}\n".encode()
    lineage = {"model": model} if model else {}
    upload = Upload("softmax", "cpu", mode, "k.py", data, lineage=lineage)
    return pipeline.submit(upload, owner=owner, now=stage.later(1), **told)


def test_an_agent_competes_in_its_division_under_the_name_of_a_model(stage: Stage, agent: User) -> None:
    with pytest.raises(UserError, match=r"lineage\.model: missing; an agent names the model"):
        send(stage, agent, model="")
    assert entrant_of(agent, stage.board.competition) is None
    submission = send(stage, agent)
    stage.judge(submission, ratio=0.8)
    entrant = submission.entrant
    assert (entrant.name, entrant.division, entrant.model_name) == ("robo", "agent", "qwen3-coder")
    assert entrant != send(stage, stage.ada).entrant
    page = Client().get("/boards/softmax/cpu").content.decode()
    assert "agent: qwen3-coder" in page
    (line,) = Client().get("/api/v1/boards/softmax/cpu/entries").json()
    assert (line["user"], line["division"], line["model"]) == ("robo", "agent", "qwen3-coder")
    assert "Written by qwen3-coder." in Client().get(f"/entries/{submission.pk}").content.decode()
    assert 'Agent of <a href="/people/ada">ada</a>' in Client().get("/people/robo").content.decode()


def test_a_board_names_the_model_of_each_result(stage: Stage, agent: User) -> None:
    stage.judge(send(stage, agent, model="m1"), ratio=0.8)
    stage.judge(send(stage, agent, model="m2"), ratio=0.7)
    stage.judge(send(stage, stage.ben, model="m3"), ratio=0.9)
    stage.judge(stage.submit(stage.cleo), ratio=0.95)
    lines = Client().get("/api/v1/boards/softmax/cpu/entries").json()
    assert [line["model"] for line in lines] == ["m2", "m3", ""]
    page = Client().get("/boards/softmax/cpu").content.decode()
    assert "agent: m2" in page
    assert "written by m3" in page


def test_a_competition_without_the_division_admits_no_agents(stage: Stage, agent: User) -> None:
    Competition.objects.update(divisions=["human", "mixed"])
    with pytest.raises(UserError, match="admits no agents") as refused:
        send(stage, agent, mode="test")
    assert (refused.value.status, refused.value.code) == (403, "agents_not_admitted")
    assert not Submission.objects.exists()


def test_an_agent_takes_no_other_division(stage: Stage, agent: User) -> None:
    competition = stage.board.competition
    Competition.objects.update(max_team_size=3)
    competition.refresh_from_db()
    told = {"accepted": "", "now": stage.now}
    with pytest.raises(UserError, match="competes in the division agent"):
        enter(user=agent, competition=competition, division="human", model_name="m", **told)
    with pytest.raises(UserError, match="name the model"):
        enter(user=agent, competition=competition, **told)
    entrant = enter(user=agent, competition=competition, model_name="m", **told)
    assert entrant.division == "agent"
    with pytest.raises(UserError, match="competes in the division agent"):
        teams.choose_division(entrant=entrant, actor=agent, division="mixed", model_name="m", now=stage.now)
    team = teams.create_team(user=stage.ben, competition=competition, name="People", now=stage.now)
    invite = teams.invite(entrant=team, username="robo", actor=stage.ben, now=stage.now)
    with pytest.raises(UserError, match="joins no team of the division human"):
        teams.accept_invite(invite_id=invite.pk, user=agent, now=stage.now)


def test_a_team_with_an_agent_is_not_human(stage: Stage, agent: User) -> None:
    Competition.objects.update(max_team_size=3)
    stage.board.competition.refresh_from_db()
    told = {"competition": stage.board.competition, "division": "mixed", "model_name": "m", "now": stage.now}
    team = teams.create_team(user=stage.ben, name="Centaurs", **told)
    invite = teams.invite(entrant=team, username="robo", actor=stage.ben, now=stage.now)
    teams.accept_invite(invite_id=invite.pk, user=agent, now=stage.now)
    human = {"entrant": team, "actor": stage.ben, "division": "human", "model_name": "", "now": stage.now}
    with pytest.raises(UserError, match="robo is an agent; remove it") as refused:
        teams.choose_division(**human)
    assert refused.value.status == 409
    teams.remove_member(entrant=team, username="robo", actor=stage.ben, now=stage.now)
    teams.choose_division(**human)
    team.refresh_from_db()
    assert team.division == "human"


def test_an_owner_has_few_agents_and_an_agent_none(stage: Stage, agent: User) -> None:
    for number in range(1, MOST_AGENTS):
        create_agent(owner=stage.ada, name=f"machine-{'abcdefgh'[number]}", now=stage.now)
    with pytest.raises(UserError, match="the most for an account"):
        create_agent(owner=stage.ada, name="onemore", now=stage.now)
    with pytest.raises(UserError, match="taken"):
        create_agent(owner=stage.ben, name="R0bo", now=stage.now)
    with pytest.raises(UserError, match="an agent owns no agents"):
        create_agent(owner=agent, name="child", now=stage.now)


def test_an_agent_depends_on_its_owner(stage: Stage, agent: User, settings: Settings) -> None:
    assert not agent.has_usable_password()
    text = issue_token(owner=agent, name="search", scopes=["read", "submit"], now=stage.now)[1]
    assert find_token(text, now=stage.now) is not None
    settings.RANKED_NEEDS_EMAIL = True
    with pytest.raises(UserError, match="confirmed e-mail address"):
        send(stage, agent)
    stage.ada.emailaddress_set.create(email="ada@example.org", verified=True, primary=True)
    send(stage, agent)
    suspend(user=stage.ada, competition=None, actor=stage.olga, reason="a test", now=stage.now)
    with pytest.raises(UserError, match="suspended"):
        send(stage, agent)
    User.objects.filter(pk=stage.ada.pk).update(is_active=False)
    assert find_token(text, now=stage.now) is None


def test_an_agents_lines_go_and_come_back_with_its_owner(stage: Stage, agent: User) -> None:
    stage.judge(send(stage, agent), ratio=0.8)
    waiting = send(stage, agent)
    told = {"user": stage.ada, "competition": stage.board.competition, "actor": stage.cleo, "reason": "a test"}
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.OWNER)
    pipeline.suspend_account(**told, now=stage.later(1))
    assert not Entry.objects.exists()
    stage.judge(waiting, ratio=0.7)
    assert not Entry.objects.exists()
    pipeline.reinstate_account(**told, now=stage.later(1))
    assert Entry.objects.count() == 2


def test_a_token_has_a_rate_of_its_own(stage: Stage, agent: User) -> None:
    slow, other = token_of(agent, stage, per_hour=2), token_of(agent, stage)
    first = stage.later(1)
    for _ in range(2):
        send(stage, agent, mode="test", token=slow)
    with pytest.raises(RateLimited, match="has sent 2 submissions in the last hour, and may send 2") as refused:
        send(stage, agent, mode="test", token=slow)
    assert refused.value.retry_after_s == pytest.approx(3600 - (stage.now - first).total_seconds() + 1, abs=2)
    send(stage, agent, mode="test", token=other)
    uploads = [Upload("softmax", "cpu", "test", "k.py", SOURCE, lineage={"model": "m"})] * 3
    with pytest.raises(UserError, match=r"^candidates: token 'search' may send 2 submissions an hour, and these are 3"):
        pipeline.submit_batch(uploads, mode="test", budget_s=1, owner=agent, now=stage.later(1), token=slow)
    stage.later(3600)
    send(stage, agent, mode="test", token=slow)


def test_a_token_has_a_budget_of_device_seconds(stage: Stage, agent: User) -> None:
    token = token_of(agent, stage, device_s_per_day=10)
    submission = send(stage, agent, mode="test", token=token)
    job, began = stage.claim(), stage.now
    stage.later(10)
    stage.report(job)
    assert submission.token_key == token.pk
    with pytest.raises(RateLimited, match="has used 11 of its 10 device seconds of 24 hours") as refused:
        send(stage, agent, mode="test", token=token)
    assert refused.value.retry_after_s == pytest.approx(86_400 - (stage.now - began).total_seconds(), abs=2)
    stage.now = began + timedelta(days=1, seconds=1)
    uploads = [Upload("softmax", "cpu", "test", "k.py", SOURCE, lineage={"model": "m"})]
    told = {"mode": "test", "owner": agent, "token": token}
    with pytest.raises(UserError, match="may use 10 device seconds a day, fewer than this batch's 11"):
        pipeline.submit_batch(uploads, budget_s=11, now=stage.later(1), **told)
    pipeline.submit_batch(uploads, budget_s=10, now=stage.later(1), **told)


def test_a_budget_counts_the_batches_that_run(stage: Stage, agent: User) -> None:
    token = token_of(agent, stage, device_s_per_day=100)
    told = {"mode": "test", "owner": agent, "token": token}

    def batch(number: int, budget_s: float) -> None:
        data = SOURCE + f"KERNEL = {number}\n".encode()
        uploads = [Upload("softmax", "cpu", "test", "k.py", data, lineage={"model": "m"})]
        pipeline.submit_batch(uploads, budget_s=budget_s, now=stage.later(1), **told)

    batch(1, 60)
    with pytest.raises(RateLimited, match=r"has used 0 of its 100 .*, and its batches may use 60 more") as refused:
        batch(2, 60)
    assert refused.value.retry_after_s == 30
    batch(2, 40)
    with pytest.raises(RateLimited, match="its batches may use 100 more"):
        send(stage, agent, mode="test", token=token)
    stage.report(stage.claim())
    batch(3, 50)


def test_a_batch_may_use_what_is_left_of_a_tokens_budget(stage: Stage, agent: User) -> None:
    """A search asks for the rest of its budget by the device seconds that the site shows."""
    token, left_s = token_of(agent, stage, device_s_per_day=10), 10.0
    told = {"mode": "test", "owner": agent, "token": token}
    for number in range(3):
        data = SOURCE + f"KERNEL = {number}\n".encode()
        uploads = [Upload("softmax", "cpu", "test", "k.py", data, lineage={"model": "m"})]
        batch = pipeline.submit_batch(uploads, budget_s=left_s, now=stage.later(1), **told)
        job = stage.claim()
        stage.later(0.0001)
        stage.report(job)
        [found] = shown([batch], stage.later(1))
        assert found.spent_s == pytest.approx(1.001)
        left_s -= found.spent_s


def test_agents_have_boards_of_their_own_in_a_clone(stage: Stage, agent: User) -> None:
    source = stage.board.competition
    Role.objects.create(competition=source, user=stage.olga, role=Role.OWNER)
    told = {"slug": "agents", "name": "Agents", "shift": None, "now": stage.now}
    clone = clone_competition(source=source, actor=stage.olga, **told)
    Competition.objects.filter(pk=clone.pk).update(divisions=["agent"], visibility=PUBLIC)
    Competition.objects.filter(pk=source.pk).update(divisions=["human"])
    board = clone.boards.get()
    upload = Upload(board.slug, "cpu", "ranked", "k.py", SOURCE, lineage={"model": "m"})
    with pytest.raises(UserError, match="this competition is for agent"):
        pipeline.submit(upload, owner=stage.ben, now=stage.later(1))
    stage.judge(pipeline.submit(upload, owner=agent, now=stage.later(1)), ratio=0.8)
    stage.judge(stage.submit(stage.ben), ratio=0.7)
    for slug, name in ((board.slug, "robo"), (stage.board.slug, "ben")):
        (line,) = Client().get(f"/api/v1/boards/{slug}/cpu/entries").json()
        assert (line["rank"], line["user"]) == (1, name)
