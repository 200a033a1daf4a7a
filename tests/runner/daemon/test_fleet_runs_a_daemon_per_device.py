"""`runner fleet` as an operator sees it: two lanes of a fake judge, each a daemon on a core of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.commands import main
from tests.runner.conftest import FAKE_JUDGE, is_alive
from tests.runner.fake_site import TOKEN, FakeSite

OTHER = "pfr_tex-and-nobody-else"
GIB = 1 << 30
CORES = sorted(os.sched_getaffinity(0))[:2]

pytestmark = pytest.mark.skipif(
    len(CORES) < 2 or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < 8 * GIB,
    reason="two lanes need two cores and 8 GiB of memory",
)
Fleet = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def tokens(site: FakeSite, tmp_path: Path) -> Path:
    """The folder that two enrolments left."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    site.other_tokens = {OTHER}
    for number, token in enumerate((TOKEN, OTHER)):
        path = folder / f"{number}.env"
        path.write_text(f"PHOTOFINISH_URL={site.url}\nRUNNER_HARDWARE=cpu\nRUNNER_TOKEN={token}\n")
        path.chmod(0o600)
    return folder


@pytest.fixture
def environment(tokens: Path, tmp_path: Path) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "PHOTOFINISH_"))}
    return known | {
        "BROKER_URL": "",
        "RUNNER_HARDWARE": "cpu",
        "RUNNER_FLEET": "0,1",
        "RUNNER_FLEET_TOKENS": str(tokens),
        "RUNNER_FLEET_CORES": "1",
        "RUNNER_FLEET_SPARE": "0",
        "RUNNER_HOST": "rack-7",
        "LOG_LEVEL": "INFO",
        "RUNNER_STATE": str(tmp_path / "state"),
        "RUNNER_LOCKS": str(tmp_path / "locks"),
        "RUNNER_JUDGE_COMMAND": json.dumps(FAKE_JUDGE),
        "RUNNER_JUDGE_GRACE_S": "2",
        "RUNNER_STANDBY": "0",
    }


def command(*arguments: str) -> list[str]:
    return [
        "taskset",
        "--cpu-list",
        ",".join(map(str, CORES)),
        sys.executable,
        "-m",
        "runner.commands.start",
        *arguments,
    ]


@pytest.fixture
def launch(environment: dict[str, str]) -> Iterator[Fleet]:
    """Start the fleet as its own process."""
    started = []

    def begin(**changes: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            command("fleet"), env=environment | changes, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def ask(environment: dict[str, str], *arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments), env=environment | changes, capture_output=True, text=True, timeout=60, check=False
    )


def judges(tmp_path: Path, name: str = "judge") -> list[int]:
    """The processes of both lanes' judges."""
    return [int((tmp_path / "state" / lane / f"{name}.pid").read_text()) for lane in ("0", "1")]


def daemons(fleet: "subprocess.Popen[str]") -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{fleet.pid}/task/{fleet.pid}/children").read_text().split()]


def test_fleet_judges_on_each_device_at_once_and_drains_on_sigterm(
    site: FakeSite, launch: Fleet, tmp_path: Path
) -> None:
    attempts = [site.offer(name, "slow 4") for name in ("a1", "a2")]
    process = launch(RUNNER_DRAIN_S="60")
    site.await_that(lambda: all(attempt.events for attempt in attempts), within_s=60)
    assert [attempt.report for attempt in attempts] == [None, None], "both are judged at once"
    assert [os.sched_getaffinity(pid) for pid in judges(tmp_path)] == [{core} for core in CORES]
    places = sorted((hello["place"] for hello in site.hellos), key=lambda place: place["device"])
    assert [(place["host"], place["device"], place["cores"]) for place in places] == [
        ("rack-7", 0, str(CORES[0])),
        ("rack-7", 1, str(CORES[1])),
    ]
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 0
    assert [attempt.report.outcome for attempt in attempts if attempt.report] == ["passed", "passed"]
    assert {"fleet", "cpu-0", "cpu-1"} <= {json.loads(line)["device"] for line in log.splitlines()}
    assert TOKEN not in log
    assert OTHER not in log


def test_second_sigterm_hands_all_attempts_back(site: FakeSite, launch: Fleet, tmp_path: Path) -> None:
    attempts = [site.offer(name, "hang") for name in ("a1", "a2")]
    process = launch(RUNNER_DRAIN_S="600")
    site.await_that(lambda: all(attempt.events for attempt in attempts), within_s=60)
    process.send_signal(signal.SIGTERM)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert [attempt.released for attempt in attempts] == [1, 1]
    assert not any(map(is_alive, judges(tmp_path)))


