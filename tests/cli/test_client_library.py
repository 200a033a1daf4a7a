"""The library: Client and AsyncClient have the same methods, errors with codes, and lists of many pages."""

import asyncio
import inspect
import json
from functools import reduce
from pathlib import Path

import pytest

from leaderboard.client import AsyncClient, Client, Misuse, Refused, SiteProblem, calls
from leaderboard.client.clients import next_cursor
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import PASSED, TOKEN, FakeSite


def test_async_client_submits_and_follows(site: FakeSite) -> None:
    async def race() -> object:
        async with AsyncClient(site.url, TOKEN) as connection:
            sent = await connection.submit(
                board="softmax", hardware="cpu", mode="test", filename="kernel.py", code="x = 1"
            )
            kinds: list[str] = []
            done = await connection.follow(sent["id"], lambda event: kinds.append(event.kind))
            assert kinds == ["state", "progress", "state"]
            return done

    assert asyncio.run(race()) == PASSED


def test_async_client_reads_long_lists_page_by_page(site: FakeSite) -> None:
    site.entries = [{**site.entries[0], "submission": number} for number in range(1_500)]

    async def read() -> int:
        async with AsyncClient(site.url) as connection:
            return len(await connection.entries("softmax", "cpu", 1_200))

    assert asyncio.run(read()) == 1_200


def test_every_call_is_a_method_of_both_clients() -> None:
    made = {
        name
        for name, function in vars(calls).items()
        if inspect.isfunction(function) and function.__module__ == calls.__name__ and not name.startswith("_")
    } - {"segment", "submission_id", "match_id", "assignment_id", "dataclass"}
    for kind in (Client, AsyncClient):
        assert made <= set(dir(kind))
        assert all(getattr(kind, name).__doc__ for name in made)


def test_refusal_has_code_status_and_fields(site: FakeSite) -> None:
    wrong = {"field": "mode", "value": "x", "message": "none left"}
    answer = {"detail": "none left", "code": "quota_used_up", "errors": [wrong]}
    site.answer_with = (429, json.dumps(answer).encode(), {"Retry-After": "60"})
    with Client(site.url, TOKEN) as connection, pytest.raises(Refused) as refused:
        connection.quota()
    error = refused.value
    assert (error.status, error.code, error.errors, error.retry_after_s) == (429, "quota_used_up", [wrong], 60)


def test_client_checks_before_it_sends(site: FakeSite) -> None:
    with Client(site.url) as connection:
        with pytest.raises(Misuse, match="token"):
            connection.me()
        with pytest.raises(Misuse, match="number of a submission"):
            connection.do(calls.entry("../me"))
    with pytest.raises(Misuse, match="not https"):
        Client("http://site.example", TOKEN)
    assert site.tokens == []


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_environment_that_no_request_can_use_is_a_misuse(
    kind: type[Client] | type[AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "foo://proxy.example")
    with pytest.raises(Misuse, match=r"Unknown scheme .*; correct or unset HTTP_PROXY"):
        kind("https://site.example")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (calls.call("tracks", {"bar": float("nan")}), "Out of range float values"),
        (calls.call("tracks", {"text": reduce(lambda inner, _: [inner], range(9_999), [])}), "recursion"),
        (calls.boards(text="caf\udce9"), r"'caf\\udce9' cannot be sent"),
        (calls.upload_set("a\udcff.zip", b""), r"a\\udcff\.zip"),
        (calls.boards(text="x" * 70_000), "too long"),
        (calls.submit(board="b", hardware="", mode="test", filename="", code="", key="\u00e4"), "cannot be sent"),
    ],
)
def test_content_that_no_request_can_hold_is_a_misuse(site: FakeSite, call: calls.Call[object], said: str) -> None:
    async def send() -> None:
        async with AsyncClient(site.url, TOKEN) as connection:
            await connection.do(call)

    with Client(site.url, TOKEN) as connection, pytest.raises(Misuse, match=said):
        connection.do(call)
    with pytest.raises(Misuse, match=said):
        asyncio.run(send())
    assert site.tokens == []


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize(
    "arguments",
    [
        ("board", "caf\udce9"),
        ("boards", "--hardware", "caf\udce9"),
        ("reward", "7", "--cap", "inf"),
        ("batch", "submit", "KERNEL", "--budget", "nan"),
        ("match", "predict", "3", "--bound", "memory", "--expect", "inf", "--why", "because"),
        ("admin", "edit", "summer", "bar=1e999"),
        ("submit", "KERNEL", "--board", "softmax", "--filename", "caf\udce9.py", "--no-check"),
    ],
)
def test_command_refuses_values_that_no_request_can_hold(
    site: FakeSite, photofinish: Photofinish, kernel: Path, arguments: tuple[str, ...]
) -> None:
    ended = photofinish(*(str(kernel) if word == "KERNEL" else word for word in arguments))
    assert (ended.code, ended.err[:7]) == (2, "error: ")
    assert site.sent == site.acts == []


def test_id_of_an_event_that_no_header_can_hold_ends_the_streams(site: FakeSite) -> None:
    with Client(site.url, TOKEN) as connection, pytest.raises(SiteProblem, match="the stream of events broke"):
        list(connection.events("7", "\u00e4"))


def test_next_page_is_read_from_the_header_link() -> None:
    import httpx

    link = '</api/v1/submissions?cursor=prev>; rel="prev", </api/v1/submissions?limit=2&cursor=a%3Ab>; rel="next"'
    assert next_cursor(httpx.Response(200, headers={"Link": link})) == "a:b"
    assert next_cursor(httpx.Response(200, headers={"Link": link.split(",")[0]})) == ""
    assert next_cursor(httpx.Response(200)) == ""


def test_a_limit_of_streams_leaves_the_polls(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.client.clients.POLL_S", 0.01)
    site.no_stream = 429

    async def race() -> object:
        async with AsyncClient(site.url, TOKEN) as connection:
            return await connection.follow("7")

    with Client(site.url, TOKEN) as connection:
        assert connection.follow("7")["status"] == asyncio.run(race())["status"]  # type: ignore[index]
    assert site.polls > 1

    site.no_stream = 403
    with Client(site.url, TOKEN) as connection, pytest.raises(Refused, match="no streams here"):
        connection.follow("7")
