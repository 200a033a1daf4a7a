"""Write-ups and comments come after the contest, under the shown name, and moderators may remove them."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.audit.models import Row
from leaderboard.competitions.models import CLOSED, Competition, Role
from leaderboard.discussion import acts
from leaderboard.discussion.models import COMMENT, MOST_A_BOARD, MOST_A_DAY, WRITE_UP, Post
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import accept_invite, create_team, invite, take_pseudonym
from leaderboard.errors import UserError
from leaderboard.inbox.models import Message
from leaderboard.review.suspension import suspend
from leaderboard.web import limits
from leaderboard.web.people import discussion
from tests.web.test_pages_are_strict import check

ADDRESS = "/boards/softmax/cpu/discussion"


@pytest.fixture
def over(stage):
    """Let ada and ben compete; ben has no line. The contest is over."""
    stage.now = timezone.now() - timedelta(hours=3)
    stage.judge(stage.submit(stage.ada), ratio=0.6, score_us=600.0)
    stage.judge(stage.submit(stage.ben, mode="test"))
    take_pseudonym(entrant=Entrant.objects.get(name="ada"), actor=stage.ada, pseudonym="Grey Fox", now=stage.now)
    Competition.objects.update(deadline=timezone.now() - timedelta(hours=1))
    return stage


def text(client, status: int = 200) -> str:
    answer = client.get(ADDRESS)
    assert answer.status_code == status
    check(answer)
    return answer.content.decode()


def write(client, words: str, kind: str = COMMENT) -> int:
    return client.post(ADDRESS, {"kind": kind, "text": words}).status_code


def test_an_entrant_writes_under_the_shown_name_as_plain_text(over, browser) -> None:
    assert write(browser(over.ada), "<b>Shared memory</b>\n# twice", WRITE_UP) == 302
    assert write(browser(over.ben), "How?") == 302
    page = text(browser(None))
    assert "Grey Fox" in page
    assert ">ada<" not in page
    assert "&lt;b&gt;Shared memory&lt;/b&gt;\n# twice" in page
    assert "How?" in page
    assert "<form" not in page


def test_nobody_writes_before_the_end_or_during_a_freeze(over, browser) -> None:
    assert write(browser(over.ben), "before the freeze ends") == 302
    Competition.objects.update(freeze_at=timezone.now() - timedelta(hours=2))
    assert write(browser(over.ben), "x") == 409
    page = text(browser(None))
    assert "Not open yet" in page
    assert "before the freeze ends" not in page
    Competition.objects.update(freeze_at=None, deadline=timezone.now() + timedelta(hours=1))
    assert write(browser(over.ben), "x") == 409


def test_strangers_to_the_competition_write_nothing(over, browser) -> None:
    assert write(browser(over.cleo), "x") == 403
    assert write(browser(None), "x") == 302
    assert not Post.objects.exists()
    Competition.objects.update(visibility=CLOSED)
    text(browser(over.cleo), 404)
    assert write(browser(over.cleo), "x") == 404


def test_a_write_up_needs_a_line_and_there_is_one(over, browser) -> None:
    assert write(browser(over.ben), "x", WRITE_UP) == 403
    assert write(browser(over.ada), "x", WRITE_UP) == 302
    assert write(browser(over.ada), "y", WRITE_UP) == 409
    own = Post.objects.get()
    browser(over.ada).post(f"{ADDRESS}/{own.pk}/remove")
    assert write(browser(over.ada), "y", WRITE_UP) == 302
    assert "Removed by" not in text(browser(None))


def test_members_of_a_team_remove_and_replace_its_write_up(stage, browser) -> None:
    """Regression: a member was asked to remove it first, and was not allowed to."""
    Competition.objects.update(max_team_size=2)
    stage.now = timezone.now() - timedelta(hours=3)
    stage.board.competition.refresh_from_db()
    team = create_team(user=stage.ada, competition=stage.board.competition, name="Warp Drive", now=stage.now)
    asked = invite(entrant=team, username="ben", actor=stage.ada, now=stage.now)
    accept_invite(invite_id=asked.pk, user=stage.ben, now=stage.now)
    stage.judge(stage.submit(stage.ada))
    Competition.objects.update(deadline=timezone.now() - timedelta(hours=1))
    assert write(browser(stage.ada), "By ada.", WRITE_UP) == 302
    assert write(browser(stage.ada), "A comment of hers.") == 302
    comment, write_up = Post.objects.all()
    ben = browser(stage.ben)
    assert text(ben).count("Remove your post") == 1
    for post, is_removed in ((comment, False), (write_up, True)):
        ben.post(f"{ADDRESS}/{post.pk}/remove")
        post.refresh_from_db()
        assert (post.removed_at is not None) == is_removed
    assert write(ben, "By ben.", WRITE_UP) == 302


def test_older_write_ups_have_a_page_of_their_own(over, browser, monkeypatch) -> None:
    monkeypatch.setattr(discussion, "MOST_WRITE_UPS", 1)
    over.judge(over.submit(over.ben), ratio=0.7, score_us=700.0)
    assert write(browser(over.ada), "the first write-up", WRITE_UP) == 302
    assert write(browser(over.ben), "the second write-up", WRITE_UP) == 302
    page = text(browser(None))
    assert "the second write-up" in page
    assert "the first write-up" not in page
    (older,) = re.findall(r'href="(\?write_ups=[^"]+)"', page)
    assert "the first write-up" in browser(None).get(ADDRESS + older).content.decode()


@pytest.mark.parametrize(("kind", "words"), [(COMMENT, ""), (COMMENT, "x" * 2_001), ("poem", "x"), (COMMENT, "a\x00b")])
def test_a_wrong_post_is_refused_and_kept_in_the_form(over, browser, kind, words) -> None:
    answer = browser(over.ben).post(ADDRESS, {"kind": kind, "text": words})
    assert answer.status_code == 400
    check(answer)
    assert not Post.objects.exists()


def test_a_moderator_removes_a_post_with_a_reason_that_everybody_reads(over, browser) -> None:
    write(browser(over.ben), "rude words")
    post = Post.objects.get()
    for person in (over.cleo, over.ada):
        browser(person).post(f"{ADDRESS}/{post.pk}/remove", {"reason": "no"})
    Role.objects.create(user=over.cleo, competition=over.board.competition, role=Role.REVIEWER)
    browser(over.cleo).post(f"{ADDRESS}/{post.pk}/remove", {"reason": ""})
    assert "rude words" in text(browser(None))
    browser(over.cleo).post(f"{ADDRESS}/{post.pk}/remove", {"reason": "be kind"})
    page = text(browser(None))
    assert "rude words" not in page
    assert "Removed by a moderator: be kind" in page
    assert Row.objects.filter(act="remove_post", reason="be kind").exists()


def test_posts_are_bounded_and_suspended_people_write_nothing(over) -> None:
    given = {"board": over.board, "author": over.ben, "kind": COMMENT, "text": "x"}
    over.board.competition.refresh_from_db()
    now = timezone.now()
    for _ in range(MOST_A_BOARD):
        acts.write_post(now=now, **given)
    with pytest.raises(UserError, match="remove one"):
        acts.write_post(now=now, **given)
    Post.objects.update(removed_at=now)
    for _ in range(MOST_A_DAY - MOST_A_BOARD):
        acts.write_post(now=now, **given)
    with pytest.raises(UserError, match="wait until tomorrow"):
        acts.write_post(now=now, **given)
    suspend(user=over.ben, competition=over.board.competition, actor=over.olga, reason="spam", now=now)
    with pytest.raises(UserError):
        acts.write_post(now=now + timedelta(days=2), **given)


def test_a_post_is_reported_once_to_the_organisers(over, browser) -> None:
    Role.objects.create(competition=over.board.competition, user=over.olga, role=Role.REVIEWER)
    write(browser(over.ben), "spam")
    post = Post.objects.get()
    address = f"{ADDRESS}/{post.pk}/report"
    reader = browser(over.cleo)
    assert "Report" in text(reader)
    for reason, row in (("", 0), ("It is spam.", 1), ("It is spam.", 1)):
        assert reader.post(address, {"reason": reason}).status_code == 302
        assert Row.objects.filter(act="report_post", actor=over.cleo).count() == row
    browser(over.ben).post(address, {"reason": "my own"})
    [told] = Message.objects.filter(user=over.olga, kind="organising")
    assert (told.text, told.url) == ("It is spam.", ADDRESS)
    assert not Message.objects.filter(user=over.ben, kind="organising").exists()
    assert browser(None).post(address, {"reason": "x"}).status_code == 302
    assert Row.objects.filter(act="report_post").count() == 1


def test_reports_are_limited(over, browser, monkeypatch) -> None:
    monkeypatch.setattr(limits, "REPORT_USER", limits.Limit("report of a post user", 1, 86_400))
    for words in ("one", "two"):
        write(browser(over.ben), words)
    for post in Post.objects.all():
        browser(over.cleo).post(f"{ADDRESS}/{post.pk}/report", {"reason": "spam"})
    assert Row.objects.filter(act="report_post").count() == 1
