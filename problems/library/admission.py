"""A submission for any problem, made from its own reference: honest, or wrong in a way that a problem must not accept.

The judge (runner/admission/examine.py) puts lines before this text: REFERENCE (the source of reference.py), LEGAL (the
formats that precision.legal names) and TURNS (keys of VARIANTS below). Call by call the next variant answers, so that
one input serves all. The program runs in a tenant like any submission, and is ours. Raises NotApplicable where a
variant makes no sense for the problem at hand.
"""

import copy
import dataclasses
import itertools
import sys
import types

import torch

reference = types.ModuleType("reference")
sys.modules["reference"] = reference
exec(compile(REFERENCE, "reference.py", "exec"), reference.__dict__)  # noqa: F821

HALVED = {torch.float64: torch.float32, torch.float32: torch.float16}
WIDE = {float: torch.float64, complex: torch.complex128}
ANOTHER = 1000  # roundings of an element's and the usual size, at most a tenth of them: more than an error of rounding
WORKING = (torch.float16, torch.bfloat16, torch.float32)
PACKED = getattr(torch, "float4_e2m1fn_x2", None)  # two numbers in a byte, which torch can only copy


class NotApplicable(Exception):
    pass


NUMBERS = (bool, int, float, complex)


# -- nested data -----------------------------------------------------------------------------------------------------


def mapped(data, change, kinds=(torch.Tensor,)):
    """Return the same structure with every value of these kinds changed."""
    if isinstance(data, kinds):
        return change(data)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return data._make(mapped(item, change, kinds) for item in data)
    if isinstance(data, (tuple, list)):
        return type(data)([mapped(item, change, kinds) for item in data])
    if isinstance(data, dict):
        return type(data)((key, mapped(item, change, kinds)) for key, item in data.items())
    if isinstance(data, torch.nn.Module):
        return mapped_module(data, change, kinds)
    if dataclasses.is_dataclass(data):
        return mapped_dataclass(data, change, kinds)
    return data


def mapped_dataclass(data, change, kinds):
    """Rebuild a dataclass as the harness does: its own __init__ may compute, and refuse a value that it once made."""
    made = object.__new__(type(data))
    for field in dataclasses.fields(data):
        object.__setattr__(made, field.name, mapped(getattr(data, field.name), change, kinds))
    return made


def mapped_module(module, change, kinds):
    """Return the module itself where no tensor in it changes, else a copy with the new tensors."""
    before = [*module.parameters(), *module.buffers()]
    after = [change(tensor) if isinstance(tensor, kinds) else tensor for tensor in before]
    if before and all(new is old for new, old in zip(after, before, strict=True)):
        return module
    other = copy.deepcopy(module)
    for tensor, new in zip([*other.parameters(), *other.buffers()], after, strict=True):
        tensor.data = new.detach()
    return other


def leaves(data, kinds=(torch.Tensor,)):
    found = []
    mapped(data, lambda leaf: found.append(leaf) or leaf, kinds)
    return found


def same(left, right):
    return torch.equal(left.contiguous().view(-1).view(torch.uint8), right.contiguous().view(-1).view(torch.uint8))


def cast(data, dtypes):
    return mapped(data, lambda tensor: tensor.to(dtypes.get(tensor.dtype, tensor.dtype), copy=True))


# -- running the reference -------------------------------------------------------------------------------------------


class Function:
    """The reference as a function of data."""

    def __call__(self, data):
        return reference.ref_kernel(data)

    def cast(self, dtypes):
        return self


class Forward:
    """The reference as a Model; data are the arguments of its forward."""

    def __init__(self, model):
        self.model = model

    def __call__(self, data):
        return self.model.original(*data)

    def cast(self, dtypes):
        other = copy.deepcopy(self.model)
        for tensor in (*other.parameters(), *other.buffers()):
            tensor.data = tensor.data.to(dtypes.get(tensor.dtype, tensor.dtype))
        return Forward(other)


class Run:
    """A run of the reference on `data`: its result, and all its outputs, first those that it wrote into the data."""

    def __init__(self, solve, data, changed=None):
        before = [tensor.clone() for tensor in leaves(data)]
        self.result = solve(data)
        after = leaves(data)
        if changed is None:
            changed = [index for index, tensor in enumerate(after) if not same(tensor, before[index])]
        self.changed = changed
        self.written = [as_numbers(after[index]) for index in changed]
        self.places = {tensor.data_ptr() for tensor in self.written}
        fresh = [leaf for leaf in leaves(self.result, (torch.Tensor, *NUMBERS)) if not self.is_written(leaf)]
        self.outputs = self.written + [as_tensor(leaf) for leaf in fresh]

    def is_written(self, leaf):
        return isinstance(leaf, torch.Tensor) and leaf.data_ptr() in self.places

    def replaced(self, values):
        """Return the result with new values, which also replace the outputs written in place."""
        for output, value in zip(self.written, values[: len(self.written)], strict=True):
            output.copy_(value)
        others = iter(values[len(self.written) :])

        def put(leaf):
            if self.is_written(leaf):
                return leaf
            value = next(others)
            return value.view(leaf.dtype) if isinstance(leaf, torch.Tensor) else type(leaf)(value.item())

        return mapped(self.result, put, (torch.Tensor, *NUMBERS))


