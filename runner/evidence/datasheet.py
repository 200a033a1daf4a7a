"""Peak rates of GPUs by their makers, for the hard ceilings of speed_of_light.py. Pure: a table and a reader of it.

Arithmetic is stated as operations per clock and multiprocessor, dense, and multiplied by the highest clock. Data sheets
quote tensor figures at a lower clock (an H100's 989 TFLOP/s are 1,830 MHz, its highest clock is 1,980), and a hard
ceiling must hold for a cool chip that is not at its power limit. Memory is the data sheet's figure.

Sources, by name: "NVIDIA H100 Tensor Core GPU Architecture" (white paper) and the data sheets "NVIDIA H100 Tensor Core
GPU" and "NVIDIA H200 Tensor Core GPU" for Hopper; "NVIDIA A100 Tensor Core GPU Architecture" (white paper) and the A100
data sheet; "NVIDIA Ada GPU Architecture" (white paper) and the L4 data sheet; "NVIDIA Turing GPU Architecture" (white
paper) and the T4 data sheet; "NVIDIA Blackwell Architecture Technical Brief" for the B200.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

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


def find(device: str) -> Sheet | None:
    """Return the sheet of the GPU that the driver calls `device`; None if the table has none."""
    return next((sheet for pattern, sheet in _SHEETS if re.search(pattern, device)), None)
