"""Submissions in C++ or CUDA C++: compiled here, loaded as a shared library, called through one C function.

The file includes "photofinish.h" (HEADER below) and defines `extern "C" int ENTRY(const pf_call* call)`: `inputs` are
all tensors of the data, `outputs` all tensors of the result, `numbers` all numbers of the data, each in reading order:
tuples and lists by position, dicts by insertion, dataclasses by field. An output that is given in the data is among
both. All pointers lead into the arena: the call copies no tensor.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from typing import Any

import protocol
import slots
import torch
import tree
from slots import Refused

LIBRARY = "submission.so"
LOG = "compiler.log"
MOST_TEXT = 7_000  # characters of a compiler's output
NVCC = "/usr/local/cuda/bin/nvcc"
TOO_LARGE = 2**63  # for an int64

ENUM = ", ".join(f"PF_{name.upper()}" for name in slots.DTYPES)
HEADER = f"""\
#pragma once
#include <stdint.h>

enum pf_dtype {{ {ENUM} }};
"""
HEADER += """
typedef struct {
  void* data;
  const int64_t* shape;   /* `rank` numbers */
  const int64_t* stride;  /* likewise, in elements */
  int32_t rank;
  int32_t dtype;          /* a pf_dtype */
} pf_tensor;

typedef struct {
  int64_t whole;  /* of a number with a fraction: what is before the point */
  double real;
} pf_number;

typedef struct {
  const pf_tensor* inputs;
  const pf_tensor* outputs;
  const pf_number* numbers;
  int32_t input_count, output_count, number_count;
  void* stream;  /* a cudaStream_t; NULL on a cpu */
} pf_call;
"""


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("stride", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
    )


class Number(ctypes.Structure):
    _fields_ = (("whole", ctypes.c_int64), ("real", ctypes.c_double))


class Call(ctypes.Structure):
    _fields_ = (
        ("inputs", ctypes.POINTER(Tensor)),
        ("outputs", ctypes.POINTER(Tensor)),
        ("numbers", ctypes.POINTER(Number)),
        ("input_count", ctypes.c_int32),
        ("output_count", ctypes.c_int32),
        ("number_count", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
    )


# -- compiling ---------------------------------------------------------------------------------------------------------


def command(sources: list[str], flags: list[str], compiler: str) -> list[str]:
    """Return the compiler's command line; for nvcc with code for this GPU, unless a flag names an architecture."""
    if compiler == "g++":
        return ["g++", *flags, "-shared", "-fPIC", "-fmax-errors=20", "-I.", "-o", LIBRARY, "-x", "c++", *sources]
    major, minor = torch.cuda.get_device_capability()
    own = [] if any("arch" in flag for flag in flags) else [f"-arch=sm_{major}{minor}{'a' if major >= 9 else ''}"]
    shared = ["-shared", "-Xcompiler", "-fPIC", "-I.", "-o", LIBRARY]
    return [shutil.which("nvcc") or NVCC, *flags, *own, *shared, *sources]


def compile_library(submission: str, build: dict[str, Any]) -> None:
    """Compile the sources in the current folder, unless that was done ahead. Raises Refused with the compiler's
    output."""
    code = 0 if os.path.exists(LIBRARY) else _compile(submission, build)
    with open(LOG, encoding="utf-8", errors="replace") as log_text:
        said = protocol.cut(log_text.read(100 * MOST_TEXT), MOST_TEXT)
    if code is None:
        raise Refused(protocol.COMPILE, f"{submission} was not compiled within {build['limit_s']:g} s.\n{said}")
    if code:
        raise Refused(protocol.COMPILE, f"{submission} does not compile:\n{said}")
    print(said, end="", file=sys.stderr, flush=True)  # warnings


def _compile(submission: str, build: dict[str, Any]) -> int | None:
    """Run the compiler, and return its exit status; None if it took too long."""
    with open("photofinish.h", "w", encoding="utf-8") as file:
        file.write(HEADER)
    with open(LOG, "wb") as log:  # a file takes the output, so that no process waits for a pipe
        running = subprocess.Popen(
            command([submission, *build["sources"]], build["flags"], build["compiler"]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
        try:
            return running.wait(build["limit_s"])
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            return None


def without_device(capability: list[int]) -> None:
    """Let compilers build for a device of this compute capability, which is not here."""
    major, minor = capability
    os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}+PTX"  # as torch chooses where it sees that device alone
    torch.cuda.get_device_capability = lambda device=None: (major, minor)


# -- calling -----------------------------------------------------------------------------------------------------------


class Kernel:
    """The compiled entry point. Call `lay_out` first, then the kernel any number of times."""

    def __init__(self, submission: str, entry: str) -> None:
        try:
            self._function = getattr(ctypes.CDLL(os.path.abspath(LIBRARY)), entry)
        except AttributeError:
            wanted = f'extern "C" int {entry}(const pf_call* call)'
            raise Refused(protocol.MISSING, f"{submission} defines no {entry}; add `{wanted}`") from None
        except OSError as err:
            raise Refused(protocol.COMPILE, f"{submission} cannot be loaded: {err}") from None
        self._function.argtypes, self._function.restype = [ctypes.POINTER(Call)], ctypes.c_int
        self._entry = entry
        self._kept: list[Any] = []  # memory that the call points to
        self._call = ctypes.byref(Call())

    def lay_out(self, layout: dict[str, Any], tensors: list[torch.Tensor]) -> None:
        given = [_described(tensors[slot]) for slot in tree.slots_of(layout["data"])]
        wanted = [_described(tensors[slot]) for slot in tree.slots_of(layout["result"])]
        numbers = [_number(value) for value in tree.numbers(layout["data"])]
        on_device = any(tensor.is_cuda for tensor in tensors)
        stream = torch.cuda.current_stream().cuda_stream if on_device else None
        arrays = (_array(Tensor, given), _array(Tensor, wanted), _array(Number, numbers))
        call = Call(*arrays, len(given), len(wanted), len(numbers), stream)
        self._kept, self._call = [given, wanted, *arrays, call], ctypes.byref(call)

    def __call__(self) -> None:
        code = self._function(self._call)
        if code:
            raise Refused(protocol.RAISED, f"{self._entry} returned {code}; 0 says that all went well")


def _array(kind: Any, of: list[Any]) -> Any:
    return (kind * max(len(of), 1))(*of)


def _described(tensor: torch.Tensor) -> Tensor:
    whole = ctypes.c_int64 * max(tensor.dim(), 1)
    dtype = slots.DTYPES.index(str(tensor.dtype).removeprefix("torch."))
    return Tensor(tensor.data_ptr(), whole(*tensor.shape), whole(*tensor.stride()), tensor.dim(), dtype)


def _number(value: float) -> Number:
    if isinstance(value, int):
        return Number(value, float(value))
    return Number(int(value) if abs(value) < TOO_LARGE else 0, value)  # 0 for infinities and NaNs, too
