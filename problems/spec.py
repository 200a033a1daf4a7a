"""A problem as a frozen value, with its cases, tolerance, JSON bundle and digest: sites store it, jobs carry it.

Standard library only. Always true of a Problem made by `from_bundle`: every text, size, time and name is within the
limits below, and `from_bundle(problem.to_bundle()) == problem`. Two problems are the same exactly when their digests
are. This module executes no problem code and draws nothing: the judge draws secret cases, and it compares outputs.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, Final, TypeAlias

from problems.fields import (
    Fields,
    ProblemError,
    Record,
    as_bool,
    as_expression,
    as_line,
    as_list,
    as_mapping,
    as_name,
    as_number,
    as_table,
    as_text,
    as_whole,
    by,
    shown,
)

Value: TypeAlias = int | float | str | bool | list[int]
Case: TypeAlias = dict[str, Value]

SEED: Final = "seed"  # the argument that the judge sets in place of an author
MAX_ARGUMENTS: Final = 32  # of a case
MAX_TEXT_CHARS: Final = 200  # of a text argument
MAX_LIST_ITEMS: Final = 64  # of a list argument, and of the values to choose from
MAX_CASE_NAME_CHARS: Final = 500  # as many as a report holds
DIGEST_CHARS: Final = 16  # at the end of a name that was cut
MAX_FUZZ_CASES: Final = 64
MIN_INT, MAX_INT = -(2**63), 2**63 - 1  # numbers that every reader of the JSON can hold
MAX_FLOAT: Final = 1e15  # above it a database writes a float as a whole number, and the digest would change
MAX_LEGAL: Final = 16  # formats
FORMATS: Final = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp8_e4m3", "fp8_e5m2", "int8", "fp4")

BUNDLE_VERSION: Final = 1
MAX_BUNDLE_BYTES: Final = 1_000_000  # of canonical JSON
MAX_FILES: Final = 64
MOST_RANKS: Final = 8
MAX_CASES: Final = 256  # tests, benchmarks and secret cases together; the capacity of one report
MAX_TIMEOUT_S: Final = 3600.0
DEFAULT_TIMEOUT_S: Final = 180.0
MAX_GPUS: Final = 32
MAX_TAGS: Final = 16
MAX_TEMPLATES: Final = 16
MAX_TITLE_CHARS: Final = 200
MAX_REASON_CHARS: Final = 500
MAX_ENGINES: Final = 16
LANGUAGES: Final = ("py", "cu")
RANKINGS: Final = ("geom", "mean", "last")
FUNCTION: Final = "function"  # `entry` is called with the data of generate_input
MODEL: Final = "model"  # reference.py is a KernelBench file, `entry` the class that takes the place of its Model
INTERFACES: Final = (FUNCTION, MODEL)
LEVELS: Final = (1, 4)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SLUG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FILE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
COMPILED: Final = "torch.compile"  # the template whose time is the second baseline of fast_p
_TRAFFIC: Final = ("read_bytes", "write_bytes")


# -- cases -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IntRange:
    """A whole number from low to high, both included. `odd`: only odd numbers. `log`: each octave equally likely."""

    low: int
    high: int
    odd: bool = False
    log: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"int": [self.low, self.high], "odd": self.odd, "log": self.log}

    @classmethod
    def from_json(cls, value: object, where: str) -> IntRange:
        fields = Fields(value, where, prefix=f"{where}.")
        fields.only(("int", "odd", "log"))
        bounds = fields.required("int", lambda item, at: as_list(item, at, 2))
        if len(bounds) != 2:
            raise ProblemError(f"{where}.int", f"expected [low, high], got {shown(bounds)}")
        low, high = (as_whole(bound, f"{where}.int", MIN_INT, MAX_INT) for bound in bounds)
        odd, log = fields.optional("odd", as_bool, default=False), fields.optional("log", as_bool, default=False)
        if low > high:
            raise ProblemError(f"{where}.int", f"low {low} is above high {high}; swap them")
        if log and low < 1:
            raise ProblemError(f"{where}.int", f"low {low} must be at least 1 with log: true")
        if odd and low == high and low % 2 == 0:
            raise ProblemError(f"{where}.int", f"holds no odd number between {low} and {high}")
        return cls(low=low, high=high, odd=odd, log=log)


Choice: TypeAlias = tuple[Value, ...] | IntRange


def case_name(case: Mapping[str, Value]) -> str:
    """Return a case's public name: `cols=4096 rows=512`, sorted, without the seed. Cases of a shape share a name.

    The name of many or long arguments is cut, and ends with its digest.
    """
    words = {
        name: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        for name, value in case.items()
        if name != SEED
    }
    whole = " ".join(f"{name}={word}" for name, word in sorted(words.items())) or "default"
    if len(whole) <= MAX_CASE_NAME_CHARS:
        return whole
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
    return f"{whole[: MAX_CASE_NAME_CHARS - DIGEST_CHARS - 2]}… {digest}"


def parse_case(data: object, where: str) -> Case:
    items = as_mapping(data, where)
    if len(items) > MAX_ARGUMENTS:
        raise ProblemError(where, f"{len(items)} arguments, at most {MAX_ARGUMENTS}")
    if SEED in items:
        as_whole(items[SEED], f"{where}.{SEED}", MIN_INT, MAX_INT)
    return {argument(name, where): as_value(value, f"{where}.{name}") for name, value in items.items()}


def argument(name: str, where: str) -> str:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ProblemError(where, f"{shown(name)} is not the name of an argument of generate_input")
    return name


def as_value(value: object, where: str) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return as_whole(value, where, MIN_INT, MAX_INT)
    if isinstance(value, float):
        return as_number(value, where, -MAX_FLOAT, MAX_FLOAT)
    if isinstance(value, str):
        return as_text(value, where, MAX_TEXT_CHARS)
    if isinstance(value, list | tuple):
        items = as_list(value, where, MAX_LIST_ITEMS)
        return [as_whole(item, f"{where}[{n}]", MIN_INT, MAX_INT) for n, item in enumerate(items)]
    raise ProblemError(where, f"{shown(value)} is not a number, text, true, false or list of whole numbers")


def as_choice(value: object, where: str) -> Choice:
    if isinstance(value, Mapping):
        return IntRange.from_json(value, where)
    items = as_list(value, where, MAX_LIST_ITEMS)
    if not items:
        raise ProblemError(where, "is an empty list; give the values to choose from")
    return tuple(as_value(item, f"{where}[{n}]") for n, item in enumerate(items))


def as_choices(value: object, where: str) -> dict[str, Choice]:
    items = as_mapping(value, where)
    if not items:
        raise ProblemError(where, "is empty; give at least one argument a choice, or leave fuzz out")
    if len(items) > MAX_ARGUMENTS:
        raise ProblemError(where, f"{len(items)} arguments, at most {MAX_ARGUMENTS}")
    fuzz = where.removesuffix(".args")  # authors write the arguments beside `cases`
    return {argument(name, fuzz): as_choice(choice, f"{fuzz}.{name}") for name, choice in items.items()}


@dataclass(frozen=True)
class Fuzz(Record):
    """Secret cases: their number, and a choice for each argument, from which the judge draws."""

    args: dict[str, Choice] = field(metadata=by(as_choices))
    cases: int = field(metadata=by(partial(as_whole, least=1, most=MAX_FUZZ_CASES)))


# -- tolerance ---------------------------------------------------------------------------------------------------------


_distance = partial(as_number, least=0.0, most=1.0)


def as_formats(value: object, where: str) -> tuple[str, ...]:
    names = as_list(value, where, MAX_LEGAL)
    if not names:
        raise ProblemError(where, "is empty; name at least one format, such as fp32")
    for n, name in enumerate(names):
        if name not in FORMATS:
            raise ProblemError(f"{where}[{n}]", f"{shown(name)} is no number format; known are {', '.join(FORMATS)}")
    return tuple(names)


@dataclass(frozen=True)
class Tolerance(Record):
    """An element passes when |got − expected| ≤ atol + rtol · |expected|. Non-finite elements must match exactly."""

    rtol: float = field(metadata=by(_distance))
    atol: float = field(metadata=by(_distance))


@dataclass(frozen=True)
class Precision(Record):
    """Number formats that a submission may compute in, and the relative L2 error that still counts as legal.

    `reduction`: about how many terms are added up behind one output element, as arithmetic over the case's arguments
    ("rows * cols"); "" where the judge finds out. An error model needs it where no tolerance is declared.
    `strict`: the admission test refuses the problem where its own tolerance accepts half precision.
    """

    legal: tuple[str, ...] = field(metadata=by(as_formats))
    max_relative_l2: float | None = field(default=None, metadata=by(partial(as_number, least=1e-12, most=1.0)))
    reduction: str = field(default="", metadata=by(as_expression, omitted=True))
    strict: bool = field(default=False, metadata=by(as_bool, omitted=True))


# -- compilation -------------------------------------------------------------------------------------------------------


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
_VALUE: Final = re.compile(r"[A-Za-z0-9_.+-]{0,64}")


def as_sources(value: object, where: str) -> tuple[str, ...]:
    names = tuple(as_text(item, where, 100) for item in as_list(value, where, MAX_FLAGS))
    for name in names:
        if not name.endswith(SUFFIXES) or not _FILE.fullmatch(name):
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
    """Compiler settings of a `lang: cu` problem. `sources`: files compiled beside the submission.

    Each compiler gets only the flags that it knows: nvcc where the hardware is a GPU, g++ where it is `cpu` (the same
    file, as C++). `from_*` raise ProblemError for a field.
    """

    sources: tuple[str, ...] = field(default=(), metadata=by(as_sources))
    defines: dict[str, str] = field(default_factory=dict, metadata=by(as_defines))
    compile_flags: tuple[str, ...] = field(default=DEFAULT_FLAGS, metadata=by(as_flags))

    def flags(self, compiler: str) -> list[str]:
        """Return the flags for `g++` or `nvcc`, defines among them."""
        fit = [flag for flag in self.compile_flags if _FLAG[compiler].fullmatch(flag)]
        return [*fit, *(f"-D{name}={value}" if value else f"-D{name}" for name, value in self.defines.items())]

    @classmethod
    def from_config(cls, config: Mapping[str, Any], submission_name: str, libraries: object = None) -> Build:
        """Parse a task.yml, where `sources` also names the submission, and maybe the set's own evaluator.

        `libraries`: of the task, such as cublas; each is linked by a flag for nvcc.
        """
        folders = as_list(config.get("include_dirs") or [], "config.include_dirs", MAX_FLAGS)
        if any(folder not in ("", ".", "./") for folder in folders):
            raise ProblemError("config.include_dirs", f"{shown(folders)}; a problem's files lie in one folder")
        wanted = as_list(config.get("sources") or [], "config.sources", MAX_FLAGS)
        flags = as_list(config.get("compile_flags") or list(DEFAULT_FLAGS), "config.compile_flags", MAX_FLAGS)
        data = {
            "sources": [name for name in wanted if name not in (submission_name, *EVALUATORS)],
            "defines": config.get("defines") or {},
            "compile_flags": [*flags, *_links(libraries)],
        }
        return cls.from_json(data, "config")


def _links(libraries: object) -> list[str]:
    """Return the flags that link these libraries of CUDA."""
    names = [as_text(item, "libraries", 40) for item in as_list(libraries or [], "libraries", MAX_FLAGS)]
    for name in names:
        if not _FLAG["nvcc"].fullmatch(f"-l{name}"):
            raise ProblemError("libraries", f"{shown(name)} is no library that nvcc may link here: problems/README.md")
    return [f"-l{name}" for name in dict.fromkeys(names)]


# -- the problem -------------------------------------------------------------------------------------------------------


_slug = partial(as_name, pattern=_SLUG, what="a short name of letters, digits, _ and - (at most 64)")
_file_name = partial(as_name, pattern=_FILE, what="a plain file name: letters, digits, _ . - and no folder")
_word = partial(as_name, pattern=_WORD, what="a single word of letters, digits and _ . + -")
as_timeout = partial(as_number, least=1.0, most=MAX_TIMEOUT_S)
_body = partial(as_text, most=MAX_BUNDLE_BYTES)

GPU_LANGUAGES: Final = ("cuda", "triton", "hip", "cute", "cutlass", "tilelang", "thunderkittens")


def needs_gpu(language: str) -> bool:
    """Return whether starter code in this language runs only on a GPU."""
    return language.lower().startswith(GPU_LANGUAGES)


def _one_of(value: object, where: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ProblemError(where, f"{shown(value)} is not one of {', '.join(allowed)}")
    return str(value)


def as_entry(value: object, where: str) -> str:
    text = as_text(value, where, 64)
    if not (text.isidentifier() and text.isascii()) or keyword.iskeyword(text):
        raise ProblemError(where, f"{shown(text)} is not the name of a function")
    return text


def as_cases(value: object, where: str) -> tuple[Case, ...]:
    items = as_list(value, where, MAX_CASES)
    return tuple(parse_case(item, f"{where}[{n}]") for n, item in enumerate(items))


def as_words(value: object, where: str, most: int) -> tuple[str, ...]:
    words = tuple(_word(item, f"{where}[{n}]") for n, item in enumerate(as_list(value, where, most)))
    return tuple(dict.fromkeys(words))


def as_speed_of_light(value: object, where: str) -> dict[str, Any]:
    """Parse expressions over a case's arguments: only their letters and lengths; arithmetic.py has their grammar."""
    fields = Fields(value, where, prefix=f"{where}.")
    fields.only((*_TRAFFIC, "flops"))
    found: dict[str, Any] = {key: fields.required(key, as_expression) for key in _TRAFFIC if key in fields.data}
    flops = fields.mapping("flops")
    if len(flops) > MAX_ENGINES:
        raise ProblemError(f"{where}.flops", f"{len(flops)} engines, at most {MAX_ENGINES}")
    if flops:
        found["flops"] = {_word(name, where): as_expression(item, f"{where}.flops") for name, item in flops.items()}
    return found


