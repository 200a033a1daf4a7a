"""A finished report survives an absent site, the runner's death and a damaged file."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.daemon.spool import ASIDE_FILES, Spool
from runner.daemon.worker import Daemon
from runner.errors import ConfigError
from runner.wire import Report
from tests.runner.fake_site import FakeSite

LIMIT = 100_000


def report(attempt_id: str = "a1", token: int = 1, message: str = "") -> Report:
    return Report(attempt_id=attempt_id, token=token, outcome="passed", message=message)


def test_report_waits_for_a_site_that_is_away(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "slow 0.5")
    thread = threading.Thread(target=start().judge_until_idle)
    thread.start()
    site.await_that(lambda: site.claims)
    site.down = True
    site.await_that(lambda: list((state / "spool").glob("*.json")))
    site.down = False
    thread.join(20)
    assert attempt.report.outcome == "passed"
    assert list((state / "spool").iterdir()) == []


def test_leftover_report_is_sent_by_the_next_run(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "never judged here")
    site._queue.clear()
    Spool(state, LIMIT).put(report())
    start().judge_until_idle()
    assert attempt.report == report()
    assert list((state / "spool").iterdir()) == []


def test_report_is_sent_although_the_disk_is_full(
    site: FakeSite, start: Callable[..., Daemon], state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = site.offer("a1", "pass")
    daemon = start()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    daemon.judge_until_idle()
    assert attempt.report.outcome == "passed"
    assert list((state / "spool").iterdir()) == [], "half of a file would keep the disk full"


def test_replayed_report_is_settled(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "pass")
    daemon = start()
    daemon.judge_until_idle()
    Spool(state, LIMIT).put(report())
    daemon.judge_until_idle()
    assert attempt.report_calls == 2
    assert list((state / "spool").iterdir()) == []


def test_leftover_of_a_lost_lease_is_dropped(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "pass")
    site._queue.clear()
    attempt.stale = True
    Spool(state, LIMIT).put(report())
    start().judge_until_idle()
    assert attempt.report is None
    assert list((state / "spool").iterdir()) == []


def test_refused_report_is_set_aside_and_the_attempt_ended(
    site: FakeSite, start: Callable[..., Daemon], state: Path
) -> None:
    attempt = site.offer("a1", "pass")
    site.refuse_reports_as = 400
    start().judge_until_idle()
    assert (attempt.report.outcome, attempt.report.reason) == ("infra_error", "report_refused")
    assert [path.name for path in (state / "aside").iterdir()] == ["a1.1.json"]


def test_revoked_token_keeps_the_report(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "pass")
    site._queue.clear()
    Spool(state, LIMIT).put(report())
    site.token = "pfr_another"
    start().judge_until_idle()
    assert attempt.report is None
    assert len(list((state / "spool").iterdir())) == 1


@pytest.mark.parametrize("damage", ["", "{", '{"wire": 1}', '{"wire": 99}', "[]", "\udcff"])
def test_damaged_file_is_set_aside_and_the_others_are_sent(state: Path, damage: str) -> None:
    spool = Spool(state, LIMIT)
    spool.put(report("whole"))
    (state / "spool" / "damaged.1.json").write_bytes(damage.encode(errors="surrogateescape"))
    assert [item.report.attempt_id for item in spool.waiting()] == ["whole"]
    assert [path.name for path in (state / "aside").iterdir()] == ["damaged.1.json"]


def test_half_written_file_is_not_a_report(state: Path) -> None:
    Spool(state, LIMIT)
    (state / "spool" / "a1.1.json.tmp").write_text('{"wire"')
    assert Spool(state, LIMIT).waiting() == []
    assert list((state / "spool").iterdir()) == []


def test_spool_is_capped_and_keeps_the_newest(state: Path) -> None:
    spool = Spool(state, limit_bytes=20_000)
    for number in range(10):
        spool.put(report(f"a{number}", message="x" * 7_000))
    assert [item.report.attempt_id for item in spool.waiting()] == ["a8", "a9"]


def test_aside_folder_is_capped(state: Path) -> None:
    spool = Spool(state, LIMIT)
    for number in range(ASIDE_FILES + 5):
        (state / "spool" / f"d{number}.json").write_text("{")
    spool.waiting()
    assert len(list((state / "aside").iterdir())) == ASIDE_FILES


def test_state_folder_keeps_its_name_and_is_private(state: Path) -> None:
    first = Spool(state, LIMIT)
    assert Spool(state, LIMIT).runner_id == first.runner_id
    assert state.stat().st_mode & 0o077 == 0


def test_unusable_state_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="RUNNER_STATE"):
        Spool(tmp_path / "file" / "state", LIMIT)


@settings(max_examples=30, deadline=None)
@given(st.text(alphabet=st.characters(exclude_characters="\x00"), max_size=64), st.text(max_size=200))
def test_any_report_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, attempt_id: str, message: str
) -> None:
    spool = Spool(tmp_path_factory.mktemp("state"), LIMIT)
    kept = report(attempt_id, message=message.replace("\x00", ""))
    spool.put(kept)
    assert [item.report for item in spool.waiting()] == [kept]
