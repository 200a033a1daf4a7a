"""The problem's own code: makes data, computes the expected result, may check an output. Loaded once a container."""

from __future__ import annotations

import importlib
import inspect
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import modelnew
import stand_in
import torch
import tree


class Problem:
    """`checks`: does it bring a check of its own? With an `init_seed` it `is_model` (modelnew.py)."""

    def __init__(self, files: dict[str, str], device: str, folder: str, init_seed: int | None = None) -> None:
        put(files, folder)
        if device == "cpu" and stand_in.is_wanted(files):
            stand_in.install()
        self._module: Any = importlib.import_module("reference")
        if init_seed is not None:
            self._module = modelnew.Reference(self._module, init_seed, device)
        self._reference: Callable[[Any], Any] | None = getattr(self._module, "ref_kernel", None)
        if self._reference is None:
            raise tree.TreeError("reference.py defines no ref_kernel(data)")
        self.is_model = isinstance(self._module, modelnew.Reference)
        self._check = getattr(self._module, "check_implementation", None)
        self.checks = self._check is not None

    def generate(self, case: dict[str, Any], seed: int) -> Any:
        """Fresh data of this seed, whichever generator it draws from."""
        arguments = dict(case)
        if "seed" in inspect.signature(self._module.generate_input).parameters:
            arguments["seed"] = seed
        torch.manual_seed(seed)
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)
        return self._module.generate_input(**arguments)

    def fixed_slots(self, node: tree.Node) -> frozenset[int]:
        """Slots that are the same in every datum: a near-duplicate leaves them."""
        return modelnew.fixed_slots(node) if self.is_model else frozenset()

    def reference(self, data: Any) -> Any:
        assert self._reference is not None
        with torch.no_grad():
            return self._reference(data)

    def check(self, data: Any, output: Any) -> dict[str, Any]:
        """`check_implementation` returns (good, message), or a message that is empty where all is well. Public sets
        write a line's end as a backslash and an n, since their evaluators answer in lines."""
        assert self._check is not None
        verdict = self._check(data, output)
        if isinstance(verdict, bool):
            verdict = (verdict, "")
        good, message = verdict if isinstance(verdict, tuple) else (not verdict, verdict)
        return {"good": bool(good), "message": str(message)[:4000].replace("\\n", "\n")}


def put(files: dict[str, str], folder: str) -> None:
    """Write them; the folder becomes the one that programs run in and import from."""
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, folder)
