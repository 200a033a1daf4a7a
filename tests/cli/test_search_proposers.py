"""Proposers of a search: a real command, and a real HTTP server that speaks the chat protocol."""

import asyncio
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from leaderboard.client import Misuse
from leaderboard.client.search import ProposerFailed, Reply, Task, make_proposer
from leaderboard.client.search.archive import digest, grams
from leaderboard.client.search.prompts import Question, question, read_ideas
from leaderboard.source import read_code
from tests.cli.chat_server import ChatServer, Script, chat_server, completion

KEY = "sk-a-very-secret-key"
CODE = "def custom_kernel(data):\n    return data"
TASK = Task(
    "softmax", "cpu", "Row softmax", "Turn rows into probabilities.", "def ref(): ...", {"Python": "import torch"}
)


def asked(want: str = "kernels", count: int = 1, idea: str = "") -> Question:
    return question(TASK, want, count, parents=(), tried=(), bank=(), idea=idea)


def ask(given: str, one: Question, *, key: str = KEY, timeout_s: float = 10.0, **more: Any) -> Reply:
    async def answer() -> Reply:
        settings = {"model": "m", "sampling": {"temperature": 0.5}, "insecure": False} | more
        proposer = make_proposer(given, key=key, timeout_s=timeout_s, **settings)
        try:
            return await proposer.ask(one)
        finally:
            await proposer.close()

    return asyncio.run(answer())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.client.search.proposers.backoff_s", lambda attempt: 0.01)


def command(tmp_path: Path, text: str) -> str:
    script = tmp_path / "proposer.py"
    script.write_text(text)
    return f"{sys.executable} {script}"


# -- reading of answers ------------------------------------------------------------------------------------------------


def test_read_code_takes_the_longest_whole_block() -> None:
    assert read_code(f"I think.\n```\nx = 1\n```\nThen:\n```python\n{CODE}\n```\nDone.") == CODE
    assert read_code("~~~c++\nint a; // ```\n~~~") == "int a; // ```"
    assert read_code("````md\n```\na\n```\n````") == "```\na\n```"
    assert read_code(f"```python\n{CODE}") == CODE, "without its end, where there is no other"
    assert read_code(CODE) == ""


def test_read_ideas_takes_list_lines_once() -> None:
    text = "Here:\n- **Tile** it\n1. use  AVX\n* tile it\n2) last\nno idea\n-\n"
    assert read_ideas(text, 9) == ["tile it", "use AVX", "last"]
    assert read_ideas(text, 1) == ["tile it"]
    assert len(read_ideas("- " + "a" * 9_999, 1)[0]) == 300
    assert read_ideas("- a\x00\x1b[2Jb\ud800\u202e", 1) == ["a[2Jb"]


@pytest.mark.parametrize("piece", ["```", "``` ", "- ", "1. ", " ", "\t-", "~~~\n", "- a\n"])
def test_reading_an_answer_is_linear(piece: str) -> None:
    def took(times: int) -> float:
        text, began = piece * times, time.process_time()
        read_code(text)
        read_ideas(text, 8)
        digest(text)
        grams(text)
        return time.process_time() - began

    # Work that grows with the square takes 16 times as long.
    assert min(took(80_000) for _ in range(4)) < 8 * min(took(20_000) for _ in range(4)) + 0.01


# -- commands ----------------------------------------------------------------------------------------------------------


def test_command_reads_json_and_writes_json_lines(tmp_path: Path) -> None:
    text = (
        "import json, sys\nasked = json.load(sys.stdin)\n"
        "assert asked['format'] == 'search/1' and 'Row softmax' in asked['prompt']\n"
        "for n in range(asked['count'] + 1):\n"
        "    print(json.dumps({'code': f'x = {n}', 'idea': asked['idea'], 'model': 'mine', 'cost_usd': 0.5}))\n"
    )
    reply = ask(command(tmp_path, text), asked(count=2, idea="tile"))
    assert [(one.code, one.idea) for one in reply.found] == [("x = 0", "tile"), ("x = 1", "tile")]
    assert (reply.found[0].origin["model"], reply.found[0].origin["cost_usd"]) == ("mine", 0.5)
    assert len(reply.found[0].origin["prompt_sha256"]) == 64
    assert "line 3 and all after it: more than the 2 kernels" in reply.faults[0]


