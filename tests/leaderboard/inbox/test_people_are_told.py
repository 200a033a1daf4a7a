"""Verdicts, acts of review, announcements, phases and overtakings become messages to the people concerned alone."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.access import issue_codes, publish_announcement, revoke_code, withdraw_announcement
from leaderboard.competitions.models import CLOSED, Competition, InviteCode, Role
from leaderboard.entrants.enter import create_agent
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import take_pseudonym
from leaderboard.inbox import tell
from leaderboard.inbox.collect import collect, tell_overtaken
from leaderboard.inbox.models import Message, Preference
from leaderboard.judging.epochs import propose_epoch
from leaderboard.judging.models import Result
from leaderboard.standings.freeze import freeze, reveal
from leaderboard.standings.publish import retract
from leaderboard.standings.read import table
from tests.leaderboard.rejudging_stage import apply, judge_shadow, set_of
from tests.leaderboard.stage import make_board


def titles(user, kind: str = "") -> list[str]:
    found = Message.objects.filter(user=user, **({"kind": kind} if kind else {}))
    return [f"{one.title} | {one.text}" for one in found.order_by("pk")]


@pytest.fixture
def raced(stage):
    """Let ada lead ben, and note that front of the board."""
    stage.now = timezone.now() - timedelta(hours=2)
    stage.judge(stage.submit(stage.ada), ratio=0.8, score_us=800.0)
    stage.judge(stage.submit(stage.ben), ratio=0.9, score_us=900.0)
    assert tell_overtaken(now=stage.now) == 1
    Message.objects.all().delete()
    return stage


def test_a_verdict_is_told_to_its_sender_and_joins_the_unread_message(stage) -> None:
    stage.judge(stage.submit(stage.ada, mode="test"), outcome="wrong")
    second = stage.submit(stage.ada)
    stage.judge(second, ratio=0.8)
    [one] = Message.objects.all()
    assert (one.user, one.kind, one.count, one.url) == (stage.ada, "verdict", 2, f"/submissions/{second.pk}")
    assert one.title.endswith("Row softmax on cpu")
    assert "1.250×" in one.text
    tell.read_all(stage.ada, stage.now)
    stage.judge(stage.submit(stage.ada, mode="test"))
    assert list(Message.objects.order_by("pk").values_list("count", flat=True)) == [2, 1]


def test_a_spoiled_try_is_no_verdict(stage) -> None:
    stage.judge(stage.submit(stage.ada, mode="benchmark"), outcome="unmeasurable", reason="voids")
    assert not Message.objects.exists()


def test_a_held_result_is_told_as_under_review_then_by_each_decision(stage) -> None:
    result = stage.judge(stage.submit(stage.ada), ratio=0.05, score_us=50.0)
    assert "under review" in titles(stage.ada)[0]
    act = {"result": result, "actor": stage.olga}
    pipeline.ask_owner(question="How?", now=stage.later(1), **act)
    assert titles(stage.ada, "review")[-1].startswith("A reviewer has a question")
    pipeline.clear_result(reason="sound", now=stage.later(1), **act)
    assert titles(stage.ada, "review")[-1].startswith("Cleared")
    pipeline.undo_decision(reason="a slip", now=stage.later(1), **act)
    pipeline.reject_result(reason="no", now=stage.later(1), **act)
    assert titles(stage.ada, "review")[-1].startswith("Rejected")
    assert not Message.objects.exclude(user=stage.ada).exists()
    assert all("How?" not in one for one in titles(stage.ada))


def test_review_of_an_agent_reaches_its_owner(stage) -> None:
    """Regression: only the agent's account got the messages, which cannot sign in."""
    agent = create_agent(owner=stage.ben, name="robo", now=stage.now)
    User.objects.filter(pk=stage.ben.pk).update(linked_to=stage.cleo)
    stage.judge(stage.submit(agent), ratio=0.9)
    assert titles(stage.cleo) == []
    result = stage.judge(stage.submit(agent), ratio=0.05, score_us=50.0)
    assert "under review" in titles(stage.cleo)[0]
    pipeline.reject_result(result=result, actor=stage.olga, reason="no", now=stage.later(1))
    assert titles(stage.cleo, "review")[-1].startswith("Rejected")
    assert titles(agent, "review") == titles(stage.cleo, "review")
    assert titles(stage.ben) == []
    stage.judge(stage.submit(agent), outcome="policy", reason="impossible")
    assert Message.objects.get(user=stage.cleo, kind="verdict").count == 2


