"""/api/v1 answers as docs/http.md promises, field by field."""

import csv
import io
import os
import re

import pytest
from django.core.management import call_command

from leaderboard.dataset import parquet
from tests.web.permission_table import TABLE

CODE = "def custom_kernel(data):\n    return data\n"
SENT = {"board": "softmax", "hardware": "cpu", "mode": "ranked", "filename": "kernel.py", "code": CODE}
SUBMISSION_FIELDS = set(
    """
    id board hardware mode filename code taken_down created_at status outcome reason message score_us ratio speedup
    half_width forgeable telemetry epoch flags cases logs report_problem published rank value review unranked url
    events licence withdrawn remixed_from lineage profile files queue
    """.split()  # noqa: SIM905
)
EVENTS = re.compile(r"/api/v1/(batches|submissions)/\{id\}/events")  # a stream of text, outside the schema


def post(client, **changes):
    return client.post("/api/v1/submissions", SENT | changes, content_type="application/json")


def test_me(stage, tool) -> None:
    assert tool(stage.ada, "read").get("/api/v1/me").json() == {
        "username": "ada",
        "token": {"name": "test", "scopes": ["read"]},
    }


def test_boards(stage, browser) -> None:
    (board,) = browser(None).get("/api/v1/boards").json()
    assert board == {
        "slug": "softmax",
        "title": "Row softmax",
        "competition": "Kernels 101",
        "competition_slug": "kernels-101",
        "hardware": ["cpu"],
        "deadline": None,
        "open": True,
        "entries": {"cpu": 0},
    }
    detail = browser(None).get("/api/v1/boards/softmax").json()
    assert board.items() <= detail.items()
    more = {"description", "templates", "reference", "ranking_by", "cases", "benchmarks_on", "epochs", "languages"}
    assert set(detail) - set(board) == more
    assert detail["reference"].startswith("def ref_kernel")
    assert detail["cases"]["benchmarks"][0]["rows"] == 512
    assert detail["benchmarks_on"] == {"cpu": detail["cases"]["benchmarks"]}


def test_entries_are_best_first_one_line_an_owner(stage, browser) -> None:
    for owner, score in ((stage.ada, 950.0), (stage.ben, 900.0), (stage.ada, 800.0)):
        stage.judge(stage.submit(owner), score_us=score, ratio=score / 1000)
    entries = browser(None).get("/api/v1/boards/softmax/cpu/entries").json()
    assert [(entry["rank"], entry["user"], entry["score_us"]) for entry in entries] == [
        (1, "ada", 800.0),
        (2, "ben", 900.0),
    ]
    assert set(entries[0]) == set(
        """
        rank tied user score_us ratio half_width forgeable telemetry runs epoch submitted_at submission
        division model_name model cost_usd affiliation team light record speedup
        """.split()  # noqa: SIM905
    )


def test_entries_say_what_is_in_a_value_and_who_is_tied(stage, browser) -> None:
    for owner, ratio in ((stage.ada, 0.9), (stage.ada, 0.81), (stage.ben, 0.856)):
        stage.judge(stage.submit(owner, kernel=1), ratio=ratio, score_us=1000 * ratio, forgeable=0.02, telemetry="full")
    ada, ben = browser(None).get("/api/v1/boards/softmax/cpu/entries").json()
    assert (ada["user"], ada["rank"], ada["tied"], ada["runs"]) == ("ada", 1, True, 2)
    assert ada["ratio"] == pytest.approx((0.9 * 0.81) ** 0.5)
    assert (ben["user"], ben["rank"], ben["tied"], ben["runs"]) == ("ben", 1, True, 1)
    assert (ben["telemetry"], ben["forgeable"]) == ("full", 0.02)


