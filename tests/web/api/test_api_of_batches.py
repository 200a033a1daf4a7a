"""Batches over the API: sending, reading, waiting, following, cancelling; and feedback as JSON and as text."""

import json
import threading
import time
from pathlib import Path

import httpx
import pytest
from django.utils import timezone
from httpx_sse import connect_sse
from jsonschema import Draft202012Validator

from leaderboard.pipeline import clear_result
from leaderboard.review.models import Finding
from tests.web.live_site import live_site

CODE = "def custom_kernel(data):\n    return data\n"
SCHEMA = Path(__file__).parents[3] / "docs" / "feedback.schema.json"
FIELDS = set(
    """
    id state mode size arrived budget_s spent_s bar stages outcomes created_at settled_at feedback events candidates
    """.split()  # noqa: SIM905
)


def body(size=2, **changes):
    candidates = [{"code": f"{CODE}N = {number}\n"} for number in range(size)]
    return {"board": "softmax", "hardware": "cpu", "mode": "test", "budget_s": 60, "candidates": candidates} | changes


def post(client, sent, key=None):
    headers = {"Idempotency-Key": key} if key else {}
    return client.post("/api/v1/batches", sent, content_type="application/json", headers=headers)


def errors_of(answer):
    return {one["field"]: one["message"] for one in answer.json()["errors"]}


def test_a_batch_from_the_door_to_its_feedback(stage, tool) -> None:
    client = tool(stage.ada)
    answer = post(client, body(3))
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert set(made) == FIELDS
    assert answer.headers["Location"] == f"/api/v1/batches/{made['id']}"
    assert (made["state"], made["size"], made["arrived"], made["stages"]) == ("running", 3, 0, {"queued": 3})
    assert [(one["number"], one["status"], one["arrival"]) for one in made["candidates"]] == [
        (1, "queued", None),
        (2, "queued", None),
        (3, "queued", None),
    ]
    stage.report(stage.claim(), outcome="wrong", reason="nan", message="There are NaNs.")
    stage.report(stage.claim(), outcome="build_error", reason="syntax", message="submission.py, line 3: invalid syntax")
    seen = client.get(f"/api/v1/batches/{made['id']}").json()
    assert (seen["arrived"], seen["outcomes"]) == (2, {"wrong": 1, "build_error": 1})
    assert seen["stages"] == {"queued": 1, "done": 2}
    assert seen["spent_s"] == 2.0
    (first, second) = client.get(seen["feedback"]).json()
    for one in (first, second):
        Draft202012Validator(json.loads(SCHEMA.read_text())).validate(one)
    assert (first["about"]["candidate"], first["about"]["arrival"], first["outcome"]) == (1, 1, "wrong")
    assert second["diagnostics"] == [{"file": "submission.py", "line": 3, "column": None, "message": "invalid syntax"}]
    assert client.get(f"{seen['feedback']}?after=1").json() == [second]
    assert client.get(f"{seen['feedback']}?limit=1").json() == [first]
    stage.report(stage.claim())
    seen = client.get(f"/api/v1/batches/{made['id']}?wait=60").json()
    assert (seen["state"], seen["arrived"], seen["settled_at"] is None) == ("done", 3, False)
    assert client.get(f"{seen['feedback']}?after=3&wait=60").json() == [], "all has come, so it does not wait"


def test_a_candidate_judged_before_names_its_submission_unless_fresh_is_asked_for(stage, tool) -> None:
    client = tool(stage.ada)
    (first,) = post(client, body(1)).json()["candidates"]
    assert first["same_as"] is None
    stage.report(stage.claim(), outcome="wrong", reason="nan", message="There are NaNs.")
    made = post(client, body(1)).json()
    assert (made["state"], made["arrived"], made["spent_s"]) == ("done", 1, 0.0)
    assert (made["candidates"][0]["outcome"], made["candidates"][0]["same_as"]) == ("wrong", first["submission"])
    (told,) = client.get(made["feedback"]).json()
    assert (told["reason"], told["message"], told["about"]["status"]) == ("nan", "There are NaNs.", "done")
    fresh = post(client, body(1, fresh=True)).json()
    assert (fresh["state"], fresh["candidates"][0]["same_as"]) == ("running", None)
    refused = post(client, body(1, fresh="perhaps"))
    assert refused.status_code == 400
    assert "fresh" in errors_of(refused)


