"""Rewards over /api/v1: of own submissions, 0 for what is held or rejected, the same for the same reports."""

import json

import pytest

from leaderboard.judging.models import ResultArchived
from leaderboard.judging.sweep import expire_leases
from leaderboard.pipeline import clear_result, reject_result
from leaderboard.review.models import Finding
from leaderboard.review.rules.screen import set_thresholds
from leaderboard.web import limits
from tests.leaderboard.stage import current

FAST = 0.3  # faster than faster_than_best's usual threshold


def ask(client, *ids, **parameters):
    sent = {"ids": list(ids), **parameters}
    return client.post("/api/v1/rewards", json.dumps(sent), content_type="application/json")


def one(client, submission, **parameters):
    answer = ask(client, submission.pk, **parameters)
    assert answer.status_code == 200, answer.content
    [line] = answer.json()["rewards"]
    assert line["id"] == submission.pk
    return line


def test_rewards_are_in_the_order_of_the_request(stage, tool) -> None:
    client = tool(stage.ada)
    good, wrong, waiting = stage.submit(), stage.submit(), stage.submit(mode="test")
    stage.judge(good, ratio=0.8, half_width=0.1)
    stage.judge(wrong, outcome="wrong", reason="mismatch")
    answer = ask(client, waiting.pk, wrong.pk, good.pk, wrong.pk).json()
    assert {name: answer[name] for name in ("formula", "correct", "cap", "only_correct")} == {
        "formula": "reward/1",
        "correct": 0.3,
        "cap": 10.0,
        "only_correct": False,
    }
    lines = answer["rewards"]
    assert [(line["id"], line["status"], line["reward"], line["reason"]) for line in lines] == [
        (waiting.pk, "waiting", None, "waiting"),
        (wrong.pk, "judged", 0.0, "not_passed"),
        (good.pk, "judged", 1.55, "correct"),
    ]
    assert lines[1]["message"] == "The verdict is wrong (mismatch)."
    assert (lines[2]["low"], lines[2]["high"]) == (pytest.approx(0.3 + 1 / 0.88), pytest.approx(0.3 + 1 / 0.72))
    assert (lines[2]["speedup"], lines[2]["half_width"]) == (1.25, 0.1)


def test_parameters_change_the_reward_within_their_limits(stage, tool) -> None:
    client, good = tool(stage.ada), stage.submit()
    stage.judge(good, ratio=0.8)
    assert one(client, good, correct=1, cap=1.1)["reward"] == 2.1
    assert one(client, good, only_correct=True)["reward"] == 0.3
    wrong = [("cap", 0), ("cap", "nan"), ("correct", -1), ("correct", 1e9), ("formula", "reward/2"), ("ids", [])]
    for field, value in wrong:
        answer = client.post(
            "/api/v1/rewards", json.dumps({"ids": [good.pk], field: value}), content_type="application/json"
        )
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field), value
    many = ask(client, *range(1, 258))
    assert (many.status_code, many.json()["errors"][0]["field"]) == (400, "ids")


def test_a_held_result_has_no_reward_until_a_person_clears_it(stage, tool) -> None:
    client, fast = tool(stage.ada), stage.submit()
    result = stage.judge(fast, ratio=FAST, half_width=0.0)
    held = one(client, fast)
    assert (held["reward"], held["reason"], held["message"]) == (0.0, "held", "The result is held: review.")
    clear_result(result=result, actor=stage.olga, reason="read it", now=stage.later(1))
    assert one(client, fast)["reward"] == pytest.approx(0.3 + 1 / FAST)


def test_a_rejected_result_has_reward_0(stage, tool) -> None:
    client, fast = tool(stage.ada), stage.submit()
    result = stage.judge(fast, ratio=FAST)
    reject_result(result=result, actor=stage.olga, code="other", reason="it caches", now=stage.later(1))
    assert (one(client, fast)["reward"], one(client, fast)["reason"]) == (0.0, "rejected")


