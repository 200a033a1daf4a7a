"""`Idempotency-Key`: a repeated submission is taken once."""

import threading
from datetime import timedelta

from leaderboard.submissions.models import Submission

SENT = {"board": "softmax", "hardware": "cpu", "mode": "test", "code": "def custom_kernel(data):\n    return data\n"}


def post(client, key: str, **changes):
    headers = {"Idempotency-Key": key}
    return client.post("/api/v1/submissions", SENT | changes, content_type="application/json", headers=headers)


def test_idempotency_key_gives_the_same_answer_to_the_same_submission(stage, tool) -> None:
    client = tool(stage.ada)
    first, again = post(client, "k-1"), post(client, "k-1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert ("Idempotent-Replayed" in first, again["Idempotent-Replayed"]) == (False, "true")
    assert Submission.objects.count() == 1
    assert post(client, "k-2").json()["id"] != first.json()["id"]


def test_idempotency_key_of_another_submission_is_refused_with_a_sentence(stage, tool) -> None:
    client = tool(stage.ada)
    post(client, "k-1")
    answer = post(client, "k-1", mode="ranked")
    assert answer.status_code == 409
    assert "send a new key with each submission" in answer.json()["detail"]
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"
    assert post(client, "a b").status_code == 400
    assert post(client, "x" * 256).status_code == 400
    assert Submission.objects.count() == 1


def test_idempotency_key_is_an_accounts_own(stage, tool) -> None:
    assert post(tool(stage.ada), "k-1").json()["id"] != post(tool(stage.cleo), "k-1").json()["id"]


def test_idempotency_key_of_a_refused_submission_may_be_used_again(stage, tool) -> None:
    client = tool(stage.ada)
    assert post(client, "k-1", board="nowhere").status_code == 404
    assert post(client, "k-1").status_code == 201


def test_idempotency_key_is_forgotten_after_a_day(stage, tool) -> None:
    from leaderboard.web.models import KeyedAnswer

    client = tool(stage.ada)
    first = post(client, "k-1").json()
    kept = KeyedAnswer.objects.get()
    KeyedAnswer.objects.update(created_at=kept.created_at - timedelta(hours=25))
    assert post(client, "k-1", mode="ranked").json()["id"] != first["id"]
    assert KeyedAnswer.objects.count() == 1


def test_idempotency_key_sent_twice_at_once_is_taken_once(transactional_db, tool) -> None:
    from django.db import connection

    from tests.leaderboard.stage import make_stage

    stage, answers = make_stage(), []
    clients = [tool(stage.ada) for _ in range(4)]

    def send(client) -> None:
        answers.append(post(client, "k-1").json())
        connection.close()

    threads = [threading.Thread(target=send, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert all(answer == answers[0] for answer in answers)
    assert Submission.objects.count() == 1
