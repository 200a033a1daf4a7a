"""KernelBench's interface as a function of data: a `Model` in the oracle, its `ModelNew` in a tenant.

The data of a call is `{"seed", "init", "index", "state", "renewed", "inputs"}`: the constructor's arguments and the
seed set before it, equal all through a run; the parameters and buffers of Model, located by `index`, in one tensor for
each kind; and fresh inputs. Weights therefore travel like any input, and state that a call changes is an output like
any output. `renewed` names tensors that Model keeps as plain attributes, neither parameters nor buffers, and replaces
in a call: the hidden state of a recurrent cell. They do not travel; on both sides a call begins with the tensors that
the constructor made. A configuration of transformers among the constructor's arguments travels as its JSON.

`index` is JSON in pieces: `[[name, kind, shape, offset in elements]…]`; a kind is a dtype, with `CHANGING` where calls
change the tensor.
"""

import importlib
import json
import math
import random
import sys
import time
from collections.abc import Iterable
from typing import Any

import slots
import torch
import tree
from torch.func import functional_call
from torch.utils._pytree import tree_map_only

ALIGN_BYTES = 256  # of a parameter in its pack: the alignment of a separate tensor
CHANGING = " changing"
CONFIGURATION = "configuration of transformers"  # the one key of a dict that stands for it
SHOWN = 8  # names in a message
CHUNK = 1 << 24  # elements
RTOL, ATOL = 1e-3, 1e-5  # between two runs of one Model: far below the difference that random numbers make

Row = tuple[str, str, list[int], int]


class NotConstructed(Exception):
    """ModelNew cannot be constructed or lacks a required buffer; the cause is the constructor's own exception."""


class Reference:
    """A KernelBench file with the functions that oracle.py expects of a problem's module."""

    def __init__(self, module: Any, seed: int, device: str) -> None:
        self._module = module
        self._seed = seed
        self._device = torch.device(device)
        set_seed(seed)
        self._init = [_as_data(argument) for argument in module.get_init_inputs()]
        tree.walk(self._init, _no_tensor, "get_init_inputs()")
        began = time.perf_counter_ns()
        self._model = construct(module.Model, self._init, seed).to(self._device)
        self.constructed_ns = time.perf_counter_ns() - began  # the judge gives ModelNew time in proportion
        self._attributes = Attributes(self._model, self._device)
        self._index: list[Row] | None = None
        self._state: dict[str, torch.Tensor] = {}
        self._renewed: list[str] = []

    def generate_input(self, seed: int) -> dict[str, Any]:
        """Draw fresh inputs, with the state of the construction: no call sees a previous call's changes."""
        set_seed(seed)
        with self._device:
            inputs = list(self._module.get_inputs())
        inputs = _each(inputs, lambda tensor: tensor.to(self._device))
        if self._index is None:
            self._index, self._state = pack(_tensors_of(self._model), self._changing(inputs))
        return {
            "seed": self._seed,
            "init": self._init,
            "index": _pieces(json.dumps(self._index)),
            "state": dict(self._state),
            "renewed": self._renewed,
            "inputs": inputs,
        }

    def ref_kernel(self, data: dict[str, Any]) -> Any:
        assert self._index is not None
        self._attributes.renew()
        sent = unpack(self._index, data["state"])
        state = dict(sent)  # the call puts assigned tensors into it
        result = functional_call(self._model, state, tuple(data["inputs"]))
        assigned = {
            name: state[name].detach().clone() for name in _changing_in(self._index) if state[name] is not sent[name]
        }
        if assigned:
            result = apart_from(sent.values(), result)
        for name, value in assigned.items():
            sent[name].copy_(value)
        return result

    def _changing(self, inputs: list[Any]) -> set[str]:
        """Return the buffers that a call changes.

        Raises TreeError where two calls on the same data differ, or where a buffer gets another shape or dtype.
        """
        first, _ = self._called(inputs, 1)
        second, state = self._called(inputs, 2)
        if not _are_all_same(first, second):
            repeats = _are_all_same(first, self._called(inputs, 1)[0])
            why = "its forward draws random numbers" if repeats else "it keeps something from one call to the next"
            raise tree.TreeError(f"two calls of Model on the same data differ: {why}")
        self._renewed = self._attributes.changed()
        own = dict(self._model.named_buffers())
        if changed := [name for name, made in own.items() if not _are_alike(state[name], made)]:
            fault = f"a call of Model changes shape or dtype of its buffer {_listed(changed)}"
            raise tree.TreeError(f"{fault}; let it be a plain attribute")
        return {name for name, made in own.items() if not torch.equal(state[name], made)}

    def _called(self, inputs: list[Any], chance: int) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
        """Call the model after seeding with `chance`; return its result, and parameters and buffers after the call."""
        torch.manual_seed(chance)
        state = {name: tensor.detach().clone() for name, tensor in _tensors_of(self._model).items()}
        copies = tuple(_each(inputs, torch.clone))
        found: list[torch.Tensor] = []
        self._attributes.renew()
        with torch.no_grad():
            returned = functional_call(self._model, state, copies)
            tree.walk(returned, lambda leaf, path: found.append(leaf), "output", result=True)
        return found, state


