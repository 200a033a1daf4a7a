"""RUNNER_STANDBY: judges for tests wait beside the judge for timed work; a timed attempt runs beside none of them."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.daemon.loan import Patience, borrowed
from runner.daemon.worker import Daemon
from runner.host.accelerators import Device
from tests.runner.conftest import is_alive
from tests.runner.fake_site import FakeSite

Start = Callable[..., Daemon]
Launch = Callable[..., "subprocess.Popen[str]"]
IDLE = ["full", "tests", "tests"]  # judges of an idle runner with RUNNER_STANDBY=2


@contextmanager
def running(daemon: Daemon) -> Iterator[None]:
    thread = threading.Thread(target=daemon.run)
    thread.start()
    try:
        yield
    finally:
        daemon.stop()
        thread.join(20)
        assert not thread.is_alive()


def lives(state: Path, what: str) -> dict[int, tuple[str, str]]:
    """Return sides and owner of the judges that once said so, by pid."""
    path = state / "lives"
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return {int(row[1]): (row[2], row[3]) for row in rows if row[0] == what}


def waiting(state: Path) -> dict[int, str]:
    """Return the sides of the judges that live and were prepared, with or without a job, by pid."""
    return {pid: sides for pid, (sides, _) in lives(state, "waits").items() if is_alive(pid)}


def is_idle(state: Path) -> bool:
    return sorted(waiting(state).values()) == IDLE


def run_state(pid: int) -> str:
    """Return the kernel's letter for a process: T for a stopped one."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_two_judges_for_tests_and_one_for_timed_work_wait_for_an_idle_site(
    site: FakeSite, start: Start, state: Path
) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=2)):
        site.await_that(lambda: is_idle(state))
        owners = {owner for _, owner in lives(state, "begins").values()}
        assert len(owners) == 3, "each judge names its own containers"


def test_a_test_is_judged_while_the_last_judge_clears_away(site: FakeSite, start: Start, state: Path) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=2)):
        site.await_that(lambda: is_idle(state))
        first, second = (site.offer(name, "linger 3", mode="test") for name in ("a1", "a2"))
        site.await_that(lambda: first.report)
        judge = int((state / "judge.pid").read_text())
        assert is_alive(judge)
        site.await_that(lambda: second.report, within_s=2)
        assert is_alive(judge), "it clears away for three seconds"


def test_a_test_takes_a_judge_for_tests_and_ranked_work_takes_the_other(
    site: FakeSite, start: Start, state: Path
) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=1)):
        for mode, sides in (("test", "tests"), ("ranked", "full"), ("benchmark", "full")):
            site.await_that(lambda: sorted(waiting(state).values()) == ["full", "tests"])
            attempt = site.offer(f"of-{mode}", "slow 0.2", mode=mode)
            site.await_that(lambda attempt=attempt: attempt.report)
            assert lives(state, "begins")[int((state / "judge.pid").read_text())][0] == sides


def test_a_judge_taken_by_a_test_is_replaced(site: FakeSite, start: Start, state: Path) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=2)):
        site.await_that(lambda: is_idle(state))
        before = {pid for pid, sides in waiting(state).items() if sides == "tests"}
        for number in range(4):  # more than wait; one may take the judge of both sides
            site.offer(f"a{number}", "pass", mode="test")
        site.await_that(lambda: all(one.report for one in site.attempts.values()))
        site.await_that(lambda: is_idle(state))
        assert not before & set(waiting(state))


def test_a_judge_that_is_ready_again_takes_the_next_test(site: FakeSite, start: Start, state: Path) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=1)):
        judges = []
        for number in range(3):
            site.await_that(lambda: sorted(waiting(state).values()) == ["full", "tests"])
            attempt = site.offer(f"a{number}", "again", mode="test")
            site.await_that(lambda attempt=attempt: attempt.report)
            assert [event.seq for event in attempt.events] == [1]
            judges.append(int((state / "judge.pid").read_text()))
            time.sleep(0.5)  # it is ready again
        assert len(set(judges)) == 1
        last = site.offer("a3", "pass", mode="test")
        site.await_that(lambda: last.report and not is_alive(judges[0]))
        site.await_that(lambda: sorted(waiting(state).values()) == ["full", "tests"])


def test_a_judge_that_is_ready_again_is_stopped_beside_a_timed_attempt(
    site: FakeSite, start: Start, state: Path
) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=1)):
        site.await_that(lambda: sorted(waiting(state).values()) == ["full", "tests"])
        test = site.offer("a1", "again", mode="test")
        timed = site.offer("a2", "slow 1", mode="ranked")
        site.await_that(lambda: test.report and timed.events)
        renewed = next(pid for pid, sides in waiting(state).items() if sides == "tests")
        assert run_state(renewed) == "T"
        site.await_that(lambda: timed.report and run_state(renewed) != "T")


def test_no_judge_is_prepared_or_cleared_away_beside_a_timed_attempt(site: FakeSite, start: Start, state: Path) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=2)):
        site.await_that(lambda: is_idle(state))
        site.offer("a1", "linger 1", mode="test")  # when it has reported, it is cleared away and another is prepared
        timed = site.offer("a2", "slow 1", mode="ranked")
        site.await_that(lambda: timed.events)
        judge = int((state / "judge.pid").read_text())

        def of_others() -> str:
            rows = (state / "lives").read_text().splitlines()
            return "\n".join(row for row in rows if row.split()[1] != str(judge))

        before = of_others()
        while not timed.report:
            others = {pid: run_state(pid) for pid in waiting(state) if pid != judge}
            assert set(others.values()) <= {"T"} or timed.report, others
            assert of_others() == before or timed.report
            time.sleep(0.02)
        assert before.count("begins") == before.count("waits"), "no preparation was under way"
        assert before.count("ends") == 1, "the judge of the test was gone"
        site.await_that(lambda: is_idle(state) and "T" not in map(run_state, waiting(state)))  # those that waited go on


