"""Reviewers find, read and decide cases on pages; owners answer on their own page."""

import re
import time
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.entrants.enter import create_agent
from leaderboard.entrants.models import Entrant
from leaderboard.review.models import Case, Decision, Finding
from leaderboard.standings.models import Entry
from leaderboard.submissions.intake import Upload
from leaderboard.web.submissions.view import visible_to
from tests.runner.evidence.whole import whole

HELD = {"ratio": 0.2, "score_us": 200.0}


def reading(at_ns: int, **told: Any) -> dict[str, Any]:
    return {"at_ns": at_ns, "clock_mhz": 1700.0 + at_ns, "temperature_c": 50.0, **told}


def block(side: str, wall_us: int, inner_us: int, place: int) -> dict[str, Any]:
    heat = {"before": reading(place), "after": reading(place + 1), "polls": [[place, 0x20 | 1 << 40, 0]]}
    calls = [[wall_us * 1000 + call, 1, 1, inner_us * 1000 + call, 0, 1, 1] for call in range(3)]
    return {"side": side, "took_ns": 9, "calls": calls, "heat": heat}


def told(**changes: Any) -> dict[str, Any]:
    """Return a report with evidence of a single case, as a runner sends it."""
    order = ["baseline", "candidate", "candidate", "baseline"]
    times = {"baseline": (1000, 900), "candidate": (300, 200)}
    quads = [
        {"blocks": [block(side, *times[side], place) for place, side in enumerate(order)], "void": void}
        for void in ("", "hot")
    ]
    limits = {"cases": [{"case": "n=8", "hard": {"resource": "memory", "ns": 100_000}}]}
    case = {"stage": "time", "name": "n=8", "measured_us": 200.0, "baseline_us": 900.0, "ratio": 0.25}
    timing = {"case": "n=8", "quads": quads, "ended": "converged"}
    evidence = whole({"timing": [timing], "limits": limits, "fingerprint": {"cpu": "a fine one"}})
    return HELD | {"cases": (case,), "evidence": evidence} | changes


def reviewer(stage, name: str = "rita", role: str = Role.REVIEWER) -> User:
    user = User.objects.create_user(name)
    Role.objects.create(competition=stage.board.competition, user=user, role=role)
    return user


def page(client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    return answer.content.decode()


def test_a_case_shows_its_evidence_side_by_side(stage, browser) -> None:
    first = stage.judge(stage.submit(stage.ben), ratio=0.6, cases=({"name": "n=8", "ratio": 0.5},))
    stage.judge(stage.submit(stage.ada), ratio=0.9)
    result = stage.judge(stage.submit(stage.ada), **told())
    figures = {"other_submission": first.attempt.submission_id}
    Finding.objects.create(result=result, rule="similar", sentence="like it", figures=figures, created_at=stage.now)
    seen = page(browser(reviewer(stage)), f"/review/{result.pk}")
    assert "Faster than best" in seen
    assert "2.000×" in seen, "against the incumbent: 0.25 / 0.5"
    assert "50\N{NARROW NO-BREAK SPACE}%" in seen, "of the speed of light: 100 µs / 200 µs"
    assert "on the judge&#x27;s clock. baseline: 12 calls" in seen
    assert "on the tenant&#x27;s clock" in seen
    assert "void: hot" in seen
    assert "software thermal in 8 of 8 blocks" in seen
    assert "unknown reason" in seen
    assert "a fine one" in seen
    assert "Against their best before this" in seen
    assert "Against the most similar other" in seen
    assert '<span class="del">-KERNEL' in seen
    assert "would rank 1" in seen


def test_the_code_of_another_competition_is_not_shown(stage, browser) -> None:
    from leaderboard.competitions.models import Board, Competition

    elsewhere = Competition.objects.create(slug="elsewhere", name="Elsewhere")
    parts = {"problem": stage.board.problem, "version": stage.board.version, "hardware": "cpu"}
    board = Board.objects.create(competition=elsewhere, slug="secret", **parts)
    other = stage.submit(stage.ben, board=board)
    stage.claim()
    result = stage.judge(stage.submit(stage.ada), **HELD)
    figures = {"other_submission": other.pk}
    Finding.objects.create(result=result, rule="similar", sentence="like it", figures=figures, created_at=stage.now)
    assert "the most similar other" not in page(browser(reviewer(stage)), f"/review/{result.pk}")
    assert "the most similar other" in page(browser(stage.olga), f"/review/{result.pk}")


@pytest.mark.parametrize(
    "evidence",
    [
        {"timing": [{"case": 7, "quads": [{"blocks": [{"side": "candidate", "calls": [[1], "x", [True] * 7]}]}]}]},
        {"timing": [{"quads": [{"blocks": [{"side": "candidate", "calls": [[-5] * 7, [0] * 7]}]}]}]},
        {"timing": [[], None, {"quads": {"a": 1}}], "limits": [], "fingerprint": "none"},
        {"timing": "soon", "limits": {"cases": [None, {"hard": 3}]}},
        {"runs": [{"timing": [{"quads": [{"blocks": [{"side": "candidate", "calls": [], "heat": {"before": 1}}]}]}]}]},
    ],
)
def test_a_report_that_makes_no_sense_is_left_out(stage, browser, evidence) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD, evidence=evidence, cases=({"name": [], "ratio": "fast"},))
    assert "The report keeps no samples" in page(browser(stage.olga), f"/review/{result.pk}")


