"""Exports hold every row once, agree between CSV and JSON, and contain no formula in any cell."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import issue_token
from leaderboard.competitions.models import Role
from leaderboard.dataset import parquet
from leaderboard.entrants.enter import create_agent
from leaderboard.entrants.models import Entrant
from leaderboard.review.models import Decision
from leaderboard.web.organise import exports
from leaderboard.wording.spreadsheet import FORMULAS, csv_lines
from tests.leaderboard.stage import NOON

NAMES = tuple(exports.EXPORTS)
needs_pyarrow = pytest.mark.skipif(not parquet.IS_INSTALLED, reason="pyarrow is not installed")


async def joined(pieces) -> bytes:
    return b"".join([piece async for piece in pieces])


@pytest.fixture
def fetch(stage, browser) -> Callable[[str], Any]:
    """Return a function that downloads an export as an owner, who may download each of them."""
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.OWNER)
    client = browser(stage.ben)

    def get(file: str) -> Any:
        answer = client.get(f"/organise/kernels-101/exports/{file}")
        assert answer.status_code == 200
        assert answer["Content-Disposition"].startswith('attachment; filename="kernels-101-')
        content = async_to_sync(joined)(answer.streaming_content)
        return content if file.endswith(".parquet") else content.decode()

    return get


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_competition_has_empty_files(fetch, name) -> None:
    (head,) = csv.reader(io.StringIO(fetch(f"{name}.csv")))
    assert head == list(exports.EXPORTS[name].columns)
    assert json.loads(fetch(f"{name}.json")) == []


@pytest.mark.parametrize("name", NAMES)
def test_both_kinds_hold_every_row_once_over_pages(stage, fetch, name, monkeypatch) -> None:
    monkeypatch.setattr(exports, "PAGE_ROWS", 2)
    people = (stage.ada, User.objects.create_user("dora"), stage.cleo, stage.olga)
    for ratio, person in enumerate(people, 6):
        result = stage.judge(stage.submit(person), ratio=ratio / 10)
        Decision.objects.create(result=result, actor=stage.olga, act="note", reason="Seen.", created_at=stage.now)
    rows = json.loads(fetch(f"{name}.json"))
    assert len(rows) == len(people)
    assert len({json.dumps(row) for row in rows}) == len(people)
    lines = list(csv.DictReader(io.StringIO(fetch(f"{name}.csv"))))
    key = next(iter(exports.EXPORTS[name].columns))
    assert [line[key] for line in lines] == [str(row[key]) for row in rows]


def test_export_of_decisions_is_without_the_readers_own_cases(stage, fetch) -> None:
    """Regression: an organiser who competes read the notes on their own case, which the review API does not show."""
    agent = create_agent(owner=stage.ben, name="robo", now=stage.now)
    for person in (stage.ada, stage.ben, agent):
        result = stage.judge(stage.submit(person), ratio=0.9)
        Decision.objects.create(result=result, actor=stage.olga, act="note", reason=f"On {person}.", created_at=NOON)
    assert [row["reason"] for row in json.loads(fetch("decisions.json"))] == ["On ada."]
    assert [row["reason"] for row in csv.DictReader(io.StringIO(fetch("decisions.csv")))] == ["On ada."]
    token = issue_token(owner=stage.ben, name="x", scopes=["read", "review"], now=timezone.now())[1]
    answer = Client(headers={"authorization": f"Bearer {token}"}).get(
        "/api/v1/organise/kernels-101/exports/decisions?format=json"
    )
    assert [row["reason"] for row in json.loads(async_to_sync(joined)(answer.streaming_content))] == ["On ada."]


def test_a_name_that_a_spreadsheet_would_run_is_text(stage, fetch) -> None:
    stage.submit()
    Entrant.objects.update(name='=HYPERLINK("http://evil","x")', affiliation="@SUM(A1)")
    (line,) = csv.DictReader(io.StringIO(fetch("entrants.csv")))
    assert (line["name"], line["affiliation"]) == ('\'=HYPERLINK("http://evil","x")', "'@SUM(A1)")
    (row,) = json.loads(fetch("entrants.json"))
    assert row["affiliation"] == "@SUM(A1)"
    assert row["accepted_rules"] == []  # the competition has none


@given(st.text(max_size=20))
def test_no_text_begins_as_a_formula(text: str) -> None:
    ((cell,),) = csv.reader(io.StringIO(csv_lines([[text]]), newline="")) if text else [("",)]
    assert not cell.lstrip(" ").startswith(FORMULAS)


def test_numbers_stay_numbers() -> None:
    assert csv_lines([[-1.5, 3, None, True, ["a"]]]) == '-1.5,3,,True,"[""a""]"\r\n'


@pytest.mark.parametrize("file", ["entrants.xml", "users.csv", "entrants"])
def test_what_there_is_not_is_not_found(stage, browser, file) -> None:
    assert browser(stage.olga).get(f"/organise/kernels-101/exports/{file}").status_code == 404


def table_of(content: bytes) -> Any:
    from pyarrow.parquet import ParquetFile

    return ParquetFile(io.BytesIO(content))


@needs_pyarrow
@pytest.mark.parametrize("name", NAMES)
def test_parquet_holds_the_rows_of_json_with_types(stage, fetch, name) -> None:
    for ratio, person in enumerate((stage.ada, stage.ben, stage.cleo, stage.olga), 6):
        result = stage.judge(stage.submit(person), ratio=ratio / 10)
        Decision.objects.create(result=result, actor=stage.olga, act="note", reason="Seen.", created_at=stage.now)
    file, expected = table_of(fetch(f"{name}.parquet")), json.loads(fetch(f"{name}.json"))
    rows = file.read().to_pylist()
    assert list(rows[0]) == list(expected[0])
    for row, wanted in zip(rows, expected, strict=True):
        for column, value in row.items():
            kind, other = exports.KINDS.get(column, parquet.TEXT), wanted[column]
            if kind == parquet.TIME:
                assert value == datetime.fromisoformat(other)
            elif kind == parquet.TEXT:
                assert value == (json.dumps(other) if isinstance(other, list | dict) else other and str(other))
            else:
                assert value == other, column
    types = {field.name: str(field.type) for field in file.schema_arrow}
    names = {
        parquet.WHOLE: "int64",
        parquet.REAL: "double",
        parquet.TRUTH: "bool",
        parquet.TIME: "timestamp[us, tz=UTC]",
    }
    assert all(types[column] == names[kind] for column, kind in exports.KINDS.items() if column in types)


@needs_pyarrow
def test_parquet_is_written_in_row_groups(stage, fetch, monkeypatch) -> None:
    monkeypatch.setitem(exports.EXPORTS, "submissions", replace(exports.EXPORTS["submissions"], page_rows=2))
    for _ in range(5):
        stage.submit(mode="test")
    assert table_of(fetch("submissions.parquet")).metadata.num_row_groups == 3, "a page of few rows is a group"
    monkeypatch.setattr(exports, "PAGE_ROWS", 2)
    monkeypatch.setattr(exports, "GROUP_ROWS", 4)
    assert table_of(fetch("submissions.parquet")).metadata.num_row_groups == 2
    assert table_of(fetch("decisions.parquet")).metadata.num_rows == 0
