"""Awards are proposed from the final standing, confirmed, approved and announced; they go stale when it changes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.awards.life import (
    announce_award,
    approve_award,
    confirm_award,
    draw,
    is_stale,
    propose_award,
    withdraw_award,
)
from leaderboard.awards.models import ANNOUNCED, APPROVED, CONFIRMED, PROPOSED, WITHDRAWN, Award, Step
from leaderboard.competitions.edit import put_prize, remove_track
from leaderboard.competitions.models import Announcement, Role, Track
from leaderboard.confirmations.models import AWARD, Confirmation
from leaderboard.desk.acts import rename_entrant
from leaderboard.entrants.enter import create_agent
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from leaderboard.judging.models import QUEUED
from leaderboard.standings.publish import withdraw
from leaderboard.submissions.models import Submission
from leaderboard.web.markup import markdown
from tests.leaderboard import records
from tests.leaderboard.awarding import BOARD, over, sent, track
from tests.leaderboard.records import confirm
from tests.leaderboard.stage import Stage

WHY = "read the code of all three"


def race(stage: Stage) -> dict[str, Submission]:
    """Create a finished contest: Ada leads Ben by 20 %, Ben leads Cleo by 2 %, and Ada's record is confirmed."""
    lines = {
        "ben": sent(stage, stage.ben, 0.8),
        "ada": sent(stage, stage.ada, 0.6),
        "cleo": sent(stage, stage.cleo, 0.816),
    }
    confirm(stage)
    over(stage)
    return lines


def names(award: Award) -> list[tuple[int, str, str]]:
    told = {entrant.pk: entrant.name for entrant in Entrant.objects.all()}
    return [
        (one["place"], told[one["entrant"]], one["money"][0]["amount"] if one["money"] else "") for one in award.winners
    ]


def announced(stage: Stage, made: Track) -> Award:
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    while confirm_award(award=award, actor=stage.olga, now=stage.now):
        confirm(stage)
    approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)
    announce_award(award=award, actor=stage.olga, now=stage.now)
    award.refresh_from_db()
    return award


def test_the_whole_way(stage: Stage) -> None:
    lines = race(stage)
    made = track(stage, 1000, 500)
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "ada", "1000.00"), (2, "ben", "500.00")]
    assert "1.667× as fast as the baseline" in award.winners[0]["why"]
    pairs = [(pair["candidate"], pair["incumbent"]) for pair in award.content["pairs"]]
    assert pairs == [([lines["ada"].pk], [lines["ben"].pk]), ([lines["ben"].pk], [lines["cleo"].pk])]
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 1, "the record is confirmed already"
    asked = Confirmation.objects.get(state=QUEUED)
    assert (asked.candidate, asked.incumbent, asked.cause) == (lines["ben"], lines["cleo"], AWARD)
    confirm(stage)
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 0
    approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)
    assert not Announcement.objects.exists()
    told = announce_award(award=award, actor=stage.olga, now=stage.now)
    assert told.title == "Winners: Best softmax"
    assert told.text.splitlines()[0].startswith("- 1st place: ada, EUR")
    steps = list(Step.objects.values_list("state", "actor__username", "reason"))
    expected = [(PROPOSED, ""), (CONFIRMED, ""), (APPROVED, WHY), (ANNOUNCED, "")]
    assert steps == [(state, "olga", reason) for state, reason in expected]
    assert list(Row.objects.filter(act="award_approved").values_list("reason", flat=True)) == [WHY]


def test_a_name_is_no_markdown_and_a_new_name_replaces_it(stage: Stage) -> None:
    race(stage)
    Entrant.objects.filter(name="ada").update(name="[free](https://a.example) ![x](b) a*b*", is_team=True)
    told = announced(stage, track(stage, 1000)).announcement
    assert told is not None
    assert "<li>1st place: [free](https://a.example) ![x](b) a*b*" in markdown(told.text)
    actor = User.objects.create_superuser("sam")
    team = Entrant.objects.get(is_team=True)
    rename_entrant(entrant=team, field="name", name="Polite", actor=actor, reason="rude", now=stage.now)
    told.refresh_from_db()
    assert told.text.startswith("- 1st place: Polite")


