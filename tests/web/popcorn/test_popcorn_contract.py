"""Every call and every error of a competitor's `popcorn`, field by field."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.competitions.access import issue_codes
from leaderboard.competitions.models import Board, Competition, ProblemVersion
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.teams import take_pseudonym
from leaderboard.judging.models import QUEUED
from leaderboard.operations import bans, maintenance
from leaderboard.submissions.models import Submission, Takedown
from leaderboard.submissions.permissions import release_code
from leaderboard.web import limits
from leaderboard.web.popcorn import shapes
from runner.wire import MODES
from tests.leaderboard.stage import make_board, make_problem
from tests.web.popcorn.client import multipart

CODE = b"def custom_kernel(data):\n    return data\n"
BOUNDARY = "multipart/form-data; boundary=popped"
CHECKED = {"stage": "check", "name": "rows=8", "public": True, "good": True, "message": ""}
TIMED = {"stage": "time", "name": "rows=512", "public": True, "good": True, "measured_us": 900.0}
HIDDEN = CHECKED | {"name": "secret 1", "public": False}


def post(client: Client, code: bytes = CODE, board: str = "softmax", gpu: str = "cpu", mode: str = "test", **told: Any):
    body = multipart(code, told.get("filename", "kernel.py"))["content"]
    return client.post(f"/popcorn/submission/{board}/{gpu}/{mode}", body, content_type=BOUNDARY)


def is_shown(answer: Any, status: int, *words: str) -> None:
    """The client shows an error from a string `detail` alone."""
    assert answer.status_code == status, answer.content
    detail = answer.json()["detail"]
    assert isinstance(detail, str)
    assert all(word in detail for word in words), detail


def describe(text: str) -> None:
    """Give every board a new version of its problem with this description."""
    problem, specification = Board.objects.get().version.problem, make_problem(description=text)
    told = {"digest": specification.digest, "bundle": specification.to_bundle()}
    Board.objects.update(version=ProblemVersion.objects.create(problem=problem, **told))


# --- reading, without a token ---


def test_health_answers_ok() -> None:
    assert Client().get("/popcorn/health").json() == {"status": "ok"}


def test_leaderboards_have_task_name_and_description_and_no_secret_seed(stage) -> None:
    make_board("matmul", "H200")
    found = {board["name"]: board for board in Client().get("/popcorn/leaderboards").json()}
    assert set(found) == {"matmul", "softmax"}
    board = found["softmax"]
    assert (type(board["id"]), board["description"], board["gpu_types"]) == (int, "Softmax of each row.", ["cpu"])
    assert (board["deadline"], board["visibility"]) == (None, "public")
    assert board["task"]["lang"] == "py"
    assert board["task"]["benchmarks"][0]["rows"] == 512
    assert board["task"]["ranked_timeout"] == 180.0
    assert "secret_seed" not in board
    assert "files" not in board["task"]


def test_leaderboards_without_a_description_show_their_title(stage) -> None:
    describe("")
    assert Client().get("/popcorn/leaderboards").json()[0]["description"] == "Row softmax"


def test_leaderboards_with_a_long_description_show_its_beginning(stage) -> None:
    """A board that takes more lines than the terminal has is invisible in the client's chooser."""
    lines = [f"Line {number}." for number in range(40)]
    describe("\n\n".join(lines))
    shown = Client().get("/popcorn/leaderboards").json()[0]["description"]
    assert shown.split("\n") == [*lines[: shapes.DESCRIPTION_LINES], "…"]


def test_leaderboards_of_a_closed_competition_are_listed_for_insiders_alone(stage, cli) -> None:
    Competition.objects.update(visibility="closed")
    assert Client().get("/popcorn/leaderboards").json() == []
    assert cli(stage.cleo).get("/popcorn/leaderboards").json() == []
    for path in ("gpus/softmax", "submissions/softmax/cpu", "submission_count/softmax/cpu", "runner_queue/cpu"):
        assert cli(stage.cleo).get(f"/popcorn/{path}").status_code == 404
        assert cli(stage.olga).get(f"/popcorn/{path}").status_code == 200
    is_shown(post(cli(stage.cleo)), 404, "board")
    assert len(cli(stage.olga).get("/popcorn/leaderboards").json()) == 1


