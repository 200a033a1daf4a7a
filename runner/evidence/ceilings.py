"""Capabilities of a host's device: engines, rates, the ceilings that `runner bench` measures, and GPUs' peak rates by
their makers. Pure values, and JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from problems.arithmetic import LimitError
from problems.fields import Fields, as_bool, as_mapping, as_number, as_text, as_whole

# Hard ceiling over the measured one, if no maker's figure is known: our own kernels reach more than half of a device's
# rates, and a machine with neighbours may have run at half its speed while it was measured.
MEASURED_MARGIN: Final = 4.0
UNKNOWN_CACHE_BYTES: Final = 256 << 20  # of a GPU that the table does not know: larger than any

# Engine → significant bits of the numbers that it multiplies. `_tc`: tensor cores; on a cpu the dot-product
# instructions for that format.
ENGINES: Final[dict[str, int]] = {
    "fp64": 53,
    "fp64_tc": 53,
    "fp32": 24,
    "tf32": 11,
    "fp16": 11,
    "fp16_tc": 11,
    "bf16": 8,
    "bf16_tc": 8,
    "int8_tc": 8,
    "fp8_tc": 4,
    "fp4_tc": 2,
}
ALIASES: Final = {"tf32_tc": "tf32", "int8": "int8_tc", "fp8": "fp8_tc", "fp4": "fp4_tc"}

MAX_HOW_CHARS: Final = 500


def engine(name: str, where: str) -> str:
    """Return the engine that an author's name for it means. Raises LimitError."""
    known = ALIASES.get(name, name)
    if known not in ENGINES:
        raise LimitError(where, f"{name} is no engine; known are {', '.join(ENGINES)}")
    return known


@dataclass(frozen=True)
class Rates:
    """Bytes and operations per second. None, or a missing engine, means unknown, and so gives no bound."""

    memory_bytes_per_s: float | None = None
    cache_bytes_per_s: float | None = None
    flops: Mapping[str, float] = field(default_factory=dict)

    def times(self, factor: float) -> Rates:
        memory, cache = self.memory_bytes_per_s, self.cache_bytes_per_s
        flops = {name: rate * factor for name, rate in self.flops.items()}
        return Rates(memory and memory * factor, cache and cache * factor, flops)

    @classmethod
    def from_json(cls, data: object, where: str) -> Rates:
        fields = Fields(data, where, prefix=f"{where}.")
        fields.only(cls.__dataclass_fields__)
        return cls(
            fields.optional("memory_bytes_per_s", _rate, None),
            fields.optional("cache_bytes_per_s", _rate, None),
            _flops(fields, "flops"),
        )