def test_nothing_is_proposed_before_the_deadline(stage: Stage) -> None:
    sent(stage, stage.ada, 0.6)
    with pytest.raises(UserError, match="not over"):
        propose_award(track=track(stage), actor=stage.olga, now=stage.now)


def test_who_is_not_eligible_is_passed_over_with_the_reason(stage: Stage) -> None:
    race(stage)
    Entrant.objects.filter(name="ada").update(division="agent", model_name="a model")
    Entrant.objects.filter(name="ben").update(declared=["best"])
    made = track(stage, 1000, divisions=["human", "mixed"], eligibility="You live in the EU.")
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "ben", "1000.00")]
    assert [one["reason"] for one in award.content["skipped"]] == [
        "division agent is not in this track, which is for human, mixed"
    ]
    Entrant.objects.filter(name="ben").update(declared=[])
    with pytest.raises(UserError, match="nobody who may win"):
        propose_award(track=made, actor=stage.olga, now=stage.now)


@pytest.mark.parametrize("state", [PROPOSED, CONFIRMED, APPROVED])
def test_what_changes_the_standing_makes_it_stale(stage: Stage, state: str) -> None:
    lines = race(stage)
    made = track(stage, 1000)
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    assert not is_stale(award, now=stage.now)
    if state != PROPOSED:
        assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 0
    if state == APPROVED:
        approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)
    withdraw(submission=lines["ada"])
    assert is_stale(award, now=stage.now)
    nexts: dict[str, Any] = {
        PROPOSED: lambda: confirm_award(award=award, actor=stage.olga, now=stage.now),
        CONFIRMED: lambda: approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now),
        APPROVED: lambda: announce_award(award=award, actor=stage.olga, now=stage.now),
    }
    with pytest.raises(UserError, match="propose it again"):
        nexts[state]()
    again = propose_award(track=made, actor=stage.olga, now=stage.now)
    assert names(again) == [(1, "ben", "1000.00")]
    award.refresh_from_db()
    assert award.state == WITHDRAWN


@pytest.mark.parametrize("change", ["prize", "tie rule", "division", "declared"])
def test_so_does_what_else_decides(stage: Stage, change: str) -> None:
    race(stage)
    made = track(stage, 1000, eligibility="" if change != "declared" else "You live in the EU.")
    Entrant.objects.update(declared=["best"])
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    if change == "prize":
        made.prizes.update(amount=Decimal(999))
    elif change == "tie rule":
        Track.objects.update(tie_rule=Track.SHARE)
    elif change == "division":
        Track.objects.update(divisions=["human"])
    else:
        Entrant.objects.filter(name="cleo").update(declared=[])
    assert is_stale(Award.objects.select_related("track__competition").get(pk=award.pk), now=stage.now)


def test_a_refused_record_makes_a_tie_and_the_award_stale(stage: Stage) -> None:
    ben = sent(stage, stage.ben, 0.8)
    sent(stage, stage.ada, 0.78)
    over(stage)
    made = track(stage, 1001, tie_rule=Track.SHARE)
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "ada", "1001.00")]
    confirm(stage, told=records.REFUSED)
    with pytest.raises(UserError, match="propose it again"):
        confirm_award(award=award, actor=stage.olga, now=stage.now)
    again = propose_award(track=made, actor=stage.olga, now=stage.now)
    assert names(again) == [(1, "ben", "500.50"), (1, "ada", "500.50")]
    assert (again.content["pairs"], ben.owner) == ([], stage.ben), "who is tied is not raced again"


def test_runs_that_settled_nothing_may_be_gone_without_and_only_then(stage: Stage) -> None:
    sent(stage, stage.ben, 0.8)
    sent(stage, stage.ada, 0.6)
    over(stage)
    award = propose_award(track=track(stage, 1000), actor=stage.olga, now=stage.now)
    with pytest.raises(UserError, match="runs are still missing"):
        confirm_award(award=award, actor=stage.olga, now=stage.now, without="no time")
    confirm(stage, told={"held": True})
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 1, "asked for once more"
    confirm(stage, told={"held": True})
    assert confirm_award(award=award, actor=stage.olga, now=stage.now, without="the host may not freeze") == 0
    assert Step.objects.get(state=CONFIRMED).reason == "the host may not freeze"