def test_judges_that_wait_are_put_away_when_the_runner_drains(site: FakeSite, start: Start, state: Path) -> None:
    daemon = start(runner_poll_s=0.2, runner_standby=2)
    with running(daemon):
        site.await_that(lambda: is_idle(state))
        daemon.wind_down()
        site.await_that(lambda: not waiting(state), within_s=5)
    assert len(lives(state, "ends")) == len(lives(state, "begins"))


def test_stopped_judges_end_with_the_runner_beside_a_timed_attempt(site: FakeSite, start: Start, state: Path) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=2)):
        site.await_that(lambda: is_idle(state))
        timed = site.offer("a1", "slow 600")
        site.await_that(lambda: timed.events)
    assert not waiting(state)
    assert timed.released == 1


def test_judges_that_wait_are_put_away_for_a_loan(site: FakeSite, launch: Launch, state: Path, tmp_path: Path) -> None:
    launch(RUNNER_POLL_S="0.5", RUNNER_STANDBY="2")
    site.await_that(lambda: is_idle(state))
    with borrowed(Device("cpu", 0), tmp_path / "locks", Patience(limit_s=0), "a test"):
        assert not waiting(state)
        time.sleep(1)
        assert not waiting(state), "none is prepared beside a loan"
    site.await_that(lambda: is_idle(state))


def test_a_crash_takes_all_judges_along_and_the_next_runner_removes_their_containers(
    site: FakeSite, launch: Launch, state: Path
) -> None:
    process = launch(RUNNER_STANDBY="2")
    site.await_that(lambda: is_idle(state))
    process.kill()
    process.wait(10)
    site.await_that(lambda: not waiting(state), within_s=2)
    owners = {owner for _, owner in lives(state, "begins").values()}
    (state / "reaped").unlink()
    launch(RUNNER_STANDBY="2")
    site.await_that(lambda: (state / "reaped").exists() and (state / "reaped").read_text())
    assert owners <= set((state / "reaped").read_text().split())


def test_a_judge_that_cannot_clear_away_has_only_its_own_containers_removed(
    site: FakeSite, start: Start, state: Path
) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=1, runner_judge_limit_s=1.0, runner_judge_grace_s=0.3)):
        site.await_that(lambda: sorted(waiting(state).values()) == ["full", "tests"])
        (state / "reaped").unlink()
        attempt = site.offer("a1", "linger_stubborn", mode="test")
        site.await_that(lambda: attempt.report)
        owner = lives(state, "begins")[int((state / "judge.pid").read_text())][1]
        site.await_that(lambda: (state / "reaped").exists() and (state / "reaped").read_text())
        assert (state / "reaped").read_text().split() == [owner]
        site.await_that(lambda: sorted(waiting(state).values()) == ["full", "tests"])


def test_a_preparation_that_fails_in_the_background_stops_no_test(site: FakeSite, start: Start, state: Path) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=1)):
        site.await_that(lambda: sorted(waiting(state).values()) == ["full", "tests"])
        (state / "unprepared").write_text("die")
        for name in ("a1", "a2"):  # the second takes the judge with all sides
            attempt = site.offer(name, "pass", mode="test")
            site.await_that(lambda attempt=attempt: attempt.report)
        (state / "unprepared").unlink()
        site.await_that(lambda: sorted(waiting(state).values()) == ["full", "tests"])


@pytest.mark.parametrize("standby", [0, 2])
def test_a_lease_lost_before_the_judge_has_the_job_ends_it_without_a_report(
    site: FakeSite, start: Start, state: Path, standby: int
) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=standby)):
        site.await_that(lambda: waiting(state))
        lost = site.offer("a1", "slow 600", mode="test")
        lost.stale = True
        following = site.offer("a2", "pass", mode="test")
        site.await_that(lambda: following.report)
        assert lost.report is None


@pytest.mark.parametrize(
    ("modes", "judges"),
    [
        ("test test ranked ranked", "AABC"),
        ("benchmark benchmark test benchmark", "AAAB"),
        ("test benchmark benchmark ranked benchmark", "ABBCD"),
    ],
)
def test_the_only_judge_of_a_gpu_stays_for_work_that_never_ranks_and_is_timed_before_it_times(
    site: FakeSite, start: Start, state: Path, modes: str, judges: str
) -> None:
    with running(start(runner_poll_s=0.2, runner_standby=2, runner_hardware="H100")):
        found: list[int] = []
        for number, mode in enumerate(modes.split()):
            attempt = site.offer(f"a{number}", "pass" if mode == "ranked" else "again", mode=mode)
            site.await_that(lambda attempt=attempt: attempt.report)
            found.append(int((state / "judge.pid").read_text()))
        different = list(dict.fromkeys(found))
        assert "".join("ABCD"[different.index(pid)] for pid in found) == judges
        assert {sides for sides, _ in lives(state, "begins").values()} == {"full"}


def test_a_judge_of_a_gpu_makes_room_a_while_after_a_test(site: FakeSite, start: Start, state: Path) -> None:
    with running(start(runner_poll_s=30.0, runner_standby=2, runner_hardware="H100")):
        attempt = site.offer("a1", "again", mode="test")
        site.await_that(lambda: attempt.report)
        judge = int((state / "judge.pid").read_text())
        site.await_that(lambda: not is_alive(judge) and list(waiting(state).values()) == ["full"], within_s=15)