def test_the_first_of_two_clearances_is_told_to_nobody(stage) -> None:
    Competition.objects.update(two_person_rule=True)
    stage.board.refresh_from_db()
    result = stage.judge(stage.submit(stage.ada), ratio=0.05, score_us=50.0)
    result = Result.objects.get(pk=result.pk)
    pipeline.clear_result(result=result, actor=stage.olga, reason="sound", now=stage.later(1))
    assert titles(stage.ada, "review") == []


def test_who_is_overtaken_is_told_by_whom_and_from_which_rank(raced) -> None:
    raced.judge(raced.submit(raced.cleo), ratio=0.6, score_us=600.0)
    Message.objects.all().delete()
    tell_overtaken(now=raced.later(1))
    [ada], [ben] = titles(raced.ada), titles(raced.ben)
    assert ada == ("Overtaken on Row softmax, cpu | You are on rank 2, and were on rank 1. Ahead of you now: cleo.")
    assert "rank 3, and were on rank 2" in ben
    assert titles(raced.cleo) == []
    assert tell_overtaken(now=raced.later(1)) == 0


def test_a_storm_of_faster_kernels_is_one_message(raced) -> None:
    for number, ratio in enumerate((0.7, 0.65, 0.6)):
        raced.judge(raced.submit(User.objects.create_user(f"runner{number}up")), ratio=ratio, score_us=1000 * ratio)
    tell_overtaken(now=raced.later(1))
    [said] = titles(raced.ada)
    assert "runner2up, runner1up, runner0up" in said


def test_a_pseudonym_overtakes_as_a_pseudonym(raced) -> None:
    raced.judge(raced.submit(raced.cleo), ratio=0.6, score_us=600.0)
    entrant = Entrant.objects.get(name="cleo")
    take_pseudonym(entrant=entrant, actor=raced.cleo, pseudonym="Grey Fox", now=raced.later(1))
    tell_overtaken(now=raced.later(1))
    [said] = titles(raced.ada)
    assert "Grey Fox" in said
    assert "cleo" not in said


def test_nobody_is_overtaken_by_a_held_a_frozen_or_a_withdrawn_line(raced) -> None:
    raced.judge(raced.submit(raced.cleo), ratio=0.05, score_us=50.0)  # held
    Competition.objects.update(freeze_at=raced.later(1), deadline=timezone.now() + timedelta(days=1))
    raced.board.competition.refresh_from_db()
    raced.judge(raced.submit(raced.cleo), ratio=0.6, score_us=600.0)  # frozen
    Message.objects.all().delete()
    tell_overtaken(now=raced.later(1))
    retract(submission=raced.ada.submissions.get(), actor=raced.ada, reason="", now=raced.later(1))
    tell_overtaken(now=raced.later(1))
    assert titles(raced.ada) == titles(raced.ben) == []


def test_a_reveal_tells_of_overtakings_at_once(raced) -> None:
    act = {"competition": raced.board.competition, "actor": raced.olga, "reason": "as announced"}
    Competition.objects.update(deadline=raced.later(3600))
    freeze(now=raced.later(-3500), **act)
    raced.board.competition.refresh_from_db()
    raced.judge(raced.submit(raced.cleo), ratio=0.6, score_us=600.0)
    tell_overtaken(now=raced.later(1))
    Message.objects.all().delete()
    reveal(now=raced.later(3600), **act)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as at commit
    assert tell_overtaken(now=raced.later(1)) == 1
    assert all("Ahead of you now: " in one and "cleo" in one for one in (*titles(raced.ada), *titles(raced.ben)))
    assert len(titles(raced.ada)) == len(titles(raced.ben)) == 1
    assert tell_overtaken(now=raced.later(1)) == 0


