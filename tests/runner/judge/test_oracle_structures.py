"""Arguments and results of references, from the real oracle through the layout to the tenant's harness."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from runner.judge.data.call import Input
from runner.judge.data.faults import OracleFailed
from runner.judge.sides.oracle import Oracle
from tests.runner.judge.oracle_here import SANDBOX, oracle_of
from tests.runner.judge.tenant_here import agrees, output_of, tenant_of

TASK = """
from dataclasses import dataclass
from typing import NamedTuple
import torch

@dataclass
class Weights:
    w: torch.Tensor
    bias: object
    scale: float

class Two(NamedTuple):
    total: torch.Tensor
    parts: list
"""
MANY = """
import torch
from task import Two, Weights

def fresh(n, seed):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed))

def generate_input(*, how, n, seed):
    x = fresh(n * 4, seed).view(n, 4)
    if how == "last":
        return x, {"scale": 2.0}, torch.empty(n, 4)
    if how == "itself":
        return x, torch.ones(3)
    if how == "column":
        return x, x[:, 1], torch.empty(0, 4)
    if how == "named":
        return Weights(x, None, float("inf")), [x.t(), x[:1].expand(5, 4)]
    if how == "bits":
        return x, (x * 40).to(torch.float8_e4m3fnuz), torch.arange(n).to(torch.uint16)
    if how == "numbers":
        return x
    if how == "function":
        return {"x": x, "act": [torch.relu]}
    return x

def ref_kernel(data):
    if isinstance(data, torch.Tensor):
        return {"sum": data.sum().item(), "big": bool(data.sum() > 0), "n": data.numel(), "none": None}
    if isinstance(data[0], Weights):
        return Two(data[0].w.sum(0), [data[1][1] + 1, data[1][0]])
    x, second, *rest = data
    if isinstance(second, dict):
        rest[0].copy_(x * second["scale"])
        return rest[0]
    if second.dtype == torch.float8_e4m3fnuz:
        doubled = second.float().mul(2).to(torch.float8_e4m3fnuz)
        return doubled, rest[0].int().add(1).to(torch.uint16), (x + 1j).to(torch.complex32)
    if rest:
        second.mul_(3)
        return x.sum(1), torch.topk(x, 2)
    return x

def check_implementation(data, output):
    again = ref_kernel(generate_input(how="column", n=len(output[0]), seed=int(7)))
    return torch.equal(again[0], output[0]), "it\\\\ndiffers"
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(MANY, tmp_path_factory.mktemp("many"), task=TASK) as oracle:
        yield oracle


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ModuleType]]:
    """The harness's modules, and the problem's task.py, as in a tenant."""
    folder = tmp_path_factory.mktemp("tenant")
    (folder / "task.py").write_text(TASK)
    with pytest.MonkeyPatch.context() as patch:
        for path in (SANDBOX, SANDBOX / "inside", folder):
            patch.syspath_prepend(path)
        yield {name: importlib.import_module(name) for name in ("slots", "tree", "task")}


class Tenant:
    """The harness's view of an input, in this process."""

    def __init__(self, inside: dict[str, ModuleType], given: Input) -> None:
        self.inside, self.layout = inside, json.loads(given.layout.text)
        slots = inside["slots"]
        self.inputs, self.outputs = given.inputs.copy(), np.full(given.layout.output_bytes, 0xA5, np.uint8)
        for slot in given.layout.slots:
            if slot.role == "inout":
                self.outputs[slot.output :][: slot.nbytes] = self.inputs[slot.input :][: slot.nbytes]
        regions = {"in": (self.inputs, "input"), "out": (self.outputs, "output"), "inout": (self.outputs, "output")}
        bases = {
            index: slots.view(region, slot, where)
            for index, slot in enumerate(self.layout["slots"])
            for region, where in [regions.get(slot["role"], (None, ""))]
            if where
        }
        self.tensors = slots.views(self.layout["slots"], bases)
        self.data = inside["tree"].build(self.layout["data"], self.tensors)

    def returns(self, result: Any) -> None:
        self.inside["slots"].keep(self.layout["result"], self.tensors, result)

    def agrees(self, given: Input) -> bool:
        return all(
            np.array_equal(self.outputs[slot.output :][: slot.nbytes], given.expected[slot.output :][: slot.nbytes])
            for slot in given.layout.outputs
        )


def made(many: Oracle, how: str) -> Input:
    return many.make({"how": how, "n": 6}, 7)


