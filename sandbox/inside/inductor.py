"""First program of a container that compiles a problem's Model with torch.compile, and sends the code of Inductor.

It gets the problem's files in one message and answers with one: the module that Inductor wrote, the arguments of its
function `call` as expressions in a method of the Model, and the Model's result as an expression of the values that
`call` returns. It runs code of strangers and is assumed to be hostile: the judge verifies the code like any submission.
"""

import importlib
import os
import socket
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness
import modelnew
import problem_code
import protocol
import slots
import torch
from torch.utils._pytree import keystr, tree_flatten_with_path

SEED = 1
MOST_TEXT = 1_000
INPUTS, FOUND, SELF = "inputs", "found", "self"  # names in the method
PLAIN = (type(None), bool, int, float, str)


class NotWritten(Exception):
    """The Model compiles, but its compiled form cannot be written as one module."""


class Seen:
    """The code that Inductor writes for the Model, with arguments and values of its first call."""

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.arguments: list[Any] = []
        self.values: list[Any] = []

    def backend(self, graph: Any, inputs: list[Any]) -> Any:
        """Compile a graph as torch.compile does without a backend of its own."""
        compile_fx = importlib.import_module("torch._inductor.compile_fx")
        return compile_fx.compile_fx(graph, inputs, inner_compile=self._compile)

    def _compile(self, graph: Any, inputs: Any, **options: Any) -> Any:
        compile_fx = importlib.import_module("torch._inductor.compile_fx")
        lowering = importlib.import_module("torch._inductor.graph").GraphLowering
        before, lowering.save_output_code = lowering.save_output_code, staticmethod(self.codes.append)
        try:
            compiled = compile_fx.compile_fx_inner(graph, inputs, **options)
        finally:
            lowering.save_output_code = before

        def call(arguments: list[Any]) -> Any:
            self.arguments = list(arguments)
            self.values = list(compiled(arguments))
            return self.values

        call._boxed_call = True  # type: ignore[attr-defined]  # Inductor empties the list of arguments
        return call


def written(job: dict[str, Any]) -> dict[str, Any]:
    """Return code, arguments and result. Raises NotWritten, and all that the Model and its compiler raise."""
    problem_code.put(job["files"], harness.WORK)
    module, device = importlib.import_module("reference"), torch.device(job["device"])
    model = modelnew.construct(module.Model, list(module.get_init_inputs()), SEED).to(device)
    with device:
        inputs = list(module.get_inputs())
    leaves, _ = tree_flatten_with_path(inputs)
    moved = {keystr(path): leaf.to(device) for path, leaf in leaves if isinstance(leaf, torch.Tensor)}
    inputs = torch.utils._pytree.tree_map_with_path(lambda path, leaf: moved.get(keystr(path), leaf), inputs)
    config: Any = importlib.import_module("torch._inductor.config")
    config.compile_threads = 1  # no processes beside this one
    seen = Seen()
    compiled: Any = torch.compile(model, backend=seen.backend, fullgraph=True, dynamic=False)
    with torch.no_grad():
        result = compiled(*inputs)
    if len(seen.codes) != 1:
        raise NotWritten(f"torch.compile wrote {len(seen.codes)} modules for this Model; one is needed")
    names = {_key(tensor): f"{SELF}{path}" for path, tensor in _tensors_of(model)}
    names |= {_key(tensor): f"{INPUTS}{path}" for path, tensor in moved.items()}
    arguments = [names.get(_key(one)) if isinstance(one, torch.Tensor) else None for one in seen.arguments]
    if None in arguments:
        raise NotWritten("the compiled code takes a value that is neither an input nor a tensor of the Model")
    return {"code": seen.codes[0], "arguments": arguments, "result": _expression(result, seen.values, names)}


def _tensors_of(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Return parameters, buffers and plain attributes with their paths below the model."""
    found = []
    for path, part in model.named_modules():
        steps = [name for name in path.split(".") if name]
        parts = "".join(f".{name}" if name.isidentifier() else f"._modules[{name!r}]" for name in steps)
        own = {**part._parameters, **part._buffers, **vars(part)}
        found += [(f"{parts}.{name}", one) for name, one in own.items() if isinstance(one, torch.Tensor)]
    return found


def _key(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()


def _expression(result: Any, values: list[Any], names: dict[tuple[Any, ...], str]) -> str:
    """Return the expression that builds the Model's result from the list of values."""
    if isinstance(result, torch.Tensor):
        for place, value in enumerate(values):
            if isinstance(value, torch.Tensor) and (value is result or _key(value) == _key(result)):
                return f"{FOUND}[{place}]"
        if name := names.get(_key(result)):
            return name
        raise NotWritten("a tensor of the Model's result is a view that the compiled code does not return")
    if type(result) in (list, tuple):
        parts = [_expression(part, values, names) for part in result]
        return f"[{', '.join(parts)}]" if type(result) is list else f"({''.join(f'{part}, ' for part in parts)})"
    if type(result) is dict and all(type(key) in PLAIN for key in result):
        return f"{{{', '.join(f'{key!r}: {_expression(part, values, names)}' for key, part in result.items())}}}"
    if type(result) in PLAIN:
        return repr(result)
    raise NotWritten(f"the Model's result has a {type(result).__name__}; tensors, lists and dicts can be written")


def main() -> None:
    harness.set_up()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(harness.SOCKET)
    protocol.send(connection, {"ready": protocol.VERSION})
    protocol.receive(connection)
    protocol.send(connection, {"mapped": True})
    job, printed = protocol.receive(connection, descriptors=2)
    harness.print_into(printed)
    try:
        answer = written(job)
        protocol.send(connection, answer)
    except NotWritten as err:
        protocol.send(connection, {"failed": str(err)[:MOST_TEXT]})
    except BaseException as err:  # the Model may raise any exception; the compiler's have pages of advice
        protocol.send(connection, {"failed": f"{slots.name_of(err)}: {err}"[:MOST_TEXT]})


if __name__ == "__main__":
    main()
