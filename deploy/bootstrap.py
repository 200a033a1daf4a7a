"""Set-up of an environment with our dependencies from a bare Python, and start of a script. Standard library only.

`python3 -m deploy.bootstrap --extras server,runner -- -m deploy.up`. Owns the virtual environment. Safe to run again:
a digest of pyproject.toml and the pinned requirements, kept in the environment, records the installed extras.
"""

import argparse
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from deploy.console import SetupError, captured, exit_status, note, step
from deploy.docker_engine import install_packages
from deploy.parties import CHECKOUT, is_private, is_root, others_may_read, state_folder

LEAST_PYTHON: Final = (3, 11)
SYSTEM_PYTHON: Final = Path("/usr/bin/python3")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="deploy.bootstrap", description="prepare the virtual environment")
    parser.add_argument("--extras", required=True, help="comma-separated extras of pyproject.toml")
    parser.add_argument("then", nargs="*", help="after --: what the environment's Python runs next")
    options = parser.parse_args(arguments)

    def set_up() -> None:
        python = ensure_environment(options.extras.split(","))
        if options.then:
            os.execve(python, [str(python), *options.then], {**os.environ, "PYTHONUNBUFFERED": "1"})  # noqa: S606

    return exit_status(set_up)


def ensure_environment(extras: list[str]) -> Path:
    """Return the Python of an environment with these extras installed."""
    folder = state_folder() / "venv" if is_private() else CHECKOUT / ".venv"
    python = folder / "bin" / "python"
    wanted = inputs_digest(CHECKOUT)
    installed = folder / "photofinish-installed"
    noted = installed.read_text().splitlines() if installed.exists() else []
    done = {line for line in noted if line.startswith(wanted)}
    lines = {f"{wanted} {extra}" for extra in extras}
    if python.exists() and lines <= done:
        return python
    with step(f"dependencies ({', '.join(extras)})"):
        if not python.exists():
            _create(folder)
        for command in pip_commands(python, extras, CHECKOUT, os.environ.get("TORCH_INDEX_URL")):
            installing = captured(command, cwd=CHECKOUT)
            if installing.returncode:
                raise SetupError(f"pip could not install {', '.join(extras)}: {installing.stderr.strip()[-2000:]}")
        if is_private():
            note(f"this checkout is closed to other users, so the environment lies in {folder}")
        installed.write_text("\n".join(sorted(lines | done)) + "\n")
    return python


def inputs_digest(checkout: Path) -> str:
    """Return a digest of the files that decide which distributions are installed."""
    pinned = sorted((checkout / "requirements").glob("*.txt"))
    content = [path.read_bytes() for path in (checkout / "pyproject.toml", checkout / "constraints.txt", *pinned)]
    return hashlib.sha256(b"".join(content)).hexdigest()[:16]


def pip_commands(python: Path, extras: list[str], checkout: Path, torch_index: str | None) -> list[list[str]]:
    """Return pip's commands: everything but torch by its hash, torch from its index, then the checkout, editable.

    The hashes of torch are unknown (deploy/lock.py). Its index, if TORCH_INDEX_URL names one, serves nothing else.
    """
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    files = [str(checkout / "requirements" / f"{name}.txt") for name in ("build", *sorted(extras))]
    commands = [[*pip, "--require-hashes", *(part for file in files for part in ("--requirement", file))]]
    if "runner" in extras:
        constraints = ["--constraint", str(checkout / "constraints.txt")]
        commands.append([*pip, *constraints, *torch_source(torch_index), "torch"])
    commands.append([*pip, "--no-deps", "--no-build-isolation", "--editable", str(checkout)])
    return commands


def torch_source(index: str | None) -> list[str]:
    """Return pip's options for a command that takes torch alone."""
    return ["--index-url", index] if index else []


def _create(folder: Path) -> None:
    """Create the environment of our Python, or of the system's where further users may not run root's own Python."""
    base = Path(sys.executable)
    if sys.version_info < LEAST_PYTHON:
        version = sys.version.split()[0]
        raise SetupError(f"Python {version} is too old: 3.11 is needed (make up PYTHON=/path/to/python3.11)")
    if is_root() and not others_may_read(base) and SYSTEM_PYTHON.exists():
        check = f"import sys; sys.exit(sys.version_info < {LEAST_PYTHON})"
        if captured([str(SYSTEM_PYTHON), "-c", check]).returncode == 0:
            base = SYSTEM_PYTHON
    folder.parent.mkdir(parents=True, exist_ok=True)
    command = [str(base), "-m", "venv", str(folder)]
    done = captured(command)
    if done.returncode and "ensurepip" in done.stdout + done.stderr:
        shutil.rmtree(folder, ignore_errors=True)
        install_packages(["python3-venv"])
        done = captured(command)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise SetupError(f"could not create the virtual environment: {(done.stderr or done.stdout).strip()[-800:]}")
    note(f"virtual environment of Python {sys.version.split()[0] if base == Path(sys.executable) else base}")


if __name__ == "__main__":
    sys.exit(main())
