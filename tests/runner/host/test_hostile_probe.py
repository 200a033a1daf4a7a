"""Lines of a probe in an image that nobody vouches for: versions of a plain form, or an error of the sandbox."""

import json
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaderboard.judging.runners import check_storable
from runner.host import doctor, image_versions
from sandbox import container, protocol
from sandbox.container import SandboxError
from sandbox.protocol import clean_text

NAMES = ("torch", "torch_cuda", "cuda", "gxx", "triton", "more")
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=70) | st.just("2.9.0+cu130"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


class Box:
    """Container whose output is there at once."""

    def __init__(self, printed: bytes) -> None:
        self._printed = clean_text(printed)

    def logs(self) -> dict[str, str]:
        return {"stdout": self._printed, "stderr": ""}

    def alive(self) -> bool:
        return False

    def wait_exit(self) -> str:
        return "exit"

    def start(self) -> None: ...

    def __enter__(self) -> "Box":
        return self

    def __exit__(self, *_: object) -> None: ...


POWERS: dict[str, Any] = {
    "uid": 200_001,
    "no_new_privileges": "1",
    "seccomp": "2",
    "capabilities": "0" * 16,
    "inet": 97,
    "interfaces": ["lo"],
    "write_root": 30,
    "write_tmp": 0,
    "cpus": "0-1,4",
    "protocol": protocol.VERSION,
    "files": {},
    "torch": "2.9.0",
    "bytecode": True,
    "languages": {"gxx": "12.2.0"},
    "devices": [],
}


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from([*POWERS, "more"]), VALUE, max_size=3))
@example({})
@example({"cpus": "0-99999999999"})
@example({"cpus": "0-99999,5-99999"})
@example({"files": {"harness.py": "\x1b[2J"}})
def test_report_of_a_probe_is_a_table_or_an_error_of_the_sandbox(changes: dict[str, Any]) -> None:
    with suppress(SandboxError):
        seen = doctor.powers_of(POWERS | changes)
        lines = [doctor.harness(seen), *doctor.walls(seen, "0-1,4"), doctor.languages(seen)]
        assert all(len(line.found) < 25_000 for line in lines)


def asked(printed: bytes, patch: pytest.MonkeyPatch) -> dict[str, str]:
    patch.setattr(container, "Container", lambda *_: Box(printed))
    settings: Any = SimpleNamespace(sandbox_image="image", runner_id="x")
    return image_versions.ask(None, settings, None, "0")


LINE = (st.dictionaries(st.sampled_from(NAMES), VALUE) | VALUE).map(json.dumps).map(str.encode)


@settings(max_examples=100, deadline=None, derandomize=True)
@given((LINE | st.binary(max_size=60)).map(lambda line: line + b"\n"))
@example(b"5\n")
@example(b"[1]\n")
@example(b"[" * 5_000 + b"\n")
@example(b'{"torch": "\\ud800"}\n')
@example(b'{"torch": ' + b"[" * 900 + b"]" * 900 + b"}\n")
def test_versions_of_a_probe_are_plain_texts_or_an_error_of_the_sandbox(printed: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch, suppress(SandboxError):
        found = asked(printed, patch)
        assert found.keys() <= set(NAMES[:-1])
        assert all(value.isascii() and value.isprintable() and len(value) <= 64 for value in found.values())
        check_storable(found, "fingerprint")
