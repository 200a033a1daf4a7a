"""The problem's own code: makes data, computes the expected result, may check an output. A container imports it
once."""

import gc
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import modelnew
import stand_in
import torch
import tree
import world
from torch.utils._pytree import tree_leaves, tree_map_only

PROBES = (7, (1 << 31) - 9)  # a small and a large seed
GROWN = 1e5  # ratio of sizes above which the data grow with the seed
SMALL = 1 << 16
NARROW = 1 << 31  # below it any generator takes a seed
LOOKED_AT = 4096  # elements of a tensor


class Problem:
    """A loaded problem. `checks`: it has its own check. `is_model`: it has an `init_seed` (modelnew.py)."""

    def __init__(
        self, files: dict[str, str], device: str, folder: str, init_seed: int | None = None, ranks: int = 1
    ) -> None:
        put(files, folder)
        self._world = world.Threads(ranks, on_device=device != "cpu") if ranks > 1 else None
        self._device = device
        if device == "cpu" and stand_in.is_wanted(files):
            stand_in.install()
        self._file: Any = importlib.import_module("reference")
        self.constructed_ns, self.is_model = 0, init_seed is not None
        self._module: Any = self._file
        self._reference: Callable[[Any], Any] | None = getattr(self._file, "ref_kernel", None)
        if init_seed is not None:
            self.construct(init_seed)
        elif self._reference is None:
            raise tree.TreeError("reference.py defines no ref_kernel(data)")
        self._check = getattr(self._module, "check_implementation", None)
        self.checks = self._check is not None
        self.answered_on_host = False  # the reference's last result lay on the host, though the data lie on a device
        self._seeds = 0  # not known yet
        taken = inspect.signature(self._module.generate_input).parameters
        self._takes_seed, self._takes_world = "seed" in taken, "world_size" in taken
        self._takes_any = any(one.kind is one.VAR_KEYWORD for one in taken.values())

    def construct(self, init_seed: int) -> None:
        """Construct Model with this seed. An earlier Model goes first: there may not be room for both.

        `constructed_ns` stays that of the longest construction: the first loads what a tenant has yet to load.
        """
        self._module = self._reference = None
        gc.collect()  # a Model may be in a cycle
        self._module = modelnew.Reference(self._file, init_seed, self._device)
        self._reference, self.init_seed = self._module.ref_kernel, init_seed
        self.constructed_ns = max(self.constructed_ns, self._module.constructed_ns)

    def generate(self, case: dict[str, Any], seed: int) -> Any:
        """Draw fresh data of this seed, from any generator. The case's own seed is passed unchanged."""
        if not (self._takes_seed or (self._takes_any and "seed" in case)):
            return self._draw(dict(case), seed)
        given = seed if seed == case.get("seed") else seed % self._fresh_seeds(dict(case))
        try:
            return self._draw({**case, "seed": given}, seed)
        except Exception:  # any error: numpy's older generators take 32 bits, seeds are multiplied, stored as int32
            if given < NARROW or seed == case.get("seed"):
                raise
        return self._draw({**case, "seed": given % NARROW}, seed)

    def _draw(self, arguments: dict[str, Any], seed: int) -> Any:
        """Draw the data, with several ranks those of each."""
        if self._world is None:
            modelnew.set_seed(seed)
            return self._module.generate_input(**arguments)
        ranks = range(self._world.ranks)
        if self._takes_world:
            arguments = {"world_size": len(ranks), **arguments}

        def draw(rank: int) -> Any:
            modelnew.set_seed(seed + rank)
            return self._module.generate_input(rank=rank, **arguments)

        return self._world.run_in_turn([partial(draw, rank) for rank in ranks])

    def _fresh_seeds(self, arguments: dict[str, Any]) -> int:
        """Return the bound below which fresh seeds stay: SMALL where the problem adds the seed to the data.

        A seed of full size would drown the data, and any output would be near the expected output. The data grow if
        some tensor is much larger for a large seed.
        """
        if not self._seeds:
            grows = False
            if not self.is_model:
                with suppress(Exception):  # the judge chose the seeds, and some formats do not widen
                    sizes = [self._sizes({**arguments, "seed": seed}) for seed in PROBES]
                    grows = any(after > GROWN * before > 0 for before, after in zip(*sizes, strict=False))
            self._seeds = SMALL if grows else 1 << 63
        return self._seeds

    def _sizes(self, arguments: dict[str, Any]) -> list[float]:
        """Return the median of each floating-point tensor's first elements, or 0 where two draws of one seed differ.

        Such a tensor is uninitialised, like the result's place, and leftovers could pass for data that grow. Both draws
        are kept until they are compared, so that the second draw has memory of its own.
        """
        draws = []
        for _ in range(2):
            found = [one for one in tree_leaves(self._draw(arguments, 0)) if isinstance(one, torch.Tensor)]
            draws.append([one for one in found if one.dtype.is_floating_point and one.numel()])
        sizes = []
        for pair in zip(*draws, strict=True):
            once, again = (tensor.flatten()[:LOOKED_AT].double() for tensor in pair)
            is_same = torch.equal(once.nan_to_num(), again.nan_to_num())
            sizes.append(float(once.abs().nanmedian().item()) if is_same else 0.0)
        return sizes

    def fixed_slots(self, node: tree.Node) -> frozenset[int]:
        """Return the slots that are the same in every datum: a near-duplicate leaves them."""
        return modelnew.fixed_slots(node) if self.is_model else frozenset()

    def reference(self, data: Any) -> Any:
        """Answer the data, with several ranks those of each."""
        if self._world is None:
            result = self._answer(data)
        else:
            result = self._world.run([partial(self._answer, part) for part in data])
        if self._device != "cpu":
            found = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor)]
            self.answered_on_host = bool(found) and all(one.device.type == "cpu" for one in found)
        return result

    def _answer(self, data: Any) -> Any:
        assert self._reference is not None
        with torch.no_grad():
            return self._reference(data)

    def check(self, data: Any, output: Any, *, on_host: bool = False) -> dict[str, Any]:
        """Run `check_implementation`, which returns (good, message), or a message that is empty where all is well.

        Public sets write a line's end as a backslash and an n, since their evaluators answer in lines. `on_host`: the
        reference answered on the host, and the check expects an output there.
        """
        if on_host:
            output = tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), output)
        if self._world is None:
            return self._checked(data, output)
        pairs = zip(data, output, strict=True)
        found = self._world.run([partial(self._checked, *pair) for pair in pairs])
        bad = [(rank, one["message"]) for rank, one in enumerate(found) if not one["good"]]
        return {"good": not bad, "message": "\n".join(f"rank {rank}: {said}" for rank, said in bad)[:4000]}

    def _checked(self, data: Any, output: Any) -> dict[str, Any]:
        assert self._check is not None
        verdict = self._check(data, output)
        if hasattr(verdict, "item"):  # a tensor, or a number of numpy's: torch.all and numpy.all return no Python bool
            verdict = verdict.item()
        if isinstance(verdict, bool):
            verdict = (verdict, "")
        good, message = verdict if isinstance(verdict, tuple) else (not verdict, verdict)
        return {"good": bool(good), "message": str(message)[:4000].replace("\\n", "\n")}


def put(files: dict[str, str], folder: str) -> None:
    """Write the files into a folder, and make it the working directory and the first place of imports."""
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, folder)
