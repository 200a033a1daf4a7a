"""An expired time limit excuses only a container that foreign programs starved."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.commands import replay
from runner.evidence import replay as rerun
from runner.evidence import schema, verdict
from runner.evidence.recorder import Recorder
from runner.evidence.schedule import A, B, I
from runner.evidence.starved import Reading, Share
from runner.job import execute
from runner.judge.calls import Calls, Stage
from runner.judge.data.call import Stopwatch, WallClock
from runner.judge.data.faults import BUILD, Fault, IncumbentFailed, OracleFailed
from runner.judge.device.processor import Meter, Others, Watch
from runner.judge.sides import arena as orders_module
from runner.judge.sides import oracle as oracle_module
from runner.judge.sides.arena import Orders
from sandbox import protocol
from tests.runner.evidence.test_report_schema import simulated
from tests.runner.judge.fake_host import MS, FakeHost
from tests.runner.judge.oracle_here import oracle_of

S = 1_000_000_000
OVERLOADED = Share(wall_ns=60 * S, ran_ns=6 * S, waited_ns=53 * S, foreign_ns=54 * S)
SLEEPS = Share(wall_ns=60 * S, ran_ns=1 * S, waited_ns=2 * S, foreign_ns=58 * S)
SPINS = Share(wall_ns=60 * S, ran_ns=60 * S, waited_ns=0, foreign_ns=0)
CROWDS_ITSELF = Share(wall_ns=60 * S, ran_ns=60 * S, waited_ns=58 * S, foreign_ns=58 * S)
NICE_ALONE = Share(wall_ns=60 * S, ran_ns=5 * S, waited_ns=55 * S, foreign_ns=3 * S)
A_QUARTER = Share(wall_ns=60 * S, ran_ns=15 * S, waited_ns=45 * S, foreign_ns=45 * S)
SHARES_ONE_CORE = Share(wall_ns=60 * S, ran_ns=33 * S, waited_ns=27 * S, foreign_ns=27 * S)
ITS_OWN = [SLEEPS, SPINS, CROWDS_ITSELF, NICE_ALONE, A_QUARTER, SHARES_ONE_CORE]


@dataclass
class FakeMeter:
    """Meter whose first reading is zero; each later reading advances by this share."""

    share: Share
    readings: int = field(default=0)

    def read(self) -> Reading:
        self.readings += 1
        if self.readings == 1:
            return Reading(0, 0, {7: 0}, (0, 0))
        one = self.share
        return Reading(one.wall_ns, one.ran_ns, {7: one.waited_ns, 8: 0}, (one.foreign_ns, 0))


# -- the rule ----------------------------------------------------------------------------------------------------


def test_a_container_that_others_kept_from_its_core_is_starved() -> None:
    assert OVERLOADED.is_starved


@pytest.mark.parametrize("share", ITS_OWN)
def test_a_program_that_is_slow_by_itself_is_not_starved(share: Share) -> None:
    assert not share.is_starved


# -- the accounts ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["cgroup v1", "cgroup v2"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FakeHost, Callable[[float], None]]:
    """A host with container process 50 of two threads, and a setter for the ms of each of its accounts."""
    made, is_v1 = FakeHost(tmp_path), request.param == "cgroup v1"
    made.group("self", "2:cpuacct:/judge\n0::/\n" if is_v1 else "0::/judge\n")
    made.group(50, "2:cpuacct:/docker/a\n0::/\n" if is_v1 else "0::/docker/a\n")
    group = made.folders.cgroup / ("cpuacct/docker/a/tasks" if is_v1 else "docker/a/cgroup.threads")

    def ran(ms: float) -> None:
        if is_v1:
            made.cpuacct("docker/a", ms / 2, ms / 2)
        else:
            made.v2("docker/a", ms)

    ran(100)
    made.write(group, "50\n51\n52\n")
    return made, ran


def waits(host: FakeHost, **ms: int) -> None:
    for thread, waited in ms.items():
        host.write(host.folders.proc / thread.strip("t") / "schedstat", f"123 {waited * MS} 4\n")


def test_meter_reads_running_and_the_longest_waiting_of_a_container(
    host: tuple[FakeHost, Callable[[float], None]],
) -> None:
    made, ran = host
    waits(made, t50=1000, t51=10)
    meter = Meter(50, lambda: (5, 7), made.folders)
    before = meter.read()
    ran(130)
    waits(made, t50=1100, t51=900, t52=20)  # thread 52 began meanwhile
    share = Share.between(before, meter.read())
    assert (share.ran_ns, share.waited_ns, share.foreign_ns) == (30 * MS, 890 * MS, 0)
    assert share.wall_ns > 0


def test_a_thread_that_ended_and_a_container_that_is_gone_excuse_nothing(
    host: tuple[FakeHost, Callable[[float], None]],
) -> None:
    made, _ = host
    waits(made, t50=1000)
    gone = Meter(99, lambda: (), made.folders)
    assert (gone.read().ran_ns, dict(gone.read().waits)) == (0, {})
    before = Meter(50, lambda: (), made.folders).read()
    (made.folders.proc / "50/schedstat").unlink()
    assert Share.between(before, Meter(50, lambda: (), made.folders).read()).waited_ns == 0


def test_the_judge_s_own_group_is_no_container_s(tmp_path: Path) -> None:
    made = FakeHost(tmp_path)
    made.group(50, "2:cpuacct:/\n0::/\n")
    made.cpuacct("", 5000, 5000)
    made.write(made.folders.cgroup / "cpuacct/tasks", "50\n")
    waits(made, t50=9000)
    assert dict(Meter(50, lambda: (), made.folders).read().waits) == {}


def test_others_leave_out_the_judge_and_its_containers(tmp_path: Path) -> None:
    made = FakeHost(tmp_path)
    made.group("self", "0::/judge\n")
    made.group(50, "0::/docker/a\n")
    for group, ms in (("judge", 10), ("docker", 500), ("docker/a", 500), ("system", 200)):
        made.v2(group, ms)
    others = Others(lambda: frozenset({50}), (0, 1), made.folders)
    before = others.ns()
    made.v2("docker", 900)
    made.v2("docker/a", 900)  # the container has all the time
    made.v2("system", 260)
    (grown,) = (now - then for then, now in zip(before, others.ns(), strict=True))
    assert not others.counts_ticks
    others.close()
    assert grown == pytest.approx(60 * MS, abs=20 * MS)  # less the time of this process itself since then


def test_where_the_judge_is_in_no_group_of_its_own_ticks_are_counted(tmp_path: Path) -> None:
    """Spares then stay on the cores of a job: what they use elsewhere would be taken off those cores' ticks."""
    made = FakeHost(tmp_path)
    made.group("self", "0::/\n")
    made.v2("", 10)
    made.v2("docker", 500)
    others = Others(lambda: frozenset({50}), (0, 1), made.folders)
    assert others.counts_ticks
    others.close()