def test_a_submission_says_what_of_it_ranks(stage, tool) -> None:
    first, second = stage.submit(kernel=1), stage.submit(kernel=1)
    for submission, ratio in ((first, 0.9), (second, 0.81)):
        stage.judge(submission, ratio=ratio, score_us=1000 * ratio, epoch="driver-1")
    told = tool(stage.ada).get(f"/api/v1/submissions/{second.pk}").json()
    assert (told["ratio"], told["rank"], told["epoch"]) == (0.81, 1, "driver-1")
    assert told["value"]["submissions"] == [first.pk, second.pk]
    assert told["value"]["ratio"] == pytest.approx((0.9 * 0.81) ** 0.5)
    assert (told["value"]["tied"], told["value"]["current_epoch"]) == (False, True)


def test_earlier_epochs_are_there_when_asked_for(stage, browser) -> None:
    for owner, epoch in ((stage.ada, "sha256:old"), (stage.ben, "sha256:new")):
        stage.judge(stage.submit(owner), epoch=epoch)
    stage.choose("sha256:new")
    client = browser(None)
    known = client.get("/api/v1/boards/softmax").json()["epochs"]["cpu"]
    assert [(epoch["name"], epoch["current"]) for epoch in known] == [("sha256:new", True), ("sha256:old", False)]
    entries = "/api/v1/boards/softmax/cpu/entries"
    assert [(line["user"], line["epoch"]) for line in client.get(entries).json()] == [("ben", "sha256:new")]
    assert [line["user"] for line in client.get(entries, {"epoch": "sha256:old"}).json()] == ["ada"]
    assert client.get(entries, {"epoch": "nope"}).status_code == 404
    assert client.get("/api/v1/boards").json()[0]["entries"] == {"cpu": 1}


def test_cancel(stage, tool) -> None:
    submission = stage.submit()
    address = f"/api/v1/submissions/{submission.pk}/cancel"
    assert tool(stage.cleo).post(address).status_code == 404
    assert tool(stage.ada, "read").post(address).status_code == 403
    assert tool(stage.ada).post(address).json()["status"] == "cancelled"
    again = tool(stage.ada).post(address)
    assert (again.status_code, again.json()["errors"][0]["field"]) == (409, "submission")


def test_a_submission_from_the_door_to_its_verdict(stage, tool, browser) -> None:
    client = tool(stage.ada)
    answer = post(client)
    assert answer.status_code == 201
    made = answer.json()
    assert made == {
        "id": made["id"],
        "status": "queued",
        "board": "softmax",
        "hardware": "cpu",
        "mode": "ranked",
        "notes": [],
        "url": f"/submissions/{made['id']}",
        "events": f"/api/v1/submissions/{made['id']}/events",
    }
    waiting = client.get(f"/api/v1/submissions/{made['id']}").json()
    assert set(waiting) == SUBMISSION_FIELDS
    assert (waiting["status"], waiting["outcome"], waiting["code"]) == ("queued", "", CODE)
    stage.report(stage.claim(), cases=({"name": "cols=4096 rows=512"},))
    done = client.get(f"/api/v1/submissions/{made['id']}").json()
    assert (done["status"], done["outcome"], done["published"], done["rank"]) == ("done", "passed", True, 1)
    assert done["cases"] == [{"name": "cols=4096 rows=512"}]


def test_a_file_by_multipart(stage, tool) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    sent = {"board": "softmax", "hardware": "cpu", "mode": "test", "file": SimpleUploadedFile("mine.py", CODE.encode())}
    answer = tool(stage.ada).post("/api/v1/submissions", sent)
    assert answer.status_code == 201
    assert stage.ada.submissions.get().filename == "mine.py"


def test_directives_stand_in_for_fields(stage, tool) -> None:
    code = "#!PHOTOFINISH leaderboard softmax\n#!PHOTOFINISH gpu cpu\n" + CODE
    assert post(tool(stage.ada), board="", hardware="", code=code).status_code == 201


