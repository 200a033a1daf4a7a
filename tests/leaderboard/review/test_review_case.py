"""A case from claim to appeal: permissions and consequences; two simultaneous acts never both succeed."""

from datetime import timedelta
from typing import Any

import pytest

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.admissions.ask import ask_test
from leaderboard.audit.models import Row
from leaderboard.competitions.models import Competition, Role
from leaderboard.entrants.enter import create_agent
from leaderboard.entrants.models import Membership
from leaderboard.errors import UserError
from leaderboard.judging.attempts import cancel, rejudge
from leaderboard.judging.claim import ALIVE
from leaderboard.judging.models import Attempt, Result
from leaderboard.judging.runners import greet
from leaderboard.judging.sweep import expire_leases
from leaderboard.pipeline import claim_work
from leaderboard.review.case import acts, log
from leaderboard.review.models import Case, Decision, Finding
from leaderboard.review.permissions import cases_for
from leaderboard.review.standing import held_results, median_wait
from leaderboard.standings.models import Entry
from leaderboard.standings.read.records import would_rank
from leaderboard.standings.read.status import status_of
from tests.leaderboard.stage import Stage, make_runner

IMPOSSIBLE = {"outcome": "policy", "reason": "impossible", "message": "faster than light"}


def hold(stage: Stage, owner: User | None = None, ratio: float = 0.4) -> Result:
    return stage.judge(stage.submit(owner), ratio=ratio, score_us=1000 * ratio)


def reviewer(stage: Stage, name: str = "rita") -> User:
    user = User.objects.create_user(name)
    Role.objects.create(competition=stage.board.competition, user=user, role=Role.REVIEWER)
    return user


def state(result: Result) -> str:
    row = Case.objects.get(result=result)
    assert log.standing_of(row, log.lines_of(result)).state == row.state, "the case says what its log comes to"
    return row.state


def refused(status: int, match: str, act: Any, **told: Any) -> None:
    with pytest.raises(UserError, match=match) as caught:
        act(**told)
    assert caught.value.status == status


def test_a_reviewer_of_the_competition_decides_and_no_other(stage: Stage) -> None:
    result, rita = hold(stage), reviewer(stage)
    other = Competition.objects.create(slug="elsewhere", name="Elsewhere")
    cleo = Role.objects.create(competition=other, user=stage.cleo, role=Role.OWNER).user
    viewer = Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.VIEWER).user
    for person in (cleo, viewer):
        told = {"result": result, "actor": person, "reason": "please", "now": stage.now}
        refused(403, "only a reviewer", pipeline.clear_result, **told)
        refused(403, "only a reviewer", pipeline.reject_result, **told)
        refused(403, "only a reviewer", acts.claim, result=result, actor=person, now=stage.now)
    pipeline.clear_result(result=result, actor=rita, reason="read it", now=stage.now)
    assert (state(result), Entry.objects.count()) == ("cleared", 1)


def test_who_owns_it_or_was_in_the_team_never_decides(stage: Stage) -> None:
    result = hold(stage)
    submission = result.attempt.submission
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    left = reviewer(stage, "lena")
    Membership.objects.create(
        entrant=submission.entrant,
        competition=stage.board.competition,
        user=left,
        role="member",
        joined_at=stage.now,
        left_at=stage.now,
    )
    for person in (stage.ada, left):
        for act in (pipeline.clear_result, pipeline.reject_result, pipeline.undo_decision):
            refused(403, "their own or their team's", act, result=result, actor=person, reason="x", now=stage.now)
    assert state(result) == "waiting"


def test_nobody_reviews_their_agent_or_its_team(stage: Stage) -> None:
    """Regression: an owner cleared the results of their own agent, which is an account of its own."""
    ben = Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER).user
    agent = create_agent(owner=ben, name="robo", now=stage.now)
    main = reviewer(stage, "ben2")
    User.objects.filter(pk=ben.pk).update(linked_to=main)  # the agent stays that of the linked login
    result, of_team, of_owner = hold(stage, agent), hold(stage), hold(stage, main)
    Membership.objects.filter(user=agent).update(left_at=stage.now)
    team = of_team.attempt.submission.entrant
    Membership.objects.create(
        entrant=team, competition=team.competition, user=agent, role="member", joined_at=stage.now
    )
    Role.objects.create(competition=team.competition, user=agent, role=Role.REVIEWER)
    for user in (User.objects.get(pk=one.pk) for one in (ben, main, agent)):
        assert not cases_for(user).exists()
        for held in (result, of_team, of_owner):
            refused(403, "their own", pipeline.clear_result, result=held, actor=user, reason="x", now=stage.now)
    assert cases_for(reviewer(stage)).count() == 3