class Attributes:
    """Tensors that the modules of a model hold as plain attributes, as the constructor made them.

    They go to the device with the model, since `.to()` leaves them behind. `only` restricts them to these names.
    """

    def __init__(self, model: torch.nn.Module, device: Any, only: list[str] | None = None) -> None:
        self._found: dict[str, tuple[dict[str, Any], str, torch.Tensor]] = {}
        for path, module in model.named_modules():
            for name, value in vars(module).items():
                full = f"{path}.{name}".lstrip(".")
                if isinstance(value, torch.Tensor) and (only is None or full in only):
                    self._found[full] = vars(module), name, value.detach().to(device, copy=True)
        self._given = {full: torch.empty(0) for full in self._found}
        self._versions = dict.fromkeys(self._found, -1)

    def renew(self) -> None:
        """Restore each tensor, copying only where a call wrote. While torch's default is float64, they are float64."""
        for full, (holder, name, made) in self._found.items():
            given = self._given[full]
            wanted = torch.get_default_dtype() if made.dtype == torch.float32 else made.dtype
            if given._version != self._versions[full] or given.dtype != wanted:
                self._given[full] = given = made.to(wanted, copy=True)
                self._versions[full] = given._version
            holder[name] = given

    def changed(self) -> list[str]:
        """Return the names of the tensors that differ from the constructor's."""
        return [
            full
            for full, (holder, name, made) in self._found.items()
            if not _are_alike(holder[name], made) or not torch.equal(holder[name], made)
        ]


class Candidate:
    """A ModelNew class wrapped as the function that the harness calls."""

    def __init__(self, make: type) -> None:
        self.make = make
        self._model: Any = None
        self._attributes: Attributes | None = None
        self._changing: list[tuple[dict[str, Any], str, torch.Tensor, torch.Tensor, str]] = []
        self._told = False

    def lay_out(self, data: dict[str, Any]) -> None:
        """Construct ModelNew and put its parameters and buffers where the judge places those of Model."""
        try:
            self._model = construct(self.make, data["init"], data["seed"])
        except BaseException as err:  # the author's code may raise anything
            raise NotConstructed from err
        if not isinstance(self._model, torch.nn.Module):
            raise NotConstructed(f"{self.make.__name__} is no torch.nn.Module; derive it from one")
        tensors = [*data["state"].values()]
        _each(data["inputs"], tensors.append)
        device = tensors[0].device if tensors else torch.device("cpu")
        self._model.to(device)
        own = _tensors_of(self._model, shared_too=True)
        index = json.loads("".join(data["index"]))
        sent = unpack(index, data["state"])
        fits = {name for name, tensor in sent.items() if name in own and _are_alike(own[name], tensor)}
        changing = _changing_in(index)
        missing = [name for name in changing if name not in fits]
        if missing:
            raise NotConstructed(
                f"{self.make.__name__} has no buffer {_listed(missing)} of the shape and dtype that Model has; a call "
                "of Model changes it, so it is an output: keep it under that name"
            )
        for name in fits:
            own[name].data = sent[name]
        self._changing = []
        for name in changing:
            path, _, leaf = name.rpartition(".")
            module = self._model.get_submodule(path)
            holder = module._buffers if leaf in module._buffers else module._parameters
            self._changing.append((holder, leaf, own[name], sent[name], name))
        others = [name for name in sent if name not in fits]
        if others and not self._told:
            print(
                f"photofinish: of {len(sent)} parameters and buffers of Model, {len(others)} have no counterpart of "
                f"the same name, shape and dtype in {self.make.__name__} ({_listed(others)}). What its constructor "
                "drew from the same seed counts instead.",
                file=sys.stderr,
                flush=True,
            )
        self._told = True
        self._attributes = Attributes(self._model, device, data["renewed"]) if data["renewed"] else None

    def __call__(self, data: dict[str, Any]) -> Any:
        if self._attributes is not None:
            self._attributes.renew()
        with torch.no_grad():
            result = self._model(*data["inputs"])
            assigned = []  # instead of changed in place
            for holder, leaf, own, sent, name in self._changing:
                found = holder[leaf] if leaf in holder else None  # noqa: SIM401 - TorchScript's modules have no `get`
                if found is not own or own.data_ptr() != sent.data_ptr():
                    value = found.detach().clone() if isinstance(found, torch.Tensor) else found
                    assigned.append((holder, leaf, own, sent, name, value))
            if assigned:
                result = apart_from([sent for *_, sent, _ in self._changing], result)
            for holder, leaf, own, sent, name, value in assigned:
                slots.keep({"kind": "tensor", "slot": 0}, [sent], value, f"the buffer {name}")
                own.data = sent
                holder[leaf] = own
        return result


