"""Organisers create a re-judging set, see its effects and settle it; people without a role see no trace of it."""

import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.competitions.models import Role
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.models import RejudgeSet
from tests.leaderboard.rejudging_stage import apply, judge_shadow, set_of
from tests.web.test_pages_are_strict import check

PAGES = ("/rejudge", "/rejudge/{pk}", "/rejudge/{pk}.csv")
CHOICE = {"name": "judge 2", "why": "a bug in the judge", "kind": "published", "go": "look"}


def judged(stage, count: int = 1):
    found = [stage.submit() for _ in range(count)]
    for submission in found:
        stage.judge(submission)
    return found


def give(stage, user, role: str) -> None:
    Role.objects.update_or_create(competition=stage.board.competition, user=user, defaults={"role": role})


def test_a_set_is_looked_at_first_and_then_made(stage, browser) -> None:
    judged(stage, 2)
    give(stage, stage.cleo, Role.OWNER)
    client, choice = browser(stage.cleo), CHOICE | {"where": f"board-{stage.board.pk}"}
    check(client.get("/rejudge"))
    check(client.get("/rejudge/new"))
    looked = client.post("/rejudge/new", choice)
    check(looked)
    assert b"2 submissions</strong>, about 2 seconds of machine time" in looked.content
    assert not RejudgeSet.objects.exists()
    page = client.post("/rejudge/new", choice | {"go": "make"}, follow=True)
    check(page)
    assert b"0 of 2 judged" in page.content
    assert RejudgeSet.objects.get().board == stage.board


def test_a_set_counts_the_lines_that_are_being_judged_again(stage, browser) -> None:
    judged(stage, 2)
    for line in judged(stage, 2):
        rejudge(submission=line, actor=stage.olga, reason="a bug in the judge", now=stage.later(1))
    looked = browser(stage.olga).post("/rejudge/new", CHOICE | {"where": f"board-{stage.board.pk}"})
    check(looked)
    assert b"2 submissions</strong>" in looked.content
    assert b"2 more are being judged again now and left out." in looked.content


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"kind": "list", "ids": "1, x"}, "ids", "not a submission number"),
        ({"kind": "list", "ids": "999999"}, "ids", "999999"),
        ({"kind": "list"}, "ids", "at least one"),
        ({"kind": "runner"}, "runner", "Choose a runner"),
        ({"kind": "version"}, "kind", "no judged submission"),
        ({"kind": "nonsense"}, "kind", "valid choice"),
        ({"where": "board-999"}, "where", "valid choice"),
        ({"name": ""}, "name", "required"),
        ({"since": "yesterday", "kind": "runner", "runner": "rex"}, "since", "a date and time in UTC"),
    ],
)
def test_a_wrong_choice_is_named(stage, browser, changes: dict[str, str], field: str, said: str) -> None:
    judged(stage)
    where = {"where": f"competition-{stage.board.competition_id}"}
    answer = browser(stage.olga).post("/rejudge/new", CHOICE | where | {"go": "make"} | changes)
    assert answer.status_code == 400
    check(answer)
    assert said in str(answer.context["form"].errors[field])
    assert not RejudgeSet.objects.exists()


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"kind": "published"}, ["ranked"]),
        ({"kind": "version", "version": "THIS"}, ["ranked", "wrong"]),
        ({"kind": "runner", "runner": "rex", "until": "2026-11-20T12:00"}, []),
        ({"kind": "runner", "runner": "rex", "since": "2026-11-20T12:00"}, ["ranked", "wrong"]),
        ({"kind": "list", "ids": "TEST"}, ["test"]),
    ],
)
def test_what_each_way_chooses(stage, browser, choice: dict[str, str], expected: list[str]) -> None:
    ranked, wrong, test = stage.submit(), stage.submit(stage.ben), stage.submit(mode="test")
    for submission, told in ((ranked, {}), (wrong, {"outcome": "wrong"}), (test, {})):
        stage.judge(submission, **told)
    stage.submit(stage.cleo)  # still waits
    names = {"THIS": stage.board.version.digest, "TEST": str(test.pk)}
    sent = {key: names.get(value, value) for key, value in choice.items()}
    where = {"where": f"competition-{stage.board.competition_id}", "go": "make"}
    browser(stage.olga).post("/rejudge/new", CHOICE | where | sent)
    found = RejudgeSet.objects.first()
    known = {ranked.pk: "ranked", wrong.pk: "wrong", test.pk: "test"}
    assert [known[item.submission_id] for item in (found.items.all() if found else [])] == expected


