"""Any structure goes from the oracle through the layout into a tenant and back unchanged, bit for bit."""

import importlib
import json
import math
import struct
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.judge.data.layout import DTYPES, parse_layout

INSIDE = Path(__file__).parents[2] / "sandbox" / "inside"
NAMES = ("slots", "tree")
pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")  # torch warns once per process


@pytest.fixture(scope="module")
def inside() -> Iterator[dict[str, ModuleType]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(INSIDE.parent)  # protocol.py, which lies beside the harness in the image
        patch.syspath_prepend(INSIDE)
        yield {name: importlib.import_module(name) for name in NAMES}


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Options:
    scale: Any
    table: Any


@dataclass
class Counted:
    """Class whose constructor computes: it must not run again."""

    value: Any

    def __post_init__(self) -> None:
        self.value = [self.value]


# -- random data -------------------------------------------------------------------------------------------------------

KINDS = sorted(name for name in DTYPES if hasattr(torch, name))
SIDES = st.lists(st.integers(0, 4), max_size=3)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Tensors of any format with random bits, dense or not."""
    dtype = getattr(torch, draw(st.sampled_from(KINDS)))
    shape = draw(SIDES)
    count = math.prod(shape) * dtype.itemsize
    raw = torch.tensor(list(draw(st.binary(min_size=count, max_size=count))), dtype=torch.uint8)
    if dtype == torch.bool:
        raw &= 1
    return raw.view(dtype).view(shape)


@st.composite
def looks(draw: st.DrawFn, of: torch.Tensor) -> torch.Tensor:
    """The same memory in different views."""
    how = draw(st.sampled_from(["same", "transposed", "part", "steps", "expanded", "bytes"]))
    if of.dim() == 0 or how == "same":
        return of
    if how == "transposed":
        return of.movedim(0, -1)
    if how == "part":
        return of[draw(st.integers(0, of.shape[0])) :]
    if how == "steps":
        return of[:: draw(st.integers(1, 3))]
    if how == "bytes":
        return of.view(torch.uint8) if not of.is_complex() else torch.view_as_real(of)
    return of[:1].expand(3 if of.shape[0] else 0, *of.shape[1:])


@st.composite
def several(draw: st.DrawFn) -> Any:
    """Tensors that share one memory."""
    base = draw(tensors())
    found = [draw(looks(base)) for _ in range(draw(st.integers(1, 3)))]
    return found if draw(st.booleans()) else found[-1]


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=5),
    st.sampled_from([torch.float16, torch.uint8, torch.device("cpu"), torch.Size([2, 3])]),
)
KEYS = st.one_of(st.text(max_size=3), st.integers(-9, 9), st.booleans(), st.none())
DATA = st.recursive(
    st.one_of(PLAIN, several()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3).map(OrderedDict),
        st.tuples(inner, inner).map(lambda pair: Pair(*pair)),
        st.tuples(inner, inner).map(lambda pair: Options(*pair)),
        inner.map(Counted),
    ),
    max_leaves=6,
)


# -- the way there -----------------------------------------------------------------------------------------------------


def travelled(inside: dict[str, ModuleType], data: Any) -> tuple[Any, list[torch.Tensor]]:
    """Return the tenant's copy of the structure and its memory. The judge reads the layout; bytes go through a
    region."""
    slots, tree = inside["slots"], inside["tree"]
    drawn = slots.take_apart(data)
    placed = [*drawn.slots, slots.slot_of(torch.zeros(1), "out")]  # a layout has an output
    sizes = slots.place(placed)
    layout = {"slots": placed, "data": drawn.node, "result": None, "input_bytes": sizes[0], "output_bytes": sizes[1]}
    text = json.loads(parse_layout(layout, 1 << 20, 1 << 20).text)
    region = bytearray(max(sizes[0], 1))
    for index, base in drawn.bases.items():
        slots.copy(slots.view(region, placed[index], "input"), base)
    bases = {index: slots.view(region, text["slots"][index], "input") for index in drawn.bases}
    return tree.build(text["data"], slots.views(text["slots"][:-1], bases)), list(bases.values())


def assert_same(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(left, torch.Tensor):
        assert (left.dtype, left.shape, left.stride()) == (right.dtype, right.shape, right.stride())
        assert bits(left) == bits(right)
    elif isinstance(left, dict):
        assert [*left] == [*right]
        assert [type(key) for key in left] == [type(key) for key in right]
        for key in left:
            assert_same(left[key], right[key])
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same(one, other)
    elif isinstance(left, Options | Counted):
        assert_same(vars(left), vars(right))
    elif isinstance(left, float):
        assert struct.pack("d", left) == struct.pack("d", right)
    elif isinstance(left, complex):
        assert_same([left.real, left.imag], [right.real, right.imag])
    else:
        assert left == right


def bits(tensor: torch.Tensor) -> list[int]:
    parts = torch.view_as_real(tensor) if tensor.dtype == torch.complex128 else tensor
    whole = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[parts.element_size()]
    found: list[int] = parts.view(whole).flatten().tolist()
    return found


def memory_of(data: Any) -> list[tuple[int, int]]:
    """Address of the first element and number of elements for each tensor, in the order of the walk."""
    if isinstance(data, torch.Tensor):
        return [(data.data_ptr(), data.numel())]
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, Options | Counted):
        data = list(vars(data).values())
    return [one for part in data for one in memory_of(part)] if isinstance(data, list | tuple) else []


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=DATA)
def test_data_arrive_unchanged(inside: dict[str, ModuleType], data: Any) -> None:
    arrived, _ = travelled(inside, data)
    assert_same(data, arrived)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.lists(several(), min_size=2, max_size=4))
def test_tensors_that_share_memory_still_do_at_the_same_distance(inside: dict[str, ModuleType], data: Any) -> None:
    arrived, bases = travelled(inside, data)
    here = [place for place, count in memory_of(data) if count]
    there = [place for place, count in memory_of(arrived) if count]
    spans = [(base.data_ptr(), base.data_ptr() + base.nbytes) for base in bases]
    for first in range(len(here)):
        for second in range(first):
            if any(low <= there[first] < high and low <= there[second] < high for low, high in spans):
                assert here[first] - here[second] == there[first] - there[second]


def test_a_change_through_a_view_is_a_change_of_what_it_looks_at(inside: dict[str, ModuleType]) -> None:
    x = torch.arange(12.0).view(3, 4)
    (whole, column, row), _ = travelled(inside, (x, x[:, 1], x[2]))
    column[2] = 99
    assert whole[2, 1] == row[1] == 99


def test_the_same_tensor_twice_is_the_same_tensor_twice(inside: dict[str, ModuleType]) -> None:
    x = torch.ones(3)
    (first, second), _ = travelled(inside, [x, x])
    assert first is second


# -- what is refused ---------------------------------------------------------------------------------------------------

DEEP: list[Any] = []
DEEP.append(DEEP)
REFUSED = {
    "data[0] is the callable": [lambda: 0],
    "data['net'] is the callable len": {"net": len},
    "data is a torch._C.Generator": torch.Generator(),
    "data['w'][1] is a sparse_coo tensor": {"w": [1, torch.ones(2).to_sparse()]},
    "data[0] is a NestedTensor": [torch.nested.as_nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged)],
    "data is a meta tensor": torch.ones(2, device="meta"),
    "data is of torch.bits8": torch.ones(2, dtype=torch.uint8).view(torch.bits8),
    "data is of 13 dimensions": torch.ones([1] * 13),
    "data is a set": {1, 2},
    "data is a bytes": b"x",
    "data has the key (1, 2)": {(1, 2): 3},
    "data.left is a whole number of more than 64 bits": Pair(2**64, 1),
    "data is a text of 60000 characters": "x" * 60_000,
    "data may be 32 levels deep": DEEP,
    "data may be 10000 values in all": [0] * 10_001,
    "data[512] is one of 600 tensors": [torch.ones(1) for _ in range(600)],
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_travel_is_refused_by_name(inside: dict[str, ModuleType], said: str) -> None:
    with pytest.raises(inside["tree"].TreeError) as refused:
        inside["slots"].take_apart(REFUSED[said])
    assert said in str(refused.value)


class Drawn:
    """Plain class whose constructor computes."""

    def __init__(self, size: int) -> None:
        self.size, self.x = size, torch.arange(float(size))


class Slotted:
    __slots__ = ("x",)


def test_a_plain_object_travels_with_its_attributes(inside: dict[str, ModuleType]) -> None:
    drawn = inside["slots"].take_apart([Drawn(3)])
    (back,) = inside["tree"].build(json.loads(json.dumps(drawn.node)), drawn.views())
    assert (type(back), back.size, back.x.tolist()) == (Drawn, 3, [0.0, 1.0, 2.0])
    with pytest.raises(inside["tree"].TreeError, match=r"data\[0\] is a .*Slotted, which cannot travel"):
        inside["slots"].take_apart([Slotted()])


def test_a_class_that_submissions_do_not_have_is_refused(inside: dict[str, ModuleType]) -> None:
    @dataclass
    class Local:
        x: int

    with pytest.raises(inside["tree"].TreeError, match=r"data\[0\] is a .*Local, which cannot be imported"):
        inside["slots"].take_apart([Local(1)])
    hidden = type("Config", (Options,), {"__module__": "reference"})
    with pytest.raises(inside["tree"].TreeError, match=r"data is a Config, which cannot be imported as reference:Con"):
        inside["slots"].take_apart(hidden(1, 2))


class Cache(torch.nn.Module):
    """Class that lacks its constructor's arguments and holds more than tensors."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(rows, 2))
        self.register_buffer("marks", torch.arange(3), persistent=False)
        self.register_buffer("none", None)
        self.register_parameter("absent", None)
        self.weight = torch.nn.Parameter(torch.randn(2, 2))
        self.still = torch.nn.Parameter(torch.arange(2), requires_grad=False)
        self.inner = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.SiLU())
        self.filled, self.shape, self.first = 1, (rows, 2), self.rows[0]
        self.eval()


