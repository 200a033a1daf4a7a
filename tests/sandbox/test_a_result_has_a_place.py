"""An ignored input tensor that fits the reference's result is a place for the result: kernels may fill it."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from sandbox import protocol

INSIDE = Path(__file__).parents[2] / "sandbox" / "inside"
NAMES = ("slots", "tree", "roles")
Inside = dict[str, ModuleType]


@pytest.fixture(scope="module")
def inside() -> Iterator[Inside]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(INSIDE)
        patch.setitem(sys.modules, "protocol", protocol)  # modules that lie beside it in the image
        yield {name: importlib.import_module(name) for name in NAMES}


def solved(inside: Inside, reference: Callable[[Any], Any], *data: Any) -> tuple[Any, Any, list[torch.Tensor]]:
    """Return roles, result node and result tensors of a run, made as the oracle makes it."""
    drawn = inside["slots"].take_apart(data)
    found = inside["roles"].find(reference, drawn)
    bases = {index: inside["slots"].clone(base) for index, base in drawn.bases.items()}
    return found, *inside["roles"].run(reference, drawn.node, drawn.views(bases), found.places)


X, Y = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([3.0, 5.0, 7.0])


def test_a_new_result_goes_into_the_tensor_that_is_ignored(inside: Inside) -> None:
    found, node, expected = solved(inside, lambda data: data[0] + data[1], X, Y, torch.full((3,), 9.0))
    assert found.by_slot == {0: "in", 1: "in", 2: "inout"}
    assert node == {"kind": "tensor", "slot": 2}
    assert torch.equal(expected[0], X + Y)


@pytest.mark.parametrize(
    "reference",
    [
        lambda data: data[0] + data[1] + data[2],
        lambda data: torch.where(data[2] > 8, data[0] + data[1], 0),
        lambda data: data[0] + data[1] * data[2].max(),
        lambda data: data[0] + data[1][data[2].long() - 9],
    ],
)
def test_what_the_reference_reads_is_no_place(inside: Inside, reference: Callable[[Any], Any]) -> None:
    found, node, _ = solved(inside, reference, X, Y, torch.full((3,), 9.0))
    assert set(found.by_slot.values()) == {"in"}
    assert (found.places, node["slot"]) == ({}, 3)


@pytest.mark.parametrize("place", [torch.zeros(2), torch.zeros(3, dtype=torch.int32), torch.zeros(3, 1)])
def test_what_does_not_fit_is_no_place(inside: Inside, place: torch.Tensor) -> None:
    assert solved(inside, lambda data: data[0] * 2, X, place)[0].places == {}


def test_the_result_has_the_format_of_its_place_and_may_come_in_its_own(inside: Inside) -> None:
    _, node, expected = solved(inside, lambda data: data[0].double().cumsum(0), X, torch.empty(3))
    assert node == {"kind": "tensor", "slot": 1, "also": "float64"}
    assert expected[0].dtype == torch.float32
    for returned in (torch.tensor([1.0, 3.0, 7.0]), torch.tensor([1.0, 3.0, 7.0]).double()):
        slot = torch.zeros(3)
        inside["slots"].keep(node, [X, slot], returned)
        assert torch.equal(slot, X.cumsum(0))
    with pytest.raises(inside["slots"].Refused, match=r"dtype torch.float16, expected torch.float32"):
        inside["slots"].keep(node, [X, torch.zeros(3)], torch.ones(3).half())


@pytest.mark.parametrize(
    ("slot", "dtype"), [(torch.zeros(3), torch.float64), (torch.zeros(3, dtype=torch.complex128), torch.complex128)]
)
def test_a_slot_keeps_no_graph_of_a_result_that_requires_grad(
    inside: Inside, slot: torch.Tensor, dtype: torch.dtype
) -> None:
    """A slot is the same in every call: its graph would grow with each."""
    weight = torch.ones(3, dtype=dtype, requires_grad=True)
    inside["slots"].keep({"kind": "tensor", "slot": 0, "also": "float64"}, [slot], weight * X)
    assert not slot.requires_grad
    assert torch.equal(slot, X.to(slot.dtype))


def test_a_result_for_the_problems_own_check_may_come_in_every_floating_dtype(inside: Inside) -> None:
    node, expected = inside["roles"].run(
        lambda data: (data.double().cumsum(0), data.long()), {"kind": "tensor", "slot": 0}, [X], any_float=True
    )
    floats, whole = node["of"]
    assert (floats["also"], whole) == (inside["tree"].ANY_FLOAT, {"kind": "tensor", "slot": 2})
    assert expected[0].dtype == torch.float64
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        slots = [X, torch.zeros(3, dtype=torch.float64), torch.zeros(3, dtype=torch.int64)]
        inside["slots"].keep(node, slots, (X.cumsum(0).to(dtype), X.long()))
        assert torch.equal(slots[1], X.double().cumsum(0))
    with pytest.raises(inside["slots"].Refused, match=r"dtype torch.int64, expected torch.float64"):
        inside["slots"].keep(node, slots, (X.long(), X.long()))
    with pytest.raises(inside["slots"].Refused, match=r"dtype torch.float32, expected torch.int64"):
        inside["slots"].keep(node, slots, (X, X))


def test_one_number_may_be_returned_in_the_references_shape_or_its_places(inside: Inside) -> None:
    _, node, expected = solved(inside, lambda data: data[0].sum(), X, torch.empty(1))
    assert (node, expected[0].shape) == ({"kind": "tensor", "slot": 1, "shape": []}, (1,))
    place = torch.zeros(1)
    place[0] = 7.0
    inside["slots"].keep(node, [X, place], place[0])
    assert inside["tree"].build(node, [X, place]).shape == ()
    inside["slots"].keep(node, [X, place], place)
    with pytest.raises(inside["slots"].Refused, match=r"shape \(1, 1\), expected \(\)"):
        inside["slots"].keep(node, [X, place], torch.ones(1, 1))


LOOKS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "conjugate": lambda place: place.conj(),
    "negative": lambda place: place._neg_view(),
    "transpose": lambda place: place.t(),
    "conjugate transpose": lambda place: place.mH,
    "one row": lambda place: place[1].expand(3, 3),
    "itself": lambda place: place,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.float32, torch.bfloat16])
def test_a_view_of_the_place_is_written_as_it_reads(
    inside: Inside, look: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype
) -> None:
    memory = torch.randn(12, dtype=dtype)
    before, place = memory[:3].clone(), memory[3:].view(3, 3)
    expected = look(place).clone().resolve_conj().resolve_neg()
    inside["slots"].keep({"kind": "tensor", "slot": 0}, [place], look(place))
    assert torch.equal(place, expected)
    inside["slots"].keep({"kind": "tensor", "slot": 0}, [place[0]], memory[:3])
    assert torch.equal(place[0], before)


def test_whole_numbers_have_places_too(inside: Inside) -> None:
    bins, counts = torch.tensor([0, 2, 2]), torch.zeros(3, dtype=torch.int64)
    found, _, expected = solved(inside, lambda data: torch.bincount(data[0], minlength=3), bins, counts)
    assert found.by_slot == {0: "in", 1: "inout"}
    assert expected[0].tolist() == [1, 0, 2]


def test_several_results_take_the_last_tensors_in_their_order(inside: Inside) -> None:
    places = [torch.empty(3) for _ in range(3)]
    _, node, expected = solved(inside, lambda data: (data[0] * 2, data[0] * 3), X, *places)
    assert [part["slot"] for part in node["of"]] == [2, 3]
    assert torch.equal(expected[1], X * 3)


def test_numbers_and_results_that_are_filled_stay_as_they_are(inside: Inside) -> None:
    found, node, _ = solved(inside, lambda data: data[0].sum().item(), X, torch.empty(1, dtype=torch.float64))
    assert (found.places, node["kind"]) == ({}, "number")
    found, _, _ = solved(inside, lambda data: data[1].copy_(data[0]), X, torch.empty(3))
    assert (found.places, found.by_slot) == ({}, {0: "in", 1: "out"})


def test_a_place_counts_only_in_cases_where_the_result_fits(inside: Inside) -> None:
    """The place is found in a single case. Two tensors may be alike at its sizes and differ in the next case."""

    def reference(data: Any) -> torch.Tensor:
        return torch.as_tensor(data[0] * 2)

    found, node, _ = solved(inside, reference, X, torch.empty(3))
    assert (node["slot"], set(found.places)) == (1, {"the reference's result"})
    drawn = inside["slots"].take_apart((X, torch.empty(4)))
    node, expected = inside["roles"].run(reference, drawn.node, drawn.views(), found.places)
    assert node == {"kind": "tensor", "slot": 2}
    assert torch.equal(expected[0], X * 2)


def test_one_number_is_told_its_shape_in_each_case_by_itself(inside: Inside) -> None:
    """The place is found in a single case. In another case the same tensors may start or cease to have one element."""

    def rows(data: Any) -> torch.Tensor:
        return torch.as_tensor(data[0].sum(1).squeeze())

    found, node, _ = solved(inside, rows, torch.ones(4, 3), torch.empty(4))
    assert node == {"kind": "tensor", "slot": 1}
    drawn = inside["slots"].take_apart((torch.ones(1, 3), torch.empty(1)))
    node, expected = inside["roles"].run(rows, drawn.node, drawn.views(), found.places)
    assert node == {"kind": "tensor", "slot": 1, "shape": []}
    inside["slots"].keep(node, [torch.ones(1, 3), expected[0]], torch.tensor(3.0))
    found, node, _ = solved(inside, rows, torch.ones(1, 3), torch.empty(1))
    assert node == {"kind": "tensor", "slot": 1, "shape": []}
    drawn = inside["slots"].take_apart((torch.ones(4, 3), torch.empty(4)))
    node, _ = inside["roles"].run(rows, drawn.node, drawn.views(), found.places)
    assert node == {"kind": "tensor", "slot": 1}
