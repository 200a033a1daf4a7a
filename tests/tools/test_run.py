"""`make test`, `test-fast`, `check` and `ci`: set up their requirements first, where allowed; then run.

`test` ends with pytest's summary line. In CI (CI=true) a test that needs Docker or a browser fails without it;
elsewhere the test is skipped with a reason. `ci` checks and builds the sandbox image while the tests run, and gives a
few failed tests a second run alone on the machine.
"""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NoReturn

from deploy.console import captured, exit_status, say, step
from deploy.docker_engine import ensure_docker
from deploy.image import ensure_image, image_tag
from deploy.parties import CHECKOUT
from tests.tools import packages

# Two processes, each with a database of its own, fed in order: long tests come first, tests with containers late, timed
# tests last. On two cores a third process gains no time. ARGS="-n 0": one process.
PYTEST: Final = (sys.executable, "-m", "pytest", "-n", "2", "--dist", "load", "--maxschedchunk", "4")
ALONE: Final = (sys.executable, "-m", "pytest", "-n", "0", "--last-failed", "--last-failed-no-failures", "none")
FAILED: Final = CHECKOUT / ".pytest_cache" / "v" / "cache" / "lastfailed"
IMAGE_LOCK: Final = "PHOTOFINISH_TEST_IMAGE_LOCK"  # in the environment: tests with containers wait for that file's lock
MOST_AGAIN: Final = 10  # failed tests; more are no chance
FAST: Final = ("-m", "not docker and not browser and not timed and not slow")

# mypy's Django plugin loads the settings; no program connects to these addresses.
SETTINGS_FOR_MYPY: Final = {
    "SECRET_KEY": "only-for-type-checking-" + "x" * 32,
    "DATABASE_URL": "postgresql://nobody@127.0.0.1/none",
    "BROKER_URL": "redis://127.0.0.1:1/0",
}
TESTS_FAILED: Final = 1  # pytest's exit code
MOST_SHOWN: Final = 6  # arguments of a check
# `manage check --deploy` finds faults in the settings of a public site; these have none.
PUBLIC_SITE: Final = {"SITE_URL": "https://photofinish.example", "TRUSTED_PROXIES": "127.0.0.1"}


def main(arguments: list[str]) -> int:
    act, *rest = arguments or [""]
    os.chdir(CHECKOUT)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every process of a test would compile our modules anew
    acts = {"check": check, "fast": test_fast, "test": test, "ci": check_and_test}
    if act not in acts:
        print(f"usage: python -m tests.tools.test_run {'|'.join(acts)} [pytest's arguments]", file=sys.stderr)
        return 2
    return exit_status(lambda: acts[act](rest))


def check_commands(programs: Path) -> list[list[str]]:
    return [
        [str(programs / "ruff"), "check", "."],
        [str(programs / "ruff"), "format", "--check", "."],
        [str(programs / "mypy")],
        [str(programs / "lint-imports")],
        [sys.executable, "-m", "leaderboard.manage", "check", "--deploy", "--fail-level", "WARNING"],
        [sys.executable, "-m", "tests.tools.ratchet"],
        [str(programs / "detect-secrets-hook"), "--baseline", ".secrets.baseline", *tracked_files()],
    ]


def tracked_files() -> list[str]:
    return captured(["git", "ls-files", "--cached"], cwd=CHECKOUT).stdout.splitlines()


def check(_: list[str]) -> int:
    """Run all checks, also when an early check fails: one run shows everything."""
    failed = []
    for command in check_commands(Path(sys.executable).parent):
        name = " ".join([Path(command[0]).name, *command[1:MOST_SHOWN]])
        say(f"==>  {name}")
        if subprocess.run(command, env={**os.environ, **SETTINGS_FOR_MYPY, **PUBLIC_SITE}, check=False).returncode:
            failed.append(name)
    say(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return 1 if failed else 0


def test_fast(arguments: list[str]) -> NoReturn:
    os.execv(sys.executable, [*PYTEST, *FAST, *arguments])  # signals reach pytest itself


def test(arguments: list[str]) -> NoReturn:
    set_up_engine()
    with step("sandbox image"):
        os.environ["SANDBOX_IMAGE"] = ensure_image()
    os.execv(sys.executable, [*PYTEST, *arguments])  # signals reach pytest itself


def check_and_test(arguments: list[str]) -> int:
    """Run the checks in the pauses of the tests, and print their output at the end. A few failed tests run again.

    The sandbox image is built beside the tests that need no container.
    """
    set_up_engine()
    os.environ["SANDBOX_IMAGE"] = image_tag()
    FAILED.unlink(missing_ok=True)
    with tempfile.TemporaryFile("w+") as output:
        command = ["nice", sys.executable, "-m", "tests.tools.test_run", "check"]
        checks = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        with made_beside([sys.executable, "-m", "deploy.image"], output) as lock:
            environment = {**os.environ, IMAGE_LOCK: lock}
            tested = subprocess.run([*PYTEST, *arguments], env=environment, check=False).returncode
        checked = checks.wait()
        output.seek(0)
        say(output.read().rstrip())
    if tested == TESTS_FAILED:
        tested = run_failed_again(ALONE, FAILED)
    return tested or checked


@contextmanager
def made_beside(command: Sequence[str], output: IO[str]) -> Iterator[str]:
    """Run a command, and yield the path of a file that it holds an exclusive lock on until its end."""
    with tempfile.NamedTemporaryFile() as file:
        with open(file.name) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            making = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, pass_fds=[lock.fileno()])
        yield file.name
        making.wait()


def run_failed_again(command: Sequence[str], noted: Path) -> int:
    """Run the failed tests again, unless there are many, and return pytest's exit code.

    The load of the other tests and checks can make a test of processes or deadlines fail. The output names the tests
    that pass now, as each has a fault to find. `noted`: pytest's file with the names of the failed tests.
    """
    failed = sorted(json.loads(noted.read_text())) if noted.exists() else []
    if not 0 < len(failed) <= MOST_AGAIN:
        return TESTS_FAILED
    say(f"==>  again, alone on the machine: {len(failed)} failed tests")
    tested = subprocess.run(command, check=False).returncode
    if not tested:
        say("==>  unsteady: these failed beside the other tests and passed alone\n     " + "\n     ".join(failed))
    return tested


def set_up_engine() -> None:
    packages.main()
    with step("Docker engine"):
        ensure_docker()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
