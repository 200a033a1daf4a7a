"""Pages of matches: opening, predicting, both sides' forms, the head-to-head, publication, gallery and picture."""

from __future__ import annotations

from typing import Any

import pytest

from leaderboard.accounts.models import User
from leaderboard.entrants.closing import close
from leaderboard.matches import acts
from leaderboard.matches.acts import Exchange
from leaderboard.matches.models import Choice, Match, Version
from leaderboard.submissions.intake import Upload
from leaderboard.web.accounts.export import _tables
from leaderboard.web.matches.drawing import predictions, timelines
from tests.leaderboard.stage import SOURCE, Stage
from tests.web.test_pages_are_strict import check

WHY = "Each row is read once and written once, so bandwidth is the limit."
ANSWER = "I use vectorised loads.\n```python\ndef custom_kernel(data):\n    return data\n```\n"
THIN = "\N{NARROW NO-BREAK SPACE}"


def played(stage: Stage, human: tuple[float | None, ...] = (), machine: tuple[float | None, ...] = ()) -> Match:
    """Return a match of ada with versions of these ratios; None: a wrong answer."""
    match = acts.open_match(
        board=stage.board, opener=stage.ada, model="acme/coder-7b", machine="pasted", now=stage.later(1)
    )
    acts.predict(match=match, author=stage.ada, bound="memory", speedup=2.0, why=WHY, now=stage.later(1))
    for number, ratio in enumerate(human):
        told = {"reason": f"change {number}", "expected": 1.5} if number else {}
        made = acts.send_version(match=match, upload=upload(stage), author=stage.ada, now=stage.later(1), **told)
        judged(stage, made, ratio)
    for ratio in machine:
        exchange = Exchange(prompt="Write a fast kernel.", answer=ANSWER)
        made = acts.send_answer(
            match=match, upload=upload(stage), operator=stage.ada, exchange=exchange, now=stage.later(1)
        )
        judged(stage, made, ratio)
    return match


def upload(stage: Stage) -> Upload:
    stage.sent += 1
    code = SOURCE + f"N = {stage.sent}".encode()
    return Upload(board="", hardware="", mode="", filename="kernel.py", data=code)


def judged(stage: Stage, made: Version, ratio: float | None) -> None:
    told: dict[str, Any] = {"outcome": "wrong", "reason": "mismatch"} if ratio is None else {"ratio": ratio}
    stage.judge(made.submission, **told)


def page(browser: Any, user: User | None, path: str, status: int = 200) -> str:
    answer = browser(user).get(path)
    assert answer.status_code == status, answer.content.decode()[:2000]
    check(answer)
    return answer.content.decode()


def test_board_leads_to_a_match_that_its_opener_plays(stage, browser) -> None:
    assert "/boards/softmax/cpu/match" in page(browser, stage.ada, "/boards/softmax/cpu")
    assert browser(None).get("/boards/softmax/cpu/match").headers["Location"].startswith("/sign-in")
    assert "Match against a model" in page(browser, stage.ada, "/boards/softmax/cpu/match")
    client = browser(stage.ada)
    refused = client.post("/boards/softmax/cpu/match", {"model": "two words", "machine": "pasted"})
    assert refused.status_code == 400
    assert "Expected the model’s name" in refused.content.decode().replace("&#x27;", "’")
    made = client.post("/boards/softmax/cpu/match", {"model": "acme/coder-7b", "machine": "pasted"})
    match = Match.objects.get()
    assert made.headers["Location"] == f"/matches/{match.pk}"
    text = page(browser, stage.ada, f"/matches/{match.pk}")
    assert "Commit the prediction" in text
    assert "Send a version" not in text
    assert "Paste an answer" in text


def test_prediction_is_committed_on_the_page_and_then_shown(stage, browser) -> None:
    match, client = (
        acts.open_match(board=stage.board, opener=stage.ada, model="m", machine="pasted", now=stage.now),
        browser(stage.ada),
    )
    address = f"/matches/{match.pk}/predict"
    refused = client.post(address, {"bound": "memory", "speedup": "fast", "why": WHY})
    assert refused.status_code == 400
    assert "Enter a number such as 1.8." in refused.content.decode()
    assert WHY in refused.content.decode()
    assert client.post(address, {"bound": "memory", "speedup": "1.8", "why": WHY}).status_code == 302
    text = page(browser, stage.ada, f"/matches/{match.pk}")
    assert WHY in text
    assert "Commit the prediction" not in text
    assert client.post(address, {"bound": "memory", "speedup": "9", "why": WHY}).status_code == 409


