"""The API answers any input with a fitting status and a sentence: never a 500, never a row."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework import serializers as drf

from leaderboard.errors import CODES
from leaderboard.web import limits
from leaderboard.web.api.base import ShortList
from leaderboard.web.errors import MOST_ERRORS

TEXT = st.text(max_size=60)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "board": st.just("softmax") | ANYTHING,
        "hardware": st.just("cpu") | ANYTHING,
        "mode": st.just("test") | ANYTHING,
        "filename": ANYTHING,
        "code": ANYTHING,
        "file": ANYTHING,
    },
)
QUIET = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)


def is_a_sentence(answer) -> None:
    assert 400 <= answer.status_code < 500, answer.content[:300]
    body = answer.json()
    assert isinstance(body["detail"], str)
    assert body["detail"]
    assert body["code"] in CODES
    assert all(set(error) == {"field", "value", "message"} for error in body["errors"])


@QUIET
@given(sent=FIELDS | ANYTHING)
def test_any_json(stage, tool, sent) -> None:
    client = tool(stage.ada)
    answer = client.post("/api/v1/submissions", json.dumps(sent), content_type="application/json")
    stage.ada.tokens.all().delete()
    if answer.status_code != 201:
        is_a_sentence(answer)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"code": NaN}',
        b'{"board": "\\ud800"}',
        b'{"code": "\\ud800", "board": "softmax", "hardware": "cpu", "mode": "test"}',
        b"9" * 10_000,
        b'"' + b"x" * 3_000_001 + b'"',
    ],
    ids=lambda body: repr(body[:20]),
)
def test_a_body_that_is_no_request(stage, tool, body) -> None:
    client = tool(stage.ada)
    for address in ("submissions", "competitions/kernels-101/enter"):
        answer = client.post(f"/api/v1/{address}", body, content_type="application/json")
        if address == "submissions" or answer.status_code != 200:  # an empty body is enough to enter
            is_a_sentence(answer)
    assert not stage.ada.submissions.exists()


@pytest.mark.parametrize(
    "content_type", ["text/plain", "multipart/form-data", "application/xml", "multipart/form-data; boundary=x"]
)
def test_a_content_type_that_is_none_of_ours(stage, tool, content_type) -> None:
    is_a_sentence(tool(stage.ada).post("/api/v1/submissions", b"x", content_type=content_type))


@QUIET
@given(query=st.dictionaries(st.sampled_from(["board", "limit", "offset"]), TEXT, max_size=3))
def test_any_query(stage, browser, query) -> None:
    answer = browser(stage.ada).get("/api/v1/submissions", query)
    if answer.status_code != 200:
        is_a_sentence(answer)


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "bearer pf_\x00", "Bearer pf_" + "x" * 5000, "Basic YTpi"])
def test_a_strange_credential(stage, browser, header) -> None:
    is_a_sentence(browser(None).get("/api/v1/me", headers={"Authorization": header}))


@pytest.mark.parametrize(
    "path",
    ["people/%00", "people/a%00/entries", "competitions/kernels-101/entrants/%00", "boards/softmax/%00/posts", "%00"],
)
def test_an_address_with_a_nul(stage, browser, path) -> None:
    answer = browser(stage.ada).get(f"/api/v1/{path}")
    is_a_sentence(answer)
    assert answer.status_code == 404


@QUIET
@given(name=st.text(min_size=1, max_size=30).filter(lambda text: not set(text) & set("/?#\\")))
def test_any_address(stage, browser, name) -> None:
    limits.floods.clear()  # of the previous examples
    client = browser(stage.ada)
    for path in (
        "/boards/{}",
        "/boards/softmax/{}",
        "/boards/softmax/files/{}",
        "/submissions/{}",
        "/api/v1/boards/{}",
    ):
        assert client.get(path.format(name)).status_code in (200, 301, 302, 404)


@pytest.mark.parametrize(("path", "name"), [("batches", "candidates"), ("rewards", "ids")])
def test_a_long_list_is_refused_before_its_elements(stage, tool, path, name) -> None:
    sent = {"mode": "test", "budget_s": 1, name: [{}] * 50_000}
    answer = tool(stage.ada).post(f"/api/v1/{path}", json.dumps(sent), content_type="application/json")
    assert answer.status_code == 400
    message = "Ensure this field has no more than 256 elements."
    assert [(one["field"], one["message"]) for one in answer.json()["errors"]] == [(name, message)]


def test_every_list_with_a_limit_is_refused_before_its_elements() -> None:
    shapes = list(drf.Serializer.__subclasses__())
    for shape in shapes:
        shapes += shape.__subclasses__()
    lists = [
        (shape.__name__, name)
        for shape in shapes
        for name, field in shape._declared_fields.items()
        if isinstance(field, drf.ListField) and field.max_length is not None and not isinstance(field, ShortList)
    ]
    assert len(shapes) > 300
    assert lists == []


def test_an_answer_has_a_limited_number_of_errors(stage, tool) -> None:
    candidates = [{"code": "x", "lineage": {"sampling": 1, "model": "", "idea": [], "cost_usd": "x"}}] * 256
    sent = {"mode": "test", "budget_s": 1, "candidates": candidates}
    answer = tool(stage.ada).post("/api/v1/batches", json.dumps(sent), content_type="application/json")
    assert (answer.status_code, len(answer.json()["errors"])) == (400, MOST_ERRORS)
