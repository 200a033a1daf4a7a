"""Versions of torch, CUDA and driver library for a program in a container: a line of JSON on stdout.

Runs inside, from the text of this file; standard library only. Torch is found and not imported.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import runpy


def main() -> None:
    print(json.dumps({**torch_versions(), **driver_version()}), flush=True)


def torch_versions() -> dict[str, str]:
    found = importlib.util.find_spec("torch")
    if found is None or not found.origin:
        return {}
    told = runpy.run_path(os.path.join(os.path.dirname(found.origin), "version.py"))
    versions = {"torch": told.get("__version__"), "torch_cuda": told.get("cuda")}
    return {name: str(value) for name, value in versions.items() if value}


def driver_version() -> dict[str, str]:
    """Return the CUDA version of the driver library that is loaded here: the host's, or a newer library of the
    image's."""
    version = ctypes.c_int(0)
    try:
        failed = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return {}
    return {} if failed else {"cuda": f"{version.value // 1000}.{version.value % 1000 // 10}"}


if __name__ == "__main__":
    main()
