"""Every request leaves one line with its id, which the answer, the other lines and the audit rows have too."""

import asyncio
import json

import pytest
import structlog
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from structlog.testing import capture_logs

from leaderboard.audit.models import Row
from leaderboard.audit.record import record
from leaderboard.web import traffic
from tests.web.live_site import live_site


def seen(request: HttpRequest, answer=None) -> tuple[HttpResponse, dict[str, object]]:
    """Return the answer and the line about a request."""

    async def ok(_: HttpRequest) -> HttpResponse:
        return HttpResponse("hello")

    with capture_logs() as lines:
        response = asyncio.run(traffic.observed(request, answer or ok))
    (line,) = [line for line in lines if line["event"] == "request"]
    return response, line


def test_the_line_has_method_path_status_time_and_no_query() -> None:
    response, line = seen(RequestFactory().get("/boards?token=secret"))
    assert line["path"] == "/boards"
    assert (line["method"], line["status"], line["route"], line["caller"]) == ("GET", 200, "unknown", None)
    assert isinstance(line["ms"], float)
    assert "secret" not in json.dumps(line)
    assert len(response.headers["X-Request-Id"]) == 32


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abcdef-0123.45_x", True), ("short", False), ("x" * 65, False), ('a"}\n{"b', False), ("né" * 8, False)],
)
def test_a_plain_id_of_the_caller_is_kept(given: str, kept: bool) -> None:
    request = RequestFactory().get("/", headers={"X-Request-Id": given})
    response, _ = seen(request)
    assert (response.headers["X-Request-Id"] == given) is kept


def test_an_answer_that_nobody_waits_for_is_logged() -> None:
    async def gone(_: HttpRequest) -> HttpResponse:
        raise asyncio.CancelledError

    with capture_logs() as lines, pytest.raises(asyncio.CancelledError):
        asyncio.run(traffic.observed(RequestFactory().get("/"), gone))
    assert [line["status"] for line in lines] == [traffic.GONE]


def test_an_act_is_audited_with_its_request_and_network(db: None, django_user_model) -> None:
    user = django_user_model.objects.create_user("ada")
    with structlog.contextvars.bound_contextvars(request="r" * 32, address="2001:db8::/64"):
        record("try", user, actor=user, now=user.date_joined)
    row = Row.objects.get(act="try")
    assert (row.request, row.address) == ("r" * 32, "2001:db8::/64")


def test_a_live_site_answers_with_the_id_and_logs_the_line(transactional_db: None, capfd, monkeypatch) -> None:
    import httpx

    monkeypatch.setenv("LOG_LEVEL", "INFO")

    with live_site() as site, httpx.Client(trust_env=False) as client:
        answer = client.get(f"{site.address}/boards?q=hidden", headers={"X-Request-Id": "from-the-proxy"})
        assert answer.headers["X-Request-Id"] == "from-the-proxy"
    lines = [json.loads(text) for text in capfd.readouterr().err.splitlines() if text.startswith("{")]
    (line,) = [line for line in lines if line.get("request") == "from-the-proxy" and line["event"] == "request"]
    assert (line["route"], line["status"], line["address"]) == ("boards", 200, "127.0.0.1")
    assert "hidden" not in json.dumps(lines)