def test_version_is_sent_from_its_form(stage, browser) -> None:
    match, client = played(stage), browser(stage.ada)
    address = f"/matches/{match.pk}/send"
    assert "Reason of the change" not in page(browser, stage.ada, address)
    assert client.post(address, {"code": SOURCE.decode()}).headers["Location"] == f"/matches/{match.pk}"
    text = page(browser, stage.ada, address)
    assert "Reason of the change" in text
    assert "return data" in text, "the last version's code"
    refused = client.post(address, {"code": "x = 1"})
    assert refused.status_code == 400
    assert "Expected 1 to 600 characters" in refused.content.decode()
    told = {"code": "x = 1", "reason": "wider loads", "expected": "1.7"}
    assert client.post(address, told).status_code == 302
    assert [*match.versions.values_list("number", "reason", "expected")] == [(1, "", None), (2, "wider loads", 1.7)]
    assert page(browser, stage.cleo, address, 404)


def test_version_before_the_prediction_is_refused_with_the_way_out(stage, browser) -> None:
    match = acts.open_match(board=stage.board, opener=stage.ada, model="m", machine="pasted", now=stage.now)
    assert "Predict first." in page(browser, stage.ada, f"/matches/{match.pk}/send")
    refused = browser(stage.ada).post(f"/matches/{match.pk}/send", {"code": "x = 1"})
    assert refused.status_code == 409
    assert "Predict first" in refused.content.decode()


def test_pasted_answer_is_judged_by_its_code_block(stage, browser) -> None:
    match, client = played(stage), browser(stage.ada)
    address = f"/matches/{match.pk}/paste"
    assert "Paste the exact prompt" in page(browser, stage.ada, address)
    refused = client.post(address, {"prompt": "Write it.", "answer": "I cannot."})
    assert refused.status_code == 400
    assert "It has no code block" in refused.content.decode()
    assert client.post(address, {"prompt": "Write it.", "answer": ANSWER, "turn": "1"}).status_code == 302
    version = match.versions.get()
    assert version.submission.source == "def custom_kernel(data):\n    return data\n"
    assert (version.prompt, version.answer, version.turn) == ("Write it.", ANSWER, 1)
    shown = page(browser, stage.ada, f"/matches/{match.pk}/machine/1")
    assert "I use vectorised loads." in shown
    assert page(browser, stage.ben, address, 404)


def test_match_page_shows_gates_and_the_score(stage, browser) -> None:
    match = played(stage, human=(None, 1.25, 0.5), machine=(None, 0.8))
    text = page(browser, stage.ada, f"/matches/{match.pk}")
    assert "ada leads: 2.000× by hand, 1.250× by the machine." in text
    assert text.count(">not faster<") == 1
    assert text.count(">faster<") == 2
    assert text.count(">wrong<") == 2
    assert "Predicted against measured" in text
    assert "torch.compile of this reference has no time here." in text
    version = page(browser, stage.ada, f"/matches/{match.pk}/human/3")
    assert "change 2" in version
    assert "Change from version 2" in version
    assert page(browser, stage.ada, f"/matches/{match.pk}/human/4", 404)
    assert page(browser, stage.ada, f"/matches/{match.pk}/robot/1", 404)


def test_sides_within_noise_tie(stage, browser) -> None:
    match = played(stage, human=(0.5,), machine=(0.503,))
    assert "A tie within noise: 2.000× by hand, 1.988× by the machine." in page(
        browser, stage.ada, f"/matches/{match.pk}"
    )


def test_private_match_asks_strangers_to_sign_in_or_does_not_exist(stage, browser) -> None:
    match = played(stage)
    assert browser(None).get(f"/matches/{match.pk}").headers["Location"].startswith("/sign-in")
    assert page(browser, stage.ben, f"/matches/{match.pk}", 404)
    assert page(browser, None, f"/matches/{match.pk}/picture.png", 404)
    assert "has no match" not in page(browser, None, "/matches")


