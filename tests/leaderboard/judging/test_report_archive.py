"""Reports lie in the store under their digest; a report that is gone gives a sentence and a notice."""

import gzip
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from leaderboard import pipeline
from leaderboard.errors import StaleLease, StoreAway, UserError
from leaderboard.judging import archive, content_store
from leaderboard.judging.models import Archived, Attempt, Result, ResultArchived
from leaderboard.judging.verdicts import with_reports
from leaderboard.operations.models import Notice
from leaderboard.standings.models import Entry
from leaderboard.standings.read.status import status_of
from tests.leaderboard.stage import Stage, passing

CASES = ({"name": "small", "outcome": "passed", "stage": "check"},)


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.REPORT_STORE = f"file://{tmp_path}/reports"
    (tmp_path / "reports").mkdir()
    return tmp_path / "reports"


def judged(stage: Stage, mode: str = "test", **told: Any) -> Result:
    result = stage.judge(stage.submit(mode=mode), **{"cases": CASES, "logs": {"stdout": "hello"}, **told})
    return Result.objects.get(pk=result.pk)  # without the report in memory


def file_of(folder: Path, result: Result) -> Path:
    return folder / content_store.name_of(result.archived.digest)


def test_a_report_lies_in_the_store_and_not_in_the_database(stage: Stage, folder: Path) -> None:
    result = judged(stage)
    assert result.inline == {}
    assert archive.look(result).report["logs"] == {"stdout": "hello"}
    assert [path for path in folder.rglob("*") if path.is_file()] == [file_of(folder, result)]
    content = gzip.decompress(file_of(folder, result).read_bytes())
    assert (len(content), result.archived.phase) == (result.archived.size, "test")
    status = status_of(result.attempt.submission, now=stage.now)
    assert (status.logs, status.report_problem) == ({"stdout": "hello"}, "")


def test_without_a_store_a_report_stays_in_the_database(stage: Stage, settings: Any) -> None:
    settings.REPORT_STORE = ""
    result = judged(stage)
    assert result.inline["logs"] == archive.look(result).report["logs"] == {"stdout": "hello"}
    assert not ResultArchived.objects.exists()