def test_gpus_are_names_of_hardware(stage) -> None:
    make_board("softmax", "H200")
    assert Client().get("/popcorn/gpus/softmax").json() == ["H200", "cpu"]
    assert Client().get("/popcorn/gpus/SOFTMAX").json() == ["H200", "cpu"]
    for unknown in ("sofmax", "a b", "%00", "x" * 500):
        is_shown(Client().get(f"/popcorn/gpus/{unknown}"), 404, "leaderboard", "choose from the list")


def test_runner_queue_counts_jobs_and_runners(stage) -> None:
    stage.submit()
    found = Client().get("/popcorn/runner_queue/CPU").json()
    assert found == {
        "runner": "Photofinish",
        "gpu": "cpu",
        "queued_jobs": 1,
        "running_jobs": 0,
        "available_runners": 0,
        "status": "no machine",
        "error": None,
    }
    is_shown(Client().get("/popcorn/runner_queue/B200"), 404, "gpu", "no leaderboard")


def test_ranking_gives_seconds_and_is_cut_by_limit_and_offset(stage, cli) -> None:
    for owner, ratio in ((stage.ada, 0.9), (stage.ben, 0.5)):
        stage.judge(stage.submit(owner), ratio=ratio, score_us=1000 * ratio)
    ben, ada = Client().get("/popcorn/submissions/softmax/cpu").json()
    assert (ben["rank"], ben["user_name"], ben["user_id"], ben["gpu_type"]) == (1, "ben", "ben", "cpu")
    assert ben["submission_score"] == pytest.approx(0.0005)
    assert (ben["submission_name"], ben["leaderboard_name"]) == ("submission.py", "softmax"), "its code is private"
    assert cli(stage.ben).get("/popcorn/submissions/softmax/cpu").json()[0]["submission_name"] == "kernel.py"
    release_code(submission=stage.ben.submissions.get(), actor=stage.ben, now=stage.now)
    assert Client().get("/popcorn/submissions/softmax/cpu").json()[0]["submission_name"] == "kernel.py"
    ben, ada = Client().get("/popcorn/submissions/softmax/cpu").json()
    assert type(ben["submission_id"]) is int
    assert ben["submission_time"].startswith("2026-")
    assert Client().get("/popcorn/submissions/softmax/CPU?limit=1&offset=1").json() == [ada]
    is_shown(Client().get("/popcorn/submissions/softmax/cpu?limit=101"), 400, "limit", "100")
    is_shown(Client().get("/popcorn/submissions/softmax/B200"), 404, "gpu", "it has cpu")


def test_ranking_names_the_files_of_public_code_alone(stage) -> None:
    """The name of a file can reveal the technique, or the person behind a pseudonym."""
    sent = stage.submit()
    stage.judge(sent)

    def named() -> str:
        return str(Client().get("/popcorn/submissions/softmax/cpu").json()[0]["submission_name"])

    assert named() == "submission.py"
    release_code(submission=sent, actor=stage.ada, now=timezone.now())
    assert named() == "kernel.py"
    Takedown.objects.create(submission=sent, reason="a copy", created_at=timezone.now())
    assert named() == "submission.py"


def test_submission_count_counts_lines_of_a_ranking(stage, monkeypatch) -> None:
    for owner in (stage.ada, stage.ben):
        stage.judge(stage.submit(owner))
    take_pseudonym(entrant=Entrant.objects.get(name="ben"), actor=stage.ben, pseudonym="Grey Fox", now=stage.now)
    monkeypatch.setattr("leaderboard.web.boards.standing.lines_of", lambda *_: pytest.fail("it read all lines"))
    path = "/popcorn/submission_count/softmax/cpu"
    assert Client().get(path).json() == {"count": 2}
    for name, count in (("ada", 1), ("Grey Fox", 1), ("ben", 0), ("grey fox", 0), ("cleo", 0)):
        assert Client().get(path, {"user_id": name}).json() == {"count": count}, name


# --- tokens ---