def test_quota_is_told_before_and_refused_with_a_time(stage, tool) -> None:
    type(stage.board.competition).objects.update(quotas={"ranked": 1})
    client = tool(stage.ada)
    assert client.get("/api/v1/quota").json() == [], "nothing is spent anywhere"
    told = {one["mode"]: one for one in client.get("/api/v1/quota?board=softmax").json()}
    full = {"board": "softmax", "hardware": "cpu", "mode": "ranked", "left": 1, "capacity": 1, "per_day": 1}
    assert told["ranked"] == full | {"next_at": None}
    assert set(told) == {"test", "benchmark", "ranked", "profile"}
    assert post(client).status_code == 201
    (spent,) = client.get("/api/v1/quota").json()
    assert spent == full | {"left": 0, "next_at": spent["next_at"]}
    refused = post(client)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (429, "mode")
    assert 86_000 < int(refused.headers["Retry-After"]) <= 86_400
    assert spent["next_at"][:16].replace("T", " ") in refused.json()["detail"]
    assert client.get("/api/v1/quota?board=nope").status_code == 404


def test_scopes(stage, tool) -> None:
    reader, sender = tool(stage.ada, "read"), tool(stage.ada, "submit")
    refused = post(reader)
    assert refused.status_code == 403
    assert "“submit”" in refused.json()["detail"]
    pk = post(sender).json()["id"]
    assert sender.get(f"/api/v1/submissions/{pk}").status_code == 403
    assert sender.get(f"/api/v1/submissions/{pk}/events").status_code == 403
    assert reader.get(f"/api/v1/submissions/{pk}").status_code == 200


def test_a_session_needs_csrf(stage) -> None:
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(stage.ada)
    assert client.get("/api/v1/me").json()["token"] == {"name": "session", "scopes": ["read", "submit", "review"]}
    assert post(client).status_code == 403
    client.get("/boards/softmax/submit")
    token = client.cookies["csrftoken"].value
    answer = client.post("/api/v1/submissions", SENT, content_type="application/json", headers={"X-CSRFToken": token})
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("changes", "field", "status", "words"),
    [
        ({"board": "sofmax"}, "board", 404, "did you mean softmax"),
        ({"hardware": "H100"}, "hardware", 400, "it has cpu"),
        ({"mode": "rank"}, "mode", 400, "test, benchmark, ranked"),
        ({"code": ""}, "code", 400, "empty"),
        ({"code": "x = 1\x00"}, "code", 400, "ull character"),
        ({"code": "#" * 1_000_001}, "code", 413, "at most 1,000,000"),
        ({"filename": "../x.py"}, "filename", 400, "without folders"),
    ],
)
def test_an_error_names_field_and_way_out(stage, tool, changes, field, status, words) -> None:
    answer = post(tool(stage.ada), **changes)
    assert answer.status_code == status
    body = answer.json()
    assert body["errors"][0]["field"] == field
    assert words in body["errors"][0]["message"]
    assert words in body["detail"]
    assert not stage.ada.submissions.exists()


def test_lists_page_and_filter(stage, tool) -> None:
    client = tool(stage.ada)
    for _ in range(3):
        stage.submit(stage.ada, mode="test")
    answer = client.get("/api/v1/submissions?limit=2")
    newest = answer.json()
    assert [row["id"] for row in newest] == sorted((row["id"] for row in newest), reverse=True)
    assert len(newest) == 2
    (rest,) = re.findall(r'<(.+)>; rel="next"', answer.headers["Link"])
    last = client.get(rest)
    assert [row["id"] for row in last.json()] == [newest[-1]["id"] - 1]
    (back,) = re.findall(r'<(.+)>; rel="prev"', last.headers["Link"])
    assert client.get(back).json() == newest
    for query, field in (("offset=2", "offset"), ("cursor=nonsense", "cursor"), ("cursor=%00", "cursor")):
        (error,) = client.get(f"/api/v1/submissions?{query}").json()["errors"]
        assert error["field"] == field
    assert client.get("/api/v1/submissions?board=other").json() == []
    (error,) = client.get("/api/v1/submissions?limit=0").json()["errors"]
    assert (error["field"], error["value"]) == ("limit", "0")