@pytest.mark.parametrize("reason", ["x" * 2001, "a\x00b"])
def test_a_reason_that_nobody_needed_is_checked_all_the_same(stage: Stage, reason: str) -> None:
    race(stage)
    award = propose_award(track=track(stage), actor=stage.olga, now=stage.now)
    with pytest.raises(UserError, match="say why"):
        confirm_award(award=award, actor=stage.olga, now=stage.now, without=reason)
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 0


def test_the_order_of_steps_is_kept_and_two_at_once_do_one(stage: Stage) -> None:
    race(stage)
    made = track(stage, 1000)
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    with pytest.raises(UserError, match="it is proposed"):
        announce_award(award=award, actor=stage.olga, now=stage.now)
    other = Award.objects.get(pk=award.pk)  # the award as loaded by a second organiser's page
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 0
    approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)
    with pytest.raises(UserError, match="it is approved"):
        approve_award(award=other, actor=stage.olga, reason=WHY, now=stage.now)
    announce_award(award=award, actor=stage.olga, now=stage.now)
    with pytest.raises(UserError, match="it is announced"):
        announce_award(award=other, actor=stage.olga, now=stage.now)
    with pytest.raises(UserError, match="are announced"):
        propose_award(track=made, actor=stage.olga, now=stage.now)
    assert Announcement.objects.count() == 1


def test_what_was_announced_is_withdrawn_with_a_reason(stage: Stage) -> None:
    race(stage)
    made = track(stage, 1000)
    award = announced(stage, made)
    with pytest.raises(UserError, match="say why"):
        withdraw_award(award=award, actor=stage.olga, reason=" ", now=stage.now)
    withdraw_award(award=award, actor=stage.olga, reason="a copy", now=stage.now)
    assert Announcement.objects.get().withdrawn_at == stage.now
    assert propose_award(track=made, actor=stage.olga, now=stage.now).state == PROPOSED


def test_an_announced_track_and_its_prizes_stay(stage: Stage) -> None:
    race(stage)
    made = track(stage, 1000)
    announced(stage, made)
    prize = {"place": 1, "amount": Decimal(5), "currency": "EUR", "sponsor": "", "text": ""}
    for change in (
        lambda: put_prize(track=made, actor=stage.olga, now=stage.now, **prize),
        lambda: remove_track(track=made, actor=stage.olga, now=stage.now),
    ):
        with pytest.raises(UserError, match="announced"):
            change()


def test_a_frozen_standing_is_revealed_before_its_winners(stage: Stage) -> None:
    lines = race(stage)
    competition = stage.board.competition
    competition.freeze_at = lines["ada"].created_at
    competition.save()
    award = propose_award(track=track(stage, 1000), actor=stage.olga, now=stage.now)
    assert names(award)[0][1] == "ada", "what was sent while frozen counts"
    confirm_award(award=award, actor=stage.olga, now=stage.now)
    approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)
    with pytest.raises(UserError, match="frozen"):
        announce_award(award=award, actor=stage.olga, now=stage.now)


def test_only_owners_award_and_two_where_two_are_wanted(stage: Stage) -> None:
    race(stage)
    competition = stage.board.competition
    made = track(stage, 1000)
    for role in (None, Role.VIEWER, Role.REVIEWER):
        if role:
            Role.objects.update_or_create(competition=competition, user=stage.ben, defaults={"role": role})
        with pytest.raises(UserError) as refused:
            propose_award(track=made, actor=stage.ben, now=stage.now)
        assert refused.value.status == 403
    Role.objects.update(role=Role.OWNER)
    competition.two_person_rule = True
    competition.save()
    award = propose_award(track=made, actor=stage.ben, now=stage.now)
    assert confirm_award(award=award, actor=stage.ben, now=stage.now) == 0
    with pytest.raises(UserError, match="two people"):
        approve_award(award=award, actor=stage.ben, reason=WHY, now=stage.now)
    approve_award(award=award, actor=stage.olga, reason=WHY, now=stage.now)