def test_batches_are_listed_and_belong_to_their_account(stage, tool) -> None:
    client = tool(stage.ada)
    first, second = (post(client, body(1)).json()["id"] for _ in range(2))
    assert [one["id"] for one in client.get("/api/v1/batches").json()] == [second, first]
    assert [one["id"] for one in client.get("/api/v1/batches?limit=1").json()] == [second]
    stranger = tool(stage.cleo)
    assert stranger.get("/api/v1/batches").json() == []
    for part in ("", "/feedback"):
        assert stranger.get(f"/api/v1/batches/{first}{part}").status_code == 404
    assert stranger.post(f"/api/v1/batches/{first}/cancel").status_code == 404


def test_a_key_repeats_the_answer_of_a_batch(stage, tool) -> None:
    client = tool(stage.ada)
    first, again = post(client, body(), "one"), post(client, body(), "one")
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert stage.ada.submissions.count() == 2
    other = post(client, body(3), "one")
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")


def test_cancelling_a_batch_over_the_api(stage, tool) -> None:
    client = tool(stage.ada)
    address = f"/api/v1/batches/{post(client, body()).json()['id']}/cancel"
    assert tool(stage.ada, "read").post(address).status_code == 403
    ended = client.post(address).json()
    assert (ended["state"], ended["arrived"], ended["stages"]) == ("cancelled", 2, {"cancelled": 2})
    again = client.post(address)
    assert (again.status_code, again.json()["code"]) == (409, "already_finished")


def test_a_spent_budget_has_a_state_and_feedback_that_says_so(stage, tool) -> None:
    stage.now, client = timezone.now(), tool(stage.ada)
    made = post(client, body(2, budget_s=1)).json()
    stage.report(stage.claim())
    seen = client.get(f"/api/v1/batches/{made['id']}").json()
    assert (seen["state"], seen["arrived"]) == ("budget_spent", 2)
    judged, ended = client.get(seen["feedback"]).json()
    assert judged["outcome"] == "passed"
    assert (ended["outcome"], ended["reason"], ended["stage"]) == ("", "budget_spent", "sent")
    assert ended["about"]["status"] == "cancelled"
    assert "1 device seconds are spent; this candidate was not judged, and cost no quota" in ended["message"]
    submission = client.get(f"/api/v1/submissions/{ended['about']['submission']}").json()
    assert (submission["status"], submission["reason"]) == ("cancelled", "budget_spent")


@pytest.mark.parametrize(
    ("changes", "field", "status", "words"),
    [
        ({"candidates": []}, "candidates", 400, "at least 1"),
        ({"candidates": [{"code": CODE}] * 257}, "candidates", 400, "no more than 256"),
        ({"candidates": [{"code": CODE}, {}]}, "candidates.1.code", 400, "required"),
        ({"candidates": [{"code": CODE}, {"code": ""}]}, "candidates.1.code", 400, "empty"),
        ({"candidates": [{"code": CODE, "board": "nope"}]}, "candidates.0.board", 404, "no such board"),
        ({"mode": "profile"}, "mode", 400, "not a valid choice"),
        ({"budget_s": 0}, "budget_s", 400, "greater than or equal to 1"),
        ({"budget_s": 86_401}, "budget_s", 400, "less than or equal to 86400"),
    ],
)
def test_a_wrong_batch_names_field_and_way_out(stage, tool, changes, field, status, words) -> None:
    answer = post(tool(stage.ada), body() | changes)
    assert answer.status_code == status
    assert words in errors_of(answer)[field]
    assert not stage.ada.submissions.exists()