def test_a_module_travels_with_all_that_it_holds(inside: dict[str, ModuleType]) -> None:
    cache = Cache(4)
    drawn = inside["slots"].take_apart((cache, 3))
    node = json.loads(json.dumps(drawn.node))
    back, three = inside["tree"].build(node, drawn.views())
    assert (type(back), three, back.training, back.filled, back.shape) == (Cache, 3, False, 1, (4, 2))
    assert inside["tree"].has_module(node)
    assert back.state_dict().keys() == cache.state_dict().keys()
    assert [name for name, _ in back.named_parameters()] == [name for name, _ in cache.named_parameters()]
    assert (back.weight.requires_grad, back.still.requires_grad) == (True, False)
    assert (back.none, back.absent) == (None, None)
    assert torch.equal(back.inner(torch.ones(2)), cache.inner(torch.ones(2)))
    back.rows[0] = 7
    assert back.first.tolist() == [7, 7], "a view of a buffer stays one"


def test_a_module_with_hooks_is_refused(inside: dict[str, ModuleType]) -> None:
    layer = torch.nn.Linear(1, 1)
    layer.register_forward_hook(lambda *_: None)
    with pytest.raises(inside["tree"].TreeError, match=r"data\[0\] has forward hooks, which cannot travel"):
        inside["slots"].take_apart([layer])


def test_a_dataclass_with_more_than_its_fields_is_refused(inside: dict[str, ModuleType]) -> None:
    counted = Counted(1)
    counted.cache = {}  # type: ignore[attr-defined]
    with pytest.raises(inside["tree"].TreeError, match=r"data\['c'\].cache is no field"):
        inside["slots"].take_apart({"c": counted})