def test_the_words_of_a_checker_are_a_hint(stage, browser) -> None:
    from leaderboard.review.models import Hint

    submission = stage.submit(stage.ada)
    result = stage.judge(submission, **HELD)
    told = {"submission": submission, "checker": "kernelguard", "created_at": stage.now}
    Hint.objects.create(**told, words=["<b>caches by data_ptr</b>"])
    seen = page(browser(stage.olga), f"/review/{result.pk}")
    assert "&lt;b&gt;caches by data_ptr" in seen
    assert "caches by data_ptr" not in page(browser(stage.ada), f"/submissions/{submission.pk}")


def test_what_a_competitor_wrote_stays_text(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    result = stage.judge(submission, **HELD)
    browser(stage.olga).post(f"/review/{result.pk}/ask", {"reason": "<b>How?</b>"})
    browser(stage.ada).post(f"/submissions/{submission.pk}/answer", {"text": "<script>alert(1)</script>"})
    seen = page(browser(stage.olga), f"/review/{result.pk}")
    assert "&lt;script&gt;alert(1)" in seen
    assert "<script>alert" not in seen
    assert "<b>How" not in page(browser(stage.ada), f"/submissions/{submission.pk}")


def test_the_case_of_a_padded_source_opens(stage, browser) -> None:
    """Each of the two paddings kept Pygments busy for minutes; the page uses a different highlighter."""
    padded = "".join(["x = 1\n", "\n " * 100_000, "\n#/**//**/" + "/**/" * 50_000, "\ny = 2  # the end\n"])
    stage.judge(stage.submit(stage.ben))
    submission = pipeline.submit(
        Upload(board=stage.board.slug, hardware="cpu", mode="ranked", filename="kernel.py", data=padded.encode()),
        owner=stage.ada,
        now=stage.later(1),
    )
    result = stage.judge(submission, **HELD)
    began = time.thread_time()
    seen = page(browser(stage.olga), f"/review/{result.pk}")
    assert time.thread_time() - began < 5  # half a second on an idle machine
    assert '<span class="c"># the end</span>' in seen
    assert '<span class="c"># the end</span>' in page(browser(stage.ada), f"/submissions/{submission.pk}")


def test_the_queue_is_filtered_and_oldest_first(stage, browser) -> None:
    one = stage.judge(stage.submit(stage.ada), **HELD)
    two = stage.judge(stage.submit(stage.ben), ratio=0.9, flags=("not_certified",))
    rita = reviewer(stage)
    client = browser(rita)
    seen = page(client, "/review")
    assert seen.index(f"/review/{one.pk}") < seen.index(f"/review/{two.pk}")
    client.post(f"/review/{one.pk}/label", {"reason": "odd"})
    client.post(f"/review/{one.pk}/claim")
    filters = {
        "rule=not_certified": {two},
        "label=odd": {one},
        "mine=1": {one},
        "state=claimed": {one},
        "state=cleared": set(),
        f"board={stage.board.pk}": {one, two},
        "board=99": set(),
        "competition=elsewhere": set(),
        "competition=kernels-101&state=any": {one, two},
        "cursor=x&board=x&state=x": {one, two},
    }
    for asked, expected in filters.items():
        listed = page(client, f"/review?{asked}")
        assert {case for case in (one, two) if f'href="/review/{case.pk}"' in listed} == expected, asked
    assert "by rita" in page(browser(stage.olga), "/review")


def test_the_queue_is_paged_and_asks_a_constant_number_of_questions(stage, browser, monkeypatch) -> None:
    monkeypatch.setattr("leaderboard.web.review.queue.ROWS", 8)
    client = browser(reviewer(stage))
    stage.judge(stage.submit(stage.ada), **HELD)
    with CaptureQueriesContext(
        connection,
    ) as few:
        page(client, "/review")
    for number in range(8):
        stage.judge(stage.submit(User.objects.create_user(f"user{number}")), **HELD)
    with CaptureQueriesContext(connection) as many:
        first = page(client, "/review")
    assert len(many) == len(few)
    assert first.count("<tr data-case>") == 8
    (later,) = re.findall(r'href="([^"]+)">Later<', first)
    second = page(client, unescape(later))
    assert second.count("<tr data-case>") == 1
    (earlier,) = re.findall(r'href="([^"]+)">Earlier<', second)
    assert page(client, unescape(earlier)).count("<tr data-case>") == 8


def test_the_queue_shows_the_words_of_a_finding_as_text(stage, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    Finding.objects.create(result=result, rule="odd_<i>", sentence="<b>n=8</b>: odd", figures={}, created_at=stage.now)
    seen = page(browser(stage.olga), "/review")
    assert "<strong>Faster than best</strong>" in seen
    assert "<strong>Odd &lt;i&gt;</strong>" in seen
    assert "&lt;b&gt;n=8&lt;/b&gt;: odd" in seen


def test_the_queue_names_an_entrant_as_its_board_does(stage, browser) -> None:
    stage.judge(submission := stage.submit(stage.ada), **HELD)
    Entrant.objects.filter(pk=submission.entrant_id).update(pseudonym="The <Owl>")
    assert "ada for The &lt;Owl&gt;</span>" in page(browser(stage.olga), "/review")
    Entrant.objects.filter(pk=submission.entrant_id).update(revealed_at=stage.now)
    assert "ada for ada (was The &lt;Owl&gt;)</span>" in page(browser(stage.olga), "/review")


def test_a_case_asks_a_constant_number_of_questions(stage, browser) -> None:
    client = browser(reviewer(stage))
    result = stage.judge(stage.submit(stage.ada), **told())
    stage.judge(stage.submit(stage.ada), ratio=0.9)
    client.post(f"/review/{result.pk}/note", {"reason": "hm"})
    page(client, f"/review/{result.pk}")
    with CaptureQueriesContext(connection) as few:
        page(client, f"/review/{result.pk}")
    for _ in range(4):
        client.post(f"/review/{result.pk}/note", {"reason": "hm"})
        stage.judge(stage.submit(stage.ada), ratio=0.9)
    page(client, f"/review/{result.pk}")
    with CaptureQueriesContext(connection) as many:
        page(client, f"/review/{result.pk}")
    assert len(many) == len(few)


def test_a_viewer_reads_and_does_not_act(stage, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    client = browser(reviewer(stage, role=Role.VIEWER))
    seen = page(client, f"/review/{result.pk}")
    assert "a reviewer of Kernels 101 decides" in seen
    assert f'action="/review/{result.pk}/' not in seen
    assert client.post(f"/review/{result.pk}/clear", {"reason": "x"}).status_code == 403
    assert client.post("/review/hold", {"submission": 1, "reason": "x"}).status_code == 404
    assert not Decision.objects.exists()


def test_a_reviewer_of_another_competition_finds_nothing(stage, browser) -> None:
    from leaderboard.competitions.models import Competition

    result = stage.judge(stage.submit(stage.ada), **HELD)
    elsewhere = Competition.objects.create(slug="elsewhere", name="Elsewhere")
    Role.objects.create(competition=elsewhere, user=stage.cleo, role=Role.OWNER)
    client = browser(stage.cleo)
    assert "Nothing is waiting" in page(client, "/review?state=any")
    page(client, f"/review/{result.pk}", 404)
    assert client.post(f"/review/{result.pk}/clear", {"reason": "x"}).status_code == 404
    held = {"submission": result.attempt.submission_id, "reason": "x"}
    assert client.post("/review/hold", held).status_code == 404
    own = stage.judge(stage.submit(stage.olga), **HELD)
    page(browser(stage.olga), f"/review/{own.pk}", 404)
    assert f"/review/{own.pk}" not in page(browser(stage.olga), "/review")


def test_what_cannot_be_done_is_said_beside_its_form(stage, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    client = browser(stage.olga)
    for act, sent, status, said in (
        ("reject", {"reason": "no"}, 400, "This field is required"),
        ("reject", {"reason": "no", "code": "ugly"}, 400, "not one of the available choices"),
        ("label", {"reason": "No good"}, 400, "Is no label"),
        ("undo", {"reason": "x"}, 409, "no decision that could be undone"),
        ("grant", {"reason": "x"}, 409, "nothing to grant"),
        ("release", {}, 409, "not claimed by you"),
        ("suspend", {"reason": " "}, 400, "Give a reason"),
        ("dance", {"reason": "x"}, 404, ""),
    ):
        answer = client.post(f"/review/{result.pk}/{act}", sent)
        assert (answer.status_code, said in answer.content.decode()) == (status, True), act
    assert Case.objects.get().state == "waiting"


def test_two_reviewers_at_once_do_not_both_decide(stage, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    rita, olga = browser(reviewer(stage)), browser(stage.olga)
    seen = {"seen": 0, "reason": "x", "code": "other"}
    rita.post(f"/review/{result.pk}/ask", seen)
    late = olga.post(f"/review/{result.pk}/reject", seen)
    assert late.status_code == 409
    assert "changed while you looked at it (ask)" in late.content.decode()
    assert olga.post(f"/review/{result.pk}/reject", seen | {"seen": Decision.objects.get().pk}).status_code == 302


def test_an_owner_is_told_asked_and_answers(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    result = stage.judge(submission, **HELD)
    ada, olga, address = browser(stage.ada), browser(stage.olga), f"/submissions/{submission.pk}"
    assert "There is nothing you need to do." in page(ada, address)
    olga.post(f"/review/{result.pk}/note", {"reason": "fishy"})
    olga.post(f"/review/{result.pk}/ask", {"reason": "How is this possible?"})
    seen = page(ada, address)
    assert "How is this possible?" in seen
    for secret in ("olga", "fishy", "faster_than_best", "aster than best", f"/review/{result.pk}"):
        assert secret not in seen
    assert ada.post(f"{address}/answer", {"text": " "}).status_code == 400
    assert ada.post(f"{address}/answer", {"text": "It sorts first."}).status_code == 302
    assert "How is this possible?" not in page(ada, address)
    assert "It sorts first." in page(olga, f"/review/{result.pk}")
    assert ada.post(f"{address}/answer", {"text": "again"}).status_code == 409


def test_an_owner_appeals_once(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    result = stage.judge(submission, **HELD)
    ada, address = browser(stage.ada), f"/submissions/{submission.pk}"
    assert ada.post(f"{address}/appeal", {"text": "please"}).status_code == 409
    pipeline.reject_result(result=result, actor=reviewer(stage), reason="no", now=_now())
    assert "You can appeal once" in page(ada, address)
    assert ada.post(f"{address}/appeal", {"text": "It is honest."}).status_code == 302
    assert "It is honest." in page(ada, address)
    assert ada.post(f"{address}/appeal", {"text": "Really."}).status_code == 409
    olga = browser(stage.olga)
    assert "Grant the appeal" in page(olga, f"/review/{result.pk}")
    olga.post(f"/review/{result.pk}/uphold", {"reason": "It is not."})
    assert "the rejection stands" in page(ada, address)
    assert "You can appeal once" not in page(ada, address)


def test_the_owner_of_an_agent_answers_and_appeals_for_it(stage, browser) -> None:
    agent = create_agent(owner=stage.ada, name="robo", now=stage.now)
    submission, own = stage.submit(agent), stage.submit(stage.ada)
    result = stage.judge(submission, **HELD)
    ada, address = browser(stage.ada), f"/submissions/{submission.pk}"
    assert browser(stage.ben).get(address).status_code == 404
    told = {"result": result, "actor": stage.olga}
    pipeline.ask_owner(question="How is this possible?", now=_now(), **told)
    assert "How is this possible?" in page(ada, address)
    assert ada.post(f"{address}/answer", {"text": "It sorts first."}).status_code == 302
    pipeline.reject_result(reason="no", now=_now(), **told)
    assert "You can appeal once" in page(ada, address)
    assert ada.get(f"/api/v1/submissions/{submission.pk}/review").json()["may_appeal"]
    assert ada.post(f"{address}/appeal", {"text": "It is honest."}).status_code == 302
    assert Case.objects.get().state == "appealed"
    assert list(Decision.objects.filter(act__in=("answer", "appeal")).values_list("actor", flat=True)) == [
        stage.ada.pk,
        stage.ada.pk,
    ]
    assert not visible_to(agent).filter(pk=own.pk).exists()


def test_a_verdict_that_rejected_by_itself_says_what_is_left(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    result = stage.judge(submission, outcome="policy", reason="impossible", message="faster than light")
    ada, olga, address = browser(stage.ada), browser(stage.olga), f"/submissions/{submission.pk}"
    assert "This result was rejected automatically" not in page(ada, address) or "overturn" in page(ada, address)
    assert "it cannot rank even if it is cleared" in page(olga, f"/review/{result.pk}")
    olga.post(f"/review/{result.pk}/overturn", {"reason": "the bytes were declared wrongly"})
    assert "The result has no time, so it cannot rank" in page(ada, address)
    olga.post(f"/review/{result.pk}/clear", {"reason": "honest"})
    assert "A reviewer overturned this verdict" in page(ada, address)


def test_a_reviewer_holds_a_published_result_by_its_number(stage, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), ratio=0.9)
    own = stage.judge(stage.submit(stage.olga), ratio=0.95)
    client = browser(stage.olga)
    for pk in (999, own.attempt.submission_id):
        answer = client.post("/review/hold", {"submission": pk, "reason": "odd"})
        assert answer.status_code == 404
        assert "no result that ranks in a competition that you review" in answer.content.decode()
    client.post("/review/hold", {"submission": result.attempt.submission_id, "reason": "odd"})
    entries = browser(None).get("/api/v1/boards/softmax/cpu/entries").json()
    assert [entry["user"] for entry in entries] == ["olga"]
    assert "held it by hand" in page(client, f"/review/{result.pk}")


@pytest.mark.parametrize(("ticked", "left"), [({"hold_others": "on"}, 0), ({}, 1)])
def test_who_rejects_chooses_about_the_kernels_other_runs(stage, browser, ticked, left) -> None:
    stage.judge(stage.submit(kernel=1), ratio=0.8)
    held = stage.judge(stage.submit(kernel=1), **HELD)
    alone = stage.judge(stage.submit(stage.ben), **HELD)
    rita = browser(reviewer(stage))
    shown = page(rita, f"/review/{held.pk}")
    assert "Also on the board" in shown
    assert 'name="hold_others" id="reject_hold_others" checked' in shown
    assert 'type="hidden" name="hold_others"' in page(rita, f"/review/{alone.pk}")
    rita.post(f"/review/{held.pk}/reject", {"code": "other", "reason": "it cheats", **ticked})
    assert Entry.objects.count() == left


def test_a_suspended_owner_is_told_on_their_page(stage, browser) -> None:
    submission = stage.submit(stage.ada)
    result = stage.judge(submission, **HELD)
    olga = browser(stage.olga)
    assert olga.post(f"/review/{result.pk}/suspend", {"reason": "Two accounts.", "everywhere": "on"}).status_code == 302
    assert "This account is suspended</strong> everywhere" in page(browser(stage.ada), f"/submissions/{submission.pk}")
    olga.post(f"/review/{result.pk}/reinstate", {"reason": "One is her sister.", "everywhere": "on"})
    assert "suspended" not in page(browser(stage.ada), f"/submissions/{submission.pk}")


def test_accounts_are_suspended_by_name_by_owners_and_staff(stage, browser) -> None:
    stage.judge(stage.submit(stage.ada), ratio=0.9)
    owner, here = reviewer(stage, "otto", Role.OWNER), stage.board.competition.slug
    sent = {"act": "suspend", "name": "ADA", "where": here, "reason": "Two <b>accounts</b>."}
    for person in (stage.cleo, reviewer(stage)):
        client = browser(person)
        page(client, "/review/accounts", 404)
        assert client.post("/review/accounts", sent).status_code == 404
    client = browser(owner)
    assert client.post("/review/accounts", sent | {"where": "elsewhere"}).status_code == 400
    assert client.post("/review/accounts", sent | {"where": ""}).status_code == 403, "everywhere is for staff"
    assert client.post("/review/accounts", sent | {"name": "nobody"}).status_code == 404
    assert client.post("/review/accounts", sent | {"name": "otto"}).status_code == 409
    assert client.post("/review/accounts", sent).status_code == 302
    assert browser(None).get("/api/v1/boards/softmax/cpu/entries").json() == []
    assert "Two &lt;b&gt;accounts" in page(client, "/review/accounts")
    assert client.post("/review/accounts", sent | {"act": "reinstate"}).status_code == 302
    assert "No account is suspended" in page(browser(stage.olga), "/review/accounts")
    assert len(browser(None).get("/api/v1/boards/softmax/cpu/entries").json()) == 1


def _now() -> Any:
    from django.utils import timezone

    return timezone.now()


@pytest.mark.parametrize("name", ["competition", "board", "rule", "label", "state"])
def test_a_filter_that_makes_no_sense_filters_nothing(stage, browser, name) -> None:
    result = stage.judge(stage.submit(stage.ada), **HELD)
    assert f"/review/{result.pk}" in page(browser(stage.olga), f"/review?{name}=%00")


def test_chosen_cases_are_claimed_and_released_together(stage, browser) -> None:
    one = stage.judge(stage.submit(stage.ada), **HELD)
    two = stage.judge(stage.submit(stage.ben), **HELD)
    client = browser(reviewer(stage))
    listed = page(client, "/review?state=open")
    assert listed.count('form="chosen" name="case"') == 2
    chosen = {"case": [one.pk, two.pk, "x", 10**30], "from": "state=claimed"}
    done = client.post("/review/chosen", chosen | {"act": "claim"})
    assert done["Location"] == "/review?state=claimed"
    assert sorted(Case.objects.values_list("claimed_by__username", flat=True)) == ["rita", "rita"]
    other = browser(stage.olga).post("/review/chosen", {"case": [one.pk], "act": "claim"}, follow=True)
    assert "another reviewer has claimed it" in other.content.decode()
    client.post("/review/chosen", chosen | {"act": "release"})
    assert list(Case.objects.values_list("claimed_by", flat=True)) == [None, None]
    assert client.post("/review/chosen", chosen | {"act": "clear"}).status_code == 404, "no decision in bulk"
    assert "Choose a case" in client.post("/review/chosen", {"act": "claim"}, follow=True).content.decode()


def test_chosen_cases_of_ones_own_are_left_alone(stage, browser) -> None:
    held = stage.judge(stage.submit(stage.ada), **HELD)
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.REVIEWER)
    browser(stage.ada).post("/review/chosen", {"case": [held.pk], "act": "claim"})
    assert Case.objects.get().claimed_by is None
