"""Cost of reading a source: none after a used-up quota, a single read, and limited memory per megabyte of source."""

import tokenize
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from leaderboard import source
from leaderboard.errors import RateLimited
from leaderboard.source import MAX_LINE_ESCAPES, MAX_WORD_CHARS, SourceError, read_source
from leaderboard.submissions.tokens import code_digest
from runner.wire import MAX_SOURCE_BYTES
from tests.leaderboard.stage import Stage

LONG = (MAX_SOURCE_BYTES - 40) // 2
HOSTILE = {
    "hexadecimal": "x = 0x" + "ff" * LONG,
    "decimal": "x = 1" + "_1" * LONG,
    "float": "x = 1." + "11" * LONG,
    "escapes": "x = '" + "\\a" * LONG + "'",
    "quotes": 'x = """' + 'a"' * LONG + 'a"""',
    "embedded quotes": 'x = """(;' + "'a" * LONG + '"""',
    "embedded escapes": "x = '''(;\"" + "\\a\\\n" * (LONG // 2) + "'''",
    "adjacent strings": "x = (" + '"aaaaaaaaaaaaaaa"\n' * (LONG // 9) + ")",
}


@pytest.fixture
def sources_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by an item whenever Python's tokenizer starts on a source."""
    read, original = [], tokenize.generate_tokens

    def counted(readline: Any) -> Iterator[tokenize.TokenInfo]:
        read.append(1)
        return original(readline)

    monkeypatch.setattr(tokenize, "generate_tokens", counted)
    return read


def test_a_used_up_quota_is_refused_before_the_source_is_read(
    stage: Stage, sources_read: list[int], settings: Any
) -> None:
    settings.SUBMISSIONS_PER_HOUR = 1
    stage.submit()
    sources_read.clear()
    with pytest.raises(RateLimited, match="1 submissions in the last hour"):
        stage.submit()
    assert not sources_read


def test_a_submitted_source_is_read_once(stage: Stage, sources_read: list[int]) -> None:
    stage.submit()  # also reads the sources that the problem provides, which are kept
    sources_read.clear()
    stage.submit()
    assert len(sources_read) == 1


def test_read_source_names_the_place_of_a_word_that_is_too_long() -> None:
    read_source(f"x = 1\ny = {'f' * MAX_WORD_CHARS}\n".encode())
    with pytest.raises(SourceError, match=r"more than 10,000 characters in line 2, column 5; break a long text"):
        read_source(f"x = 1\ny = {'f' * (MAX_WORD_CHARS + 1)}\n".encode())


def test_read_source_names_the_line_with_too_many_backslashes() -> None:
    escapes = "\\a" * MAX_LINE_ESCAPES
    read_source(f"x = 1\ny = '{escapes}'\n".encode())
    with pytest.raises(SourceError, match=r"10,001 backslashes in line 2; at most 10,000 in a line"):
        read_source(f"x = 1\ny = '{escapes}\\a'\n".encode())


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_a_megabyte_of_source_takes_less_than_150_megabytes(name: str) -> None:
    tracemalloc.start()
    try:
        with suppress(SourceError):  # a refusal costs even less
            code_digest(read_source(HOSTILE[name].encode()))
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 150_000_000


def test_site_and_client_have_the_limit_of_the_wire() -> None:
    assert source.MAX_SOURCE_BYTES == MAX_SOURCE_BYTES
