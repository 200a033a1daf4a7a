"""Probe of a container: prints the powers of a program in it as a line of JSON, then sleeps for a test of the freezer.

Runs inside, started by `runner doctor` with a tenant's options, from the text of this file; standard library only. Its
argument is the folder of the harness in the image.
"""

from __future__ import annotations

import glob
import hashlib
import importlib.metadata
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any


def main(harness: str) -> None:
    status = dict(line.split(":", 1) for line in _lines("/proc/self/status"))
    seen = {
        "uid": os.getuid(),
        "no_new_privileges": status["NoNewPrivs"].strip(),
        "seccomp": status["Seccomp"].strip(),
        "capabilities": status["CapEff"].strip(),
        "inet": _errno(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()),
        "interfaces": [line.split(":")[0].strip() for line in _lines("/proc/net/dev")[2:]],
        "write_root": _errno(lambda: _write("/doctor")),
        "write_tmp": _errno(lambda: _write("/tmp/doctor")),  # noqa: S108  the container's own
        "cpus": status["Cpus_allowed_list"].strip(),
        "protocol": _protocol(harness),
        "files": {os.path.basename(path): _digest(path) for path in glob.glob(harness + "/*.py")},
        "torch": _torch(),
        "nvidia": sorted(glob.glob("/dev/nvidia*")),
    }
    print(json.dumps(seen), flush=True)


def _errno(act: Callable[[], Any]) -> int:
    """Return the error number of an act; 0 if it succeeds."""
    try:
        act()
    except OSError as err:
        return err.errno or -1
    return 0


def _lines(path: str) -> list[str]:
    with open(path) as file:
        return file.read().splitlines()


def _write(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _protocol(harness: str) -> int | None:
    sys.path.insert(0, harness)
    try:
        import protocol
    except ImportError:
        return None
    return int(protocol.VERSION)


def _torch() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main(sys.argv[1])
    time.sleep(600)