@pytest.mark.parametrize(
    ("query", "field", "said"),
    [
        ("submissions?limt=5", "limt", "did you mean limit?"),
        ("boards/softmax?limit=5", "limit", "it takes none"),
        ("submissions/1?wait=30", "wait", "this call has no such parameter"),
    ],
)
def test_unknown_parameter_of_the_query_is_refused_with_the_known_ones(
    stage, tool, query: str, field: str, said: str
) -> None:
    answer = tool(stage.ada).get(f"/api/v1/{query}")
    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert said in error["message"]


def test_popcorn_ignores_parameters_that_it_does_not_know(stage, browser) -> None:
    assert browser(None).get("/popcorn/leaderboards?surprise=1").status_code == 200


def test_nobody_and_nothing(stage, browser) -> None:
    unknown = browser(None).get("/api/v1/me", headers={"Authorization": "Bearer pf_wrong"})
    assert unknown.status_code == 401
    assert unknown.headers["WWW-Authenticate"].startswith("Bearer")
    assert browser(None).get("/api/v1/nope").json()["detail"].startswith("There is no such call")
    assert browser(None).get("/api/v1/boards/").status_code == 404, "no redirect, no second address"
    assert browser(None).delete("/api/v1/boards").status_code == 405


def test_schema_describes_every_call(stage, browser) -> None:
    call_command("spectacular", "--fail-on-warn", "--validate", "--file", os.devnull)
    schema = browser(None).get("/api/schema").json()
    routes = {
        "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route).replace("{pk}", "{id}")
        for route in TABLE
        if route.startswith("api/v1/")
    }
    assert set(schema["paths"]) == {route for route in routes if not EVENTS.fullmatch(route)}
    assert set(schema["components"]["schemas"]["Submission"]["properties"]) == SUBMISSION_FIELDS


def test_every_call_of_the_schema_has_an_area_a_summary_and_examples(browser, db) -> None:
    schema = browser(None).get("/api/schema").json()
    areas = {tag["name"] for tag in schema["tags"]}
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            (area,) = call["tags"]
            assert area in areas
            assert 5 < len(call["summary"]) <= 120, (path, call["summary"])
            contents = [call.get("requestBody", {}), *(call["responses"][status] for status in call["responses"])]
            kinds = ("application/json", "multipart/form-data")  # a file has no example
            media = [content.get("content", {}).get(kind) for content in contents for kind in kinds]
            assert all("example" in one for one in media if one and "Error" not in str(one["schema"])), (method, path)


def test_an_error_has_a_stable_code(stage, tool, browser) -> None:
    def code(answer):
        return answer.json()["code"]

    client = tool(stage.ada)
    assert code(browser(None).get("/api/v1/me")) == "unauthenticated"
    assert code(browser(None).get("/api/v1/me", headers={"Authorization": "Bearer pf_wrong"})) == "token_invalid"
    assert code(post(tool(stage.ada, "read"))) == "scope_missing"
    assert code(client.get("/api/v1/boards/nope")) == "not_found"
    assert code(client.get("/api/v1/nope")) == "unknown_call"
    assert code(client.get("/api/v1/submissions?limit=0")) == "invalid"
    assert code(client.delete("/api/v1/boards")) == "method_not_allowed"
    submission = stage.submit()
    client.post(f"/api/v1/submissions/{submission.pk}/cancel")
    assert code(client.post(f"/api/v1/submissions/{submission.pk}/cancel")) == "already_finished"
    type(stage.board.competition).objects.update(quotas={"ranked": 1})
    post(client)
    assert code(post(client)) == "quota_used_up"


def test_an_answer_tells_the_callers_rate(stage, browser, tool) -> None:
    first, second = (browser(None).get("/api/v1/boards") for _ in range(2))
    assert int(first["RateLimit-Remaining"]) - int(second["RateLimit-Remaining"]) == 1
    assert 1 <= int(first["RateLimit-Reset"]) <= 61
    assert tool(stage.ada).get("/api/v1/me")["RateLimit-Limit"] == "600"


