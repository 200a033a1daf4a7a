"""A layout that the judge accepts can be used: every later step with it works on any bytes of outputs."""

import contextlib
import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.judging.runners import check_storable
from problems.spec import Problem, Tolerance
from runner.admission import outputs
from runner.commands.local import find_problem
from runner.evidence.schedule import B
from runner.judge.calls import Calls
from runner.judge.data import compare
from runner.judge.data.call import Input
from runner.judge.data.compare import Rule
from runner.judge.data.device_arrays import TensorArrays
from runner.judge.data.faults import OracleFailed
from runner.judge.data.layout import ALIGN, DTYPES, MOST_OUTPUTS, parse_layout, returned
from runner.judge.data.memory import Memory
from runner.judge.sides.arena import Arena
from tests.runner.judge.test_hostile_oracle_answers import ANY

SIZE = 4096
JSON = dict[str, Any]

# -- layouts, mostly of the right form -------------------------------------------------------------------------------


@st.composite
def placed(draw: st.DrawFn) -> JSON:
    """A dense tensor in the form that sandbox/inside/slots.py gives it, without places."""
    dtype = draw(st.sampled_from(sorted(DTYPES)))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    stride = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    order = draw(st.permutations(range(len(shape))))  # dense in any order of axes
    shape, stride = [shape[axis] for axis in order], [stride[axis] for axis in order]
    odd = st.sampled_from([0, 1 << 62])  # of an axis of length 1 the step may be any number
    stride = [draw(odd) if length == 1 else step for step, length in zip(stride, shape, strict=True)]
    size = math.prod(shape) * DTYPES[dtype][0]
    role = draw(st.sampled_from(["in", "out", "inout"]))
    return {"role": role, "dtype": dtype, "shape": shape, "stride": stride, "nbytes": size, "input": -1, "output": -1}


@st.composite
def views(draw: st.DrawFn, slots: list[JSON]) -> JSON:
    """A tensor that repeats the first element of another, as often as it likes."""
    of = draw(st.integers(0, len(slots) - 1))
    lengths = st.integers(0, 4) | st.just(1 << 62)
    shape = draw(st.lists(lengths, max_size=4)) if slots[of]["nbytes"] else [0]
    return {"role": "view", "of": of, "at": 0, "dtype": slots[of]["dtype"], "shape": shape, "stride": [0] * len(shape)}


PLACE = st.sampled_from([-1, 0, 4, 255, 256, 512, 1024])
WRONG = {  # by key; often another possible value
    "role": st.sampled_from(["in", "out", "inout", "view", "any"]),
    **dict.fromkeys(("input", "output", "input_bytes", "output_bytes", "at", "of"), PLACE),
    "shape": st.sampled_from([[1], [4], [2, 2], [1 << 62, 0]]),
    "dtype": st.sampled_from(sorted(DTYPES)),
}


@st.composite
def layouts(draw: st.DrawFn) -> JSON:
    """Layouts as an oracle makes them, then perhaps with some wrong values."""
    slots = draw(st.lists(placed(), min_size=1, max_size=4))
    ends = {"input": 0, "output": 0}
    for slot in slots:
        for region, roles in (("input", ("in", "inout")), ("output", ("out", "inout"))):
            if slot["role"] in roles:
                slot[region] = ends[region]
                ends[region] += -(-slot["nbytes"] // ALIGN) * ALIGN
    slots += draw(st.lists(views(list(slots)), max_size=2))
    tensors = [{"kind": "tensor", "slot": number} for number in range(len(slots))]
    made = {"slots": slots, "data": {"kind": "list", "of": tensors}, "result": {"kind": "tuple", "of": tensors[::-1]}}
    made |= {"input_bytes": ends["input"], "output_bytes": ends["output"]}
    for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
        holder = draw(st.sampled_from([*slots, *slots, made]))
        key = draw(st.sampled_from(sorted(holder)))
        holder[key] = draw(WRONG.get(key, ANY))
    return made


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem.from_bundle(find_problem("vectoradd").to_bundle() | {"precision": None})


RULES = (Rule(Tolerance(1e-3, 1e-3)), Rule(Tolerance(0.0, 0.0)), Rule(), Rule(own_check=True))
BYTES = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).integers(0, 256, 5 * SIZE, np.uint8))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(layouts() | ANY)
def test_layout_is_parsed_or_the_problems_fault(data: Any) -> None:
    with contextlib.suppress(OracleFailed):
        found = parse_layout(data, SIZE, SIZE)
        returned(found)
        outputs._given(found, "function")
        outputs.moved(found, found)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, of arithmetic with arbitrary bits