def test_a_batch_has_a_larger_body_than_a_submission_and_a_limit(stage, tool) -> None:
    client = tool(stage.ada)
    large = [{"code": "#" + "\n" * 900_000 + str(number)} for number in range(4)]
    assert post(client, body(candidates=large)).status_code == 201
    answer = post(client, body(candidates=[{"code": "#" + "\n" * 900_000}] * 5))
    assert (answer.status_code, "at most 4,000,000" in answer.json()["detail"]) == (413, True)
    answer = post(client, body(candidates=[{"code": "#" * 1_000_000}] * 13))
    assert (answer.status_code, "4,000,000 bytes together" in answer.json()["detail"]) == (413, True)


def test_limits_for_candidates_say_when_to_try_again(stage, tool, settings) -> None:
    settings.CANDIDATES_AT_ONCE = 3
    client = tool(stage.ada)
    assert post(client, body(2)).status_code == 201
    answer = post(client, body(2))
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_unfinished")
    assert answer.headers["Retry-After"] == "30"


def test_feedback_on_a_submission_as_json_and_as_text(stage, tool) -> None:
    submission = stage.submit()
    client, address = tool(stage.ada), f"/api/v1/submissions/{submission.pk}/feedback"
    waiting = client.get(address).json()
    assert (waiting["about"]["status"], waiting["about"]["candidate"], waiting["outcome"]) == ("queued", None, "")
    stage.judge(submission, outcome="runtime_error", reason="raised", message="x" * 500)
    told = client.get(address).json()
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(told)
    assert (told["outcome"], told["stage"]) == ("runtime_error", "built")
    text = client.get(f"{address}?format=text&limit=200")
    assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert len(text.content.decode()) == 200
    assert text.content.decode().startswith("Outcome: runtime_error (raised). Stage reached: built.")
    assert "limit" in errors_of(client.get(f"{address}?format=text&limit=99"))
    assert "format" in errors_of(client.get(f"{address}?format=csv"))
    assert tool(stage.cleo).get(address).status_code == 404


def test_the_bar_of_a_batch_travels_with_each_job(stage, tool) -> None:
    client = tool(stage.ada)
    made = post(client, body(2, mode="benchmark", bar=0.5)).json()
    assert made["bar"] == 0.5
    assert [stage.claim().bar for _ in range(2)] == [0.5, 0.5]
    post(client, body(1, mode="benchmark"))
    stage.submit(mode="benchmark")
    assert [stage.claim().bar for _ in range(2)] == [None, None]


def test_a_bar_ends_benchmarks_alone_and_has_limits(stage, tool) -> None:
    client = tool(stage.ada)
    for sent in ({"mode": "ranked", "bar": 1}, *({"mode": "benchmark", "bar": bar} for bar in (0, 1e9, "nan", "x"))):
        answer = post(client, body(1, **sent))
        assert answer.status_code == 400, sent
        assert "bar" in errors_of(answer), sent
    assert "only mode 'benchmark' may end early" in errors_of(post(client, body(1, mode="ranked", bar=1)))["bar"]


def test_a_held_result_names_the_rules_about_its_run_alone(stage, tool) -> None:
    submission = stage.submit()
    result = stage.judge(submission, ratio=0.3)
    copied = "87 % of its code stands in submission 3."
    Finding.objects.create(result=result, rule="similar_source", sentence=copied, created_at=stage.now)
    address = f"/api/v1/submissions/{submission.pk}/feedback"
    told = tool(stage.ada).get(address)
    assert (told.json()["about"]["review"], told.json()["about"]["published"]) == ("under_review", False)
    [held] = [one for one in told.json()["held_by"] if one["rule"] == "faster_than_best"]
    assert (held["case"], held["threshold"], held["value"]) == ("", 2.0, pytest.approx(1 / 0.3))
    assert "similar_source" not in told.content.decode()
    text = tool(stage.ada).get(f"{address}?format=text").content.decode()
    assert "It does not rank: under review." in text
    assert "Held by faster_than_best: 3.33× as fast as the baseline" in text
    assert copied not in text
    clear_result(result=result, actor=stage.olga, reason="read it", now=stage.later(1))
    assert tool(stage.ada).get(address).json()["held_by"] == []