def honest() -> Any:
    space: dict[str, Any] = {}
    exec(compile(MANY, "reference.py", "exec"), space)
    return space["ref_kernel"]


@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
@pytest.mark.parametrize("how", ["last", "itself", "column", "named", "bits", "numbers"])
def test_an_honest_result_agrees_and_a_changed_one_does_not(
    many: Oracle, inside: dict[str, ModuleType], how: str
) -> None:
    given = made(many, how)
    tenant = Tenant(inside, given)
    assert tenant.agrees(given) == (how == "itself")  # it has the right contents from the beginning
    tenant.returns(honest()(tenant.data))
    assert tenant.agrees(given)
    for slot in given.layout.outputs:
        if slot.nbytes:
            tenant.outputs[slot.output] ^= 1
            assert not tenant.agrees(given)
            tenant.outputs[slot.output] ^= 1


def test_an_output_given_in_the_data_is_one_output_alone(many: Oracle) -> None:
    given = made(many, "last")
    assert [slot.role for slot in given.layout.slots] == ["in", "out"]
    assert json.loads(given.layout.text)["result"] == {"kind": "tensor", "slot": 1, "also": "any float"}


def test_a_reference_may_return_one_of_its_inputs(many: Oracle) -> None:
    given = made(many, "itself")
    assert [slot.role for slot in given.layout.slots] == ["inout", "in"]


def test_what_is_changed_through_a_view_is_an_output_as_a_whole(many: Oracle, inside: dict[str, ModuleType]) -> None:
    given = made(many, "column")
    assert [slot.role for slot in given.layout.slots] == ["inout", "view", "in", "out", "out", "out"]
    tenant = Tenant(inside, given)
    assert tenant.data[1].data_ptr() == tenant.data[0][:, 1].data_ptr()
    assert tenant.data[2].shape == (0, 4)


def test_a_number_that_is_returned_is_not_told_beforehand(many: Oracle) -> None:
    given = made(many, "numbers")
    text = json.loads(given.layout.text)
    assert [part["kind"] for _, part in text["result"]["of"]] == ["number", "number", "number", "value"]
    (total, _, count) = (given.expected[slot.output :][: slot.nbytes] for slot in given.layout.outputs)
    assert count.view(np.int64)[0] == 24
    assert str(total.view(np.float64)[0]) not in str(text["data"]) + str(text["result"])


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ({"sum": 1, "big": True, "n": 24, "none": None}, r"\['sum'\] must be a Python float, got int"),
        ({"sum": torch.ones(()), "big": True, "n": 24, "none": None}, r"\['sum'\] must be a Python float, got Tensor"),
        ({"sum": 1.0, "big": True, "n": 24, "none": 3}, r"\['none'\] must be None, got int"),
        ([1.0, True, 24, None], "must be a dict with keys"),
    ],
)
def test_another_structure_is_refused_by_name(
    many: Oracle, inside: dict[str, ModuleType], returned: Any, said: str
) -> None:
    with pytest.raises(inside["slots"].Refused, match=said):
        Tenant(inside, made(many, "numbers")).returns(returned)


def test_the_problems_own_check_sees_the_result_as_the_reference_returned_it(
    many: Oracle, inside: dict[str, ModuleType]
) -> None:
    given = made(many, "column")
    tenant = Tenant(inside, given)
    tenant.returns(honest()(tenant.data))
    assert many.check(given.number, given.layout, tenant.outputs) == (True, "it\ndiffers")
    tenant.outputs[given.layout.slots[3].output] ^= 1
    assert many.check(given.number, given.layout, tenant.outputs) == (False, "it\ndiffers")


def test_double_precision_goes_through_views(many: Oracle) -> None:
    given = many.make({"how": "column", "n": 6}, 7, fp64="values")
    assert given.why_not64 == ""


def test_what_cannot_travel_is_the_problems_fault_and_named(many: Oracle) -> None:
    with pytest.raises(OracleFailed, match=r"^data\['act'\]\[0\] is the callable .*relu, which cannot travel"):
        made(many, "function")


@pytest.mark.parametrize("how", ["last", "itself", "column", "named", "numbers"])
def test_the_real_harness_gives_a_kernel_the_same_data_and_keeps_what_it_returns(
    many: Oracle, how: str, tmp_path: Path
) -> None:
    given = made(many, how)
    source = MANY.replace("ref_kernel", "custom_kernel")
    with tenant_of(tmp_path) as tenant:
        tenant.load({"task.py": TASK, "submission.py": source}, "submission.py", "custom_kernel", "function", 60)
        assert agrees(given, output_of(tenant, given))