def test_faulty_lines_of_a_command_are_named(tmp_path: Path) -> None:
    lines = ["nonsense", "[1]", "{}", '{"code": 7, "cost_usd": 0.5}', '{"code": "\\ud800x = 1"}', "[" * 100_000]
    reply = ask(command(tmp_path, f"import json\nfor one in {lines!r}: print(one)"), asked(count=9))
    assert [one.code for one in reply.found] == ["?x = 1"]
    assert [fault.split(":")[0] for fault in reply.faults] == ["line 1", "line 2", "line 3", "line 4", "line 6"]
    assert "code: 7 is not a text" in reply.faults[3]
    assert [one for one in reply.paid if one] == [{"cost_usd": 0.5}]


def test_command_that_fails_hangs_or_floods_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProposerFailed, match="ended with code 3: broken"):
        ask(command(tmp_path, "import sys; print('broken', file=sys.stderr); sys.exit(3)"), asked())
    began = time.monotonic()
    with pytest.raises(ProposerFailed, match=r"gave no answer in 0\.5 s"):
        ask(command(tmp_path, "import os, time; os.fork(); time.sleep(60)"), asked(), timeout_s=0.5)
    assert time.monotonic() - began < 5
    monkeypatch.setattr("leaderboard.client.search.proposers.MOST_ANSWER_BYTES", 10_000)
    with pytest.raises(ProposerFailed, match="more than 10,000 bytes"):
        ask(command(tmp_path, "while True: print('x' * 1000)"), asked())


def test_command_that_cannot_start_is_a_misuse() -> None:
    with pytest.raises(Misuse, match="No such file"):
        ask("/nowhere/proposer", asked())
    with pytest.raises(Misuse, match="cannot be split"):
        ask("'open", asked())


# -- endpoints ---------------------------------------------------------------------------------------------------------


def served(script: Script, one: Question, **more: Any) -> tuple[Reply, ChatServer]:
    with chat_server(script) as server:
        return ask(server.url, one, **more), server


def test_endpoint_answers_ideas_and_kernels() -> None:
    reply, server = served(lambda prompt, number: "- tile\n- vectorise", asked("ideas", 2))
    assert [one.idea for one in reply.found] == ["tile", "vectorise"]
    assert "Name 2 different ideas" in server.prompts[0]
    reply, server = served(lambda prompt, number: f"```\n{CODE}\n# {number}\n```", asked(count=3, idea="tile"))
    assert len({one.code for one in reply.found}) == 3
    assert "Realise this idea: tile" in server.prompts[0]
    assert server.keys == [f"Bearer {KEY}"] * 3
    sent = server.requests[0]
    assert (sent["model"], sent["temperature"], len(sent["messages"])) == ("m", 0.5, 2)
    origin = reply.found[0].origin
    assert origin["model"] == "scripted-1"
    assert origin["usage"] == {"prompt_tokens": 100, "completion_tokens": 10}
    assert (origin["cost_usd"], origin["sampling"]) == (0.001, {"temperature": 0.5})


def test_endpoint_that_limits_or_fails_is_asked_again() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=0.1))
    faults: list[tuple[int, dict[str, str], Any]] = [
        (429, {"Retry-After": "0"}, {"error": {"message": "slow down"}}),
        (503, {"Retry-After": date}, b"busy"),
        (500, {}, {}),
    ]
    reply, server = served(lambda prompt, number: faults.pop(0) if faults else f"```\n{CODE}\n```", asked())
    assert reply.found[0].code == CODE
    assert len(server.requests) == 4


def test_endpoint_that_keeps_failing_is_named_with_the_tries() -> None:
    with pytest.raises(ProposerFailed, match=r"/v1/chat/completions: answers 500: out of order; tried 6 times"):
        served(lambda prompt, number: (500, {}, {"error": {"message": "out of order"}}), asked("ideas"))
    with pytest.raises(ProposerFailed, match="tried 1 times"):
        served(lambda prompt, number: (429, {"Retry-After": "86400"}, {}), asked("ideas"))