@settings(max_examples=100, deadline=None, derandomize=True)
@given(layouts(), BYTES, st.sampled_from(RULES), st.booleans(), st.floats(0, 1e300), st.integers(0, 1 << 1000))
def test_layout_that_is_accepted_can_be_used_with_any_bytes(
    problem: Problem, data: JSON, raw: Any, rule: Rule, alike: bool, condition: float, terms: int
) -> None:
    try:
        layout = parse_layout(data, SIZE, SIZE)
    except OracleFailed:
        return
    memory = Memory()
    arena = Arena(memory, SIZE, SIZE)
    inputs, expected, got = raw[: layout.input_bytes], raw[SIZE : SIZE + layout.output_bytes], raw[2 * SIZE :]
    got = expected.copy() if alike else got[: layout.output_bytes].copy()
    arena.poison(layout, 7)
    arena.put_inputs(layout, inputs)
    arena.take_outputs(layout, np.zeros(layout.output_bytes, np.uint8))
    assert memory.all_same([arena.look_at_inputs(layout, inputs)]) == [True]
    arena.close()
    wide = layout.wide_places()[1] * (2 if rule.by_model else 1)
    doubles = np.resize(raw, wide) if wide else None
    plain = Input(1, "n=1", 7, layout, inputs, expected)
    exact = replace(plain, expected64=doubles, condition=((condition, condition),) * 4, terms=(terms,) * 4)
    for host in (plain, exact):
        found = compare.compare(host, got, rule)
        json.dumps([one.to_json(public=True) for one in found], allow_nan=False)
        assert all(one.good for one in found) or not alike or host.expected64 is not None
    there = replace(plain, inputs=torch.from_numpy(inputs), expected=torch.from_numpy(expected))
    compare.compare(there, torch.from_numpy(got), rule, TensorArrays(64))
    for slot in layout.outputs:
        if slot.nbytes:
            outputs.is_zero(slot, got)
    with contextlib.suppress(OracleFailed):
        for slot in returned(layout):
            assert 0 <= slot.output <= slot.output + slot.nbytes <= layout.output_bytes


def many(count: int) -> JSON:
    slot = {"role": "out", "dtype": "float32", "shape": [1], "stride": [1], "nbytes": 4, "input": -1}
    slots = [{**slot, "output": ALIGN * number} for number in range(count)]
    return {"slots": slots, "input_bytes": 0, "output_bytes": ALIGN * count}


def test_layout_has_at_most_as_many_outputs_as_the_evidence_has_figures(problem: Problem) -> None:
    size = ALIGN * MOST_OUTPUTS
    layout, zeros = parse_layout(many(MOST_OUTPUTS), size, size), np.zeros(size, np.uint8)
    calls: Any = Calls(problem, SimpleNamespace(checks=False), {}, Memory())  # type: ignore[arg-type]
    call: Any = SimpleNamespace(late=False, inputs_kept=True)
    check = calls.judge_output(Input(1, "n=1", 7, layout, zeros[:0], zeros), call, zeros, public=False, side=B)
    check_storable(check.model_dump(mode="json"), "check")
    assert len(check.figures) == MOST_OUTPUTS
    with pytest.raises(OracleFailed, match=f"at most {MOST_OUTPUTS}; join some"):
        parse_layout(many(MOST_OUTPUTS + 1), size + ALIGN, size + ALIGN)


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "inout"},
        {"role": "inout", "input": 0, "output": -1},
        {"role": "in"},
        {"role": "any"},
        {"output": 4},
        {"output": 255},
    ],
)
def test_layout_with_a_tensor_in_the_wrong_place_is_the_problems_fault(wrong: JSON) -> None:
    data = many(1)
    data["slots"][0] |= wrong
    with pytest.raises(OracleFailed):
        parse_layout(data | {"output_bytes": 2 * ALIGN, "input_bytes": ALIGN}, SIZE, SIZE)


def test_wrong_output_with_any_step_along_an_axis_of_length_one_is_explained() -> None:
    data = many(1)
    data["slots"][0] |= {"shape": [1, 4], "stride": [1 << 62, 1], "nbytes": 16}
    layout = parse_layout(data, SIZE, SIZE)
    ones = np.ones(ALIGN // 4, np.float32).view(np.uint8)
    (found,) = compare.compare(Input(1, "n=1", 7, layout, ones[:0], ones), np.zeros_like(ones), RULES[0])
    assert found.different == 4
    assert found.hints[0] == "Every element is wrong."
