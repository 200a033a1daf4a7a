"""A published line has a page; its code is hidden until public, except from its entrant and organisers."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.competitions.models import CLOSED, Competition, Role
from leaderboard.standings.models import Entry, Retraction
from tests.web.test_pages_are_strict import check

SECRET = "custom_kernel"


@pytest.fixture
def sent(stage):
    stage.now = timezone.now() - timedelta(hours=2)
    submission = stage.submit(stage.ada)
    stage.judge(submission, ratio=0.6, score_us=600.0)
    return submission


def answers(client, pk: int) -> tuple[int, int, int]:
    return tuple(
        client.get(f"{start}/{pk}{end}").status_code
        for start, end in (("/entries", ""), ("/entries", "/code"), ("/api/v1/entries", ""))
    )


def code_of(client, pk: int) -> str | None:
    page = client.get(f"/entries/{pk}")
    check(page)
    entry = client.get(f"/api/v1/entries/{pk}").json()
    told: str | None = entry["code"]
    assert (
        (told is not None)
        == (entry["filename"] == "kernel.py")  # a name can reveal the technique, or the person
        == (SECRET in page.content.decode())
        == (client.get(f"/entries/{pk}/code").status_code == 200)
    )
    return told


def end(**times) -> None:
    Competition.objects.update(deadline=timezone.now() - timedelta(hours=1), **times)


def test_code_is_private_until_the_deadline(stage, browser, sent) -> None:
    assert code_of(browser(None), sent.pk) is None
    assert code_of(browser(stage.cleo), sent.pk) is None
    assert SECRET in code_of(browser(stage.ada), sent.pk)
    assert SECRET in code_of(browser(stage.olga), sent.pk)
    names = [browser(who).get(f"/api/v1/entries/{sent.pk}").json()["filename"] for who in (None, stage.cleo, stage.ada)]
    assert names == ["", "", "kernel.py"]
    assert (
        "Only the entrant and organisers see the code now"
        in browser(stage.ada).get(f"/entries/{sent.pk}").content.decode()
    )
    end()
    assert SECRET in code_of(browser(None), sent.pk)
    assert browser(None).get(f"/entries/{sent.pk}/code").headers["Content-Disposition"].startswith("attachment")


def test_it_stays_private_while_anything_is_frozen(stage, browser, sent) -> None:
    end(freeze_at=timezone.now() - timedelta(minutes=90))
    assert code_of(browser(None), sent.pk) is None
    end(freeze_at=timezone.now() - timedelta(minutes=90), revealed_at=timezone.now())
    assert SECRET in code_of(browser(None), sent.pk)


def test_an_owner_publishes_earlier(stage, browser, sent) -> None:
    assert browser(stage.cleo).post(f"/submissions/{sent.pk}/publish-code").status_code == 404
    browser(stage.ada).post(f"/submissions/{sent.pk}/publish-code")
    assert SECRET in code_of(browser(None), sent.pk)
    assert "Licence: MIT" in browser(None).get(f"/entries/{sent.pk}").content.decode()


def test_what_is_frozen_has_no_page_however_public_its_code(stage, browser, sent) -> None:
    browser(stage.ada).post(f"/submissions/{sent.pk}/publish-code")
    Competition.objects.update(freeze_at=sent.created_at)
    for stranger in (None, stage.cleo):
        assert answers(browser(stranger), sent.pk) == answers(browser(stranger), 10**9) == (404, 404, 404)
    assert "Not shown yet" in browser(stage.ada).get(f"/entries/{sent.pk}").content.decode()


@pytest.mark.parametrize(
    ("mode", "told"),
    [("test", {}), ("benchmark", {"ratio": 0.7}), ("ranked", {"ratio": 0.2}), ("ranked", {"outcome": "wrong"})],
)
def test_what_has_no_line_has_no_page(stage, browser, mode, told) -> None:
    stage.now = timezone.now() - timedelta(hours=2)
    submission = stage.submit(stage.ada, mode=mode)
    stage.judge(submission, **told)
    browser(stage.ada).post(f"/submissions/{submission.pk}/publish-code")
    end()
    for person in (None, stage.cleo, stage.ada, stage.olga):
        assert answers(browser(person), submission.pk) == (404, 404, 404)


def test_of_a_closed_competition_strangers_learn_nothing(stage, browser, sent) -> None:
    end()
    Competition.objects.update(visibility=CLOSED)
    assert answers(browser(stage.cleo), sent.pk) == (404, 404, 404)
    assert answers(browser(None), sent.pk) == (404, 404, 404)
    assert answers(browser(stage.ada), sent.pk) == (200, 200, 200)


def test_an_owner_retracts_and_every_page_forgets_it(stage, browser, sent) -> None:
    end()
    pages = [
        "/boards/softmax/cpu",
        "/boards/softmax/cpu/history",
        "/competitions/kernels-101/standings",
        "/boards",
        "/",
    ]
    assert all(">ada" in browser(None).get(page).content.decode() for page in pages[:3])
    browser(stage.ada).post(f"/submissions/{sent.pk}/retract")
    assert not Entry.objects.exists()
    assert '<span class="chip warn">withdrawn</span>' in browser(stage.ada).get("/submissions").content.decode()
    for address in ("/api/v1/submissions", f"/api/v1/submissions/{sent.pk}"):
        told = browser(stage.ada).get(address).json()
        assert (told[0] if isinstance(told, list) else told)["withdrawn"]
    for page in pages:
        assert ">ada" not in browser(None).get(page).content.decode(), page
    assert browser(None).get("/api/v1/competitions/kernels-101/standings").json() == []
    assert answers(browser(None), sent.pk) == (404, 404, 404)


def test_others_do_not_retract_and_organisers_say_why(stage, browser, sent) -> None:
    assert browser(stage.cleo).post(f"/submissions/{sent.pk}/retract").status_code == 404
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.VIEWER)
    browser(stage.ben).post(f"/submissions/{sent.pk}/retract", {"reason": "I do not like it"})
    browser(stage.olga).post(f"/submissions/{sent.pk}/retract", {"reason": ""})
    assert Entry.objects.count() == 1
    browser(stage.olga).post(f"/submissions/{sent.pk}/retract", {"reason": "it reads the clock"})
    assert Entry.objects.count() == 0
    button = f'action="/submissions/{sent.pk}/restore"'
    for person in (stage.ada, stage.ben):
        page = browser(person).get(f"/submissions/{sent.pk}").content.decode()
        assert "it reads the clock" in page
        assert button not in page
    page = browser(stage.olga).get(f"/submissions/{sent.pk}")
    check(page)
    assert button in page.content.decode()
    browser(stage.olga).post(f"/submissions/{sent.pk}/restore", {"reason": "it does not"})
    assert Entry.objects.count() == 1
    assert b"Retracted." not in browser(stage.olga).get(f"/submissions/{sent.pk}").content


def test_a_tool_retracts(stage, tool, sent) -> None:
    assert tool(stage.ada, "read").post(f"/api/v1/submissions/{sent.pk}/retract").status_code == 403
    assert tool(stage.ada).post(f"/api/v1/submissions/{sent.pk}/retract", content_type="application/json").json() == {
        "lines": 1
    }
    assert (
        tool(stage.cleo).post(f"/api/v1/submissions/{sent.pk}/retract", content_type="application/json").status_code
        == 404
    )


def test_a_tool_of_an_organiser_says_why(stage, tool, sent) -> None:
    """Without a reason, the record would name the owner as the actor."""
    address = f"/api/v1/submissions/{sent.pk}/retract"
    answer = tool(stage.olga).post(address, {}, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "reason")
    told = {"reason": "it reads the clock"}
    assert tool(stage.olga).post(address, told, content_type="application/json").json() == {"lines": 1}
    assert Retraction.objects.get().reason == "it reads the clock"
