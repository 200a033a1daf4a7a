"""Probe of a container, started with a tenant's options from the text of this file; standard library only.

It prints a line of JSON: without an argument the versions of torch, of each make's libraries and of the languages for
kernels. `runner doctor` gives it the folder of the harness in the image. It then prints the powers of a program in the
container, and sleeps for a test of the freezer.
"""

import ctypes
import hashlib
import importlib.util
import json
import os
import re
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

MOST_DEVICES = 100
PACKAGES = {
    "triton": "triton",
    "helion": "helion",
    "cute_dsl": "nvidia-cutlass-dsl",
    "tilelang": "tilelang",
    "cuda_core": "cuda-core",
}
COMPILERS = {"gxx": ("g++", "-dumpfullversion"), "nvcc": ("nvcc", "--version")}
NVRTC = ("libnvrtc.so.13", "libnvrtc.so.12")
# Folders of CUTLASS's headers: the wheel's, then those of installations.
HEADERS = ("/opt/cutlass/include", "/usr/local/cuda/include", "/usr/local/include", "/usr/include")
COMPILER_S = 10.0


def powers(harness: str) -> dict[str, Any]:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "uid": os.getuid(),
        "no_new_privileges": status["NoNewPrivs"].strip(),
        "seccomp": status["Seccomp"].strip(),
        "capabilities": status["CapEff"].strip(),
        "inet": _errno(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()),
        "interfaces": [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]],
        "write_root": _errno(lambda: Path("/doctor").write_text("x")),
        "write_tmp": _errno(lambda: Path("/tmp/doctor").write_text("x")),  # noqa: S108  the container's own
        "cpus": status["Cpus_allowed_list"].strip(),
        "protocol": _protocol(harness),
        "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(harness).glob("*.py")},
        "torch": versions().get("torch", ""),
        "bytecode": (found := importlib.util.find_spec("torch")) is not None and Path(found.cached or "").is_file(),
        "languages": languages(),
        "devices": sorted(map(str, Path("/dev").rglob("*")))[:MOST_DEVICES],
    }


def versions() -> dict[str, str]:
    """Return the versions by name, as far as they are known. Torch is found and not imported."""
    known: dict[str, Any] = {}
    found = importlib.util.find_spec("torch")
    if found is not None and found.origin:
        text = runpy.run_path(str(Path(found.origin).with_name("version.py")))
        known = {"torch": text.get("__version__"), "torch_cuda": text.get("cuda")}
    cuda = ctypes.c_int(0)  # of the driver library that is loaded here: the host's, or a newer library of the image's
    try:
        failed = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(cuda))
    except (OSError, AttributeError):
        failed = 1
    known["cuda"] = None if failed else f"{cuda.value // 1000}.{cuda.value % 1000 // 10}"
    return {name: str(value) for name, value in known.items() if value}


def languages() -> dict[str, str]:
    """Return the versions of what kernels may be written in, by name, as far as the container has it."""
    known: dict[str, str] = {}
    for name, package in PACKAGES.items():
        try:
            known[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    for name, command in COMPILERS.items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILER_S, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        if found := re.search(r"V?(\d+\.\d+\.\d+)", done.stdout):
            known[name] = found[1]
    return known | _nvrtc() | _cutlass()


def _nvrtc() -> dict[str, str]:
    major, minor = ctypes.c_int(), ctypes.c_int()
    for name in NVRTC:
        try:
            failed = ctypes.CDLL(name).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        except (OSError, AttributeError):
            continue
        if not failed:
            return {"nvrtc": f"{major.value}.{minor.value}"}
    return {}


def _cutlass() -> dict[str, str]:
    wheel = importlib.util.find_spec("cutlass_library")
    places = [f"{folder}/source/include" for folder in wheel.submodule_search_locations or ()] if wheel else []
    for folder in (*places, *HEADERS):
        try:
            text = Path(folder, "cutlass", "version.h").read_text(errors="replace")
        except OSError:
            continue
        found = [re.search(rf"#define CUTLASS_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
        if all(found):
            return {"cutlass": ".".join(one[1] for one in found if one)}
    return {}


def _errno(act: Callable[[], Any]) -> int:
    """Return the error number of an act; 0 if it succeeds."""
    try:
        act()
    except OSError as err:
        return err.errno or -1
    return 0


def _protocol(harness: str) -> int | None:
    sys.path.insert(0, harness)
    try:
        import protocol
    except ImportError:
        return None
    return int(protocol.VERSION)


if __name__ == "__main__":
    print(json.dumps(powers(sys.argv[1]) if sys.argv[1:] else versions() | languages()), flush=True)
    if sys.argv[1:]:
        time.sleep(600)
