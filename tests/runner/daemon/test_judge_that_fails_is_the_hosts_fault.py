"""However a judge process fails, the submission is not blamed, no process survives, and the next job is judged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.daemon import worker
from runner.daemon.worker import Daemon
from runner.wire import ADMISSION, Incumbent
from tests.runner.conftest import is_alive
from tests.runner.fake_site import FakeSite


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("die", "judge_died"),
        ("silent", "judge_died"),
        ("hang", "judge_hung"),
        ("stubborn", "judge_hung"),
        ("flood", "judge_protocol"),
        ("nonsense", "judge_protocol"),
        ("nan", "judge_protocol"),
        ("stranger", "judge_protocol"),
    ],
)
def test_failed_judge_becomes_infra_error_and_the_next_job_runs(
    site: FakeSite, start: Callable[..., Daemon], state: Path, what: str, reason: str
) -> None:
    first, second = site.offer("a1", what), site.offer("a2", "pass")
    start(runner_judge_limit_s=2.0, runner_judge_grace_s=0.5).judge_until_idle()
    assert (first.report.outcome, first.report.reason) == ("infra_error", reason)
    assert "Nothing is held against" in first.report.message
    assert second.report.outcome == "passed"


@pytest.mark.parametrize(
    "longer",
    [
        {"incumbent": Incumbent(source="pass", filename="k.py", submission_id="1"), "runs": 5},
        {"task": ADMISSION, "mode": "test"},
    ],
    ids=["confirmation", "admission"],
)
def test_a_job_of_several_judgings_has_the_time_of_all(site: FakeSite, start: Callable[..., Daemon], longer) -> None:
    one, many = site.offer("a1", "slow 1.5"), site.offer("a2", "slow 1.5", **longer)
    start(runner_judge_limit_s=1.0, runner_judge_grace_s=0.3).judge_until_idle()
    assert (one.report.reason, many.report.outcome) == ("judge_hung", "passed")


def test_judge_is_ended_before_the_deadline_of_the_site_and_says_so(
    site: FakeSite, start: Callable[..., Daemon]
) -> None:
    """The report arrives in time, so no lease is lost; the host has no reason to slow down."""
    late, in_time = (
        site.offer("a1", "hang", deadline_s=worker.HAND_IN_S + 1.5),
        site.offer("a2", "pass", deadline_s=600),
    )
    daemon = start(runner_judge_limit_s=1_800.0, runner_judge_grace_s=0.5)
    daemon.judge_until_idle()
    assert late.report is not None
    assert (late.report.outcome, late.report.reason) == ("infra_error", "out_of_time")
    assert "longer than the site allows" in late.report.message
    assert in_time.report is not None
    assert (in_time.report.outcome, daemon._faults) == ("passed", 0)


def test_judge_that_hangs_for_its_own_limit_is_the_hosts_fault(site: FakeSite, start: Callable[..., Daemon]) -> None:
    attempt = site.offer("a1", "hang", deadline_s=600)
    start(runner_judge_limit_s=1.0, runner_judge_grace_s=0.3).judge_until_idle()
    assert attempt.report is not None
    assert attempt.report.reason == "judge_hung"


def test_stubborn_judge_is_killed(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    site.offer("a1", "stubborn")
    start(runner_judge_limit_s=1.0, runner_judge_grace_s=0.3).judge_until_idle()
    assert not is_alive(int((state / "judge.pid").read_text()))


def test_child_that_outlives_its_judge_is_killed(site: FakeSite, start: Callable[..., Daemon], state: Path) -> None:
    attempt = site.offer("a1", "orphan")
    start().judge_until_idle()
    assert attempt.report.outcome == "passed"
    site.await_that(lambda: not is_alive(int((state / "orphan.pid").read_text())))


def test_containers_are_reaped_after_a_fault_under_this_runners_name(
    site: FakeSite, start: Callable[..., Daemon], state: Path
) -> None:
    site.offer("a1", "die")
    start().judge_until_idle()
    assert (state / "reaped").read_text().split() == [(state / "id").read_text()]