def test_public_match_is_in_the_gallery_with_a_picture(stage, browser) -> None:
    match, client = played(stage, human=(0.5,), machine=(0.8,)), browser(stage.ada)
    assert client.post(f"/matches/{match.pk}/publish").status_code == 302
    assert "ada against acme/coder-7b" in page(browser, None, "/matches")
    text = page(browser, None, f"/matches/{match.pk}")
    assert f"/matches/{match.pk}/picture.png" in text
    assert "Play the same board" in text
    assert "/submissions/" not in text
    assert "custom_kernel" in page(browser, None, f"/matches/{match.pk}/human/1")
    picture = browser(None).get(f"/matches/{match.pk}/picture.png")
    assert picture.content.startswith(b"\x89PNG")
    client.post(f"/matches/{match.pk}/withdraw")
    assert "ada against" not in page(browser, None, "/matches")


def test_staff_choose_the_match_of_the_week(stage, browser) -> None:
    match, client = played(stage, human=(0.5,)), browser(stage.olga)
    client.post(f"/matches/{match.pk}/choose", {"note": "too early"})
    assert not Choice.objects.exists()
    acts.publish(match=match, actor=stage.ada, now=stage.now)
    assert "Make it the match of the week" in page(browser, stage.olga, f"/matches/{match.pk}")
    assert "Make it the match of the week" not in page(browser, stage.ada, f"/matches/{match.pk}")
    client.post(f"/matches/{match.pk}/choose", {"note": "Look at the second version."})
    text = page(browser, None, "/matches")
    assert "Match of the week" in text
    assert "Look at the second version." in text
    assert "/boards/softmax/cpu/match" in text


def test_closed_match_offers_no_form(stage, browser) -> None:
    match = played(stage)
    browser(stage.ada).post(f"/matches/{match.pk}/close")
    text = page(browser, stage.ada, f"/matches/{match.pk}")
    assert "Send a version" not in text
    assert "closed" in text
    assert browser(stage.ada).post(f"/matches/{match.pk}/nothing").status_code == 404


def test_drawings_have_both_reference_lines(stage) -> None:
    from leaderboard.matches.read import report_on

    report = report_on(played(stage, human=(2.0, 0.5), machine=(None,)), stage.now)
    human, machine = timelines(report)
    assert [dot.css for dot in human.dots] == ["good", "good"]
    assert human.dots[0].y > human.lines[0].y > human.dots[1].y
    assert machine.dots[0].css == "bad"
    drawn = predictions(report.expectations)
    assert drawn is not None
    assert [dot.text for dot in drawn.dots] == ["P", "2"]


@pytest.mark.parametrize("name", ["human", "machine"])
def test_reading_many_matches_takes_a_fixed_number_of_queries(stage, django_assert_max_num_queries, name) -> None:
    from leaderboard.matches.permissions import matches_of
    from leaderboard.matches.read import reports_on

    for _ in range(3):
        played(stage, **{name: (0.5, 0.6)})
    with django_assert_max_num_queries(12):
        assert len(reports_on(list(matches_of(stage.ada)), stage.now)) == 3


def test_page_follows_a_waiting_version(stage, browser) -> None:
    match = played(stage)
    made = acts.send_version(match=match, upload=upload(stage), author=stage.ada, now=stage.later(1))
    client = browser(stage.ada)
    assert f'data-pulse="/matches/{match.pk}/pulse"' in page(browser, stage.ada, f"/matches/{match.pk}")
    before = client.get(f"/matches/{match.pk}/pulse").json()["digest"]
    judged(stage, made, 0.5)
    assert client.get(f"/matches/{match.pk}/pulse").json()["digest"] != before
    assert "data-pulse" not in page(browser, stage.ada, f"/matches/{match.pk}")


def test_submission_of_a_version_leads_to_its_match(stage, browser) -> None:
    match = played(stage, human=(0.5,))
    address = f"/submissions/{match.versions.get().submission_id}"
    assert f'Version 1 of the human side in <a href="/matches/{match.pk}">' in page(browser, stage.ada, address)


def test_account_exports_its_matches_and_makes_them_private_when_erased(stage) -> None:
    match = played(stage, human=(0.5,), machine=(0.8,))
    acts.publish(match=match, actor=stage.ada, now=stage.later(1))
    tables = _tables(User.objects.filter(pk=stage.ada.pk).values("pk"))
    assert [(row["id"], row["model"]) for row in tables["matches"]] == [(match.pk, "acme/coder-7b")]
    assert [row["why"] for row in tables["predictions"]] == [WHY]
    assert [(row["side"], row["answer"]) for row in tables["match_versions"]] == [("human", ""), ("machine", ANSWER)]
    close(account=stage.ada, erase=True, now=stage.later(1))
    match.refresh_from_db()
    assert (match.human_public_at, match.machine_public_at) == (None, None)