PRIVATE = (
    ("get", "/popcorn/user/submissions"),
    ("get", "/popcorn/user/submissions/1"),
    ("delete", "/popcorn/user/submissions/1"),
    ("post", "/popcorn/user/join"),
    ("post", "/popcorn/submission/softmax/cpu/test"),
    ("post", "/popcorn/softmax/cpu/test"),
)


@pytest.mark.parametrize(("method", "path"), PRIVATE)
def test_cli_id_that_is_missing_or_unknown_is_refused_with_the_way_in(stage, browser, method, path) -> None:
    way_in = ("X-Popcorn-Cli-Id", "/tokens", "~/.popcorn.yaml")
    is_shown(getattr(browser(stage.olga), method)(path), 401, "missing", *way_in)  # a session is not enough
    for wrong in ("", "None", "pf_unknown", "pf_" + "x" * 5000):
        is_shown(getattr(Client(headers={"X-Popcorn-Cli-Id": wrong}), method)(path), 401, "unknown", *way_in)
        is_shown(getattr(Client(headers={"Authorization": f"Bearer {wrong}"}), method)(path), 401, "unknown", *way_in)


def test_cli_id_without_the_scope_submit_only_reads(stage, cli) -> None:
    client = cli(stage.ada, "read")
    assert client.get("/popcorn/user/submissions").status_code == 200
    is_shown(post(client), 403, "submit", "/tokens")
    assert not Submission.objects.exists()


def test_calls_are_limited_by_account_as_those_of_the_api(stage, cli, monkeypatch) -> None:
    monkeypatch.setattr(limits, "API_USER", limits.Limit("api user", 1, 60))
    limits.floods.clear()
    client = cli(stage.ada)
    assert client.get("/popcorn/user/submissions").status_code == 200
    refused = client.get("/popcorn/user/submissions")
    is_shown(refused, 429, "Too many requests")
    assert int(refused["Retry-After"]) > 0


# --- sending ---


@pytest.mark.parametrize(("mode", "ours"), [("test", "test"), ("benchmark", "benchmark"), ("leaderboard", "ranked")])
def test_submission_is_accepted_with_an_integer_id(stage, cli, mode, ours) -> None:
    answer = post(cli(stage.ada), mode=mode)
    assert answer.status_code == 202
    made, found = Submission.objects.get(), answer.json()
    assert (made.mode, made.filename, made.source.encode()) == (ours, "kernel.py", CODE)
    assert found["status"] == "accepted"
    assert found["details"] == {"id": made.pk, "job_status_id": made.attempts.get().pk}
    assert (found["runner_queue"]["gpu"], found["runner_queue"]["queued_jobs"]) == ("cpu", 1)


def test_submission_finds_board_and_hardware_in_any_letter_case(stage, cli) -> None:
    board = make_board("Matmul", "H200")
    assert post(cli(stage.ada), board="matmul", gpu="h200").status_code == 202
    assert Submission.objects.get().board == board


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"board": "sofmax"}, 404, ("board", "sofmax", "did you mean softmax")),
        ({"gpu": "B200"}, 400, ("hardware", "B200", "it has cpu")),
        ({"mode": "fast"}, 400, ("mode", "fast", "leaderboard")),
        ({"code": b""}, 400, ("code", "empty")),
        ({"code": b"\xff\xfe"}, 400, ("code", "UTF-8")),
        ({"code": b"PK\x03\x04zip", "filename": "kernel.zip"}, 400, ("filename", ".py")),
        ({"code": b"x" * 1_000_001}, 413, ("code", "1,000,000")),
        ({"code": b"#!POPCORN board\n" + CODE}, 400, ("code", "one name")),
        ({"filename": "kernel.rs"}, 400, ("filename", ".py")),
        ({"filename": ""}, 400, ("file", "missing")),
    ],
    ids=lambda value: str(value)[:40],
)
def test_submission_that_is_refused_shows_field_and_way_out(stage, cli, changes, status, words) -> None:
    is_shown(post(cli(stage.ada), **changes), status, *words)
    assert not Submission.objects.exists()