# -- a wait ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [OVERLOADED, SLEEPS, SPINS])
def test_an_import_that_never_answers_carries_its_share_of_the_processor(
    monkeypatch: pytest.MonkeyPatch, share: Share
) -> None:
    monkeypatch.setattr(orders_module, "WATCHED_S", 0.02)
    page = SimpleNamespace(map=bytearray(protocol.ANSWERS_BYTES))
    container: Any = SimpleNamespace(alive=lambda: True)
    arena: Any = SimpleNamespace(orders=page, answers=page, pages=[page.map])
    orders = Orders(container, arena, WallClock(), FakeMeter(share))  # type: ignore[arg-type]
    with pytest.raises(Fault) as raised:
        orders.wait(1, 0.2, BUILD)
    assert (raised.value.outcome, raised.value.reason, raised.value.share) == ("timeout", "import", share)
    assert raised.value.about("n=1").share == share


def test_tenant_knows_how_long_its_answers_were_awaited() -> None:
    page = SimpleNamespace(map=bytearray(protocol.ANSWERS_BYTES))
    arena = SimpleNamespace(answers=page, pages=[page.map])
    orders = Orders(SimpleNamespace(alive=lambda: True), arena, WallClock())  # type: ignore[arg-type]
    assert not orders.echoed(1, 30_000_000)
    assert not orders.echoed(1, 30_000_000)
    assert 60 * MS <= orders.polled_ns < 600 * MS


