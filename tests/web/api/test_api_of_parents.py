"""The kernels to build on: the fastest that differ, and none that its caller may not read or that review holds."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from leaderboard import pipeline
from leaderboard.standings.publish import retract
from leaderboard.submissions.intake import Upload
from leaderboard.submissions.models import Submission, Takedown
from leaderboard.submissions.permissions import release_code

# Kernels that share little, each longer than LEAST_PRINTS prints.
BODIES = {
    "loop": """
    total = 0
    for i in range(len(data)):
        if data[i] > 3:
            total += data[i] * 2
""",
    "while": """
    at = len(data)
    while at > 0 and data[at - 1] != 7:
        at = at - 1
        yield data[:at]
""",
    "class": """
    class Ring:
        def __init__(self, size):
            self.size, self.at = size, [0] * size
""",
    "with": """
    with open(str(data), 'rb') as file:
        parts = {key: [v for v in file] for key in 'ab'}
""",
}


def code(body: str, number: int = 0) -> bytes:
    return f"def custom_kernel(data):{BODIES[body]}    return data\nNUMBER = {number}\n".encode()


@pytest.fixture(autouse=True)
def now(stage) -> None:
    stage.now = timezone.now() - timedelta(hours=2)


def send(stage, owner, body: str, ratio: float, *, mode="ranked", number=0, public=True, **changes: Any) -> Submission:
    upload = Upload("softmax", "cpu", mode, "k.py", code(body, number), **changes)
    submission = pipeline.submit(upload, owner=owner, now=stage.later(1))
    stage.judge(submission, ratio=ratio, score_us=1000 * ratio)
    if public:
        release_code(submission=submission, actor=owner, now=stage.now)
    return submission


def asked(client, **query: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/boards/softmax/cpu/parents", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def numbers(client, **query: Any) -> list[int]:
    return [one["submission"] for one in asked(client, **query)]


def test_near_copies_of_a_faster_kernel_are_left_out(stage, tool) -> None:
    told = {"lineage": {"model": "qwen3-coder", "idea": "unroll"}}
    best = send(stage, stage.ada, "loop", 0.7, **told)
    copy = send(stage, stage.ben, "loop", 0.72, number=1)
    other = send(stage, stage.ben, "while", 0.9)
    client = tool(stage.cleo)
    first, second = asked(client)
    assert (first["submission"], second["submission"]) == (best.pk, other.pk)
    assert (first["user"], first["own"], first["ratio"]) == ("ada", False, pytest.approx(0.7))
    assert (first["model"], first["idea"], first["similarity"]) == ("qwen3-coder", "unroll", 0.0)
    assert first["code"] == best.source
    assert (second["model"], second["similarity"] < 0.7) == ("", True)
    assert numbers(client, similarity=1) == [best.pk, copy.pk, other.pk]
    assert numbers(client, limit=1) == [best.pk]


def test_only_code_that_the_caller_may_build_on_is_listed(stage, tool) -> None:
    private = send(stage, stage.ada, "loop", 0.7, public=False)
    reserved = send(stage, stage.ben, "while", 0.8, licence="LicenseRef-All-Rights-Reserved")
    down = send(stage, stage.ben, "class", 0.85)
    Takedown.objects.create(submission=down, reason="a secret", created_at=stage.now)
    public = send(stage, stage.ben, "with", 0.9)
    assert numbers(tool(stage.cleo)) == [public.pk]
    assert numbers(tool(stage.ada)) == [private.pk, public.pk]
    assert numbers(tool(stage.ben)) == [reserved.pk, public.pk], "an own licence binds others"
    assert [one["own"] for one in asked(tool(stage.ada))] == [True, False]


def test_held_rejected_and_retracted_kernels_are_no_parents(stage, tool) -> None:
    held = send(stage, stage.ada, "loop", 0.3, public=False)
    gone = send(stage, stage.ada, "while", 0.8)
    retract(submission=gone, actor=stage.ada, reason="", now=stage.later(1))
    stands = send(stage, stage.ada, "class", 0.9)
    assert numbers(tool(stage.ada)) == [stands.pk]
    result = held.attempts.get().result
    pipeline.reject_result(result=result, actor=stage.olga, reason="too fast", now=stage.later(1))
    assert numbers(tool(stage.ada)) == [stands.pk]


def test_own_benchmarks_count_unless_the_rules_would_hold_them(stage, tool) -> None:
    send(stage, stage.ada, "loop", 0.3, mode="benchmark", public=False)
    good = send(stage, stage.ada, "while", 0.8, mode="benchmark", public=False)
    send(stage, stage.ada, "class", 0.9, mode="test", public=False)
    send(stage, stage.ben, "with", 0.7, mode="benchmark", public=False)
    assert numbers(tool(stage.ada)) == [good.pk]


def test_the_runs_of_a_kernel_count_together(stage, tool) -> None:
    first = send(stage, stage.ada, "loop", 0.5)
    send(stage, stage.ada, "loop", 0.98)
    second = send(stage, stage.ben, "while", 0.6)
    found = asked(tool(stage.cleo))
    assert [(one["submission"], one["runs"]) for one in found] == [(second.pk, 1), (first.pk, 2)]
    assert found[1]["ratio"] == pytest.approx(0.7)


def test_wrong_questions_are_named(stage, tool) -> None:
    client = tool(stage.ada)
    for field, values in {"limit": (0, 17, "x"), "similarity": (-0.1, 1.1, "x", "nan")}.items():
        for value in values:
            refused = client.get("/api/v1/boards/softmax/cpu/parents", {field: value})
            assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, field), value
    assert client.get("/api/v1/boards/softmax/none/parents").status_code == 404
