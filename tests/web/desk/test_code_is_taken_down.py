"""Code that is taken down: only reviewers read it, on every page and over the API; the reason stands in its place."""

import io
import json
import zipfile
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.cli import render
from leaderboard.competitions.models import Competition, Role
from leaderboard.judging.report import announce
from leaderboard.review.models import Hint
from leaderboard.submissions.models import CodeRelease
from leaderboard.web import stream
from leaderboard.web.accounts.export import export_of
from leaderboard.web.api.serializers import FinishedSubmission
from leaderboard.web.popcorn import shapes
from leaderboard.web.popcorn import views as popcorn
from runner.wire import Event
from tests.leaderboard.stage import NOON
from tests.web.organise.test_exports_are_safe_files import joined
from tests.web.test_pages_are_strict import check

CODE = "custom_kernel"
QUOTED = "secret_trick(x)"
READERS = ("page", "api", "command", "events", "done", "popcorn", "popcorn's stream")
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
    assert CODE.encode() not in async_to_sync(joined)(export.streaming_content)
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


def test_taken_down_code_hides_its_logs_and_messages(stage, browser, tool, people, monkeypatch) -> None:
    """A traceback quotes the lines of its code."""
    monkeypatch.setattr(stream.connection, "close_if_unusable_or_obsolete", lambda: None)  # it is the test's
    stage.now = timezone.now() - timedelta(hours=2)
    sent = stage.submit(stage.ada)
    case = {"stage": "tests", "name": "small", "public": True, "good": False, "message": f"{QUOTED} in a case"}
    job = stage.claim()
    announce(
        attempt_id=job.attempt_id,
        runner=stage.rex,
        token=job.token,
        announced=[Event(1, kind="progress", message=QUOTED)],
        now=stage.now,
    )
    logs = {"stdout": QUOTED, "stderr": f"{QUOTED} twice"}
    stage.report(job, outcome="wrong", reason="mismatch", message=f"{QUOTED} failed", logs=logs, cases=(case,))
    olga = browser(stage.olga)
    page, api, listed = f"/submissions/{sent.pk}", f"/api/v1/submissions/{sent.pk}", "/api/v1/submissions"

    def readers(user: User) -> dict[str, bool]:
        """Return what of the submission this person finds the text of the code in."""
        client = browser(user)
        told = client.get(api).json()
        seen = stream._read(sent.pk, user, 0, lambda item: FinishedSubmission(item).data)
        opened = popcorn.submission_of(user, sent.pk)
        texts = {
            "page": client.get(page).content.decode(),
            "api": json.dumps(told),
            "command": " ".join(str(one) for one in render._failed(told)),
            "events": " ".join(row.message for row in seen.events),
            "done": json.dumps(seen.done),
            "popcorn": json.dumps(shapes.details(opened, NOON)["job"]),
            "popcorn's stream": json.dumps(shapes.full_result(opened)),
        }
        check(client.get(page))
        return {name: QUOTED in text for name, text in texts.items()}

    everywhere, nowhere = (dict.fromkeys(READERS, on) for on in (True, False))
    assert {who: readers(user) for who, user in people.items()} == dict.fromkeys(people, everywhere)
    assert QUOTED in tool(stage.ada).get(listed).content.decode()
    olga.post(f"/desk/submissions/{sent.pk}/take-down", {"reason": REASON})
    hidden = {Role.VIEWER: nowhere, Role.REVIEWER: everywhere, "owner": nowhere, "staff": everywhere}
    assert {who: readers(user) for who, user in people.items()} == hidden
    assert QUOTED not in tool(stage.ada).get(listed).content.decode()
    told = browser(stage.ada).get(api).json()
    assert (told["outcome"], told["reason"], told["logs"], told["cases"][0]["name"]) == (
        "wrong",
        "mismatch",
        {},
        "small",
    )
    assert told["report_problem"] == "The code is taken down, and with it its logs and messages."
    act = Row.objects.get(act="desk_take_down")
    olga.post(f"/desk/acts/{act.pk}/undo", {"reason": "a mistake"})
    assert {who: readers(user) for who, user in people.items()} == dict.fromkeys(people, everywhere)


def test_viewers_of_a_case_read_neither_message_nor_hints_of_taken_down_code(stage, browser, people) -> None:
    sent = stage.submit(stage.ada)
    result = stage.judge(sent, outcome="policy", reason="impossible", message=f"{QUOTED} patches the clock")
    Hint.objects.create(submission=sent, checker="kernelguard", words=[f"{QUOTED} is odd"], created_at=stage.now)
    pages = [f"{start}/{result.case.pk}" for start in ("/review", "/api/v1/review")]
    for is_down in (False, True):
        if is_down:
            browser(stage.olga).post(f"/desk/submissions/{sent.pk}/take-down", {"reason": REASON})
        for who in (Role.VIEWER, Role.REVIEWER):
            may_read = who == Role.REVIEWER or not is_down
            for page in pages:
                text = browser(people[who]).get(page).content.decode()
                assert [QUOTED in text, "is odd" in text] == [may_read, may_read], (who, page, is_down)


def test_ones_own_download_has_ones_own_code_even_if_it_is_taken_down(stage, browser) -> None:
    sent = stage.submit(stage.ada)
    browser(stage.olga).post(f"/desk/submissions/{sent.pk}/take-down", {"reason": REASON})
    with zipfile.ZipFile(io.BytesIO(export_of(stage.ada))) as packed:
        assert packed.read(f"submissions/{sent.pk}/{sent.filename}").decode() == sent.source
    with zipfile.ZipFile(io.BytesIO(export_of(stage.cleo))) as packed:
        assert packed.namelist() == ["account.json"]