def test_undo_takes_the_line_down_and_brings_it_back(stage: Stage) -> None:
    result = hold(stage)
    told = {"result": result, "actor": stage.olga, "now": stage.now}
    pipeline.clear_result(**told, reason="sound")
    assert Entry.objects.exists()
    pipeline.undo_decision(**told, reason="too quick")
    assert (state(result), Entry.objects.exists()) == ("waiting", False)
    refused(409, "no decision that could be undone", pipeline.undo_decision, **told, reason="again")
    pipeline.reject_result(**told, reason="it caches", code="reused_results")
    pipeline.undo_decision(**told, reason="it does not")
    pipeline.clear_result(**told, reason="sound after all")
    assert (state(result), Entry.objects.exists()) == ("cleared", True)
    assert list(Decision.objects.values_list("act", flat=True)) == ["clear", "undo", "reject", "undo", "clear"]
    assert Row.objects.filter(object_id=str(result.pk)).count() == 5


def test_a_rejection_needs_a_known_reason(stage: Stage) -> None:
    result = hold(stage)
    told = {"result": result, "actor": stage.olga, "now": stage.now, "reason": "no"}
    refused(400, "choose one of", pipeline.reject_result, **told, code="ugly")
    refused(400, "at most 2,000", pipeline.reject_result, **told, code="rules", public_reason="x" * 2001)
    assert state(result) == "waiting"


def test_the_podium_takes_two_people_where_the_competition_wants_it(stage: Stage) -> None:
    Competition.objects.update(two_person_rule=True)
    result, rita = hold(stage), reviewer(stage)
    assert would_rank(result) == 1
    pipeline.clear_result(result=result, actor=rita, reason="sound", now=stage.now)
    assert (state(result), Entry.objects.exists()) == ("half_cleared", False)
    assert status_of(result.attempt.submission, now=stage.now).review == "under_review"
    told = {"result": result, "reason": "sound", "now": stage.now}
    refused(409, "another person must clear it", pipeline.clear_result, actor=rita, **told)
    pipeline.clear_result(actor=stage.olga, **told)
    assert (state(result), Entry.objects.exists()) == ("cleared", True)
    assert list(Decision.objects.values_list("rank", "needs_two")) == [(1, True), (1, True)]


def test_two_logins_of_one_person_are_not_two_people(stage: Stage) -> None:
    Competition.objects.update(two_person_rule=True)
    result, rita = hold(stage), reviewer(stage)
    twin = reviewer(stage, "rita2")
    User.objects.filter(pk=twin.pk).update(linked_to=rita)
    twin.refresh_from_db()
    pipeline.clear_result(result=result, actor=rita, reason="sound", now=stage.now)
    told = {"result": result, "reason": "sound", "now": stage.now}
    refused(409, "another person must clear it", pipeline.clear_result, actor=twin, **told)
    mine = hold(stage, rita)
    refused(403, "their own", pipeline.reject_result, **told | {"result": mine}, actor=twin)


def test_a_linked_login_does_not_escape_a_suspension(stage: Stage) -> None:
    told = {"competition": None, "actor": stage.olga, "reason": "rules", "now": stage.now}
    pipeline.suspend_account(user=stage.cleo, **told)
    User.objects.filter(pk=stage.cleo.pk).update(linked_to=stage.ada)
    stage.cleo.refresh_from_db()
    for login in (stage.ada, stage.cleo):
        refused(403, "suspended everywhere", stage.submit, owner=login)
    pipeline.reinstate_account(user=stage.ada, **told)
    stage.submit(stage.ada)


def test_below_the_podium_one_person_is_enough(stage: Stage) -> None:
    Competition.objects.update(two_person_rule=True)
    for place, ratio in enumerate((0.6, 0.7, 0.8)):
        stage.judge(stage.submit(User.objects.create_user(f"fast{place}")), ratio=ratio)
    result = stage.judge(stage.submit(), ratio=0.95, flags=("not_certified",))
    assert would_rank(result) == 4
    pipeline.clear_result(result=result, actor=stage.olga, reason="sound", now=stage.now)
    assert state(result) == "cleared"