_gpus = partial(as_words, most=MAX_GPUS)
_files = partial(as_table, most=MAX_FILES, name=_file_name, item=_body)
_templates = partial(as_table, most=MAX_TEMPLATES, name=_word, item=_body)
_cases_on = partial(as_table, most=MAX_GPUS, name=_word, item=as_cases)


@dataclass(frozen=True)
class Problem(Record):
    """A problem.

    `files` are all task files but the submission and the evaluator. `unsupported` is the reason why this judge cannot
    judge it ("" if it can). `warnings` are for its author and no part of the bundle.
    """

    slug: str = field(metadata=by(_slug))
    title: str = field(metadata=by(partial(as_line, most=MAX_TITLE_CHARS)))
    description: str = field(metadata=by(_body))
    files: dict[str, str] = field(metadata=by(_files))
    benchmarks: tuple[Case, ...] = field(metadata=by(as_cases))
    tests: tuple[Case, ...] = field(default=(), metadata=by(as_cases))
    lang: str = field(default="py", metadata=by(partial(_one_of, allowed=LANGUAGES)))
    submission_name: str = field(default="submission.py", metadata=by(_file_name))
    entry: str = field(default="custom_kernel", metadata=by(as_entry))
    build: Build | None = field(default=None, metadata=by(Build.from_json, omitted=True))  # of `lang: cu`
    # devices that it runs on at once, each with a rank of its own
    ranks: int = field(default=1, metadata=by(partial(as_whole, least=1, most=MOST_RANKS), omitted=True))
    interface: str = field(default=FUNCTION, metadata=by(partial(_one_of, allowed=INTERFACES), omitted=True))
    templates: dict[str, str] = field(default_factory=dict, metadata=by(_templates))
    test_timeout_s: float = field(default=DEFAULT_TIMEOUT_S, metadata=by(as_timeout))
    benchmark_timeout_s: float = field(default=DEFAULT_TIMEOUT_S, metadata=by(as_timeout))
    ranked_timeout_s: float = field(default=DEFAULT_TIMEOUT_S, metadata=by(as_timeout))
    ranking_by: str = field(default="last", metadata=by(partial(_one_of, allowed=RANKINGS)))
    gpus: tuple[str, ...] = field(default=(), metadata=by(_gpus))
    # by hardware: timed there instead
    benchmarks_on: dict[str, tuple[Case, ...]] = field(default_factory=dict, metadata=by(_cases_on, omitted=True))
    fuzz: Fuzz | None = field(default=None, metadata=by(Fuzz.from_json))
    tolerance: Tolerance | None = field(default=None, metadata=by(Tolerance.from_json))
    precision: Precision | None = field(default=None, metadata=by(Precision.from_json))
    baseline: str | None = field(default=None, metadata=by(_body))  # source text; None: the reference is the baseline
    # hardware without a tuned baseline: there the baseline only scales times
    untuned_on: tuple[str, ...] = field(default=(), metadata=by(_gpus, omitted=True))
    speed_of_light: dict[str, Any] = field(default_factory=dict, metadata=by(as_speed_of_light))
    level: int | None = field(default=None, metadata=by(partial(as_whole, least=LEVELS[0], most=LEVELS[1])))
    tags: tuple[str, ...] = field(default=(), metadata=by(partial(as_words, most=MAX_TAGS)))
    unsupported: str = field(default="", metadata=by(partial(as_text, most=MAX_REASON_CHARS)))
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(_canonical(self.to_bundle())).hexdigest()

    def on(self, hardware: str) -> Problem:
        """Return the problem as this hardware has it: with the cases timed there, without the other hardware's."""
        if not self.benchmarks_on and not self.untuned_on:
            return self
        cases = self.benchmarks_on.get(hardware, self.benchmarks)
        untuned = tuple(name for name in self.untuned_on if name == hardware)
        return replace(self, benchmarks=cases, benchmarks_on={}, untuned_on=untuned)

    def is_tuned_on(self, hardware: str) -> bool:
        """Return whether the baseline is a tuned best there, so that a far faster kernel needs a second look."""
        return self.baseline is not None and hardware not in self.untuned_on

    def to_bundle(self) -> dict[str, Any]:
        return {"bundle": BUNDLE_VERSION, **self.to_json()}

    @classmethod
    def from_bundle(cls, data: object, *, warnings: tuple[str, ...] = ()) -> Problem:
        """Parse a bundle. Raises ProblemError, naming the field, for a missing, mistyped, unsafe or too large value."""
        found = Fields(data, "bundle")
        if (got := found.data.get("bundle")) != BUNDLE_VERSION:
            fault = f"version {shown(got)}, this side reads {BUNDLE_VERSION}; upgrade the older side"
            raise ProblemError("bundle", fault)
        found.only(["bundle", *(one.name for one in fields(cls) if one.name != "warnings")])
        problem = cls(**found.values(cls), warnings=warnings)
        if (size := len(_canonical(problem.to_bundle()))) > MAX_BUNDLE_BYTES:
            raise ProblemError("bundle", f"{size} bytes as JSON, at most {MAX_BUNDLE_BYTES}; make its files smaller")
        _check_together(problem)
        return problem