def test_too_many_requests_say_when_to_come_back(stage, browser, monkeypatch) -> None:
    from leaderboard.web import limits

    monkeypatch.setattr(limits, "API_IP", limits.Limit("api ip", 2, 60))
    client = browser(None)
    assert [client.get("/api/v1/boards").status_code for _ in range(3)] == [200, 200, 429]
    refused = client.get("/api/v1/boards")
    assert 1 <= int(refused.headers["Retry-After"]) <= 61
    assert "Too many requests" in refused.json()["detail"]
    assert browser(stage.ada).get("/api/v1/boards").status_code == 200, "who says their name is counted by name"


def test_the_schema_names_every_error_of_a_call(browser, db) -> None:
    schema = browser(None).get("/api/schema").json()
    calls = {f"{method} {path}": call for path, methods in schema["paths"].items() for method, call in methods.items()}
    errors = {"400", "401", "403", "404", "429", "503"}
    assert set(calls["get /api/v1/boards/{slug}"]["responses"]) == {"200", *errors}
    assert set(calls["post /api/v1/submissions"]["responses"]) == {"201", *errors, "409", "413", "415"} - {"404"}
    assert "Retry-After" in calls["get /api/v1/me"]["responses"]["429"]["headers"]
    assert {"detail", "code", "errors"} == set(schema["components"]["schemas"]["Error"]["required"])


def test_lists_are_csv_when_asked_for(stage, browser, tool) -> None:

    stage.judge(stage.submit(stage.ada), score_us=900.0, ratio=0.9)
    type(stage.ada.memberships.get().entrant).objects.update(pseudonym="=1+1")
    address = "/api/v1/boards/softmax/cpu/entries"
    for answer in (
        browser(None).get(f"{address}?format=csv"),
        browser(None).get(address, headers={"Accept": "text/csv"}),
    ):
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        (row,) = csv.DictReader(io.StringIO(answer.content.decode(), newline=""))
        assert (row["rank"], row["score_us"], row["user"]) == ("1", "900.0", "'=1+1"), "no cell is a formula"
    boards = browser(None).get("/api/v1/boards?format=csv&text=nothing").content.decode()
    assert boards.startswith("slug,title,"), "an empty list has its heading"
    unknown = browser(None).get(f"{address}?format=xlsx")
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (400, "format")
    wrong = browser(None).get(f"{address}?format=csv&limit=0")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid")
    assert tool(stage.ada).get("/api/v1/submissions?format=csv").content.count(b"\r\n") == 2


@pytest.mark.skipif(not parquet.IS_INSTALLED, reason="pyarrow is not installed")
def test_lists_are_parquet_with_types_and_meanings(stage, browser) -> None:
    from pyarrow.parquet import read_table

    stage.judge(stage.submit(stage.ada), score_us=900.0, ratio=0.9)
    for address in ("/api/v1/boards/softmax/cpu/entries", "/api/v1/boards/softmax/cpu/history", "/api/v1/boards"):
        expected = browser(None).get(address).json()
        answer = browser(None).get(f"{address}?format=parquet")
        assert answer["Content-Type"] == parquet.MEDIA_TYPE
        table = read_table(io.BytesIO(answer.content))
        assert table.column_names == list(expected[0])
        assert table.num_rows == 1
    table = read_table(io.BytesIO(browser(None).get("/api/v1/boards/softmax/cpu/entries?format=parquet").content))
    (row,) = table.to_pylist()
    assert (row["rank"], row["tied"], row["score_us"], row["submitted_at"].tzinfo is not None) == (
        1,
        False,
        900.0,
        True,
    )
    assert b"Candidate / baseline" in table.schema.field("ratio").metadata[b"description"]
    assert (
        read_table(io.BytesIO(browser(None).get("/api/v1/boards?format=parquet&text=nothing").content)).column_names[0]
        == "slug"
    )
    wrong = browser(None).get("/api/v1/boards?format=parquet&limit=0")
    assert wrong.json()["errors"][0]["field"] == "limit"


def test_a_site_without_pyarrow_names_the_other_formats(stage, browser, monkeypatch) -> None:
    monkeypatch.setattr("leaderboard.dataset.parquet.IS_INSTALLED", False)
    refused = browser(None).get("/api/v1/boards?format=parquet")
    assert (refused.status_code, refused.json()["detail"]) == (400, "format: this call answers as json, csv")
    accept = {"Accept": parquet.MEDIA_TYPE}
    assert browser(None).get("/api/v1/boards", headers=accept).json()["code"] == "not_acceptable"


