"""A track over several boards has a single standing; runs confirm the wins on its boards before an award."""

import pytest

from leaderboard.awards.life import confirm_award, draw, propose_award
from leaderboard.competitions.models import Track
from leaderboard.confirmations.ask import claim_confirmation
from leaderboard.confirmations.models import Confirmation
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from leaderboard.judging.models import QUEUED
from tests.leaderboard import records
from tests.leaderboard.awarding import over, sent, track
from tests.leaderboard.records import confirm
from tests.leaderboard.stage import Stage, make_board, mark_unsupported


def test_several_boards_are_one_standing(stage: Stage) -> None:
    other = make_board("vectoradd", tags=["memory"])
    stage.board.tags = ["memory"]
    stage.board.save()
    sent(stage, stage.ada, 0.6)
    sent(stage, stage.ben, 0.605)
    sent(stage, stage.ben, 0.6, board=other)
    sent(stage, stage.ada, 0.8, board=other)
    over(stage)
    for kind, params in ((Track.OVERALL, {}), (Track.HARDWARE, {"hardware": "cpu"}), (Track.TAG, {"tag": "memory"})):
        made = track(stage, 100, 50, kind=kind, params=params, slug=kind)
        drawn = draw(made, now=stage.now)
        told = {entrant.pk: entrant.name for entrant in Entrant.objects.all()}
        assert [told[one.entrant_id] for one in drawn.outcome.winners] == ["ben", "ada"]
        assert [(pair.board, told[pair.upper], told[pair.lower]) for pair in drawn.pairs] == [
            (other.pk, "ben", "ada")
        ], "who is first is confirmed on the board that they lead, however far behind the next one is"


def test_a_problem_that_cannot_be_judged_counts_in_a_track_of_its_own_alone(stage: Stage) -> None:
    other = make_board("vectoradd")
    sent(stage, stage.ada, 0.8)
    sent(stage, stage.ben, 0.6, board=other)
    over(stage)
    mark_unsupported(other)
    of_board = track(stage, 100, params={"slug": "vectoradd", "hardware": "cpu"})
    over_all = track(stage, 100, kind=Track.OVERALL, params={}, slug="overall")
    told = {entrant.pk: entrant.name for entrant in Entrant.objects.all()}
    for made, winner in ((of_board, "ben"), (over_all, "ada")):
        assert [told[one.entrant_id] for one in draw(made, now=stage.now).outcome.winners] == [winner]


def test_a_jump_that_wins_over_several_boards_is_confirmed_on_each_board_that_it_leads(stage: Stage) -> None:
    other = make_board("vectoradd")
    jump, slower = sent(stage, stage.cleo, 0.55), sent(stage, stage.cleo, 0.9, board=other)
    second, behind = sent(stage, stage.ben, 0.8), sent(stage, stage.ben, 0.99, board=other)
    sent(stage, stage.ada, 0.95)
    over(stage)
    drawn = draw(track(stage, 100, 50, kind=Track.OVERALL, params={}), now=stage.now)
    told = {entrant.pk: entrant.name for entrant in Entrant.objects.all()}
    assert [told[one.entrant_id] for one in drawn.outcome.winners] == ["cleo", "ben"]
    found = {(pair.candidate, pair.incumbent) for pair in drawn.pairs}
    assert found == {((jump.pk,), (second.pk,)), ((slower.pk,), (behind.pk,))}


def test_first_place_over_several_boards_is_confirmed_against_who_may_win(stage: Stage) -> None:
    other = make_board("vectoradd")
    for board, ratio in ((stage.board, 0.55), (other, 0.9)):
        sent(stage, stage.cleo, ratio, board=board)
    barred, third = sent(stage, stage.ben, 0.6), sent(stage, stage.ada, 0.7)
    over(stage)
    made = track(stage, 100, kind=Track.OVERALL, params={}, divisions=["human"])
    barred.entrant.division, barred.entrant.model_name = "agent", "some model"
    barred.entrant.save()
    [pair] = draw(made, now=stage.now).pairs
    assert pair.incumbent == (third.pk,)


def test_a_lead_on_one_of_several_boards_that_runs_do_not_show_needs_a_reason(stage: Stage) -> None:
    other = make_board("vectoradd")
    for board in (stage.board, other):
        sent(stage, stage.ada, 0.6, board=board)
        sent(stage, stage.ben, 0.618, board=board)
    over(stage)
    award = propose_award(track=track(stage, 100, kind=Track.OVERALL, params={}), actor=stage.olga, now=stage.now)
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 2
    confirm(stage)
    confirm(stage, told=records.REFUSED)
    for _ in range(2):
        with pytest.raises(UserError, match="show no lead"):
            confirm_award(award=award, actor=stage.olga, now=stage.now)
    assert Confirmation.objects.count() == 2, "it is not tried until it comes out right"
    assert confirm_award(award=award, actor=stage.olga, now=stage.now, without="ahead on the other one") == 0


def test_a_record_that_waits_for_its_pause_waits_no_longer_once_a_prize_does(stage: Stage) -> None:
    sent(stage, stage.ben, 0.8)
    sent(stage, stage.cleo, 0.7)
    confirm(stage)
    sent(stage, stage.ada, 0.6)
    over(stage)
    waiting = Confirmation.objects.get(state=QUEUED)
    assert claim_confirmation(runner=stage.rex, now=stage.now) is None, "one record of a board in ten minutes"
    award = propose_award(track=track(stage, 100, kind=Track.OVERALL, params={}), actor=stage.olga, now=stage.now)
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 1
    assert Confirmation.objects.get(state=QUEUED) == waiting
    confirm(stage)
    assert confirm_award(award=award, actor=stage.olga, now=stage.now) == 0