def test_submission_of_a_word_like_stream_is_no_error(stage, cli) -> None:
    assert post(cli(stage.ada), CODE + b"# on a stream\n").status_code == 202


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data"])
def test_submission_in_a_body_of_another_kind_is_refused(stage, cli, content_type) -> None:
    answer = cli(stage.ada).post("/popcorn/submission/softmax/cpu/test", b"{}", content_type=content_type)
    assert answer.status_code in (400, 415)
    assert isinstance(answer.json()["detail"], str)


def test_submission_after_the_deadline_is_refused(stage, cli) -> None:
    Competition.objects.update(deadline=timezone.now() - timedelta(days=1))
    is_shown(post(cli(stage.ada)), 409, "board", "deadline")


def test_submission_beyond_the_quota_is_refused_and_stays_refused_after_a_delete(stage, cli) -> None:
    Competition.objects.update(quotas={"test": {"capacity": 1, "per_day": 1}})
    client = cli(stage.ada)
    pk = post(client).json()["details"]["id"]
    assert client.delete(f"/popcorn/user/submissions/{pk}").status_code == 200
    refused = post(client)
    is_shown(refused, 429)
    assert int(refused["Retry-After"]) > 0


def test_submission_without_the_accepted_rules_names_their_page(stage, cli) -> None:
    Competition.objects.update(rules="Be fair.")
    answer = post(cli(stage.ada))
    is_shown(answer, 409, "rules")


# --- own submissions ---


def test_details_of_a_queued_submission_have_a_queue_and_no_run(stage, cli) -> None:
    submission = stage.submit()
    found = cli(stage.ada).get(f"/popcorn/user/submissions/{submission.pk}").json()
    assert (found["id"], found["done"], found["runs"]) == (submission.pk, False, [])
    assert found["job"] == {"status": QUEUED, "error": None, "last_heartbeat": None}
    assert found["runner_queue"]["queued_jobs"] == 1
    assert found["code"] == submission.source


def test_details_of_a_ranked_pass_have_the_score_in_seconds(stage, cli) -> None:
    submission = stage.submit()
    stage.judge(submission, score_us=900.0)
    found = cli(stage.ada).get(f"/popcorn/user/submissions/{submission.pk}").json()
    board = Client().get("/popcorn/leaderboards").json()[0]
    assert (found["leaderboard_id"], found["leaderboard_name"]) == (board["id"], "softmax")
    assert found["user_id"] == str(stage.ada.pk)
    assert (found["file_name"], found["done"], found["runner_queue"]) == ("kernel.py", True, None)
    assert found["job"]["status"] == "succeeded"
    run, secret = found["runs"]  # the client demands a secret run that passed, else it reports a failure
    assert run["score"] == pytest.approx(0.0009)
    assert (run["mode"], run["secret"], run["runner"], run["passed"]) == ("leaderboard", False, "cpu", True)
    assert secret == run | {"secret": True, "score": None}
    assert run["start_time"] <= run["end_time"]
    assert run["result"] is None  # of a ranked run, whose cases are secret


def test_details_of_a_benchmark_have_the_public_cases_alone(stage, cli) -> None:
    submission = stage.submit(mode="benchmark")
    stage.judge(submission, cases=(CHECKED, HIDDEN, TIMED))
    (run,) = cli(stage.ada).get(f"/popcorn/user/submissions/{submission.pk}").json()["runs"]
    assert run["result"] == {
        "check": "pass",
        "test-count": 1,
        "test.0.spec": "rows=8",
        "test.0.status": "pass",
        "benchmark-count": 1,
        "benchmark.0.spec": "rows=512",
        "benchmark.0.status": "pass",
        "benchmark.0.mean": 900_000.0,
    }


@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        ("wrong", "failed", ("Wrong result.", "row 3 differs")),
        ("timeout", "timed_out", ("Out of time.",)),
        ("policy", "failed", ("Against the rules.",)),
        ("unmeasurable", "failed", ("Correct, but it could not be timed.",)),
        ("infra_error", "failed", ("Our fault",)),
    ],
)
def test_details_of_a_failure_end_the_client_with_the_verdict(stage, cli, outcome, status, words) -> None:
    """A failed test must not look like a success."""
    submission = stage.submit(mode="test")
    logs = {"stdout": "", "stderr": "x" * 5_000 + "Traceback"}
    stage.judge(submission, outcome=outcome, message="row 3 differs", cases=(CHECKED | {"good": False},), logs=logs)
    found = cli(stage.ada).get(f"/popcorn/user/submissions/{submission.pk}").json()
    assert found["job"]["status"] == status
    assert all(word in found["job"]["error"] for word in words)
    assert f"/submissions/{submission.pk}" in found["job"]["error"]
    (run,) = found["runs"]
    assert (run["passed"], run["score"], run["result"]["check"]) == (False, None, "fail")
    assert run["result"]["test.0.status"] == "fail"
    assert run["diagnostics"] == {"stdout": "", "stderr": ("x" * 5_000 + "Traceback")[-shapes.OUTPUT_CHARS :]}


