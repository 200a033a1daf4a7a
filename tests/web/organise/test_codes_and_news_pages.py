"""Organisers issue invite codes and publish announcements on their pages; a code's text is shown once."""

import re

import pytest

from leaderboard.competitions.models import Announcement, InviteCode, Role
from tests.leaderboard.stage import make_board
from tests.web.test_pages_are_strict import check

CODES = "/organise/kernels-101/codes"
NEWS = "/organise/kernels-101/announcements"


@pytest.fixture
def owner(stage, browser):
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    return browser(stage.ada)


def shown(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    check(answer)
    return answer.content.decode()


def test_codes_are_issued_and_shown_once(stage, owner) -> None:
    assert owner.post(CODES, {"count": "3", "note": "for the lab"}).headers["Location"] == CODES
    texts = set(re.findall(r"pfi_[\w-]{43}", shown(owner, CODES)))
    assert len(texts) == InviteCode.objects.count() == 3
    again = shown(owner, CODES)
    assert not re.search(r"pfi_[\w-]{43}", again)
    assert "3 issued: 0 in use, 3 not used" in again
    assert "for the lab" in again


def test_codes_of_some_boards_say_which(stage, owner) -> None:
    other = make_board("vectoradd")
    owner.post(CODES, {"count": "1", "boards": [other.pk]})
    assert list(InviteCode.objects.get().boards.all()) == [other]
    assert "vectoradd on cpu" in shown(owner, CODES)


@pytest.mark.parametrize("sent", [{"count": "0"}, {"count": "501"}, {"count": "x"}, {"count": "1", "boards": ["999"]}])
def test_what_cannot_be_issued_is_marked(stage, owner, sent) -> None:
    answer = owner.post(CODES, sent)
    assert answer.status_code == 400
    assert b'aria-invalid="true"' in answer.content
    assert not InviteCode.objects.exists()


def test_a_code_is_revoked(stage, owner) -> None:
    owner.post(CODES, {"count": "1"})
    code = InviteCode.objects.get()
    assert owner.post(f"{CODES}/{code.pk}/revoke").status_code == 302
    code.refresh_from_db()
    assert code.revoked_at is not None
    assert ">revoked<" in shown(owner, CODES)


def test_an_announcement_is_published_and_withdrawn(stage, owner, browser) -> None:
    owner.post(NEWS, {"title": "It begins", "text": "At *noon*."})
    page = "/competitions/kernels-101"
    assert "It begins" in shown(browser(None), page)
    news = Announcement.objects.get()
    assert "Not withdrawn" in owner.post(f"{NEWS}/{news.pk}/withdraw", follow=True).content.decode()
    owner.post(f"{NEWS}/{news.pk}/withdraw", {"reason": "a mistake"})
    assert "It begins" not in shown(browser(None), page)
    assert "withdrawn" in shown(owner, NEWS)


@pytest.mark.parametrize("address", [CODES, NEWS])
def test_a_reviewer_reads_and_does_not_write(stage, browser, address) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.REVIEWER)
    client = browser(stage.ben)
    assert '<button class="button">' not in shown(client, address)
    assert client.post(address, {"count": "1", "title": "Mine"}).status_code == 403
    assert not InviteCode.objects.exists()
    assert not Announcement.objects.exists()
