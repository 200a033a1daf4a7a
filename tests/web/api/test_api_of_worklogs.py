"""Worklogs over /api/v1: read, saved with a revision, handed in, and kept from strangers."""

from __future__ import annotations

import pytest

from leaderboard.competitions.models import Role
from leaderboard.matches import acts
from leaderboard.matches.models import SECTIONS, HandIn
from leaderboard.matches.worklog import digest_of
from tests.web.api.test_api_of_matches import get, post
from tests.web.matches.test_match_pages import played


def test_worklog_has_texts_revisions_and_facts(stage, tool) -> None:
    match, client = played(stage, human=(None, 0.5), machine=(0.8,)), tool(stage.ada)
    path = f"/matches/{match.pk}/worklog"
    saved = post(client, f"{path}/plan", 200, text="The plan.", revision=0)
    assert (saved["section"], saved["text"], saved["revision"], saved["saved_by"]) == ("plan", "The plan.", 1, "ada")
    found = get(client, path)
    assert (found["texts"]["plan"], found["revisions"], found["hand_in"]) == ("The plan.", {"plan": 1}, None)
    assert found["missing"] == list(SECTIONS[1:])
    assert any(fact["speedup"] == 2.0 and fact["submission"] for fact in found["facts"]["hand"])
    assert found["extracts"]["hand"][0]["kind"] == "diff"
    assert get(client, f"{path}/hand")["facts"] == found["facts"]["hand"]
    answer = client.get(f"/api/v1{path}?format=text")
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.content.decode().startswith("# ada against acme/coder-7b\n")


def test_save_that_began_from_another_revision_is_refused(stage, tool) -> None:
    match, client = played(stage), tool(stage.ada)
    path = f"/matches/{match.pk}/worklog/plan"
    post(client, path, 200, text="One.", revision=0)
    refused = post(client, path, 409, text="Another.", revision=0)
    assert refused["errors"][0]["field"] == "revision"
    assert "ada saved revision 1 meanwhile" in refused["detail"]
    assert get(client, path)["text"] == "One."


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"text": "x" * 20_001, "revision": 0}, 413, "text"),
        ({"text": "x" * 40_001, "revision": 0}, 400, "text"),
        ({"text": "a\x00", "revision": 0}, 400, "text"),
        ({"text": "A."}, 400, "revision"),
        ({"text": "A.", "revision": -1}, 400, "revision"),
        ({"revision": 0}, 400, "text"),
    ],
)
def test_wrong_save_names_its_field_over_the_api(stage, tool, body: dict, status: int, field: str) -> None:
    match = played(stage)
    refused = post(tool(stage.ada), f"/matches/{match.pk}/worklog/plan", status, **body)
    assert refused["errors"][0]["field"] == field


def test_hand_in_over_the_api_keeps_the_document(stage, tool) -> None:
    match, client = played(stage, human=(0.5,)), tool(stage.ada)
    path = f"/matches/{match.pk}/worklog"
    assert "every section is empty" in post(client, f"{path}/hand-ins", 409)["detail"]
    post(client, f"{path}/plan", 200, text="The plan of then.", revision=0)
    made = post(client, f"{path}/hand-ins")
    assert (made["by"], made["missing"]) == ("ada", list(SECTIONS[1:]))
    assert post(client, f"{path}/hand-ins")["id"] == made["id"], "an unchanged worklog is handed in once"
    post(client, f"{path}/plan", 200, text="The plan of now.", revision=1)
    kept = get(client, f"{path}?hand_in={made['id']}")
    assert (kept["texts"]["plan"], kept["revisions"]) == ("The plan of then.", {})
    document = {name: value for name, value in kept.items() if name not in ("hand_in", "revisions")}
    assert kept["hand_in"]["digest"] == digest_of(document) == HandIn.objects.get().digest
    assert [one["id"] for one in get(client, f"{path}/hand-ins")] == [made["id"]]
    get(client, f"{path}?hand_in=999999", 404)


def test_worklog_over_the_api_is_of_its_authors_and_the_staff(stage, tool, browser) -> None:
    match = played(stage, human=(0.5,))
    post(tool(stage.ada), f"/matches/{match.pk}/worklog/plan", 200, text="A private thought.", revision=0)
    acts.publish(match=match, actor=stage.ada, now=stage.now)
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.REVIEWER)
    for path in ("worklog", "worklog?format=text", "worklog/plan", "worklog/hand-ins"):
        get(tool(stage.ben), f"/matches/{match.pk}/{path}", 404)
        get(browser(None), f"/matches/{match.pk}/{path}", 401)
    assert get(tool(stage.cleo), f"/matches/{match.pk}/worklog")["texts"]["plan"] == "A private thought."
    post(tool(stage.cleo), f"/matches/{match.pk}/worklog/plan", 403, text="Mine.", revision=1)
    post(tool(stage.cleo), f"/matches/{match.pk}/worklog/hand-ins", 403)
    refused = post(tool(stage.ada, "read"), f"/matches/{match.pk}/worklog/plan", 403, text="Mine.", revision=1)
    assert refused["code"] == "scope_missing"


def test_texts_of_a_public_match_are_published_by_an_explicit_act(stage, tool, browser) -> None:
    match, client = played(stage, human=(0.5,)), tool(stage.ada)
    path, page = f"/matches/{match.pk}", f"/matches/{match.pk}/worklog/published"
    assert "is private; both sides publish it first" in post(client, f"{path}/publish-texts", 409)["detail"]
    acts.publish(match=match, actor=stage.ada, now=stage.now)
    assert "has no hand-in" in post(client, f"{path}/publish-texts", 409)["detail"]
    post(client, f"{path}/worklog/plan", 200, text="A thought for **everybody**.", revision=0)
    post(client, f"{path}/worklog/hand-ins")
    post(client, f"{path}/worklog/plan", 200, text="A private draft.", revision=1)
    get(browser(None), f"{path}/texts", 404)
    assert browser(None).get(page).status_code == 404
    post(tool(stage.ben), f"{path}/publish-texts", 403)
    assert post(client, f"{path}/publish-texts", 200)["texts_public"]
    assert get(browser(None), f"{path}/texts")["texts"]["plan"] == "A thought for **everybody**."
    shown = browser(None).get(page).content.decode()
    assert "<strong>everybody</strong>" in shown
    assert "private draft" not in shown
    assert page in browser(None).get("/matches").content.decode()
    assert page in browser(stage.ben).get(f"/matches/{match.pk}").content.decode()
    assert not post(client, f"{path}/hide-texts", 200)["texts_public"]
    get(browser(None), f"{path}/texts", 404)


def test_texts_that_were_public_stay_private_after_a_withdrawal(stage, tool, browser) -> None:
    match, client = played(stage, human=(0.5,)), tool(stage.ada)
    post(client, f"/matches/{match.pk}/worklog/plan", 200, text="A thought.", revision=0)
    post(client, f"/matches/{match.pk}/worklog/hand-ins")
    ada = browser(stage.ada)
    for act in ("publish", "publish-texts", "withdraw", "publish"):
        assert ada.post(f"/matches/{match.pk}/{act}").status_code == 302
    assert not get(browser(None), f"/matches/{match.pk}")["texts_public"], "a later publication chooses anew"
    get(browser(None), f"/matches/{match.pk}/texts", 404)