def test_fleet_starts_a_daemon_again_that_died(site: FakeSite, launch: Fleet) -> None:
    process = launch()
    site.await_that(lambda: len(site.hellos) == 2, within_s=60)
    victim, other = daemons(process)
    os.kill(victim, signal.SIGKILL)
    site.await_that(lambda: len(site.hellos) == 3, within_s=60)
    assert site.hellos[2]["place"]["device"] == 0
    assert victim not in daemons(process)
    assert other in daemons(process), "the other daemon goes on"
    process.terminate()
    _, log = process.communicate(timeout=60)
    assert process.returncode == 0
    assert [line["exit_code"] for line in map(json.loads, log.splitlines()) if line["event"] == "runner_ended"][:1] == [
        -signal.SIGKILL
    ]


def test_sigkill_of_the_fleet_takes_daemons_and_judges_along(site: FakeSite, launch: Fleet, tmp_path: Path) -> None:
    process = launch()
    site.await_that(lambda: len(site.hellos) == 2, within_s=60)
    living = [*daemons(process), *judges(tmp_path, "waiting")]
    assert all(map(is_alive, living))
    process.kill()
    process.wait(10)
    site.await_that(lambda: not any(map(is_alive, living)), within_s=10)


def test_daemon_that_cannot_work_ends_the_fleet(site: FakeSite, launch: Fleet) -> None:
    site.other_tokens = set()
    process = launch()
    _, log = process.communicate(timeout=60)
    assert process.returncode == 2
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["device"] for line in lines if line["event"] == "fleet_cannot_work"] == ["cpu-1"]
    assert any("401" in line.get("error", "") for line in lines if line["device"] == "cpu-1")
    assert OTHER not in log


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("missing", "1.env: No such file or directory; `runner fleet --only 1 runner enrol URL CODE --file"),
        ("open", "1.env has mode 644; it holds a token: chmod 600"),
        ("twice", "0 and 1 have the same token; enrol each of them"),
        ("more", "1.env needs RUNNER_TOKEN, and may have PHOTOFINISH_URL, RUNNER_HARDWARE, RUNNER_TOKEN alone"),
        ("short", "RUNNER_TOKEN: "),
        ("GPU", "RUNNER_HARDWARE: 'H200' in "),
        ("url", "PHOTOFINISH_URL: Field required"),
    ],
)
def test_wrong_token_file_is_named(
    environment: dict[str, str], tokens: Path, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    path = tokens / "1.env"
    text = path.read_text()
    if fault == "missing":
        path.unlink()
    elif fault == "open":
        path.chmod(0o644)
    else:
        faults = {"twice": text.replace(OTHER, TOKEN), "more": f"{text}RUNNER_STATE=/\n"}
        faults |= {"short": text.replace(OTHER, "pfr"), "GPU": text.replace("=cpu", "=H200")}
        path.write_text(faults.get(fault, f"RUNNER_TOKEN={OTHER}\n"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(main.app, ["fleet", "--plan"])  # which checks all that a start does
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert not any(token in done.output + done.stderr for token in (TOKEN, OTHER))


def test_plan_is_printed_and_starts_nothing(site: FakeSite, environment: dict[str, str]) -> None:
    done = ask(environment, "fleet", "--plan")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines[1:3]] == [["0", "cpu"], ["1", "cpu"]]
    assert [line[3] for line in lines[1:3]] == [str(core) for core in CORES], "the judge's core"
    assert site.hellos == []
    refused = ask(environment, "fleet", RUNNER_FLEET_CORES="2")
    assert refused.returncode == 2
    assert "RUNNER_FLEET_CORES: 2: " in refused.stderr
    assert "Traceback" not in refused.stderr
    assert site.hellos == []


def test_only_runs_a_command_as_the_runner_of_a_device(environment: dict[str, str], tmp_path: Path) -> None:
    program = "import os; print(os.environ['RUNNER_GPU'], os.environ['RUNNER_STATE'], *os.sched_getaffinity(0))"
    done = ask(environment, "fleet", "--only", "1", sys.executable, "-c", program)
    assert done.stdout.split() == ["1", str(tmp_path / "state" / "1"), str(CORES[1])], done.stderr
    refused = ask(environment, "fleet", "--only", "1", "no-such-program")
    assert refused.returncode == 2
    assert "'no-such-program' cannot be started: No such file" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--only", "7", "true"), "--only: 7: RUNNER_FLEET is '0,1'; name a device of the fleet"),
        (("--only", "1"), "--only goes with a command"),
        (("true",), "--only goes with a command"),
    ],
)
def test_only_without_its_device_or_command_is_refused(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(main.app, ["fleet", *arguments])
    assert (done.exit_code, words in done.stderr) == (2, True), done.stderr


def test_drain_acts_on_each_runner_of_the_fleet(site: FakeSite, environment: dict[str, str]) -> None:
    site.holds = ["12", "", ""]
    done = ask(environment, "drain", "--wait")
    assert done.stderr == "Runner rex still judges 12; waiting.\n"
    assert done.stdout.count("claims nothing from now on. It judges nothing: it may be stopped.") == 2
    assert site.draining
