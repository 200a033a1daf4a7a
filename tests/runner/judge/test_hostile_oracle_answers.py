"""Any bad JSON from the problem's container is the problem's fault and never ends the judge."""

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runner.judge.data.faults import OracleFailed
from runner.judge.data.layout import parse_layout, returned
from runner.judge.data.memory import Memory
from runner.judge.sides import oracle as asking
from runner.judge.sides.oracle import Oracle
from sandbox import protocol
from tests.runner.judge.oracle_here import oracle_of

HOSTILE = """
import json, struct
import protocol, torch

def send(connection, message, *descriptors):
    for made in message.get("made", ()):
        spoil(made)
    body = json.dumps(message).encode()
    connection.sendall(struct.pack("<I", len(body)) + body)

def spoil(made):
    {spoil}

protocol.send = send

def generate_input(*, n, seed):
    return torch.ones(n)

def ref_kernel(data):
    return data + 1
"""
NUMBERS = {"infinite": "float('inf')", "huge": "10 ** 4000", "no number": "float('nan')", "true": "True"}
PLACES = (
    "made['layout']['input_bytes']",
    "made['layout']['slots'][0]['nbytes']",
    "made['layout']['slots'][0]['shape'][0]",
    "made['layout']['slots'][0]['input']",
    "made['eager_ns']",
)


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("place", PLACES)
def test_an_oracle_that_answers_with_an_impossible_number_is_the_problems_fault(
    tmp_path: Path, place: str, number: str
) -> None:
    with oracle_of(HOSTILE.format(spoil=f"{place} = {number}"), tmp_path) as oracle, pytest.raises(OracleFailed):
        oracle.make({"n": 4}, seed=1)


@pytest.mark.parametrize("constant", ["Infinity", "-Infinity", "NaN"])
def test_protocol_receive_refuses_constants_that_are_not_json(constant: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        body = f'{{"took_ns": {constant}}}'.encode()
        theirs.sendall(len(body).to_bytes(4, "little") + body)
        with pytest.raises(protocol.ProtocolError, match=f"{constant} is not JSON"):
            protocol.receive(ours)


NUMBER = st.one_of(
    st.integers(-2, 600), st.integers(-(10**300), 10**300), st.floats(), st.booleans(), st.none(), st.text(max_size=3)
)
ANY = st.recursive(
    NUMBER, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)


def mostly(*good: Any) -> st.SearchStrategy[Any]:
    return st.one_of(*(st.just(one) for one in good), ANY)


SLOT = st.fixed_dictionaries(
    {
        "role": mostly("out", "in", "view"),
        "dtype": mostly("float32", "bool", "int64"),
        "shape": mostly([4], [2, 2], [0]) | st.lists(NUMBER, max_size=4),
        "stride": mostly([1], [2, 1]) | st.lists(NUMBER, max_size=4),
        "nbytes": mostly(16, 4),
        "input": mostly(-1, 0),
        "output": mostly(0, -1),
    },
    optional={"of": mostly(0, 1), "at": mostly(0, 4)},
)
LAYOUT = st.fixed_dictionaries(
    {
        "slots": st.lists(SLOT | ANY, max_size=4) | ANY,
        "input_bytes": mostly(0, 256),
        "output_bytes": mostly(256, 512),
        "result": st.fixed_dictionaries({"slot": mostly(0, 1)}) | st.fixed_dictionaries({"of": ANY}) | ANY,
    }
)


@settings(max_examples=500)
@given(LAYOUT | ANY)
def test_parse_layout_takes_any_json_or_blames_the_problem(data: Any) -> None:
    with contextlib.suppress(OracleFailed):
        returned(parse_layout(data, 4096, 4096))


class Pipe:
    """Container whose answers the test writes."""

    def thaw(self) -> None: ...

    def freeze(self) -> None: ...


@pytest.fixture(scope="module")
def asked() -> Iterator[tuple[Oracle, socket.socket]]:
    ours, theirs = socket.socketpair()
    container: Any = Pipe()
    oracle = Oracle(container, Memory(), 4096, 4096)
    oracle._connection = ours
    with ours, theirs:
        yield oracle, theirs


def finite(body: bytes) -> bool:
    """Return whether JSON text has neither NaN nor an infinity among its values; a key may be called "NaN"."""
    found: list[str] = []
    json.loads(body, parse_constant=found.append)
    return not found


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example({"NaN": None})
@given(
    st.fixed_dictionaries(
        {"layout": LAYOUT},
        optional={
            "eager_ns": NUMBER,
            "near": ANY,
            "fp64": mostly("", "none"),
            "terms": mostly({"0": 3}),
            "condition": mostly({"0": [1, 2]}),
        },
    )
    | ANY
)
def test_made_takes_any_json_or_blames_the_problem(asked: tuple[Oracle, socket.socket], made: Any) -> None:
    oracle, theirs = asked
    body = json.dumps({"took_ns": 1, "made": [made], "request": oracle._requests + 1}).encode()
    theirs.sendall(len(body).to_bytes(4, "little") + body)
    try:
        if not finite(body):
            with pytest.raises(protocol.ProtocolError):
                protocol.receive(oracle._connection)  # type: ignore[arg-type]
        else:
            with contextlib.suppress(OracleFailed):
                oracle.release(oracle.make({"n": 1}, seed=1, fp64="values"))
    finally:
        theirs.setblocking(False)
        with contextlib.suppress(BlockingIOError):  # the request
            theirs.recv(1 << 20)
        theirs.setblocking(True)


def test_an_answer_to_an_earlier_request_is_never_taken_for_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: after a check that timed out, its late answer was read as the answer to the next request."""
    text = "def generate_input(*, n, seed): ...\ndef ref_kernel(data): ...\n"
    slow = "def check_implementation(data, output):\n    time.sleep(output[0].item()); return True, ''\n"
    code = f"import time\nimport torch\n{text}{slow}".replace("seed): ...", "seed): return torch.ones(n)")
    with oracle_of(code.replace("(data): ...", "(data): return data * 1.5"), tmp_path) as oracle:
        given = oracle.make({"n": 4}, seed=1)
        monkeypatch.setattr(asking, "ANSWER_S", 1)
        with pytest.raises(OracleFailed, match="no answer within 1 s"):
            oracle.check(given.number, given.layout, given.expected)
        monkeypatch.setattr(asking, "ANSWER_S", 30)
        with pytest.raises(OracleFailed, match="did not answer request 4, but another one"):
            oracle.make({"n": 4}, seed=2)


def test_a_layout_that_is_nested_too_deeply_is_the_problems_fault() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(OracleFailed):
        parse_layout({"slots": [], "input_bytes": 0, "output_bytes": 0, "more": deep}, 4096, 4096)