def test_a_short_wait_reads_nothing() -> None:
    meter = FakeMeter(OVERLOADED)
    page = SimpleNamespace(map=bytearray(protocol.ANSWERS_BYTES))
    container: Any = SimpleNamespace(alive=lambda: True)
    arena: Any = SimpleNamespace(orders=page, answers=page, pages=[page.map])
    with pytest.raises(Fault) as raised:
        Orders(container, arena, WallClock(), meter).wait(1, 0.1, BUILD)  # type: ignore[arg-type]
    assert (raised.value.share, meter.readings) == (None, 0)


SLOW = """
import time
import torch

def generate_input(n: int, seed: int):
    time.sleep(30)
    return torch.zeros(n), torch.empty(n)

def ref_kernel(data):
    return data[0]
"""


@pytest.mark.parametrize("share", [OVERLOADED, SLEEPS])
def test_an_oracle_that_never_answers_carries_its_share_of_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: Share
) -> None:
    monkeypatch.setattr(oracle_module, "WATCHED_S", 0.05)
    with oracle_of(SLOW, tmp_path) as oracle:
        monkeypatch.setattr(oracle_module, "ANSWER_S", 1)
        oracle.meter = FakeMeter(share)  # type: ignore[assignment]
        with pytest.raises(OracleFailed, match="gave no answer within 1 s") as raised:
            oracle.make({"n": 4}, 1)
    assert raised.value.share == share


def test_a_check_that_was_starved_is_no_output_s_fault() -> None:
    def never(*given: Any) -> Any:
        raise OracleFailed("it gave no answer within 120 s", OVERLOADED)

    oracle: Any = SimpleNamespace(check=never)
    problem: Any = None
    calls = Calls(problem, oracle, {}, problem, recorder=Recorder(), another_oracle=lambda: pytest.fail("asked again"))
    with pytest.raises(OracleFailed):
        calls._own_check(SimpleNamespace(case="n=1", number=1, layout=None), None, B)  # type: ignore[arg-type]


# -- a stage -----------------------------------------------------------------------------------------------------


def watch(sides: Share, oracle: Share, *, polled_s: float, judge_s: float) -> Watch:
    """Watch of a stage in which the judge waited this long for answers of the sides, and for a core."""
    polled, judge = (iter((0, int(seconds * S))) for seconds in (polled_s, judge_s))
    made: tuple[Any, Any] = FakeMeter(sides), FakeMeter(oracle)
    return Watch([made[0]], made[1], lambda: next(polled), lambda: next(judge))


def share(*, ran_s: float = 0.0, waited_s: float = 0.0, foreign_s: float = 58.0) -> Share:
    return Share(60 * S, int(ran_s * S), int(waited_s * S), int(foreign_s * S))


def test_a_stage_is_starved_by_all_that_waited_for_a_core() -> None:
    found = watch(share(ran_s=2, waited_s=15), share(ran_s=3, waited_s=10), polled_s=20, judge_s=15).share()
    assert found == share(ran_s=5, waited_s=40)
    assert found.is_starved


def test_a_judge_that_waits_for_a_core_excuses_no_side_that_sleeps() -> None:
    """The judge looks for the answer all the time, and waits for a core at each look."""
    found = watch(share(ran_s=1, waited_s=1), share(ran_s=1, waited_s=3), polled_s=50, judge_s=55).share()
    assert found == share(ran_s=2, waited_s=11)
    assert not found.is_starved