def test_a_claim_is_shown_expires_and_is_taken_over_with_a_reason(stage: Stage) -> None:
    result, rita = hold(stage), reviewer(stage)
    acts.claim(result=result, actor=rita, now=stage.now)
    row = Case.objects.get()
    assert (row.claimed_by, row.claimed_until) == (rita, stage.now + timedelta(minutes=30))
    told = {"result": result, "actor": stage.olga, "now": stage.now}
    refused(409, "claimed by another", pipeline.clear_result, **told, reason="sound")
    refused(409, "say why you take it over", acts.claim, **told)
    refused(409, "not claimed by you", acts.release, **told)
    acts.claim(**told, reason="she is on holiday")
    refused(409, "claimed by another", pipeline.clear_result, result=result, actor=rita, reason="ok", now=stage.now)
    acts.release(**told)
    assert Case.objects.get().claimed_by is None
    acts.claim(result=result, actor=rita, now=stage.now)
    pipeline.clear_result(**told | {"now": stage.now + timedelta(minutes=31)}, reason="sound")
    assert (state(result), Case.objects.get().claimed_by) == ("cleared", None)


def test_the_owner_is_asked_and_answers_once(stage: Stage) -> None:
    result = hold(stage)
    acts.ask(result=result, actor=stage.olga, question="How is this possible?", now=stage.now)
    assert (state(result), status_of(result.attempt.submission, now=stage.now).review) == ("asked", "under_review")
    refused(403, "only the owner", acts.answer, result=result, actor=stage.cleo, text="magic", now=stage.now)
    acts.answer(result=result, actor=stage.ada, text="Tensor cores.", now=stage.now)
    assert state(result) == "waiting"
    refused(409, "nothing to answer", acts.answer, result=result, actor=stage.ada, text="And", now=stage.now)


def test_who_decides_on_what_changed_meanwhile_is_told(stage: Stage) -> None:
    result = hold(stage)
    asked = acts.ask(result=result, actor=stage.olga, question="How?", now=stage.now)
    acts.answer(result=result, actor=stage.ada, text="Like this.", now=stage.now)
    acts.note(result=result, actor=stage.olga, text="hm", now=stage.now)
    told = {"result": result, "actor": stage.olga, "reason": "silent", "now": stage.now}
    refused(409, "changed while you looked at it \\(answer\\)", pipeline.reject_result, **told, seen=asked.pk)
    pipeline.reject_result(**told, seen=Decision.objects.latest("id").pk)
    assert state(result) == "rejected"


def test_an_appeal_is_answered_by_somebody_else(stage: Stage) -> None:
    result, rita = hold(stage), reviewer(stage)
    pipeline.reject_result(result=result, actor=rita, reason="it caches", code="reused_results", now=stage.now)
    mine = {"result": result, "actor": stage.ada, "now": stage.now}
    refused(403, "only the owner", acts.appeal, **mine | {"actor": stage.ben}, text="let her")
    acts.appeal(**mine, text="It does not: see line 3.")
    assert (state(result), status_of(result.attempt.submission, now=stage.now).review) == ("appealed", "rejected")
    refused(409, "nothing to appeal", acts.appeal, **mine, text="and again")
    told = {"result": result, "granted": True, "reason": "right", "now": stage.now}
    refused(403, "another reviewer answers", pipeline.answer_appeal, actor=rita, **told)
    pipeline.answer_appeal(actor=stage.olga, **told | {"granted": False})
    assert state(result) == "rejected"
    refused(409, "appealed already", acts.appeal, **mine, text="once more")
    pipeline.undo_decision(result=result, actor=stage.olga, reason="looked again", now=stage.now)
    pipeline.answer_appeal(actor=stage.olga, **told)
    assert (state(result), Entry.objects.exists()) == ("waiting", False)


def test_an_appeal_has_a_deadline(stage: Stage) -> None:
    result = hold(stage)
    pipeline.reject_result(result=result, actor=stage.olga, reason="no", now=stage.now)
    late = stage.now + timedelta(days=14)
    refused(409, "could be appealed against until", acts.appeal, result=result, actor=stage.ada, text="x", now=late)
    acts.appeal(result=result, actor=stage.ada, text="in time", now=late - timedelta(seconds=1))


def test_an_impossible_time_rejects_by_itself_and_a_person_overturns_it(stage: Stage) -> None:
    result = stage.judge(stage.submit(), **IMPOSSIBLE)
    assert (state(result), held_results().count()) == ("rejected", 0)
    told = {"result": result, "actor": stage.olga, "now": stage.now}
    refused(409, "by itself; overturn that first", pipeline.clear_result, **told, reason="fine")
    pipeline.overturn_verdict(**told, reason="the bound is wrong")
    assert (state(result), list(held_results())) == ("waiting", [result])
    assert status_of(result.attempt.submission, now=stage.now).review == "under_review"
    pipeline.clear_result(**told, reason="sound")
    assert (state(result), Entry.objects.exists()) == ("cleared", False), "it has no time, so it cannot rank"
    pipeline.undo_decision(**told, reason="one")
    pipeline.undo_decision(**told, reason="two")
    assert state(result) == "rejected"


