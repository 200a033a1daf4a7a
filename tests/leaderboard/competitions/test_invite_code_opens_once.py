"""An invite code opens its competition or boards once, for a single person; a wrong code reveals no information."""

import threading
from datetime import timedelta

import pytest
from django.db import connection

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.competitions.access import NOT_GOOD, codes_of, issue_codes, redeem_code, revoke_code
from leaderboard.competitions.edit import remove_board
from leaderboard.competitions.models import CLOSED, Board, Competition, InviteCode, Role
from leaderboard.competitions.permissions import boards_seen_by, competitions_seen_by, may_see
from leaderboard.errors import UserError
from tests.leaderboard.stage import NOON, Stage, make_board


@pytest.fixture
def closed(stage: Stage) -> Competition:
    competition = stage.board.competition
    competition.visibility = CLOSED
    competition.save()
    return competition


def issue(stage: Stage, competition: Competition, *boards: Board, count: int = 1) -> list[str]:
    issued = issue_codes(competition=competition, count=count, boards=boards, actor=stage.olga, now=NOON)
    return [one.text for one in issued]


def redeem(user: User, text: str) -> InviteCode:
    return redeem_code(text=text, user=user, now=NOON + timedelta(hours=1))


def refused(user: User, text: str) -> UserError:
    with pytest.raises(UserError) as caught:
        redeem(user, text)
    return caught.value


def test_texts_are_shown_once_and_digests_are_kept(stage: Stage, closed: Competition) -> None:
    texts = issue(stage, closed, count=20)
    assert len(set(texts)) == 20
    kept = InviteCode.objects.values_list("prefix", "digest")
    assert {text[:10] for text in texts} == {prefix for prefix, _ in kept}
    assert not any(text[10:] in digest for text, (_, digest) in zip(texts, kept, strict=True))


def test_a_code_opens_the_competition_and_says_who_used_it(stage: Stage, closed: Competition) -> None:
    assert not may_see(stage.ada, closed)
    redeem(stage.ada, f"  {issue(stage, closed)[0]}\n")
    assert may_see(stage.ada, closed)
    assert not may_see(stage.ben, closed)
    code = codes_of(closed).get()
    assert (code.used_by, code.used_at) == (stage.ada, NOON + timedelta(hours=1))
    assert set(Row.objects.values_list("act", flat=True)) == {"issue_invite_codes", "redeem_invite_code"}


def test_a_code_opens_the_boards_that_it_names(stage: Stage, closed: Competition) -> None:
    other = make_board("vectoradd")
    one, two = issue(stage, closed, stage.board)[0], issue(stage, closed, other, stage.board)[0]
    redeem(stage.ada, one)
    assert list(boards_seen_by(stage.ada)) == [stage.board]
    redeem(stage.ada, two)
    assert set(boards_seen_by(stage.ada, listed=True)) == {stage.board, other}


def test_who_sees_everything_keeps_a_code_for_somebody_else(stage: Stage, closed: Competition) -> None:
    first, second = issue(stage, closed, count=2)
    redeem(stage.ada, first)
    assert refused(stage.ada, second).status == 409
    assert redeem(stage.ben, second).used_by == stage.ben


def test_ones_own_code_again_changes_nothing(stage: Stage, closed: Competition) -> None:
    (text,) = issue(stage, closed)
    assert redeem(stage.ada, text) == redeem(stage.ada, text)
    assert Row.objects.filter(act="redeem_invite_code").count() == 1


@pytest.mark.parametrize("text", ["", "pfi_", "pfi_" + "x" * 43, "pf_" + "x" * 43, "pfi_é", "x" * 100_000, "pfi_\x00"])
def test_what_is_no_code_is_refused(stage: Stage, closed: Competition, text: str) -> None:
    assert refused(stage.ada, text).message == NOT_GOOD


def test_a_used_one_and_a_revoked_one_answer_as_none_does(stage: Stage, closed: Competition) -> None:
    used, revoked = issue(stage, closed, count=2)
    redeem(stage.ben, used)
    code = InviteCode.objects.get(used_by=None)
    assert revoke_code(code=code, actor=stage.olga, reason="sent to the wrong list", now=NOON)
    assert not revoke_code(code=code, actor=stage.olga, reason="again", now=NOON)
    answers = {(error.status, error.message) for error in (refused(stage.ada, text) for text in (used, revoked, "no"))}
    assert answers == {(400, NOT_GOOD)}
    assert not may_see(stage.ada, closed)