def test_details_of_a_held_result_say_that_a_person_looks(stage, cli) -> None:
    submission = stage.submit()
    stage.judge(submission, ratio=0.01, score_us=10.0)
    found = cli(stage.ada).get(f"/popcorn/user/submissions/{submission.pk}").json()
    assert found["job"]["status"] == "succeeded"
    assert "A person looks at this result before it ranks." in found["job"]["error"]
    assert [run["secret"] for run in found["runs"]] == [False, True]
    is_shown(cli(stage.ada).delete(f"/popcorn/user/submissions/{submission.pk}"), 409, "submission")


def test_submissions_of_another_person_do_not_exist(stage, cli) -> None:
    submission = stage.submit()
    path = f"/popcorn/user/submissions/{submission.pk}"
    for pk in (path, "/popcorn/user/submissions/999999999", "/popcorn/user/submissions/" + "9" * 30):
        is_shown(cli(stage.cleo).get(pk), 404, "submission", "popcorn submissions list")
        is_shown(cli(stage.cleo).delete(pk), 404, "submission")


def test_list_has_own_submissions_newest_first(stage, cli) -> None:
    passed, queued, _ = stage.submit(), stage.submit(mode="test"), stage.submit(stage.ben)
    stage.judge(passed, score_us=900.0)
    make_board("matmul")
    client = cli(stage.ada)
    newest, oldest = client.get("/popcorn/user/submissions?leaderboard=softmax&limit=50").json()
    assert (newest["id"], newest["done"], newest["runs"]) == (queued.pk, False, [])
    assert set(oldest) == {"id", "leaderboard_name", "file_name", "submission_time", "done", "runs"}
    assert oldest["runs"] == [{"gpu_type": "cpu", "score": pytest.approx(0.0009)}]
    assert (oldest["leaderboard_name"], oldest["file_name"], oldest["done"]) == ("softmax", "kernel.py", True)
    assert client.get("/popcorn/user/submissions?limit=1&offset=1").json() == [oldest]
    assert client.get("/popcorn/user/submissions?leaderboard=matmul").json() == []
    assert client.get("/popcorn/user/submissions?leaderboard=no such").json() == []


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "offset=-1", "leaderboard=" + "x" * 65])
def test_list_with_a_wrong_limit_is_refused(stage, cli, query) -> None:
    is_shown(cli(stage.ada).get(f"/popcorn/user/submissions?{query}"), 400, query.partition("=")[0])


def test_delete_cancels_an_unfinished_submission(stage, cli) -> None:
    submission = stage.submit()
    answer = cli(stage.ada).delete(f"/popcorn/user/submissions/{submission.pk}")
    assert answer.json() == {"status": "ok", "submission_id": submission.pk}
    found = cli(stage.ada).get(f"/popcorn/user/submissions/{submission.pk}").json()
    assert (found["done"], found["job"]["status"]) == (True, "failed")
    assert "Cancelled" in found["job"]["error"]


def test_delete_takes_a_kernel_off_its_board_and_keeps_the_submission(stage, cli) -> None:
    submission = stage.submit()
    stage.judge(submission)
    for _ in range(2):  # a repetition changes nothing
        assert cli(stage.ada).delete(f"/popcorn/user/submissions/{submission.pk}").json()["status"] == "ok"
    assert Client().get("/popcorn/submissions/softmax/cpu").json() == []
    assert Submission.objects.filter(pk=submission.pk).exists()