def test_a_winner_does_not_approve_their_own_award(stage: Stage) -> None:
    race(stage)
    for user in (stage.ada, stage.cleo):
        Role.objects.create(competition=stage.board.competition, user=user, role=Role.OWNER)
    award = propose_award(track=track(stage), actor=stage.ada, now=stage.now)
    assert confirm_award(award=award, actor=stage.ada, now=stage.now) == 0
    with pytest.raises(UserError, match="another owner approves it") as refused:
        approve_award(award=award, actor=stage.ada, reason=WHY, now=stage.now)
    assert refused.value.status == 403
    approve_award(award=award, actor=stage.cleo, reason=WHY, now=stage.now)


def test_the_owner_of_an_agent_does_not_approve_its_award(stage: Stage) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER)
    sent(stage, create_agent(owner=stage.ben, name="robo", now=stage.now), 0.6)
    over(stage)
    award = propose_award(track=track(stage, divisions=["agent"]), actor=stage.olga, now=stage.now)
    assert names(award) == [(1, "robo", "")]
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 0
    with pytest.raises(UserError, match="another owner approves it"):
        approve_award(award=award, actor=stage.ben, reason=WHY, now=stage.now)


def test_the_database_keeps_its_word(stage: Stage) -> None:
    race(stage)
    made = track(stage, 1000)
    award = propose_award(track=made, actor=stage.olga, now=stage.now)
    with transaction.atomic(), pytest.raises(IntegrityError):
        Award.objects.create(track=made, basis="x", content={}, created_at=stage.now)
    with transaction.atomic(), pytest.raises(DatabaseError, match="never changed"):
        Step.objects.update(reason="another")
    with transaction.atomic(), pytest.raises(IntegrityError):
        Award.objects.filter(pk=award.pk).update(state=ANNOUNCED)


def test_the_first_to_beat_it_wins_whoever_is_faster_later(stage: Stage) -> None:
    sent(stage, stage.ben, 0.7)
    sent(stage, stage.cleo, 0.49)
    sent(stage, stage.ada, 0.4)
    over(stage)
    made = track(stage, 1000, kind=Track.FIRST_TO_BEAT, params=BOARD | {"ratio": 0.5})
    drawn = draw(made, now=stage.now)
    told = {entrant.pk: entrant.name for entrant in Entrant.objects.all()}
    assert [told[one.entrant_id] for one in drawn.outcome.winners] == ["cleo"]
    assert drawn.pairs == (), "it goes by the time of submission"


def test_only_what_was_sent_in_the_contest_counts(stage: Stage) -> None:
    sent(stage, stage.ada, 0.5)
    stage.board.competition.practice_at = stage.now - timedelta(days=1)
    stage.board.competition.contest_at = stage.later(1)
    stage.board.competition.save()
    sent(stage, stage.ben, 0.7)
    over(stage)
    award = propose_award(track=track(stage, 100), actor=stage.olga, now=stage.now)
    assert [name for _, name, _ in names(award)] == ["ben"]


def test_two_organisers_at_once_announce_once(live_stage: Stage) -> None:
    race(live_stage)
    award = propose_award(track=track(live_stage, 1000), actor=live_stage.olga, now=live_stage.now)
    confirm_award(award=award, actor=live_stage.olga, now=live_stage.now)
    approve_award(award=award, actor=live_stage.olga, reason=WHY, now=live_stage.now)
    together = Barrier(2)

    def announce(_: int) -> str:
        try:
            together.wait()
            announce_award(award=Award.objects.get(pk=award.pk), actor=live_stage.olga, now=live_stage.now)
        except UserError as error:
            return error.message
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(2) as pool:
        said = sorted(pool.map(announce, range(2)))
    assert said[0] == ""
    assert "it is announced" in said[1]
    assert Announcement.objects.count() == 1


@pytest.mark.parametrize("kind", [Track.BOARD, Track.OVERALL])
def test_the_earlier_of_a_tie_wins_although_the_board_lists_the_faster_first(stage: Stage, kind: str) -> None:
    sent(stage, stage.ben, 0.5)
    sent(stage, stage.ada, 0.499)
    over(stage)
    made = track(stage, 1000, 500, kind=kind, params=BOARD if kind == Track.BOARD else {}, tie_rule=Track.EARLIER)
    drawn = draw(made, now=stage.now)
    told = {entrant.pk: entrant.name for entrant in Entrant.objects.all()}
    assert [told[one.entrant_id] for one in drawn.outcome.winners] == ["ben", "ada"]