def apart_from(state: Iterable[torch.Tensor], result: Any) -> Any:
    """Return the result with copies of those tensors that lie in the state's memory, which is about to change."""
    places = {tensor.untyped_storage().data_ptr() for tensor in state}

    def apart(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone() if tensor.untyped_storage().data_ptr() in places else tensor

    return tree_map_only(torch.Tensor, apart, result)


def construct(make: Any, init: list[Any], seed: int) -> Any:
    """Set the seed and run the constructor on the host, as KernelBench does."""
    arguments = [_from_data(argument) for argument in init]
    set_seed(seed)
    return make(*arguments)


def set_seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)  # torch.manual_seed asks four absent devices in 0.4 ms
    # As it is in all containers with a device; else torch notes a traceback in 0.3 ms.
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def pack(tensors: dict[str, torch.Tensor], changing: set[str]) -> tuple[list[Row], dict[str, torch.Tensor]]:
    """Return each tensor's position, and aligned copies in one tensor for each kind, with zeros between."""
    index: list[Row] = []
    ends: dict[str, int] = {}
    for name, tensor in tensors.items():
        kind = str(tensor.dtype).removeprefix("torch.") + (CHANGING if name in changing else "")
        grain = max(ALIGN_BYTES // tensor.element_size(), 1)
        index.append((name, kind, list(tensor.shape), ends.get(kind, 0)))
        ends[kind] = ends.get(kind, 0) + -(-tensor.numel() // grain) * grain
    like = {row[1]: tensors[row[0]] for row in index}
    packs = {kind: torch.zeros(end, dtype=like[kind].dtype, device=like[kind].device) for kind, end in ends.items()}
    for name, view in unpack(index, packs).items():
        view.copy_(tensors[name].detach())
    return index, packs


def unpack(index: list[Row], packs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return each tensor as a view, without a copy."""
    return {name: packs[kind][at : at + math.prod(shape)].view(shape) for name, kind, shape, at in index}


def _changing_in(index: list[Row]) -> list[str]:
    return [name for name, kind, _, _ in index if kind.endswith(CHANGING)]


def fixed_slots(node: dict[str, Any]) -> frozenset[int]:
    """Return the state's slots in the node of the data: a near-duplicate changes inputs, never weights."""
    state = dict(node["of"])["state"]
    return frozenset(part["slot"] for _, part in state["of"])


def _tensors_of(model: Any, *, shared_too: bool = False) -> dict[str, torch.Tensor]:
    """Return parameters and buffers by name. A shared tensor has its first name, or with `shared_too` all its names."""
    return dict(model.named_parameters(remove_duplicate=not shared_too)) | dict(
        model.named_buffers(remove_duplicate=not shared_too)
    )


def _each(inputs: list[Any], change: Any) -> list[Any]:
    """Return the same structure with `change` applied to each tensor."""
    found: list[torch.Tensor] = []

    def leaf(tensor: torch.Tensor, path: str) -> int:
        found.append(change(tensor))
        return len(found) - 1

    node = tree.walk(inputs, leaf, "get_inputs()")
    built: list[Any] = tree.build(node, found)
    return built


def _are_alike(left: Any, right: torch.Tensor) -> bool:
    return isinstance(left, torch.Tensor) and left.shape == right.shape and left.dtype == right.dtype


def _are_all_same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return len(left) == len(right) and all(map(_are_same, left, right))


def _are_same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Compare some elements at a time: outputs may fill a device."""
    if not left.is_floating_point() or not _are_alike(left, right):
        return torch.equal(left, right)
    one, other = left.reshape(-1), right.reshape(-1)
    parts = (slice(at, at + CHUNK) for at in range(0, one.numel(), CHUNK))
    return all(torch.allclose(one[at].double(), other[at].double(), RTOL, ATOL, equal_nan=True) for at in parts)


def _as_data(argument: Any) -> Any:
    configuration: type[Any] | None = getattr(sys.modules.get("transformers"), "PretrainedConfig", None)
    if configuration is None or not isinstance(argument, configuration):
        return argument
    return {CONFIGURATION: _pieces(argument.to_json_string(use_diff=False))}


def _from_data(argument: Any) -> Any:
    if type(argument) is not dict or [*argument] != [CONFIGURATION]:
        return argument
    transformers = importlib.import_module("transformers")  # in some images only
    return transformers.AutoConfig.for_model(**json.loads("".join(argument[CONFIGURATION])))


def _pieces(text: str) -> list[str]:
    """Return the text in pieces: one text of the data has a limit."""
    return [text[start : start + tree.MOST_CHARS] for start in range(0, len(text), tree.MOST_CHARS)]


def _no_tensor(tensor: torch.Tensor, path: str) -> int:
    raise tree.TreeError("get_init_inputs() gives a tensor; a constructor can be sent numbers, text, lists and dicts")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