def as_tensor(leaf):
    return as_numbers(leaf) if isinstance(leaf, torch.Tensor) else torch.tensor(leaf, dtype=WIDE.get(type(leaf)))


def as_numbers(tensor):
    """Return the tensor itself, or the bytes of a format that is no numbers to torch, as the judge compares them."""
    return tensor.view(torch.uint8) if tensor.dtype == PACKED else tensor


# -- the variants: each takes the original data and the honest run, and returns the values to answer with --------------


def honest(solve, given, run):
    return run.outputs


def zeros(solve, given, run):
    return [filled(output, 0) for output in run.outputs]


def ones(solve, given, run):
    return [filled(output, 1) for output in run.outputs]


FIRST = {}


def constant(solve, given, run):
    """Return the best constant: the mean of the expected output, or for a single number the first number seen."""

    def guess(place, output):
        if not output.numel():
            return output
        mean = (output.real if output.is_complex() else output).double().mean().item()
        return filled(output, FIRST.setdefault(place, mean) if output.numel() == 1 else mean)

    return [guess(place, output) for place, output in enumerate(run.outputs)]


def filled(output, value):
    """Return a filled tensor by a detour: not every format can be filled."""
    return torch.full(output.shape, float(value), dtype=torch.float64, device=output.device).to(output.dtype)


def the_input(solve, given, run):
    inputs = [as_numbers(tensor) for tensor in leaves(given)]

    def like(output):
        fits = [tensor for tensor in inputs if tensor.shape == output.shape]
        if not fits:
            raise NotApplicable("no input has the shape of the output")
        return fits[0].to(output.dtype)

    return [like(output) for output in run.outputs]


LAST = {}


def previous(solve, given, run):
    """Return the right outputs of the last input whose outputs had these shapes."""
    key = tuple((output.shape, output.dtype) for output in run.outputs)
    before, LAST[key] = LAST.get(key), [output.clone() for output in run.outputs]
    if before is None:
        raise NotApplicable("these are the first outputs of their shapes")
    return before


def half(solve, given, run):
    """Compute in half the precision of the inputs."""
    if not any(tensor.dtype in HALVED for tensor in leaves(given)):
        raise NotApplicable("the inputs are in half precision, or no floating-point numbers")
    if any(tensor.dtype == torch.float64 for tensor in leaves(given)) and set(LEGAL) - {"fp64"}:  # noqa: F821
        raise NotApplicable("single precision is legal here")
    try:
        other = Run(solve.cast(HALVED), cast(given, HALVED), run.changed)
    except Exception as error:  # it may refuse these dtypes with any error
        raise NotApplicable(f"the reference does not run in half precision: {error!r}") from None
    return [value.to(output.dtype) for value, output in zip(other.outputs, run.outputs, strict=True)]


def margin(solve, given, run):
    """Answer honestly, with four times the error that the reference's working precision brings."""
    try:
        doubled = dict.fromkeys(WORKING, torch.float64)
        exact = Run(solve.cast(doubled), cast(given, doubled), run.changed)
    except Exception as error:
        raise NotApplicable(f"the reference does not run in double precision: {error!r}") from None

    pairs = list(zip(run.outputs, exact.outputs, strict=True))
    if hasattr(reference, "check_implementation") and any(is_another(*pair) for pair in pairs):
        raise NotApplicable("in double precision the reference's answer is another one, by more than rounding")

    def moved(output, target):
        if not output.is_floating_point() or not target.is_floating_point():
            return output
        came = output.double()
        right, times = target.double(), 4
        if output.element_size() < 4:  # most of the error is the format's own; a neighbour rounds the opposite way
            right = target.to(output.dtype).double()
            times = torch.where((came - right).abs() <= torch.finfo(output.dtype).eps * right.abs(), 1, 4)
        wide = (right + times * (came - right)).to(output.dtype)
        finite = torch.isfinite(came) & torch.isfinite(wide.double())
        return torch.where(finite, wide.double(), came).to(output.dtype)

    return [moved(output, target) for output, target in pairs]


def is_another(output, target):
    """Return whether the answers differ by more than rounding.

    An eigenvector may have either sign, and where a matrix is nearly singular it has many factorisations. Between two
    valid answers lie wrong answers.
    """
    if not output.is_floating_point() or not output.numel():
        return False
    came, wanted = output.double(), target.double()
    usual, part = wanted.square().mean().sqrt(), min(0.1, ANOTHER * torch.finfo(output.dtype).eps)
    return bool(((came - wanted).abs() > part * (wanted.abs() + usual)).any())


VARIANTS = {
    "reference": honest,
    "zeros": zeros,
    "ones": ones,
    "constant": constant,
    "input": the_input,
    "previous": previous,
    "half": half,
    "margin": margin,
}


TURN = itertools.cycle(TURNS)  # noqa: F821


def kernel(data, solve=None):
    solve = solve or Function()
    change = VARIANTS[next(TURN)]
    given = mapped(data, torch.clone)
    with torch.no_grad():
        run = Run(solve, data)
        return run.replaced(change(solve, given, run))


def model():
    """Return the class that answers where the problem is a Model."""

    class Answer(reference.Model):
        def original(self, *inputs):
            return super().forward(*inputs)

        def forward(self, *inputs):
            return kernel(list(inputs), Forward(self))

    return Answer