@dataclass(frozen=True)
class Ceilings:
    """Rates per second; copying counts both directions. `flops` by engine, on random data and on zeros.

    `swept`: the judge sweeps the cache before each call. `cache_bytes`: the cache that it sweeps, else the last level.
    `hard`: the rates that no kernel can beat here, from `source`; see speed_of_light.py. `when`: UTC, ISO 8601. `how`:
    for a reader.
    """

    hardware: str
    device: str  # name from the driver or the kernel
    epoch: str = ""
    when: str = ""
    how: str = ""
    swept: bool = False
    cache_bytes: int = 0
    copy_bytes_per_s: float | None = None
    read_bytes_per_s: float | None = None
    cache_bytes_per_s: float | None = None
    flops: Mapping[str, float] = field(default_factory=dict)
    flops_zeros: Mapping[str, float] = field(default_factory=dict)
    launch_ns: float | None = None
    hard: Rates = field(default_factory=Rates)
    source: str = ""

    @property
    def measured(self) -> Rates:
        """Best rates that our kernels reached; arithmetic on zeros, which burns less power, if that was faster."""
        names = sorted(self.flops.keys() | self.flops_zeros.keys())
        flops = {name: max(self.flops.get(name, 0.0), self.flops_zeros.get(name, 0.0)) for name in names}
        traffic = [rate for rate in (self.copy_bytes_per_s, self.read_bytes_per_s) if rate]
        return Rates(max(traffic, default=None), self.cache_bytes_per_s, flops)

    def with_hard(self, max_mhz: int = 0) -> Ceilings:
        """Return the ceilings with their hard ceiling: from the table if it knows the device, else from the measured
        rates."""
        sheet = find_sheet(self.device) if self.swept else None
        if sheet is not None:
            hard = Rates(sheet.memory_bytes_per_s, None, sheet.flops(max_mhz))
            return replace(self, hard=hard, cache_bytes=sheet.l2_bytes, source=f"data sheet of the {sheet.name}")
        return replace(
            self, hard=self.measured.times(MEASURED_MARGIN), source=f"measured here, times {MEASURED_MARGIN:g}"
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Ceilings:
        """Parse stored ceilings. Raises ProblemError naming the field."""
        fields = Fields(data, "ceilings", prefix="ceilings.")
        fields.only(cls.__dataclass_fields__)

        def text(key: str) -> str:
            return fields.optional(key, lambda value, at: as_text(value, at, MAX_HOW_CHARS), "")

        return cls(
            hardware=fields.required("hardware", lambda value, at: as_text(value, at, 64, empty_ok=False)),
            device=fields.required("device", lambda value, at: as_text(value, at, 200)),
            epoch=text("epoch"),
            when=text("when"),
            how=text("how"),
            swept=fields.required("swept", as_bool),
            cache_bytes=fields.required("cache_bytes", lambda value, at: as_whole(value, at, 0, 1 << 40)),
            copy_bytes_per_s=fields.optional("copy_bytes_per_s", _rate, None),
            read_bytes_per_s=fields.optional("read_bytes_per_s", _rate, None),
            cache_bytes_per_s=fields.optional("cache_bytes_per_s", _rate, None),
            flops=_flops(fields, "flops"),
            flops_zeros=_flops(fields, "flops_zeros"),
            launch_ns=fields.optional("launch_ns", lambda value, at: as_number(value, at, 0.0, 1e9), None),
            hard=fields.required("hard", Rates.from_json),
            source=text("source"),
        )


def unmeasured(hardware: str, device: str, *, epoch: str = "", max_mhz: int = 0) -> Ceilings | None:
    """Return the ceilings until `runner bench` runs here: the hard ceiling of a GPU in the table, else None."""
    swept = hardware != "cpu"
    cache = UNKNOWN_CACHE_BYTES if swept else 0
    found = Ceilings(hardware, device, epoch, swept=swept, cache_bytes=cache).with_hard(max_mhz)
    return found if found.hard.memory_bytes_per_s else None


def _rate(value: object, where: str) -> float:
    return as_number(value, where, 1.0, 1e21)


def _flops(fields: Fields, key: str) -> dict[str, float]:
    items = as_mapping(fields.mapping(key), fields.where(key), most=len(ENGINES))
    return {engine(name, fields.where(key)): _rate(item, f"{fields.where(key)}.{name}") for name, item in items.items()}


# -- peak rates of GPUs by their makers -----------------------------------------------------------------------------
#
# Arithmetic is stated as operations per clock and multiprocessor, dense, and multiplied by the highest clock. Data
# sheets quote tensor figures at a lower clock (an H100's 989 TFLOP/s are 1,830 MHz, its highest clock is 1,980), and a
# hard ceiling must hold for a cool chip that is not at its power limit. Memory is the data sheet's figure.
#
# Sources, by name: "NVIDIA H100 Tensor Core GPU Architecture" (white paper) and the data sheets "NVIDIA H100 Tensor
# Core GPU" and "NVIDIA H200 Tensor Core GPU" for Hopper; "NVIDIA A100 Tensor Core GPU Architecture" (white paper) and
# the A100 data sheet; "NVIDIA Ada GPU Architecture" (white paper) and the L4 data sheet; "NVIDIA Turing GPU
# Architecture" (white paper) and the T4 data sheet; "NVIDIA Blackwell Architecture Technical Brief" for the B200.

MB: Final = 1 << 20


@dataclass(frozen=True)
class Sheet:
    """Peak figures of a GPU. A fused multiply-add is two operations."""

    name: str
    multiprocessors: int
    max_mhz: int
    memory_bytes_per_s: float
    l2_bytes: int
    generation: int

    def flops(self, max_mhz: int = 0) -> dict[str, float]:
        """Return operations per second by engine, at the table's highest clock or the driver's, whichever is higher."""
        clock = max(self.max_mhz, max_mhz) * 1e6
        rates = {engine: row[self.generation] for engine, row in _PER_CLOCK.items()}
        return {engine: self.multiprocessors * each * clock for engine, each in rates.items() if each}


HOPPER, AMPERE, ADA, TURING, BLACKWELL = range(5)
# Engine → operations per clock and multiprocessor in the order of the generations; 0: no such engine.
# Hopper white paper, "H100 … compute throughput": 64 FP64 and 128 FP32 units; tensor cores 512 FP16 FMA a clock each.
# A100 white paper: 32 FP64 and 64 FP32 units; FP16 at four times, BF16 at twice the FP32 rate; 256 FMA a tensor core.
# Ada white paper: 128 FP32 and 2 FP64 units. L4 data sheet: 30.3 fp32; 120, 242, 485, 485 for tf32, 16-bit, fp8, int8
# with sparsity, of which half is dense.
# Turing white paper: 64 FP32 and 2 FP64 units, FP16 at twice the rate. T4 data sheet: 8.1 fp32, 65 fp16, 130 int8.
# Blackwell brief, HGX B200, a GPU: 37 fp64, 75 fp32; dense: 1.1, 2.25, 4.5, 4.5, 9 P for tf32, 16-bit, fp8, int8, fp4.
_PER_CLOCK: Final = {
    "fp64": (128, 64, 4, 4, 128),
    "fp64_tc": (256, 128, 0, 0, 128),
    "fp32": (256, 128, 256, 128, 256),
    "fp16": (512, 512, 256, 256, 512),
    "bf16": (512, 256, 256, 0, 512),
    "tf32": (2048, 1024, 512, 0, 4096),
    "fp16_tc": (4096, 2048, 1024, 1024, 8192),
    "bf16_tc": (4096, 2048, 1024, 0, 8192),
    "fp8_tc": (8192, 0, 2048, 0, 16384),
    "int8_tc": (8192, 4096, 2048, 2048, 16384),
    "fp4_tc": (0, 0, 0, 0, 32768),
}

# Pattern of the driver's name → sheet; the first match counts. A variant without its own row gets the fastest's.
_SHEETS: Final = (
    (r"\bB200\b", Sheet("B200", 148, 1980, 8.0e12, 126 * MB, BLACKWELL)),
    (r"\bH200\b", Sheet("H200", 132, 1980, 4.8e12, 50 * MB, HOPPER)),
    (r"\bH100 NVL\b", Sheet("H100 NVL", 132, 1980, 3.94e12, 50 * MB, HOPPER)),
    (r"\bH100 PCIe\b", Sheet("H100 PCIe", 114, 1755, 2.04e12, 50 * MB, HOPPER)),
    (r"\bH100\b", Sheet("H100 SXM", 132, 1980, 3.35e12, 50 * MB, HOPPER)),
    (r"\bA100\b.*\b40GB\b", Sheet("A100 40GB", 108, 1410, 1.555e12, 40 * MB, AMPERE)),
    (r"\bA100\b", Sheet("A100 80GB", 108, 1410, 2.039e12, 40 * MB, AMPERE)),
    (r"\bL4\b", Sheet("L4", 58, 2040, 0.3e12, 48 * MB, ADA)),
    (r"\bT4\b", Sheet("T4", 40, 1590, 0.32e12, 4 * MB, TURING)),
)


def find_sheet(device: str) -> Sheet | None:
    """Return the sheet of the GPU that the driver calls `device`; None if the table has none."""
    return next((sheet for pattern, sheet in _SHEETS if re.search(pattern, device)), None)