def test_an_impossible_time_is_appealed_against(stage: Stage) -> None:
    result = stage.judge(stage.submit(), **IMPOSSIBLE)
    acts.appeal(result=result, actor=stage.ada, text="The declared bytes are wrong.", now=stage.now)
    pipeline.answer_appeal(result=result, actor=stage.olga, granted=True, reason="they are", now=stage.now)
    assert state(result) == "waiting"


def test_other_failures_are_no_case(stage: Stage) -> None:
    stage.judge(stage.submit(), outcome="policy", reason="network")
    stage.judge(stage.submit(mode="benchmark"), **IMPOSSIBLE)
    assert not Case.objects.exists()


def test_what_a_person_rejected_does_not_rank_by_being_sent_or_judged_again(stage: Stage) -> None:
    first = stage.judge(stage.submit(kernel=7), ratio=0.4, score_us=400.0)
    pipeline.reject_result(result=first, actor=stage.olga, reason="it caches", now=stage.now)
    again = stage.judge(stage.submit(kernel=7), ratio=0.9)
    assert (state(again), Entry.objects.exists()) == ("waiting", False)
    assert [one.rule for one in Finding.objects.filter(result=again)] == ["rejected_before"]
    rejudge(submission=first.attempt.submission, actor=stage.olga, reason="new judge", now=stage.now)
    stage.judge(first.attempt.submission, ratio=0.9)
    assert not Entry.objects.exists()
    stage.judge(stage.submit(kernel=8), ratio=0.9)
    assert Entry.objects.count() == 1, "another kernel of theirs is not held for it"
    pipeline.clear_result(result=again, actor=stage.olga, reason="it does not", now=stage.later(1))
    stage.judge(stage.submit(kernel=7), ratio=0.9)
    assert Entry.objects.count() == 3, "what was decided last about the kernel counts"


def test_a_person_holds_what_no_rule_held(stage: Stage) -> None:
    result = stage.judge(stage.submit(), ratio=0.9)
    assert Entry.objects.exists()
    told = {"result": result, "actor": stage.olga, "reason": "somebody complained", "now": stage.now}
    refused(403, "only a reviewer", pipeline.hold_result, **told | {"actor": stage.cleo})
    pipeline.hold_result(**told)
    assert (state(result), Entry.objects.exists()) == ("waiting", False)
    refused(409, "is a case already", pipeline.hold_result, **told)
    pipeline.clear_result(**told)
    assert Entry.objects.exists()
    wrong = stage.judge(stage.submit(), outcome="wrong")
    refused(409, "does not rank", pipeline.hold_result, **told | {"result": wrong})


def test_a_suspended_account_ranks_nowhere_and_comes_back(stage: Stage) -> None:
    stage.judge(stage.submit(), ratio=0.9)
    held = hold(stage)
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    lost = stage.submit()
    stage.judge(lost, ratio=0.85)
    rejudge(submission=lost, actor=stage.olga, reason="check", now=stage.now)
    stage.judge(lost, outcome="infra_error")
    told = {"user": stage.ada, "competition": None, "actor": stage.olga, "reason": "two accounts", "now": stage.now}
    before = set(Entry.objects.values_list("submission", flat=True))
    refused(403, "only an organiser", pipeline.suspend_account, **told | {"actor": stage.cleo})
    pipeline.suspend_account(**told)
    assert set(Entry.objects.values_list("owner__username", flat=True)) == {"ben"}
    with pytest.raises(UserError, match="suspended everywhere since 2026-11-20: two accounts"):
        stage.submit()
    pipeline.clear_result(result=held, actor=stage.olga, reason="sound", now=stage.now)
    assert Entry.objects.count() == 1, "cleared while suspended: it waits for the reinstatement"
    refused(409, "suspended already", pipeline.suspend_account, **told)
    pipeline.reinstate_account(**told)
    assert set(Entry.objects.values_list("submission", flat=True)) == before | {held.attempt.submission_id}
    refused(409, "is not suspended", pipeline.reinstate_account, **told)


def test_an_owner_suspends_in_their_competition_only(stage: Stage) -> None:
    owner = reviewer(stage)
    told = {"user": stage.ada, "actor": owner, "reason": "rules", "now": stage.now}
    here = stage.board.competition
    refused(403, "only a owner", pipeline.suspend_account, **told, competition=here)
    Role.objects.filter(user=owner).update(role=Role.OWNER)
    pipeline.suspend_account(**told, competition=here)
    refused(403, "only an organiser", pipeline.suspend_account, **told, competition=None)
    refused(409, "cannot be suspended", pipeline.suspend_account, **told | {"user": stage.olga}, competition=here)
    assert Row.objects.get(act="suspend_account").after == {"competition": "kernels-101"}


