"""An entrant's profile: division, affiliation, pseudonym, eligibility."""

from datetime import timedelta

import pytest

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Track
from leaderboard.entrants import teams
from leaderboard.entrants.enter import enter_alone
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from tests.leaderboard.stage import Stage


@pytest.fixture
def ada_s(stage: Stage) -> Entrant:
    """Return Ada's entrant, in the practice of a contest that begins tomorrow."""
    competition = stage.board.competition
    competition.contest_at, competition.deadline = stage.now + timedelta(days=1), stage.now + timedelta(days=9)
    competition.practice_at = stage.now - timedelta(days=1)
    competition.save()
    return enter_alone(user=stage.ada, competition=competition, now=stage.now)


def choose(stage: Stage, entrant: Entrant, division: str, model_name: str = "", actor: User | None = None) -> None:
    teams.choose_division(
        entrant=entrant, actor=actor or stage.ada, division=division, model_name=model_name, now=stage.later(1)
    )


def test_the_division_is_open_until_the_first_ranked_submission_of_the_contest(stage: Stage, ada_s: Entrant) -> None:
    stage.submit(mode="ranked")
    choose(stage, ada_s, "agent", "GPT-9")
    stage.later(86_400)
    stage.submit(mode="test")
    choose(stage, ada_s, "mixed", "GPT-9")
    stage.submit(mode="ranked")
    with pytest.raises(UserError, match="fixed since your first ranked submission"):
        choose(stage, ada_s, "human")
    ada_s.refresh_from_db()
    assert (ada_s.division, ada_s.model_name) == ("mixed", "GPT-9")


def test_a_model_is_named_where_one_writes(stage: Stage, ada_s: Entrant) -> None:
    for division in ("agent", "mixed"):
        with pytest.raises(UserError, match="name the model"):
            choose(stage, ada_s, division, " ")
    choose(stage, ada_s, "human", "GPT-9")
    ada_s.refresh_from_db()
    assert ada_s.model_name == ""


def test_only_divisions_of_the_competition(stage: Stage, ada_s: Entrant) -> None:
    Competition.objects.update(divisions=["agent"])
    with pytest.raises(UserError, match="there is agent"):
        choose(stage, ada_s, "human")
    with pytest.raises(UserError, match="say which at /competitions/kernels-101/team"):
        stage.submit(stage.ben)
    stage.board.competition.refresh_from_db()
    told = {"division": "agent", "model_name": "GPT-9"}
    entrant = enter_alone(user=stage.ben, competition=stage.board.competition, now=stage.now, **told)
    assert stage.submit(stage.ben).entrant == entrant


def test_a_pseudonym_is_shown_stays_and_is_lifted_by_choice(stage: Stage, ada_s: Entrant) -> None:
    teams.take_pseudonym(entrant=ada_s, actor=stage.ada, pseudonym="Night Owl", now=stage.later(1))
    ada_s.refresh_from_db()
    assert ada_s.shown_name == "Night Owl"
    with pytest.raises(UserError, match="it stays the same"):
        teams.take_pseudonym(entrant=ada_s, actor=stage.ada, pseudonym="Lark", now=stage.later(1))
    teams.reveal(entrant=ada_s, actor=stage.ada, now=stage.later(1))
    ada_s.refresh_from_db()
    assert ada_s.shown_name == "ada (was Night Owl)"
    with pytest.raises(UserError, match="nothing to reveal"):
        teams.reveal(entrant=ada_s, actor=stage.ada, now=stage.later(1))


@pytest.mark.parametrize("wanted", ["cleo", "CLE0", "night owl", "ada", "ben (was Night 0wl)"])
def test_a_pseudonym_is_nobody_else(stage: Stage, ada_s: Entrant, wanted: str) -> None:
    theirs = enter_alone(user=stage.ben, competition=ada_s.competition, now=stage.now)
    teams.take_pseudonym(entrant=theirs, actor=stage.ben, pseudonym="Night Owl", now=stage.now)
    with pytest.raises(UserError) as caught:
        teams.take_pseudonym(entrant=ada_s, actor=stage.ada, pseudonym=wanted, now=stage.now)
    assert caught.value.field == "pseudonym"


def test_eligibility_is_declared_for_tracks_that_ask(stage: Stage, ada_s: Entrant) -> None:
    for slug, asked in (("students", "Enrolled at a university"), ("open", "")):
        Track.objects.create(competition=ada_s.competition, slug=slug, name=slug, kind="overall", eligibility=asked)
    teams.declare(entrant=ada_s, actor=stage.ada, tracks=["students"], now=stage.now)
    ada_s.refresh_from_db()
    assert ada_s.declared == ["students"]
    for unknown in ("open", "nope"):
        with pytest.raises(UserError, match="no such track asks"):
            teams.declare(entrant=ada_s, actor=stage.ada, tracks=[unknown], now=stage.now)
    teams.declare(entrant=ada_s, actor=stage.ada, tracks=[], now=stage.now)
    ada_s.refresh_from_db()
    assert ada_s.declared == []


def test_only_its_people_speak_for_an_entrant(stage: Stage, ada_s: Entrant) -> None:
    for actor in (stage.ben, stage.olga):
        with pytest.raises(UserError) as caught:
            choose(stage, ada_s, "agent", "GPT-9", actor)
        assert caught.value.status == 403
        with pytest.raises(UserError):
            teams.say_affiliation(entrant=ada_s, actor=actor, affiliation="Nowhere", now=stage.now)
    teams.say_affiliation(entrant=ada_s, actor=stage.ada, affiliation=" ETH  Zürich ", now=stage.now)
    ada_s.refresh_from_db()
    assert ada_s.affiliation == "ETH Zürich"


@pytest.mark.parametrize("wrong", ["-1", "1.234", "12,50", "1e3", "12345678", "١", "$5", " 5"])
def test_a_cost_is_an_amount_of_dollars(stage: Stage, ada_s: Entrant, wrong: str) -> None:
    choose(stage, ada_s, "agent", "GPT-9")
    with pytest.raises(UserError, match="expected US dollars") as caught:
        teams.declare_cost(entrant=ada_s, actor=stage.ada, cost_usd=wrong, now=stage.now)
    assert caught.value.field == "cost_usd"


def test_a_cost_belongs_to_a_model_and_grows_until_the_competition_is_final(stage: Stage, ada_s: Entrant) -> None:
    def declare(cost: str) -> str:
        teams.declare_cost(entrant=ada_s, actor=stage.ada, cost_usd=cost, now=stage.now)
        ada_s.refresh_from_db()
        return str(ada_s.cost_usd)

    with pytest.raises(UserError, match="only the divisions agent and mixed"):
        declare("5")
    choose(stage, ada_s, "agent", "GPT-9")
    assert [declare(cost) for cost in ("5", "12.5", "")] == ["5.00", "12.50", "None"]
    declare("7")
    with pytest.raises(UserError) as caught:
        teams.declare_cost(entrant=ada_s, actor=stage.ben, cost_usd="5", now=stage.now)
    assert caught.value.status == 403
    choose(stage, ada_s, "human")
    ada_s.refresh_from_db()
    assert ada_s.cost_usd is None, "a person has no model"
    choose(stage, ada_s, "mixed", "GPT-9")
    Competition.objects.update(practice_at=None, contest_at=None, deadline=None, final_at=stage.now)
    with pytest.raises(UserError, match="the competition is final"):
        declare("5")