def test_delete_of_a_test_leaves_the_ranked_run_of_its_kernel(stage, cli) -> None:
    ranked, tested = stage.submit(kernel=7), stage.submit(kernel=7, mode="test")
    stage.judge(ranked)
    stage.judge(tested)
    assert cli(stage.ada).delete(f"/popcorn/user/submissions/{tested.pk}").json()["status"] == "ok"
    assert len(Client().get("/popcorn/submissions/softmax/cpu").json()) == 1


def test_join_opens_the_boards_of_a_code(stage, cli) -> None:
    Competition.objects.update(visibility="closed")
    told: dict[str, Any] = {"competition": stage.board.competition, "actor": stage.olga, "now": stage.now}
    (issued,) = issue_codes(count=1, boards=[stage.board], **told)
    client = cli(stage.cleo)
    joined = client.post("/popcorn/user/join", {"code": issued.text}, content_type="application/json")
    assert joined.json() == {"status": "ok", "leaderboards": ["softmax"]}
    assert [board["name"] for board in client.get("/popcorn/leaderboards").json()] == ["softmax"]
    for code in (issued.text, "pfi_unknown", "nonsense"):
        refused = cli(stage.ben).post("/popcorn/user/join", {"code": code}, content_type="application/json")
        is_shown(refused, 400, "code", "ask who gave it to you")
    is_shown(client.post("/popcorn/user/join", {}, content_type="application/json"), 400, "code", "required")
    is_shown(client.post("/popcorn/user/join", b"{", content_type="application/json"), 400, "JSON")


# --- calls without a counterpart, and all other addresses ---


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("get", "auth/init?provider=github", ("provider", "/tokens", "~/.popcorn.yaml")),
        ("get", "auth/cli/discord?code=x&state=y", ("provider", "/tokens", "~/.popcorn.yaml")),
        ("post", "profile", ("mode", "its own runners", "--mode profile")),
        ("get", "jobs/12", ("job", "its own runners", "--mode profile")),
        ("post", "admin/leaderboards", ("directory", "zip", "/sets")),
        ("post", "admin/update-problems", ("repository", "zip", "/sets")),
        ("get", "nothing", ("no such call",)),
        ("get", "", ("no such call",)),
        ("get", "leaderboards/", ("no such call",)),  # no address ends in a slash, and none is redirected
        ("put", "a/b/c/d", ("no such call",)),
        ("post", "/softmax/cpu/test", ("POPCORN_API_URL", "slash")),
    ],
)
def test_calls_without_a_counterpart_say_what_to_do_instead(stage, cli, method, path, words) -> None:
    is_shown(getattr(cli(stage.ada), method)(f"/popcorn/{path}"), 404, *words)


def test_wrong_methods_are_refused_as_json(stage, cli) -> None:
    is_shown(cli(stage.ada).post("/popcorn/leaderboards"), 405, "POST")
    is_shown(cli(stage.ada).get("/popcorn/submission/softmax/cpu/test"), 405, "GET")


def test_answers_are_json_whatever_the_client_accepts(stage, cli) -> None:
    for accepted in ("text/html", "text/event-stream", "*/*", "application/xml"):
        answer = Client().get("/popcorn/leaderboards", headers={"Accept": accepted})
        assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")


def test_banned_networks_get_a_sentence(stage, cli, monkeypatch) -> None:
    monkeypatch.setattr(bans, "_loaded", {})
    bans.ban(network="127.0.0.1", days=1, reason="a flood", actor=None, now=timezone.now())
    bans.load(timezone.now())
    is_shown(cli(stage.ada).get("/popcorn/leaderboards"), 403, "banned", "a flood")


def test_maintenance_refuses_submissions_with_its_sentence_and_leaves_reading(stage, cli, browser) -> None:
    maintenance.begin(sentence="The disk is replaced.", minutes=30, actor=stage.olga, now=timezone.now())
    refused = post(cli(stage.ada))
    is_shown(refused, 503, "Maintenance", "The disk is replaced.")
    assert int(refused["Retry-After"]) > 0
    assert cli(stage.ada).get("/popcorn/user/submissions").status_code == 200


def test_every_mode_of_the_judge_has_a_name_of_the_client() -> None:
    assert set(shapes.ITS_MODES) == set(MODES)