def test_notes_and_labels_stay_among_reviewers(stage: Stage) -> None:
    result = hold(stage)
    told = {"result": result, "actor": stage.olga, "now": stage.now}
    acts.note(**told, text="looks like the last one")
    acts.label(**told, name="cache")
    refused(409, "on the case already", acts.label, **told, name="cache")
    refused(400, "is no label", acts.label, **told, name="Bad one!")
    assert Case.objects.get().labels == ["cache"]
    acts.unlabel(**told, name="cache")
    assert (Case.objects.get().labels, state(result)) == ([], "waiting")
    refused(409, "not on the case", acts.unlabel, **told, name="cache")


def test_a_rerun_is_a_new_attempt_and_closes_the_case(stage: Stage) -> None:
    result, rita = hold(stage), reviewer(stage)
    acts.rerun(result=result, actor=rita, reason="on another machine", now=stage.now)
    assert "last judged by rex" in Row.objects.get(act="rejudge").reason
    assert Attempt.objects.get(is_current=True).cause == "rejudge"
    assert not held_results().exists()
    refused(409, "judged again since", pipeline.clear_result, result=result, actor=rita, reason="x", now=stage.now)


def test_a_rerun_waits_for_the_admission_of_the_boards_version(stage: Stage) -> None:
    result, rita = hold(stage), reviewer(stage)
    ask_test(version=stage.board.version, hardware="cpu", actor=None, now=stage.now, gate=True)
    refused(409, "admission test", acts.rerun, result=result, actor=rita, reason="a new version", now=stage.now)
    assert list(held_results()) == [result]


def test_a_rerun_goes_to_another_device_while_one_is_alive_also_after_a_loss(stage: Stage) -> None:
    result, rita = hold(stage), reviewer(stage)
    tex = make_runner("tex")
    greet(runner=tex, fingerprint={}, epoch="", now=stage.now)
    acts.rerun(result=result, actor=rita, reason="on another machine", now=stage.now)
    assert claim_work(runner=stage.rex, now=stage.now) is None
    stage.claim(tex)
    later = stage.now + timedelta(hours=1)
    expire_leases(now=later)
    greet(runner=tex, fingerprint={}, epoch="", now=later)
    assert claim_work(runner=stage.rex, now=later) is None
    job = claim_work(runner=stage.rex, now=later + 2 * ALIVE)
    assert job is not None
    assert job.submission_id == str(result.attempt.submission_id), "there is no other any more"


def test_a_line_that_a_failed_judging_left_is_held_by_hand(stage: Stage) -> None:
    result = stage.judge(stage.submit(), ratio=0.9)
    rejudge(submission=result.attempt.submission, actor=stage.olga, reason="check", now=stage.now)
    stage.judge(result.attempt.submission, outcome="infra_error")
    pipeline.hold_result(result=result, actor=stage.olga, reason="somebody complained", now=stage.now)
    assert not Entry.objects.exists()


def test_a_rerun_of_which_nothing_came_leaves_the_case_to_be_decided(stage: Stage) -> None:
    result, rita = hold(stage), reviewer(stage)
    told = {"result": result, "actor": rita, "now": stage.now}
    acts.rerun(**told, reason="on another machine")
    stage.judge(result.attempt.submission, outcome="infra_error")
    assert list(held_results()) == [result]
    acts.rerun(**told, reason="once more")
    assert not held_results().exists()
    cancel(submission=result.attempt.submission, actor=stage.olga, reason="no machine", now=stage.now)
    assert list(held_results()) == [result]
    pipeline.clear_result(**told, reason="sound")
    assert Entry.objects.get().attempt == result.attempt


def test_the_median_wait_says_nothing_of_a_few(stage: Stage) -> None:
    competition = stage.board.competition
    for hours in range(1, 6):
        assert median_wait(competition, stage.now) is None
        result = hold(stage, User.objects.create_user(f"user{hours}"), ratio=0.4 / 3**hours)
        at = Case.objects.get(result=result).opened_at + timedelta(hours=hours)
        pipeline.reject_result(result=result, actor=stage.olga, reason="no", now=at)
    assert median_wait(competition, stage.now + timedelta(days=1)) == timedelta(hours=3)
    assert median_wait(competition, stage.now + timedelta(days=40)) is None