@pytest.mark.parametrize("damage", ["missing", "flipped", "cut", "swollen", "another report"])
def test_a_missing_or_damaged_report_is_a_sentence_and_a_notice(stage: Stage, folder: Path, damage: str) -> None:
    result = judged(stage)
    path = file_of(folder, result)
    whole = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "flipped":
            path.write_bytes(whole[:-12] + bytes([whole[-12] ^ 1]) + whole[-11:])
        case "cut":
            path.write_bytes(whole[: len(whole) // 2])
        case "swollen":  # a bomb is not unpacked beyond the limit
            path.write_bytes(gzip.compress(bytes(content_store.MOST_BYTES + 1)))
        case _:
            path.write_bytes(gzip.compress(b"{}"))
    state = "missing" if damage == "missing" else "damaged"
    for _ in range(2):  # the second reading adds no notice
        status = status_of(result.attempt.submission, now=stage.now)
        assert status.report_problem == archive.GONE.format(state=state)
        assert (status.outcome, status.cases, status.logs) == ("passed", [], {})
    notice = Notice.objects.get(event=f"report_{state}")
    assert content_store.name_of(result.archived.digest) in notice.text
    assert archive.report_of(result) == {}


def test_a_damaged_report_is_repaired_by_writing_it_again(stage: Stage, folder: Path) -> None:
    result = judged(stage)
    report = archive.report_of(result)
    file_of(folder, result).write_bytes(b"")
    assert archive.keep(report) == (result.archived.digest, result.archived.size)
    assert archive.look(result) == (report, "")


def test_a_store_that_is_away_is_no_loss_and_refuses_a_report_for_now(stage: Stage, folder: Path) -> None:
    result = judged(stage)
    folder.rename(folder.with_name("unmounted"))
    assert archive.look(result) == ({}, archive.AWAY)
    with pytest.raises(StoreAway):
        archive.report_of(result)
    assert Notice.objects.filter(event="report_store_away").count() == 1
    job = (stage.submit(), stage.claim())[1]
    with pytest.raises(StoreAway):
        stage.report(job)
    assert Attempt.objects.get(pk=job.attempt_id).state == "claimed"
    folder.with_name("unmounted").rename(folder)
    assert stage.report(job)
    assert archive.look(result).problem == ""


def test_a_content_is_written_before_the_row_and_never_without_a_claim(
    stage: Stage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = (stage.submit(), stage.claim())[1]
    forged = replace(passing(job), token=7)
    with pytest.raises(StaleLease):
        pipeline.take_report(runner=stage.rex, report=forged, now=stage.now)
    assert list(folder.iterdir()) == []

    def crash(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "record_result", crash)
    with pytest.raises(KeyboardInterrupt):
        stage.report(job)
    assert len(list(folder.rglob("*.gz"))) == 1  # an orphan
    assert not Result.objects.exists()


def test_orphans_are_swept_after_a_day_and_nothing_else(stage: Stage, folder: Path) -> None:
    result = judged(stage)
    orphan = archive.keep({"nobody": "refers to it"})
    young = archive.keep({"nobody": "refers to it yet"})
    assert orphan is not None
    assert young is not None
    old = (stage.now - timedelta(days=2)).timestamp()
    for digest in (orphan.digest, result.archived.digest):
        os.utime(folder / content_store.name_of(digest), (old, old))
    os.utime(folder / content_store.name_of(young.digest), (stage.now.timestamp(),) * 2)
    deleted = [archive.sweep_contents(now=stage.now + timedelta(hours=hour)) for hour in range(16)]
    assert sum(deleted) == 1  # a pass for each first digit
    assert content_store.get(orphan.digest) is None
    assert content_store.get(young.digest) is not None
    assert archive.look(result).problem == ""


def test_an_expired_report_leaves_its_verdict_and_digest(stage: Stage, folder: Path, settings: Any) -> None:
    settings.REPORT_DAYS = {"test": 30, "benchmark": 0}
    tested, timed, ranked = judged(stage), judged(stage, "benchmark"), judged(stage, "ranked")
    assert archive.expire(now=stage.now + timedelta(days=29)) == 0
    assert archive.expire(now=stage.now + timedelta(days=31)) == 1
    assert archive.expire(now=stage.now + timedelta(days=31)) == 0
    assert not file_of(folder, tested).exists()
    gone = Result.objects.get(pk=tested.pk)
    problem = archive.EXPIRED.format(gone.archived.expired_at)
    assert (gone.outcome, len(gone.archived.digest), archive.look(gone)) == ("passed", 64, ({}, problem))
    assert not archive.look(timed).problem
    assert not archive.look(ranked).problem
    assert not Notice.objects.exists()


def test_lines_and_contests_keep_their_reports(stage: Stage, folder: Path, settings: Any) -> None:
    settings.REPORT_DAYS = {"practice": 1}
    competition = stage.board.competition
    competition.practice_at, competition.contest_at = stage.now, stage.now + timedelta(days=7)
    competition.save()
    stage.board.refresh_from_db()
    lined, wrong, becomes_contest = (
        judged(stage, "ranked"),
        judged(stage, "ranked", outcome="wrong"),
        judged(stage, "ranked", outcome="wrong"),
    )
    assert Entry.objects.get().attempt == lined.attempt
    sent_at = becomes_contest.attempt.submission.created_at
    competition.contest_at = sent_at
    competition.save()
    assert archive.expire(now=stage.now + timedelta(days=2)) == 1
    assert archive.look(wrong).report == {}
    assert not archive.look(lined).problem
    assert not archive.look(becomes_contest).problem
    phases = dict(ResultArchived.objects.values_list("of", "phase"))
    assert phases == {lined.pk: Archived.KEPT, wrong.pk: "practice", becomes_contest.pk: "contest"}


def test_reports_of_before_the_store_are_moved_in_steps(
    stage: Stage, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REPORT_STORE = ""
    with pytest.raises(CommandError, match="REPORT_STORE is not set"):
        call_command("move_reports")
    results = [judged(stage, logs={"stdout": str(number)}) for number in range(5)]
    before = [archive.look(result).report for result in results]
    settings.REPORT_STORE = f"file://{tmp_path}/reports"
    (tmp_path / "reports").mkdir()
    real, written = content_store.put, []

    def full(content: bytes) -> str:
        written.append(content)
        if len(written) == 4:
            raise StoreAway("the disk is full")
        return real(content)

    monkeypatch.setattr(content_store, "put", full)
    with pytest.raises(CommandError, match=r"the disk is full. 2 reports were moved"):
        call_command("move_reports", step=2)
    assert ResultArchived.objects.count() == 2
    call_command("move_reports", step=2)
    call_command("move_reports", step=2)
    assert (ResultArchived.objects.count(), len(written)) == (5, 4 + 3)
    found = [Result.objects.get(pk=result.pk) for result in results]
    assert [archive.look(result).report for result in found] == before
    assert [result.inline for result in found] == before  # for the code of the last release
    assert len(list(tmp_path.rglob("*.gz"))) == 5


def test_many_reports_are_read_with_one_query(stage: Stage, folder: Path, django_assert_num_queries: Any) -> None:
    results = [judged(stage, logs={"stdout": str(number)}) for number in range(12)]
    with django_assert_num_queries(1):
        for some in with_reports(results):
            assert [archive.report_of(one)["logs"]["stdout"] for one in some] == [str(number) for number in range(12)]
    assert all(one.loaded is None for one in results)


def test_a_report_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_store, "MOST_BYTES", 100)
    with pytest.raises(UserError, match="may have less than 100"):
        archive.canonical({"logs": {"stdout": "x" * 100}})