def test_rules_look_at_a_benchmark_without_writing_a_row(stage, tool) -> None:
    client = tool(stage.ada)
    fair, fast = stage.submit(mode="benchmark"), stage.submit(mode="benchmark")
    stage.judge(fair, ratio=0.8)
    stage.judge(fast, ratio=FAST)
    assert one(client, fair)["reward"] == 1.55
    held = one(client, fast)
    assert (held["reward"], held["reason"]) == (0.0, "held")
    assert "faster_than_best" in held["message"]
    assert not Finding.objects.exists()


def test_the_same_report_has_the_same_reward_whatever_others_send(stage, tool) -> None:
    client, fast, copied = tool(stage.ada), stage.submit(mode="benchmark"), stage.submit(mode="benchmark")
    stage.judge(fast, ratio=0.45)  # 2.2 times as fast as the tuned baseline
    stage.judge(copied, ratio=0.7)
    before = ask(client, fast.pk, copied.pk).json()
    other = stage.judge(stage.submit(stage.cleo), ratio=0.4)
    clear_result(result=other, actor=stage.olga, reason="read it", now=stage.later(1))  # now 2.2 times is no news
    assert ask(client, fast.pk, copied.pk).json() == before
    assert [(line["reason"], line["reward"]) for line in before["rewards"]] == [
        ("held", 0.0),
        ("correct", pytest.approx(0.3 + 1 / 0.7)),
    ]


def test_thresholds_of_the_competition_count_for_a_benchmark(stage, tool) -> None:
    client, fast = tool(stage.ada), stage.submit(mode="benchmark")
    stage.judge(fast, ratio=0.45)
    assert one(client, fast)["reason"] == "held"
    competition, why = fast.board.competition, "for training"
    limits_of = {"faster_than_best": 10}
    set_thresholds(competition=competition, actor=stage.olga, thresholds=limits_of, reason=why, now=stage.now)
    assert one(client, fast)["reason"] == "correct"


def test_spoiled_cancelled_and_vanished_verdicts_have_no_reward(stage, tool) -> None:
    client = tool(stage.ada)
    ours, cancelled, gone = (stage.submit(mode="benchmark") for _ in range(3))
    stage.judge(ours, outcome="infra_error", reason="lost")
    client.post(f"/api/v1/submissions/{cancelled.pk}/cancel")
    stage.judge(gone, ratio=0.7)
    assert ResultArchived.objects.filter(of__attempt__submission=gone).update(expired_at=stage.now) == 1
    lines = ask(client, ours.pk, cancelled.pk, gone.pk).json()["rewards"]
    assert [(line["status"], line["reward"], line["reason"]) for line in lines] == [
        ("no_verdict", None, "spoiled"),
        ("no_verdict", None, "cancelled"),
        ("no_verdict", None, "no_report"),
    ]


def test_rewards_are_of_own_submissions_only(stage, tool) -> None:
    submission = stage.submit()
    refused = ask(tool(stage.cleo), submission.pk)
    assert (refused.status_code, refused.json()["errors"][0]) == (
        404,
        {
            "field": "ids",
            "value": str(submission.pk),
            "message": "not among your submissions; see GET /api/v1/submissions",
        },
    )
    assert ask(tool(stage.ada, "read"), submission.pk).json()["code"] == "scope_missing"


def test_rewards_are_limited(stage, tool, monkeypatch) -> None:
    monkeypatch.setattr(limits, "REWARD_USER", limits.Limit("rewards user", 1, 60))
    limits.floods.clear()
    client, submission = tool(stage.ada), stage.submit()
    assert [ask(client, submission.pk).status_code for _ in range(2)] == [200, 429]
    assert ask(client, submission.pk)["Retry-After"]


def test_a_submission_that_the_site_gave_up_is_spoiled_and_not_cancelled(stage, tool) -> None:
    sent = stage.submit()
    while current(sent).outcome != "infra_error":
        stage.claim()
        expire_leases(now=stage.later(61))
    line = one(tool(stage.ada), sent)
    assert (line["status"], line["reward"], line["reason"]) == ("no_verdict", None, "spoiled")
