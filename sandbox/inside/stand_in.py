"""`device="cuda"` as this host's own memory: for code written for a GPU, where the hardware is `cpu`.

Most public references name the device that they were written for. This module wraps the functions that take a device,
and a CUDA device becomes "cpu": factories, casts, generators, default devices and contexts. Functions that take no
device stay as they are and lose no speed. The module stands in for memory alone: kernels, events and streams need the
real device, and `torch.cuda.is_available()` stays truthful.

It is installed once a process and never taken back, and only where `is_wanted`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _device as contexts

Function = Callable[..., Any]

FACTORIES = (
    *("empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "normal", "arange", "range"),
    *("linspace", "logspace", "eye", "tensor", "as_tensor", "asarray", "scalar_tensor", "empty_strided"),
    *("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like"),
    *("empty_permuted", "tril_indices", "triu_indices", "sparse_coo_tensor", "sparse_csr_tensor"),
    *("hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window"),
)
METHODS = ("to", "new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty_strided")


def is_wanted(files: dict[str, str]) -> bool:
    """Return whether any of these sources mentions CUDA."""
    return any("cuda" in text for text in files.values())


def install() -> None:
    if getattr(torch, "_photofinish_stand_in", False):
        return
    torch._photofinish_stand_in = True  # type: ignore[attr-defined]
    for name in FACTORIES:
        if hasattr(torch, name):
            setattr(torch, name, _here(getattr(torch, name)))
    for name in METHODS:
        setattr(torch.Tensor, name, _here(getattr(torch.Tensor, name)))
    for owner, name in ((torch.Tensor, "cuda"), (torch.Tensor, "pin_memory"), (torch.nn.Module, "cuda")):
        setattr(owner, name, functools.wraps(getattr(owner, name))(lambda self, *args, **kwargs: self))
    torch.nn.Module.to = _here(torch.nn.Module.to)  # type: ignore[method-assign]
    torch.Generator = Generator  # type: ignore[misc]
    torch.load = _here(torch.load, "map_location")
    init = contexts.DeviceContext.__init__
    here: Function = functools.wraps(init)(lambda self, device: init(self, torch.device(mapped(device))))
    contexts.DeviceContext.__init__ = here  # type: ignore[method-assign]
    # Host work is done at once. Each function gets its own wrapper, since torch's compiler needs that.
    for name in ("synchronize", "empty_cache", "set_device", "reset_peak_memory_stats"):
        setattr(torch.cuda, name, functools.wraps(getattr(torch.cuda, name))(lambda *args, **kwargs: None))
    torch.cuda.current_device = lambda: 0


def mapped(device: Any) -> Any:
    """Return "cpu" for any name of a CUDA device, and every other value unchanged."""
    if isinstance(device, torch.device):
        return torch.device("cpu") if device.type == "cuda" else device
    if isinstance(device, str) and (device == "cuda" or device.startswith("cuda:")):
        return "cpu"
    return device


def _here(function: Function, keyword: str = "device") -> Function:
    @functools.wraps(function)
    def with_device_here(*args: Any, **kwargs: Any) -> Any:
        if keyword in kwargs:
            given = kwargs[keyword]
            kwargs[keyword] = "cpu" if type(given) is int else mapped(given)
        return function(*map(mapped, args), **kwargs)

    return with_device_here


class Generator(torch.Generator):
    """Generator of the host, for any requested device."""

    def __new__(cls, device: Any = "cpu") -> Generator:
        made: Generator = super().__new__(cls, "cpu" if type(device) is int else mapped(device))  # type: ignore[call-arg]
        return made
