"""/api/v1 lets reviewers read and decide, and owners answer, with the same acts and limits as the pages."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.competitions.models import Role
from leaderboard.review.models import Case
from leaderboard.standings.models import Entry
from tests.web.review.test_review_pages import HELD, reviewer, told

AT = "/api/v1/review"


@pytest.fixture
def held(stage):
    return stage.judge(stage.submit(stage.ada), **told())


@pytest.fixture
def rita(stage, tool):
    return tool(reviewer(stage), "review")


def send(client, address: str, status: int = 200, **body: object):
    answer = client.post(address, body, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def read(client, address: str, status: int = 200):
    answer = client.get(address)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_the_queue_is_filtered_and_oldest_first(stage, held, rita) -> None:
    other = stage.judge(stage.submit(stage.ben), ratio=0.9, flags=("not_certified",))
    send(rita, f"{AT}/{other.pk}/label", label="odd")
    first, second = read(rita, AT)
    assert (first["id"], first["owner"], first["board"], first["state"]) == (held.pk, "ada", "softmax", "waiting")
    assert (first["rules"][0], first["ratio"], first["claimed_by"]) == ("faster_than_best", held.ratio, None)
    assert (second["rules"], second["labels"]) == (["not_certified"], ["odd"])

    def found(query: str) -> list[int]:
        return [row["id"] for row in read(rita, f"{AT}?{query}")]

    assert found("rule=not_certified") == found("label=odd") == [other.pk]
    assert found("board=softmax&hardware=cpu&competition=kernels-101") == found("state=any") == [held.pk, other.pk]
    assert found("board=matmul") == found("state=cleared") == found("mine=true") == []
    assert found("limit=1") == [held.pk]
    (rest,) = re.findall(r'<(.+)>; rel="next"', rita.get(f"{AT}?limit=1&label=").headers["Link"])
    assert [row["id"] for row in read(rita, rest)] == [other.pk]
    for query, field in (("state=nope", "state"), ("limit=500", "limit"), ("rule=%00", "rule")):
        assert read(rita, f"{AT}?{query}", 400)["errors"][0]["field"] == field


def test_a_case_comes_with_its_evidence(stage, held, rita) -> None:
    case = read(rita, f"{AT}/{held.pk}")
    assert (case["case"]["submission"], case["rank"], case["takes_two"]) == (held.attempt.submission_id, 1, False)
    finding = case["findings"][0]
    assert (finding["rule"], finding["threshold"]) == ("faster_than_best", 2.0)
    assert finding["figures"]
    assert finding["sentence"]
    assert [one["case"] for one in case["cases"]] == ["n=8"]
    assert case["cases"][0]["light_share"] == pytest.approx(0.5)
    assert {(one["clock"], side["side"]) for one in case["clocks"] for side in one["sides"]} == {
        (f"{whose} clock", side) for whose in ("judge's", "tenant's") for side in ("baseline", "candidate")
    }
    assert case["telemetry"]["reasons"][0] == {"reason": "software thermal", "blocks": 8}
    assert case["machine"] == {"cpu": "a fine one"}
    assert "custom_kernel" in case["code"]
    assert (case["may_decide"], case["acts"]["clear"], case["log"], case["seen"]) == (True, "", [], None)
    assert [one["id"] for one in case["history"]] == [held.attempt.submission_id]


def test_claimed_asked_answered_cleared(stage, held, rita, tool, browser) -> None:
    case, ada = f"{AT}/{held.pk}", tool(stage.ada)
    submission = f"/api/v1/submissions/{held.attempt.submission_id}"
    claimed = send(rita, f"{case}/claim")
    assert (claimed["state"], claimed["claimed_by"]) == ("claimed", "rita")
    other = tool(reviewer(stage, "rolf"), "review")
    assert "claimed by another reviewer" in send(other, f"{case}/clear", 409, reason="Sound.")["detail"]
    assert "say why you take it over" in send(other, f"{case}/claim", 409)["detail"]
    assert send(rita, f"{case}/release")["claimed_by"] is None
    send(rita, f"{case}/ask", question="How?")
    seen = read(ada, f"{submission}/review")
    assert (seen["state"], seen["question"]["text"], seen["may_answer"]) == ("under_review", "How?", True)
    assert send(ada, f"{submission}/answer", text="One pass.")["question"] is None
    before = read(rita, case)
    assert [line["act"] for line in before["log"]] == ["answer", "ask", "release", "claim"]
    send(other, f"{case}/note", text="Looks sound.")
    assert send(rita, f"{case}/clear", reason="Sound.", seen=before["seen"])["state"] == "cleared"
    assert [line["user"] for line in read(browser(None), "/api/v1/boards/softmax/cpu/entries")] == ["ada"]
    assert "undo that first" in send(rita, f"{case}/reject", 409, code="copied", reason="No.")["detail"]
    assert send(rita, f"{case}/undo", reason="Too soon.")["state"] == "waiting"
    assert read(browser(None), "/api/v1/boards/softmax/cpu/entries") == []


def test_who_decides_has_read_what_others_did(stage, held, rita, tool) -> None:
    other = tool(reviewer(stage, "rolf"), "review")
    send(rita, f"{AT}/{held.pk}/note", text="I begin.")
    seen = read(rita, f"{AT}/{held.pk}")["seen"]
    send(other, f"{AT}/{held.pk}/ask", question="How?")
    refused = send(rita, f"{AT}/{held.pk}/clear", 409, reason="Sound.", seen=seen)
    assert "changed while you looked at it (ask)" in refused["detail"]


def test_rejected_appealed_answered_by_another(stage, held, rita, tool) -> None:
    case, ada = f"{AT}/{held.pk}", tool(stage.ada)
    submission = f"/api/v1/submissions/{held.attempt.submission_id}"
    assert send(rita, f"{case}/reject", 400, reason="No.")["errors"][0]["field"] == "code"
    assert send(rita, f"{case}/reject", 400, code="dull", reason="No.")["errors"][0]["field"] == "code"
    send(rita, f"{case}/reject", code="copied", reason="Line by line.")
    seen = read(ada, f"{submission}/review")
    assert (seen["state"], seen["may_appeal"]) == ("rejected", True)
    assert (seen["rejection"]["code"], seen["rejection"]["text"]) == ("copied", "Line by line.")
    assert send(ada, f"{submission}/appeal", 400, text=" ")["errors"][0]["field"] == "text"
    assert send(ada, f"{submission}/appeal", text="It is mine.")["state"] == "appealed"
    assert "another reviewer answers" in send(rita, f"{case}/uphold", 403, reason="No.")["detail"]
    assert send(tool(stage.olga, "review"), f"{case}/uphold", reason="I agree.")["state"] == "rejected"
    seen = read(ada, f"{submission}/review")
    assert (seen["appeal_answer"]["text"], seen["may_appeal"]) == ("I agree.", False)
    assert "rita" not in str(seen)
    assert "faster_than_best" not in str(seen)


def test_a_result_is_held_by_hand(stage, rita, browser) -> None:
    result = stage.judge(stage.submit(stage.ada), ratio=0.9)
    submission = result.attempt.submission_id
    assert send(rita, f"{AT}/hold", 404, submission=99, reason="x")["errors"][0]["field"] == "submission"
    row = send(rita, f"{AT}/hold", 201, submission=submission, reason="Somebody complained.")
    assert (row["id"], row["rules"]) == (result.pk, ["by_hand"])
    assert read(browser(None), "/api/v1/boards/softmax/cpu/entries") == []


def test_only_a_token_for_review_reviews(stage, held, tool) -> None:
    user = reviewer(stage)
    other = tool(user, "read", "submit")
    for answer in (other.get(AT), other.get(f"{AT}/{held.pk}"), other.post(f"{AT}/{held.pk}/claim")):
        assert (answer.status_code, "“review”" in answer.json()["detail"]) == (403, True)
    assert tool(user, "review").get("/api/v1/submissions").status_code == 403


def test_nobody_decides_on_their_own(stage, held, tool) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    ada = tool(stage.ada, "read", "review")
    assert read(ada, AT) == []
    read(ada, f"{AT}/{held.pk}", 404)
    send(ada, f"{AT}/{held.pk}/clear", 404, reason="Mine.")
    viewer = tool(reviewer(stage, "vera", Role.VIEWER), "review")
    assert read(viewer, f"{AT}/{held.pk}")["may_decide"] is False
    send(viewer, f"{AT}/{held.pk}/clear", 403, reason="Sound.")
    assert Case.objects.get().state == "waiting"


def test_the_queue_asks_as_much_however_long_it_is(stage, held, rita) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as asked:
            read(rita, AT)
        return len(asked)

    count()
    few = count()
    for number in range(3):
        stage.judge(stage.submit(stage.ben), **HELD | {"ratio": 0.1 / (number + 1)})
    assert len(read(rita, AT)) == 4
    assert count() == few


@pytest.mark.parametrize(("chosen", "left"), [({}, 0), ({"hold_others": False}, 1)])
def test_who_rejects_chooses_about_the_kernels_other_runs(stage, rita, tool, chosen, left) -> None:
    first = stage.submit(kernel=1)
    stage.judge(first, ratio=0.8)
    again = stage.judge(stage.submit(kernel=1), **told())
    assert read(rita, f"{AT}/{again.pk}")["others"] == [first.pk]
    send(rita, f"{AT}/{again.pk}/reject", code="copied", reason="Line by line.", **chosen)
    assert Entry.objects.count() == left
    send(rita, f"{AT}/{again.pk}/undo", reason="I was wrong.")
    assert Entry.objects.count() == 1
    waited = 200 if left == 0 else 404
    seen = read(tool(stage.ada), f"/api/v1/submissions/{first.pk}/review", waited)
    assert left or (seen["state"], read(rita, f"{AT}?state=not_held")[0]["submission"]) == ("not_held", first.pk)