def test_endpoint_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.client.search.proposers.TRIES", 2)

    def hang(prompt: str, number: int) -> str:
        time.sleep(1)
        return ""

    with pytest.raises(ProposerFailed, match=r"gave no answer in 0\.2 s; tried 2 times"):
        served(hang, asked("ideas"), timeout_s=0.2)
    with pytest.raises(ProposerFailed, match="no answer"):
        ask("http://127.0.0.1:9/v1", asked("ideas"))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (completion("", choices=[{"message": {"content": None, "refusal": "I must not."}}]), "refuses: I must not."),
        (completion("", choices=[{"message": {"content": ""}, "finish_reason": "content_filter"}]), "content_filter"),
        (completion("", choices=[{"message": {"content": "```\nx"}, "finish_reason": "length"}]), "raise --max-tokens"),
        (completion("no code"), "no fenced code block"),
        (completion("", choices="nonsense"), "is empty"),
        (b"<html>", "is not a JSON object"),
        (b"[" * 100_000, "is not a JSON object"),
    ],
)
def test_answer_without_a_kernel_is_a_fault_of_its_question(answer: Any, sentence: str) -> None:
    reply, _ = served(lambda prompt, number: (200, {}, answer), asked())
    assert reply.found == ()
    assert sentence in reply.faults[0]


def test_parts_of_an_answer_are_joined() -> None:
    parts = [{"type": "text", "text": f"```\n{CODE}\n"}, {"type": "text", "text": "```"}]
    reply, _ = served(
        lambda prompt, number: (200, {}, completion("", choices=[{"message": {"content": parts}}])), asked()
    )
    assert reply.found[0].code == CODE


def test_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.client.search.proposers.MOST_ANSWER_BYTES", 10_000)
    reply, _ = served(lambda prompt, number: "x" * 20_000, asked())
    assert "more than 10,000 bytes" in reply.faults[0]


def test_key_is_in_no_error_and_in_no_answer() -> None:
    for status in (401, 403):
        with pytest.raises(Misuse, match="set PROPOSER_API_KEY") as refused:
            served(lambda prompt, number, status=status: (status, {}, {"error": f"bad {KEY}"}), asked("ideas"))
        assert KEY not in str(refused.value)
    for status in (400, 404, 500):
        with pytest.raises((Misuse, ProposerFailed), match=r"\[key\]") as failed:
            served(lambda prompt, number, status=status: (status, {}, {"error": f"bad {KEY}"}), asked("ideas"))
        assert KEY not in str(failed.value)
    reply, _ = served(lambda prompt, number: f"```\nx = '{KEY}'\n```", asked())
    assert reply.found[0].code == "x = '[key]'"


@pytest.mark.parametrize("key", ["x", "0", "none", "EMPTY"])
def test_placeholder_for_a_key_changes_no_kernel(key: str) -> None:
    code = "def custom_kernel(x):\n    return max(x, 0) if x is not none else EMPTY"
    reply, server = served(lambda prompt, number: f"```\n{code}\n```", asked(), key=key)
    assert reply.found[0].code == code
    assert server.keys == [f"Bearer {key}"]


def test_wrong_settings_of_an_endpoint_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Misuse, match="is not https"):
        ask("http://models.example/v1", asked())
    with pytest.raises(Misuse, match="model: missing"):
        ask("https://models.example/v1", asked(), model="")
    for address in (f"https://{KEY}@models.example", f"https://models.example/?key={KEY}", "http://:0", "http://ä..b"):
        with pytest.raises(Misuse, match="belongs into PROPOSER_API_KEY") as refused:
            ask(address, asked())
        assert KEY not in str(refused.value)
    for wrong in ({"model": "\udcff"}, {"sampling": {"temperature": float("nan")}}):
        with pytest.raises(Misuse, match="request: "):
            ask("http://127.0.0.1:1", asked(), **wrong)
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example")
    with pytest.raises(Misuse, match="SOCKS proxy"):
        ask("https://models.example/v1", asked())
