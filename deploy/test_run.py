"""`make test` and `make check`: set up their requirements first, where allowed; then run, and return their status.

`test` ends with pytest's summary line. In CI (CI=true) a test that needs Docker or a browser fails without it;
elsewhere the test is skipped with a reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NoReturn

from deploy.console import note, say, step
from deploy.docker_engine import ensure_docker, install_packages
from deploy.image import ensure_image
from deploy.parties import SetupError
from deploy.places import CHECKOUT

BROWSER_PACKAGES: Final = ("chromium", "fonts-dejavu-core")
# Two processes, each with a database of its own, fed in order: timed tests come last. On two cores a third process
# gains no time. ARGS="-n 0": one process.
PARALLEL: Final = ("-n", "2", "--dist", "load", "--maxschedchunk", "4")

# mypy's Django plugin loads the settings; no program connects to these addresses.
SETTINGS_FOR_MYPY: Final = {
    "SECRET_KEY": "only-for-type-checking-" + "x" * 32,
    "DATABASE_URL": "postgresql://nobody@127.0.0.1/none",
    "BROKER_URL": "redis://127.0.0.1:1/0",
}


def main(arguments: list[str]) -> int:
    act, *rest = arguments or [""]
    try:
        if act == "check":
            return check()
        if act == "test":
            test(rest)
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print("usage: python -m deploy.test_run check|test [pytest's arguments]", file=sys.stderr)
    return 2


def check_commands(programs: Path) -> list[list[str]]:
    return [
        [str(programs / "ruff"), "check", "."],
        [str(programs / "ruff"), "format", "--check", "."],
        [str(programs / "mypy")],
        [str(programs / "lint-imports")],
        [sys.executable, "-m", "deploy.ratchet"],
    ]


def check() -> int:
    """Run all checks, also when an early check fails: one run shows everything."""
    failed = []
    for command in check_commands(Path(sys.executable).parent):
        name = " ".join([Path(command[0]).name, *command[1:]])
        say(f"==>  {name}")
        if subprocess.run(command, cwd=CHECKOUT, env={**os.environ, **SETTINGS_FOR_MYPY}, check=False).returncode:
            failed.append(name)
    say(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return 1 if failed else 0


def test(arguments: list[str]) -> NoReturn:
    with step("Docker engine"):
        ensure_docker()
    with step("sandbox image"):
        image = ensure_image()
    with step("browser for the page tests"):
        _ensure_browser()
    command = [sys.executable, "-m", "pytest", *PARALLEL, *arguments]
    os.chdir(CHECKOUT)
    os.execve(command[0], command, {**os.environ, "SANDBOX_IMAGE": image})  # noqa: S606 - signals reach pytest itself


def _ensure_browser() -> None:
    if shutil.which("chromium"):
        return
    try:
        install_packages(BROWSER_PACKAGES)
    except SetupError as error:
        note(f"the tests in a browser will not run: {error}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