def test_who_may_see_it_and_who_may_settle_it(stage, browser) -> None:
    [submission] = judged(stage)
    chosen = set_of(stage, submission)
    judge_shadow(stage, submission)
    acts = [f"/rejudge/{chosen.pk}/{act}" for act in ("apply", "try", "discard", "stop")]
    for user in (None, stage.ada):
        client = browser(user)
        for page in PAGES:
            assert client.get(page.format(pk=chosen.pk)).status_code == (404 if user else 302)
        assert {client.post(act, {"reason": "x"}).status_code for act in acts} == {404 if user else 302}
        assert client.post("/rejudge/new", CHOICE).status_code == (404 if user else 302)
    for role in (Role.VIEWER, Role.REVIEWER):
        give(stage, stage.ben, role)
        for page in PAGES:
            assert browser(stage.ben).get(page.format(pk=chosen.pk)).status_code == 200
        assert b"Apply or discard" not in browser(stage.ben).get(f"/rejudge/{chosen.pk}").content
        assert {browser(stage.ben).post(act, {"reason": "x"}).status_code for act in acts} == {403}
    assert RejudgeSet.objects.get().is_open
    give(stage, stage.ben, Role.OWNER)
    assert browser(stage.ben).post(acts[1]).status_code == 302
    assert browser(stage.ben).post(acts[0], {"reason": "better"}).status_code == 302
    assert RejudgeSet.objects.get().state == "applied"


def test_its_page_says_what_differs_and_settles_it(stage, browser) -> None:
    slower, wrong, waiting = judged(stage, 3)
    chosen = set_of(stage, slower, wrong, waiting)
    judge_shadow(stage, slower, ratio=0.95, epoch="driver-2")
    judge_shadow(stage, wrong, outcome="wrong", reason="mismatch")
    client, address = browser(stage.olga), f"/rejudge/{chosen.pk}"
    page = client.get(address)
    check(page)
    text = page.content.decode()
    assert "−5.3\N{NARROW NO-BREAK SPACE}%" in text, "the change of the speedup, from 1 / 0.9 to 1 / 0.95"
    assert "1 entry would stop ranking" in text
    shown = client.get(f"{address}?show=other verdict")
    assert [row["difference"].item.submission_id for row in shown.context["rows"]] == [wrong.pk]
    rows = list(csv.DictReader(io.StringIO(client.get(f"{address}.csv").content.decode())))
    assert [(row["verdict_after"], row["rank_before"]) for row in rows] == [
        ("passed", "1"),
        ("wrong", ""),
        ("queued", ""),
    ]
    assert client.post(f"{address}/apply", {"reason": ""}).status_code == 400
    refused = client.post(f"{address}/apply", {"reason": "better"})
    check(refused)
    assert (refused.status_code, b"not judged yet" in refused.content) == (409, True)
    assert client.post(f"{address}/apply", {"reason": "better", "leave_out": "on"}).status_code == 409
    tried = client.post(f"{address}/try", follow=True)
    assert b"would give: 1 published, 1 not published, 1 without a new verdict" in tried.content
    done = client.post(f"{address}/apply", {"reason": "better", "leave_out": "on", "anyway": "on"}, follow=True)
    check(done)
    assert b"Applied: 1 published" in done.content
    assert b"already applied" in client.post(f"{address}/apply", {"reason": "better"}, follow=True).content
    assert client.post(f"{address}/discard", {"reason": "no"}).status_code == 409


def test_stopping_and_discarding(stage, browser) -> None:
    chosen, client = set_of(stage, *judged(stage, 2)), browser(stage.olga)
    stopped = client.post(f"/rejudge/{chosen.pk}/stop", {"reason": "a mistake"}, follow=True)
    assert b"Stopped: 2 cancelled" in stopped.content
    check(client.post(f"/rejudge/{chosen.pk}/discard", {"reason": "a mistake"}, follow=True))
    assert client.post(f"/rejudge/{chosen.pk}/stop", {"reason": "a mistake"}).status_code == 409


def test_its_owner_finds_both_results_once_it_is_applied(stage, browser) -> None:
    [submission] = judged(stage)
    chosen, page = set_of(stage, submission), f"/submissions/{submission.pk}"
    judge_shadow(stage, submission, ratio=0.8, score_us=800.0)
    assert b"Judged again" not in browser(stage.ada).get(page).content
    apply(stage, chosen)
    shown = browser(stage.ada).get(page)
    check(shown)
    assert [attempt.result.ratio for attempt in shown.context["history"]] == [0.8, 0.9]


def test_queries_do_not_grow_with_the_set(stage, browser) -> None:
    client, counts = browser(stage.olga), []
    for number, size in enumerate((2, 6)):
        submissions = judged(stage, size)
        chosen = set_of(stage, *submissions, name=f"set {number}")
        for submission in submissions[:-1]:
            judge_shadow(stage, submission)
        stage.claim()
        for page in PAGES:
            with CaptureQueriesContext(
                connection,
            ) as seen:
                assert client.get(page.format(pk=chosen.pk)).status_code == 200
            counts.append(len(seen))
    assert counts[:3] == counts[3:]