def test_feedback_on_a_benchmark_names_what_would_hold_it(stage, tool) -> None:
    fair, fast = stage.submit(mode="benchmark"), stage.submit(mode="benchmark")
    stage.judge(fair, ratio=0.8)
    stage.judge(fast, ratio=0.3)
    told = [tool(stage.ada).get(f"/api/v1/submissions/{one.pk}/feedback").json() for one in (fair, fast)]
    assert [[one["rule"] for one in found["held_by"]] for found in told] == [[], ["faster_than_best"]]
    assert not Finding.objects.exists()


def test_feedback_on_code_that_was_taken_down_has_no_text(stage, tool) -> None:
    from leaderboard.submissions.models import Takedown

    submission = stage.submit()
    stage.judge(submission, outcome="wrong", message="kernel.py, line 1: mine")
    Takedown.objects.create(submission=submission, reason="a court's order", created_at=stage.now)
    told = tool(stage.ada).get(f"/api/v1/submissions/{submission.pk}/feedback").json()
    assert (told["outcome"], told["message"], told["diagnostics"]) == ("wrong", "", [])
    assert "taken down" in told["problem"]


@pytest.fixture
def live(transactional_db):
    """Return a stage beside a running site, with a client of ada's."""
    from leaderboard.accounts.tokens import issue_token
    from tests.leaderboard.stage import make_stage

    stage = make_stage()
    stage.now = timezone.now()
    _, text = issue_token(owner=stage.ada, name="live", scopes=("read", "submit"), now=timezone.now())
    told = {"headers": {"Authorization": f"Bearer {text}"}, "timeout": 30, "trust_env": False}
    with live_site() as site, httpx.Client(base_url=site.address, **told) as client:
        yield stage, client


def test_waiting_answers_as_soon_as_a_verdict_comes(live) -> None:
    stage, client = live
    made = client.post("/api/v1/batches", json=body(2)).json()
    answers = []

    def wait(address):
        begin = time.monotonic()
        answers.append((client.get(address).json(), time.monotonic() - begin))

    def played(address):
        thread = threading.Thread(target=wait, args=(address,))
        thread.start()
        time.sleep(1)
        stage.report(stage.claim())
        thread.join(20)

    assert client.get(f"{made['feedback']}?wait=1").json() == [], "its time is up"
    played(f"{made['feedback']}?wait=30")
    played(f"/api/v1/batches/{made['id']}?wait=30")
    ((first,), took_s), (batch, waited_s) = answers
    assert first["about"]["arrival"] == 1
    assert (batch["state"], batch["arrived"]) == ("done", 2)
    assert 0.9 < took_s < 9, "woken by the verdict, not by the time"
    assert 0.9 < waited_s < 9


def test_the_stream_of_a_batch_follows_resumes_and_ends(live) -> None:
    stage, client = live
    made = client.post("/api/v1/batches", json=body(2)).json()
    heard = []

    def follow(**headers):
        found = []
        with connect_sse(client, "GET", made["events"], headers=headers) as source:
            found.extend((event.event, event.id, json.loads(event.data)) for event in source.iter_sse())
        return found

    thread = threading.Thread(target=lambda: heard.extend(follow()))
    thread.start()
    time.sleep(1)
    stage.report(stage.claim(), outcome="wrong")
    stage.report(stage.claim())
    thread.join(20)
    assert [(kind, number) for kind, number, _ in heard] == [("feedback", "1"), ("feedback", "2"), ("done", "2")]
    assert [told["outcome"] for _, _, told in heard[:2]] == ["wrong", "passed"]
    assert heard[-1][2]["state"] == "done"
    resumed = follow(**{"Last-Event-ID": "1"})
    assert [(kind, number) for kind, number, _ in resumed] == [("feedback", "2"), ("done", "2")]
    assert client.get("/api/v1/batches/999999/events").status_code == 404
