"""Become a program with exactly the environment of one file: `python -m deploy.launch ENV_FILE PROGRAM ARGUMENT…`.

Secrets reach a process this way: from a file of mode 600 that its user owns, never over a command line or through the
supervisor's configuration. The file has lines NAME=value, like systemd's EnvironmentFile. Standard library only.
"""

import os
import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    environment_file, *command = arguments
    os.execve(command[0], command, read_environment(Path(environment_file)))  # noqa: S606 - becoming it is the point


def read_environment(path: Path) -> dict[str, str]:
    lines = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def environment_text(values: dict[str, str]) -> str:
    """Return the text of an environment file. Raises ValueError for a name or value that it cannot hold."""
    for name, value in values.items():
        if "\n" in value or not name.isidentifier():
            raise ValueError(f"{name} cannot be written into an environment file")
    return "".join(f"{name}={value}\n" for name, value in sorted(values.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
