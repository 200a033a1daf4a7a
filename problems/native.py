"""Compilation of the file of a `lang: cu` problem: `config` of its task.yml as a frozen value. Pure.

A problem's author chooses among the flags below. Each compiler gets only the flags that it knows: nvcc where the
hardware is a GPU, g++ where it is `cpu` (the same file, as C++).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from problems.fields import ProblemError, Record, as_list, as_mapping, as_text, by, shown

SUFFIXES: Final = (".cu", ".cpp", ".cc")
EVALUATORS: Final = ("eval.cu", "eval.cpp")
DEFAULT_FLAGS: Final = ("-std=c++17", "-O3")
MAX_FLAGS: Final = 32
MAX_DEFINES: Final = 32

_BOTH: Final = r"-O[0-3]|-g|-std=(c|gnu)\+\+(14|17|20)"
_GXX: Final = (
    r"-Ofast|-ffast-math|-fno-math-errno|-funroll-loops|-fopenmp|-W[a-z-]*"
    r"|-march=[a-z0-9-]+|-m(avx|avx2|avx512[a-z0-9]*|fma)"
)
_NVCC: Final = (
    r"-l(cublas|cublasLt|cuda|cudart|cufft|curand|cusolver|cusparse|nvrtc)|--?use_fast_math|-{1,2}ftz=(true|false)|-{1,2}prec-(div|sqrt)=(true|false)|-{1,2}fmad=(true|false)|-lineinfo"
    r"|--?maxrregcount=\d{1,3}|--expt-(relaxed-constexpr|extended-lambda)|--extended-lambda|--extra-device-vectorization"
    r"|-arch=(native|sm_\d{2,3}[af]?)|-gencode=arch=compute_\d{2,3}[af]?,code=(sm|compute)_\d{2,3}[af]?"
)
_FLAG: Final = {"g++": re.compile(f"{_BOTH}|{_GXX}"), "nvcc": re.compile(f"{_BOTH}|{_NVCC}")}
_SOURCE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_VALUE: Final = re.compile(r"[A-Za-z0-9_.+-]{0,64}")


def as_sources(value: object, where: str) -> tuple[str, ...]:
    names = tuple(as_text(item, where, 100) for item in as_list(value, where, MAX_FLAGS))
    for name in names:
        if not name.endswith(SUFFIXES) or not _SOURCE.fullmatch(name):
            raise ProblemError(where, f"{shown(name)} is not a source file ({', '.join(SUFFIXES)})")
    return names


def as_defines(value: object, where: str) -> dict[str, str]:
    items = as_mapping(value, where, most=MAX_DEFINES)
    found = {name: item if isinstance(item, str) else shown(item) for name, item in items.items()}
    for name, text in found.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(text):
            raise ProblemError(f"{where}.{name}", f"{shown(text)}; a define is a name and a plain word or number")
    return found


def as_flags(value: object, where: str) -> tuple[str, ...]:
    flags = tuple(as_text(item, where, 100) for item in as_list(value, where, MAX_FLAGS))
    for flag in flags:
        if not any(pattern.fullmatch(flag) for pattern in _FLAG.values()):
            raise ProblemError(where, f"{shown(flag)} is not a flag that a problem may use: problems/README.md")
    return flags


@dataclass(frozen=True)
class Build(Record):
    """Compiler settings. `sources`: files compiled beside the submission. `from_*` raise ProblemError for a field."""

    sources: tuple[str, ...] = field(default=(), metadata=by(as_sources))
    defines: dict[str, str] = field(default_factory=dict, metadata=by(as_defines))
    compile_flags: tuple[str, ...] = field(default=DEFAULT_FLAGS, metadata=by(as_flags))

    def flags(self, compiler: str) -> list[str]:
        """Return the flags for `g++` or `nvcc`, defines among them."""
        fit = [flag for flag in self.compile_flags if _FLAG[compiler].fullmatch(flag)]
        return [*fit, *(f"-D{name}={value}" if value else f"-D{name}" for name, value in self.defines.items())]

    @classmethod
    def from_config(cls, config: Mapping[str, Any], submission_name: str) -> Build:
        """Parse a task.yml, where `sources` also names the submission, and maybe the set's own evaluator."""
        folders = as_list(config.get("include_dirs") or [], "config.include_dirs", MAX_FLAGS)
        if any(folder not in ("", ".", "./") for folder in folders):
            raise ProblemError("config.include_dirs", f"{shown(folders)}; a problem's files lie in one folder")
        wanted = as_list(config.get("sources") or [], "config.sources", MAX_FLAGS)
        data = {
            "sources": [name for name in wanted if name not in (submission_name, *EVALUATORS)],
            "defines": config.get("defines") or {},
            "compile_flags": config.get("compile_flags") or list(DEFAULT_FLAGS),
        }
        return cls.from_json(data, "config")