def test_an_applied_rejudging_tells_of_overtakings_in_the_new_epoch(raced) -> None:
    ada, ben = raced.ada.submissions.get(), raced.ben.submissions.get()
    chosen = set_of(raced, ada, ben)
    for submission, ratio in ((ada, 0.9), (ben, 0.7)):
        judge_shadow(raced, submission, ratio=ratio, score_us=1000 * ratio, epoch="new-drivers")
    propose_epoch(hardware="cpu", name="new-drivers", fingerprint={}, now=raced.later(1))
    raced.choose("new-drivers")
    assert tell_overtaken(now=raced.later(1)) == 1, "the sweeper notes the board without lines meanwhile"
    apply(raced, chosen, anyway=True)
    tell_overtaken(now=raced.later(1))
    [said] = titles(raced.ada, "overtaken")
    assert "Ahead of you now: ben." in said
    assert titles(raced.ben, "overtaken") == []


def test_a_chosen_epoch_overtakes_nobody_and_its_front_counts_from_then_on(raced, vera) -> None:
    """Regression: the choice was noticed with the board's next line, which then seemed to overtake."""
    for owner, ratio in ((raced.ada, 0.75), (raced.ben, 0.7)):
        raced.judge(raced.submit(owner), ratio=ratio, score_us=1000 * ratio, epoch="new-drivers")
    tell_overtaken(now=raced.later(1))
    Message.objects.all().delete()
    raced.choose("new-drivers")
    assert tell_overtaken(now=raced.later(1)) == 1
    assert not Message.objects.filter(kind__in=("overtaken", "organising")).exists()
    raced.judge(raced.submit(raced.ada), ratio=0.6, score_us=600.0, epoch="new-drivers")
    tell_overtaken(now=raced.later(1))
    assert titles(raced.ada, "overtaken") == []
    [said] = titles(raced.ben, "overtaken")
    assert "You are on rank 2, and were on rank 1. Ahead of you now: ada." in said


def test_the_sweeper_keeps_no_table_after_a_pass(raced) -> None:
    raced.judge(raced.submit(raced.cleo), ratio=0.6, score_us=600.0)
    assert tell_overtaken(now=raced.later(1)) == 1
    assert not table._ranked._kept
    assert not table._runs._kept


def test_another_stage_overtakes_nobody(raced) -> None:
    Competition.objects.update(practice_at=None, contest_at=raced.later(60))
    raced.board.competition.refresh_from_db()
    raced.later(120)
    raced.judge(raced.submit(raced.cleo), ratio=0.6, score_us=600.0)
    Message.objects.all().delete()
    tell_overtaken(now=raced.later(1))
    assert not Message.objects.exists()


def test_an_announcement_is_told_once_to_everybody_who_competes(raced) -> None:
    competition = raced.board.competition
    one = publish_announcement(competition=competition, title="New image", text="x", actor=raced.olga, now=raced.now)
    gone = publish_announcement(competition=competition, title="Oops", text="", actor=raced.olga, now=raced.now)
    withdraw_announcement(announcement=gone, actor=raced.olga, reason="wrong", now=raced.now)
    collect(now=raced.later(1))
    collect(now=raced.later(1))
    assert titles(raced.ada) == titles(raced.ben) == [f"Kernels 101: {one.title} | "]
    assert titles(raced.cleo) == titles(raced.olga) == []


def test_a_phase_and_a_near_deadline_are_told_once(raced) -> None:
    Competition.objects.update(deadline=raced.now + timedelta(hours=20))
    collect(now=raced.later(1))
    collect(now=raced.later(1))
    [said] = titles(raced.ada, "phase")
    assert "closes on" in said
    tell.read_all(raced.ada, raced.now)
    collect(now=raced.later(20 * 3600))
    assert "the contest is over" in titles(raced.ada, "phase")[-1]
    assert len(titles(raced.ada, "phase")) == 2


def test_people_whose_codes_are_revoked_learn_nothing_more(raced) -> None:
    competition = raced.board.competition
    Competition.objects.update(visibility=CLOSED)
    for user in (raced.ada, raced.ben):
        InviteCode.objects.filter(
            pk=issue_codes(competition=competition, count=1, actor=raced.olga, now=raced.now)[0].code.pk
        ).update(used_by=user, used_at=raced.now)
    revoke_code(code=InviteCode.objects.get(used_by=raced.ada), actor=raced.olga, reason="left", now=raced.now)
    publish_announcement(competition=competition, title="Secret", text="", actor=raced.olga, now=raced.now)
    raced.judge(raced.submit(raced.ben), ratio=0.6, score_us=600.0)
    Message.objects.all().delete()
    collect(now=raced.later(1))
    assert titles(raced.ada) == []
    assert titles(raced.ben) == ["Kernels 101: Secret | "]


