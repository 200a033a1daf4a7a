"""Matches over /api/v1: opened, predicted, played by both sides, attached, published."""

from __future__ import annotations

from typing import Any

import pytest

from leaderboard.matches.models import Match, Version
from tests.leaderboard.matches.test_matches import WHY, with_model
from tests.leaderboard.stage import Stage
from tests.web.matches.test_match_pages import ANSWER, played

CODE = "def custom_kernel(data):\n    return data\n"


def post(client: Any, path: str, status: int = 201, headers: dict[str, str] | None = None, **body: Any) -> Any:
    answer = client.post(f"/api/v1{path}", body, content_type="application/json", headers=headers)
    assert answer.status_code == status, answer.content
    return answer.json()


def get(client: Any, path: str, status: int = 200) -> Any:
    answer = client.get(f"/api/v1{path}")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_match_is_opened_predicted_and_played(stage, tool) -> None:
    client = tool(stage.ada)
    made = post(client, "/boards/softmax/cpu/matches", model="acme/coder-7b")
    path = f"/matches/{made['id']}"
    assert (made["machine"], made["predicted"], made["public"], made["url"]) == ("prompts", False, False, path)
    refused = post(client, f"{path}/versions", 409, code=CODE)
    assert refused["errors"][0]["field"] == "prediction"
    told = post(client, f"{path}/predict", bound="memory", speedup=2.0, why=WHY)
    assert told["prediction"]["bound"] == "memory"
    first = post(client, f"{path}/versions", code=CODE)
    assert (first["number"], first["status"], first["correct"]) == (1, "queued", False)
    refused = post(client, f"{path}/versions", 400, code=CODE)
    assert refused["errors"][0]["field"] == "reason"
    post(client, f"{path}/versions", code=CODE, reason="wider loads", expected=1.7)
    answer = post(client, f"{path}/answers", prompt="Write it.", answer=ANSWER, turn=1, lineage={"cost_usd": 0.25})
    assert (answer["prompt"], answer["turn"]) == ("Write it.", 1)
    lineage = Version.objects.get(submission=answer["submission"]).submission.lineage
    assert (lineage.model, lineage.cost_usd) == ("acme/coder-7b", 0.25)
    seen = get(client, path)
    assert seen["versions"] == {"human": 2, "machine": 1}
    assert [one["reason"] for one in seen["human_versions"]] == ["", "wider loads"]


def test_verdicts_give_gates_cases_and_a_result(stage, tool) -> None:
    match = played(stage, human=(None, 0.5), machine=(0.8,))
    seen = get(tool(stage.ada), f"/matches/{match.pk}")
    assert [(one["compiled"], one["correct"], one["faster"]) for one in seen["human_versions"]] == [
        (True, False, False),
        (True, True, True),
    ]
    assert (seen["result"], seen["compiled"], seen["measured"]["bound"]) == ("human", None, "")
    assert seen["said"] == "ada leads: 2.000× by hand, 1.250× by the machine."


def test_version_with_a_key_counts_once(stage, tool) -> None:
    match, client = played(stage), tool(stage.ada)
    path, headers = f"/matches/{match.pk}/versions", {"Idempotency-Key": "one"}
    first = post(client, path, headers=headers, code=CODE)
    assert post(client, path, headers=headers, code=CODE) == first
    assert match.versions.count() == 1
    refused = post(client, path, 409, headers=headers, code=CODE + "# other")
    assert refused["code"] == "key_reused"


def test_batch_of_the_operator_is_attached(stage, tool) -> None:
    match, client = played(stage), tool(stage.ada)
    rows = [{"submission": with_model(stage, match.model), "prompt": "p", "answer": "a"} for _ in range(2)]
    for _ in range(2):
        made = post(client, f"/matches/{match.pk}/attach", 200, submissions=rows)
        assert [(one["number"], one["submission"]) for one in made] == [
            (1, rows[0]["submission"]),
            (2, rows[1]["submission"]),
        ]
    refused = post(client, f"/matches/{match.pk}/attach", 400, submissions=[{"submission": 999_999}])
    assert refused["errors"][0]["field"] == "submissions"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/boards/softmax/cpu/matches", {"model": "two words"}, "model"),
        ("/boards/softmax/cpu/matches", {"model": "m", "machine": "magic"}, "machine"),
        ("/matches/{}/answers", {"prompt": "p", "answer": "no code"}, "answer"),
        ("/matches/{}/answers", {"prompt": "x" * 64_001, "answer": ANSWER}, "prompt"),
        ("/matches/{}/versions", {"code": CODE, "expected": "fast"}, "expected"),
        ("/matches/{}/attach", {"submissions": []}, "submissions"),
    ],
)
def test_wrong_field_is_named(stage, tool, path: str, body: dict[str, Any], field: str) -> None:
    match = played(stage)
    refused = post(tool(stage.ada), path.format(match.pk), 400, **body)
    assert refused["errors"][0]["field"] == field


def test_strangers_read_public_matches_alone(stage, tool, browser) -> None:
    match = played(stage, human=(0.5,), machine=(0.8,))
    get(tool(stage.ben), f"/matches/{match.pk}", 404)
    get(browser(None), f"/matches/{match.pk}", 404)
    assert get(browser(None), "/matches?which=public") == []
    assert get(tool(stage.ben), "/matches") == []
    assert post(tool(stage.ada), f"/matches/{match.pk}/publish", 200)["public"]
    assert get(browser(None), f"/matches/{match.pk}")["machine_versions"][0]["answer"] == ANSWER
    assert [one["id"] for one in get(browser(None), "/matches?which=public")] == [match.pk]
    post(tool(stage.ben), f"/matches/{match.pk}/close", 403)
    assert not post(tool(stage.ada), f"/matches/{match.pk}/withdraw", 200)["public"]
    assert post(tool(stage.ada), f"/matches/{match.pk}/close", 200)["closed_at"]


def test_token_without_submit_sends_nothing(stage: Stage, tool) -> None:
    refused = post(tool(stage.ada, "read"), "/boards/softmax/cpu/matches", 403, model="m")
    assert refused["code"] == "scope_missing"
    assert not Match.objects.exists()
