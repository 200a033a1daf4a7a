"""Code that is taken down: only reviewers read it, on every page and over the API; the reason stands in its place."""

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Role
from leaderboard.submissions.models import CodeRelease
from tests.web.organise.test_exports_are_safe_files import joined
from tests.web.test_pages_are_strict import check

CODE = "custom_kernel"
REASON = "Copied without its <licence>."


@pytest.fixture
def people(stage) -> dict[str, User]:
    made = {role: User.objects.create_user(f"the-{role}") for role in (Role.VIEWER, Role.REVIEWER)}
    for role, user in made.items():
        Role.objects.create(competition=stage.board.competition, user=user, role=role)
    return made | {"owner": stage.ada, "staff": stage.olga}


def test_taken_down_code_is_for_reviewers_alone(stage, browser, tool, people) -> None:
    stage.now = timezone.now() - timedelta(hours=2)
    sent = stage.submit(stage.ada)
    stage.judge(sent, ratio=0.6)
    Competition.objects.update(deadline=timezone.now() - timedelta(hours=1))
    CodeRelease.objects.create(submission=sent, actor=stage.ada, created_at=stage.now)
    pages = [f"{start}/{sent.pk}" for start in ("/submissions", "/api/v1/submissions", "/entries", "/api/v1/entries")]
    olga = browser(stage.olga)
    assert CODE in browser(None).get(pages[2]).content.decode()
    olga.post(f"/desk/submissions/{sent.pk}/take-down", {"reason": REASON})
    for who, user in [*people.items(), ("anonymous", None)]:
        client, may_read = browser(user), who in (Role.REVIEWER, "staff")
        for page in pages[2:] if user is None else pages:
            answer = client.get(page)
            assert (CODE in answer.content.decode()) == may_read, (who, page)
            if page.startswith("/api/"):
                assert (answer.json()["taken_down"], answer.json()["code"] is None) == (REASON, not may_read)
            else:
                check(answer)
                assert "Copied without its &lt;licence&gt;." in answer.content.decode(), (who, page)
        assert client.get(f"/entries/{sent.pk}/code").status_code == (200 if may_read else 404)
    assert tool(stage.ada).get(pages[1]).json()["code"] is None
    export = browser(people["viewer"]).get("/organise/kernels-101/exports/submissions.json")
    assert CODE not in async_to_sync(joined)(export.streaming_content)
    assert b"Put the code back" in olga.get(pages[0]).content
    olga.post(f"/desk/submissions/{sent.pk}/put-back", {"reason": "a mistake"})
    assert browser(None).get(pages[3]).json()["code"] == sent.source


def test_taken_down_code_is_hidden_from_viewers_of_its_case(stage, browser, people) -> None:
    first, held = stage.submit(stage.ada), None
    stage.judge(first)
    held = stage.submit(stage.ada)
    stage.judge(held, ratio=0.3)
    case = held.attempts.get().result.case.pk
    browser(stage.olga).post(f"/desk/submissions/{held.pk}/take-down", {"reason": REASON})
    for who, may_read in ((Role.VIEWER, False), (Role.REVIEWER, True)):
        page = browser(people[who]).get(f"/review/{case}")
        check(page)
        assert (CODE in page.content.decode()) == may_read, who
        assert "Copied without its &lt;licence&gt;." in page.content.decode()
        assert (browser(people[who]).get(f"/api/v1/review/{case}").json()["code"] is None) != may_read