def test_a_kind_that_is_off_everywhere_writes_nothing(stage) -> None:
    tell.choose(user=stage.ada, page=["review"], mail=[], webhook=["verdict"])  # no webhook is set
    stage.judge(stage.submit(stage.ada))
    assert not Message.objects.exists()


def test_a_closed_account_keeps_no_message(stage) -> None:
    stage.judge(stage.submit(stage.ada))
    tell.choose(user=stage.ada, page=[], mail=[], webhook=[])
    pipeline.close_account(account=stage.ada, erase=False, now=stage.later(1))
    assert not Message.objects.exists()
    assert not Preference.objects.exists()


@pytest.fixture
def vera(raced) -> User:
    """A person who only looks at the competition's organisation."""
    found = User.objects.create_user("vera")
    Role.objects.create(competition=raced.board.competition, user=found, role=Role.VIEWER)
    return found


def test_organisers_are_told_of_held_results_in_one_message(raced, vera) -> None:
    for _ in range(2):
        raced.judge(raced.submit(raced.cleo), ratio=0.05, score_us=50.0)
    [one] = Message.objects.filter(user=vera)
    assert (one.kind, one.count, one.url) == ("organising", 2, "/review")
    assert one.title == "Kernels 101: a result waits for review"
    assert not Message.objects.filter(kind="organising").exclude(user=vera).exists()


def test_organisers_are_told_of_a_new_first_place_alone(raced, vera) -> None:
    raced.judge(raced.submit(raced.cleo), ratio=0.85, score_us=850.0)
    tell_overtaken(now=raced.later(1))
    assert titles(vera) == []
    raced.judge(raced.submit(raced.cleo), ratio=0.7, score_us=700.0)
    tell_overtaken(now=raced.later(1))
    assert titles(vera) == ["Kernels 101: new first place on Row softmax, cpu | Now first: cleo."]


def test_erasure_leaves_no_former_name_in_messages_of_its_boards(raced, vera) -> None:
    elsewhere = make_board("vectoradd")
    raced.judge(raced.submit(raced.ben, board=elsewhere), ratio=0.8)
    tell_overtaken(now=raced.later(1))
    raced.judge(raced.submit(raced.cleo), ratio=0.7, score_us=700.0)
    raced.judge(raced.submit(raced.ada, board=elsewhere), ratio=0.7)
    tell_overtaken(now=raced.later(1))
    take_pseudonym(entrant=Entrant.objects.get(name="cleo"), actor=raced.cleo, pseudonym="Grey Fox", now=raced.later(1))
    pipeline.close_account(account=raced.cleo, erase=True, now=raced.later(1))
    assert titles(raced.ada, "overtaken") == ["Overtaken on Row softmax, cpu | You are on rank 2, and were on rank 1."]
    assert sorted(titles(vera)) == [
        "Kernels 101: new first place on Row softmax, cpu | ",
        "Kernels 101: new first place on Row softmax, cpu | Now first: ada.",
    ]
    assert titles(raced.ben, "overtaken")[1].endswith("Ahead of you now: ada.")


def test_a_leader_that_retracts_is_no_record(raced, vera) -> None:
    retract(submission=raced.ada.submissions.get(), actor=raced.ada, reason="", now=raced.later(1))
    tell_overtaken(now=raced.later(1))
    assert titles(vera) == []


def test_organisers_are_told_of_phases_and_announcements(raced, vera) -> None:
    now = timezone.now()
    Competition.objects.update(deadline=now - timedelta(hours=1))
    publish_announcement(
        competition=Competition.objects.get(), actor=raced.olga, title="Results soon", text="", now=now
    )
    collect(now=now)
    assert sorted(titles(vera)) == [
        "Kernels 101: announced: Results soon | ",
        "Kernels 101: the contest is over, and results are reviewed | ",
    ]
