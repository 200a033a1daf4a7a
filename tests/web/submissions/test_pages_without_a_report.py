"""Pages of a result whose report is gone show its verdict, and a sentence in place of the details."""

from pathlib import Path
from typing import Any

import pytest

from leaderboard.judging import archive, content_store
from leaderboard.judging.models import Result
from tests.leaderboard.stage import Stage

GONE = archive.GONE.format(state="missing")


@pytest.fixture
def result(stage: Stage, settings: Any, tmp_path: Path) -> Result:
    settings.REPORT_STORE = f"file://{tmp_path}"
    result = stage.judge(stage.submit(), flags=["not_certified"], logs={"stdout": "hello"})  # a rule holds it
    content_store.delete(result.archived.digest)
    return result


def test_the_owner_sees_the_verdict_and_a_sentence(stage: Stage, result: Result, browser: Any) -> None:
    address = f"/submissions/{result.attempt.submission_id}"
    page = browser(stage.ada).get(address).content.decode()
    assert GONE in page
    assert "1.11" in page
    assert "stdout" not in page
    told = browser(stage.ada).get(f"/api/v1{address}").json()
    assert (told["outcome"], told["cases"], told["report_problem"]) == ("passed", [], GONE)


def test_a_reviewer_sees_the_findings_and_a_sentence(stage: Stage, result: Result, browser: Any) -> None:
    page = browser(stage.olga).get(f"/review/{result.pk}").content.decode()
    assert GONE in page
    assert "The report has no" not in page
    told = browser(stage.olga).get(f"/api/v1/review/{result.pk}").json()
    assert told["report_problem"] == GONE
    assert [one["rule"] for one in told["findings"]] == ["not_certified"]