def _canonical(bundle: dict[str, Any]) -> bytes:
    return json.dumps(bundle, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _check_together(problem: Problem) -> None:
    """Check rules that involve several fields."""
    if problem.submission_name in problem.files:
        raise ProblemError("files", f"{problem.submission_name} is the submission's own name; call the task file else")
    timed = max(map(len, (problem.benchmarks, *problem.benchmarks_on.values())))
    count = len(problem.tests) + timed + (problem.fuzz.cases if problem.fuzz else 0)
    if count > MAX_CASES:
        raise ProblemError("tests", f"{count} tests, benchmarks and fuzz cases together, at most {MAX_CASES}")
    if not problem.unsupported and not problem.benchmarks:
        raise ProblemError("benchmarks", "is empty; at least one case must be timed")
    _check_hardware(problem)
    if not problem.unsupported and "reference.py" not in problem.files:
        raise ProblemError("files", "reference.py is missing; it makes the inputs and the expected output")
    if problem.unsupported:
        return
    is_native = problem.lang == "cu"
    _check_ranks(problem)
    if is_native != (problem.build is not None):
        raise ProblemError("build", "belongs to lang: cu, and to nothing else")
    if is_native and not problem.submission_name.endswith(SUFFIXES):
        name, endings = shown(problem.submission_name), " or ".join(SUFFIXES)
        raise ProblemError(
            "submission_name",
            f"{name}, the submission's file, does not end in {endings}, as one of lang: cu does; name it submission.cu",
        )
    for name in problem.build.sources if problem.build else ():
        if name not in problem.files:
            raise ProblemError("build.sources", f"there is no file {shown(name)} among the problem's files")


def _check_ranks(problem: Problem) -> None:
    if problem.ranks == 1:
        return
    if problem.lang != "py" or problem.interface != FUNCTION:
        raise ProblemError("ranks", "of a problem in Python with a function alone; leave it out")
    listed = {"tests": problem.tests, "benchmarks": problem.benchmarks}
    listed |= {f"benchmarks_on.{hardware}": cases for hardware, cases in problem.benchmarks_on.items()}
    for where, cases in listed.items():
        for number, case in enumerate(cases):
            if (size := case.get("world_size", problem.ranks)) != problem.ranks:
                fault = f"{shown(size)}, and the problem is for {problem.ranks} GPUs; make them the same"
                raise ProblemError(f"{where}[{number}].world_size", fault)


def _check_hardware(problem: Problem) -> None:
    for name, other in itertools.combinations(problem.gpus, 2):
        if name.casefold() == other.casefold():
            fault = f"{name} and {other} differ in case only; keep the one that your runners are for"
            raise ProblemError("gpus", fault)
    offered = ", ".join(problem.gpus) or "empty"
    if problem.untuned_on and problem.baseline is None:
        raise ProblemError("untuned_on", "is said of a baseline, and there is none: leave it out, or name a `baseline`")
    for hardware in problem.untuned_on:
        if hardware not in problem.gpus:
            fault = f"{shown(hardware)} is not among gpus ({offered}); add it there, or not here"
            raise ProblemError("untuned_on", fault)
    for hardware, cases in problem.benchmarks_on.items():
        where = f"benchmarks_on.{hardware}"
        if hardware not in problem.gpus:
            raise ProblemError(where, f"{hardware} is not among gpus ({offered}); add it there, or leave it out here")
        if not cases:
            raise ProblemError(where, f"is empty; leave {hardware} out, and `benchmarks` are timed there")


def in_python(problem: Problem) -> Problem:
    """Return the same problem for an answer in Python, the language of a `lang: cu` problem's own reference."""
    if problem.build is None:
        return problem
    return replace(problem, lang="py", build=None, submission_name="submission.py")