def test_a_slow_reference_is_not_starved() -> None:
    found = watch(share(), share(ran_s=55, waited_s=5, foreign_s=5), polled_s=1, judge_s=0).share()
    assert not found.is_starved


@pytest.mark.parametrize(
    ("spent_s", "asked_s", "expected"),
    [
        ({B: 3.0}, 0.0, Fault),
        ({A: 3.0, B: 0.5}, 0.0, OracleFailed),
        ({B: 1.0, I: 3.0}, 0.0, IncumbentFailed),
        ({}, 58.0, OracleFailed),
    ],
)
def test_a_stage_that_is_over_carries_its_share_whoever_is_to_blame(
    spent_s: dict[str, float], asked_s: float, expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    asked, starving = Stopwatch(), watch(share(waited_s=30), share(waited_s=20), polled_s=30, judge_s=5)
    stage = Stage("Checking", 0, asked, watch=starving)
    with asked.running():
        now[0] += asked_s
    for side, seconds in spent_s.items():
        with stage.spent_by(side):
            now[0] += seconds
    with pytest.raises(expected) as raised:
        stage.left_s()
    assert raised.value.share == share(waited_s=55)  # type: ignore[attr-defined]


# -- the verdict -------------------------------------------------------------------------------------------------

FAULTS = [
    ("timeout", "import", "No answer within 60 s while it was being imported."),
    ("timeout", "stage", "Checking took longer than its 60 s in all; make the kernel faster."),
    ("infra_error", "problem", execute.PROBLEM_FAILED),
    ("unmeasurable", "incumbent_failed", "The incumbent failed while it was measured beside this submission."),
]


def cut_short(fault: tuple[str, str, str], share: Share | None) -> dict[str, Any]:
    """Evidence of a run that this fault ended before any timing."""
    outcome, reason, message = fault
    told = {"outcome": outcome, "reason": reason, "message": message}
    return simulated() | {"timing": [], "findings": [], "fault": told, "processor_share": share and asdict(share)}


@pytest.mark.parametrize("fault", FAULTS)
def test_time_that_ran_out_on_an_overloaded_host_says_nothing_about_the_kernel(fault: tuple[str, str, str]) -> None:
    found = verdict.decide(schema.parse_run(cut_short(fault, OVERLOADED)))
    assert (found.outcome, found.reason) == ("unmeasurable", "starved")
    assert "of 60 s the judge and its containers waited 53 s for a core, and the containers ran 6 s" in found.message


@pytest.mark.parametrize("share", [*ITS_OWN, None])
@pytest.mark.parametrize("fault", FAULTS)
def test_time_that_ran_out_by_a_programs_own_doing_keeps_its_verdict(
    fault: tuple[str, str, str], share: Share | None
) -> None:
    found = verdict.decide(schema.parse_run(cut_short(fault, share)))
    assert (found.outcome, found.reason, found.message) == fault


@pytest.mark.parametrize("fault", FAULTS)
def test_a_starved_run_is_decided_again_from_its_report(fault: tuple[str, str, str]) -> None:
    evidence = cut_short(fault, OVERLOADED)
    parsed = schema.parse_run(evidence)
    (timing,) = schema.parse_run(simulated()).timing
    assert rerun.rerun(timing.model_copy(update={"ended": ""}), parsed) == []
    blank = execute.Report(attempt_id="1", token=0, outcome="infra_error")
    told = execute.report_of(blank, parsed, {}).to_json()
    assert (told["outcome"], told["reason"]) == ("unmeasurable", "starved")
    assert replay.replay(told).differences == ()
    evidence["processor_share"]["waited_ns"] = 0
    assert "reason" in {one.what for one in replay.replay(told | {"evidence": evidence}).differences}


def test_evidence_without_a_share_fits_as_before() -> None:
    evidence = cut_short(FAULTS[0], None)
    del evidence["processor_share"]
    assert verdict.decide(schema.parse_run(evidence)).outcome == "timeout"