def pages_of(client, address: str) -> list[list[dict]]:
    """Follow the header Link from page to page."""
    found = []
    while address:
        answer = client.get(address)
        assert answer.status_code == 200, answer.content
        found.append(answer.json())
        address = next(iter(re.findall(r'<([^>]+)>; rel="next"', answer.headers.get("Link", ""))), "")
    return found


def test_a_ranking_is_followed_by_cursor_while_it_changes(stage, browser) -> None:
    from leaderboard.standings.publish import retract

    sent = [stage.submit(owner) for owner in (stage.ada, stage.ben, stage.cleo)]
    for submission, ratio in zip(sent, (0.7, 0.8, 0.9), strict=True):
        stage.judge(submission, ratio=ratio)
    client, address = browser(None), "/api/v1/boards/softmax/cpu/entries?limit=2"
    first = client.get(address)
    assert first.headers["X-Total-Count"] == "3"
    (following,) = re.findall(r'<([^>]+)>; rel="next"', first["Link"])
    assert "cursor=" in following
    stage.judge(stage.submit(stage.olga), ratio=0.5)
    assert [line["user"] for line in client.get(following).json()] == ["cleo"], "a line before it shifts no page"
    retract(submission=sent[1], actor=stage.ben, reason="", now=stage.later(1))
    page = [line["user"] for line in client.get(following).json()]
    assert page == ["ada", "cleo"], "the line of the cursor is gone: its former place counts"
    both = client.get(f"{following}&offset=1")
    assert (both.status_code, both.json()["errors"][0]["field"]) == (400, "offset")
    other = following.replace("/entries", "/history")
    assert client.get(other).json()["errors"][0]["field"] == "cursor"


def test_lists_in_memory_page_by_cursor(stage, browser, tool) -> None:
    from leaderboard.competitions.models import Competition, Track

    competition = stage.board.competition
    for number in range(4):
        Competition.objects.create(slug=f"more-{number}", name=f"More {number}", visibility="public")
        Track.objects.create(competition=competition, slug=f"t{number}", name=f"T {number}", kind=Track.OVERALL)
    for address, key in (
        ("/api/v1/competitions", "slug"),
        ("/api/v1/competitions/kernels-101/awards", "slug"),
        ("/api/v1/problems", "slug"),
    ):
        client = browser(None)
        (whole,) = pages_of(client, address)
        assert [row for page in pages_of(client, f"{address}?limit=2") for row in page] == whole
        assert len({row[key] for row in whole}) == len(whole)
        offset = client.get(f"{address}?offset=2").json()
        assert (offset["code"], offset["errors"][0]["field"]) == ("invalid", "offset")


def test_admission_tests_page_by_cursor(stage, tool) -> None:
    from leaderboard.admissions.models import AdmissionTest

    known = AdmissionTest.objects.count()
    for number in range(3):
        AdmissionTest.objects.create(version=stage.board.version, hardware=f"h{number}", created_at=stage.now)
    client = tool(stage.olga, "read")
    (whole,) = pages_of(client, "/api/v1/admission")
    assert len(whole) == known + 3
    assert [row for page in pages_of(client, "/api/v1/admission?limit=2") for row in page] == whole


def test_rankings_name_the_pages_beside_them(stage, browser) -> None:
    for owner in (stage.ada, stage.ben, stage.cleo):
        stage.judge(stage.submit(owner), ratio=0.5 + owner.pk / 1e4)
    first = browser(None).get("/api/v1/boards/softmax/cpu/entries?limit=2")
    (following,) = re.findall(r'<([^>]+)>; rel="next"', first["Link"])
    second = browser(None).get(following)
    assert [len(answer.json()) for answer in (first, second)] == [2, 1]
    assert 'rel="next"' not in second["Link"]
    assert 'rel="prev"' in second["Link"]