def test_revoking_a_used_one_takes_back_what_it_opened(stage: Stage, closed: Competition) -> None:
    code = redeem(stage.ada, issue(stage, closed)[0])
    stage.submit(stage.ada)  # ada now competes as well
    revoke_code(code=code, actor=stage.olga, reason="not theirs", now=NOON)
    assert not may_see(stage.ada, closed)
    assert not boards_seen_by(stage.ada).exists()


def test_only_an_owner_issues_and_revokes(stage: Stage, closed: Competition) -> None:
    code = issue_codes(competition=closed, count=1, actor=stage.olga, now=NOON)[0].code
    for role in ("", Role.VIEWER, Role.REVIEWER):
        if role:
            Role.objects.update_or_create(competition=closed, user=stage.cleo, defaults={"role": role})
        with pytest.raises(UserError) as caught:
            issue_codes(competition=closed, count=1, actor=stage.cleo, now=NOON)
        assert caught.value.status == 403
        with pytest.raises(UserError):
            revoke_code(code=code, actor=stage.cleo, reason="mine", now=NOON)
    Role.objects.filter(user=stage.cleo).update(role=Role.OWNER)
    assert issue_codes(competition=closed, count=1, actor=stage.cleo, now=NOON)


@pytest.mark.parametrize(
    ("changes", "field"), [({"count": 0}, "count"), ({"count": 501}, "count"), ({"note": "x" * 201}, "note")]
)
def test_limits_are_named(stage: Stage, closed: Competition, changes: dict[str, object], field: str) -> None:
    with pytest.raises(UserError) as caught:
        issue_codes(**{"competition": closed, "count": 1, "actor": stage.olga, "now": NOON, **changes})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_code_opens_no_board_of_another_competition(stage: Stage, closed: Competition) -> None:
    other = Competition.objects.create(slug="other", name="Other")
    with pytest.raises(UserError, match="no board of Other"):
        issue_codes(competition=other, count=1, boards=[stage.board], actor=stage.olga, now=NOON)


def test_a_code_for_a_board_that_is_removed_opens_nothing_more(stage: Stage, closed: Competition) -> None:
    other = make_board("vectoradd")
    redeem(stage.ada, issue(stage, closed, other)[0])
    remove_board(board=other, actor=stage.olga, now=NOON)
    assert not boards_seen_by(stage.ada).exists()


def test_a_linked_login_is_the_same_person(stage: Stage, closed: Competition) -> None:
    (text,) = issue(stage, closed)
    redeem(stage.ada, text)
    User.objects.filter(pk=stage.ben.pk).update(linked_to=stage.ada)
    ben = User.objects.get(pk=stage.ben.pk)
    assert may_see(ben, closed)
    assert redeem(ben, text).used_by == stage.ada


def test_a_role_sees_it_while_it_lasts(stage: Stage, closed: Competition) -> None:
    role = Role.objects.create(competition=closed, user=stage.cleo, role=Role.VIEWER)
    assert competitions_seen_by(stage.cleo, listed=True).get() == closed
    role.delete()
    assert not competitions_seen_by(stage.cleo).exists()


def test_a_closed_account_sees_what_nobody_sees(stage: Stage, closed: Competition) -> None:
    redeem(stage.ada, issue(stage, closed)[0])
    stage.ada.is_active = False
    assert not may_see(stage.ada, closed)
    stage.olga.is_active = False
    assert not may_see(stage.olga, closed)


def test_of_two_at_once_one_wins(live_stage: Stage) -> None:
    competition = live_stage.board.competition
    competition.visibility = CLOSED
    competition.save()
    (text,) = issue(live_stage, competition)
    begin, won, lost = threading.Barrier(2), [], []

    def race(user: User) -> None:
        try:
            begin.wait(10)
            redeem(user, text)
            won.append(user)
        except UserError as error:
            lost.append(error.message)
        finally:
            connection.close()

    racers = [threading.Thread(target=race, args=(user,)) for user in (live_stage.ada, live_stage.ben)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(20)
    assert won == [InviteCode.objects.get().used_by]
    assert lost == [NOT_GOOD]
