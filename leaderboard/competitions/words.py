"""Search by words in names: the query, and the expression that an index of each searched table repeats.

A name's words are its parts between spaces and punctuation. Each word of the query must begin a word of the name. The
index finds them without a dictionary of any language.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import F, Model, QuerySet, TextField, Value
from django.db.models.expressions import Func

MOST_CHARS: Final = 100
MOST_WORDS: Final = 6
CONFIG: Final = "simple"
PUNCTUATION: Final = "._-/@+:"
Row = TypeVar("Row", bound=Model)

_WORD: Final = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Return the words of a query, at most MOST_WORDS, in small letters."""
    return [word.lower() for word in _WORD.findall(text[:MOST_CHARS])[:MOST_WORDS]]


def vector(*fields: str) -> SearchVector:
    """Return the words of these columns. An index and a query must use the same columns."""
    spaces = " " * len(PUNCTUATION)
    columns: list[Any] = [
        Func(F(field), Value(PUNCTUATION), Value(spaces), function="translate", output_field=TextField())
        for field in fields
    ]
    return SearchVector(*columns, config=CONFIG)


def query(words: list[str]) -> SearchQuery:
    """Return the condition that each of these words begins a word. `words`: of words_of, and not empty."""
    return SearchQuery(" & ".join(f"{word}:*" for word in words), search_type="raw", config=CONFIG)


def named(rows: QuerySet[Row], words: list[str], *fields: str) -> QuerySet[Row]:
    """Return the rows that have each of these words in these columns, which must be the columns of an index."""
    found: QuerySet[Any] = rows.alias(words=vector(*fields)).filter(words=query(words))
    return found


def begin_words(words: Iterable[str], texts: Iterable[str]) -> bool:
    """Return whether each of these words begins a word of the texts, as `query` decides for a row."""
    parts = [part for text in texts for part in words_of(text)]
    return all(any(part.startswith(word) for part in parts) for word in words)
