"""A ModelNew in its container works on the weights sent to it, or on the weights drawn from its seed."""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

INSIDE = Path(__file__).parents[2] / "sandbox" / "inside"
SEED = 5


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 3)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed: torch.Tensor = self.norm(self.linear(x))
        return normed


class Renamed(nn.Module):
    """The same weights from the same draws under different names, except for the state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        linear = nn.Linear(width, 3)
        self.matrix, self.bias = nn.Parameter(linear.weight.detach().T.contiguous()), linear.bias
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed: torch.Tensor = self.norm(x @ self.matrix + self.bias)
        return normed


class Stateless(Renamed):
    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.norm = nn.BatchNorm1d(3, track_running_stats=False)


class Broken(Model):
    def __init__(self, width: int) -> None:
        raise RuntimeError(f"no kernel for {width}")


@pytest.fixture
def modelnew(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(INSIDE.parent)
    monkeypatch.syspath_prepend(INSIDE)
    return importlib.import_module("modelnew")


@pytest.fixture
def data(modelnew: Any) -> dict[str, Any]:
    file = SimpleNamespace(Model=Model, get_inputs=lambda: [torch.rand(8, 4)], get_init_inputs=lambda: [4])
    made = modelnew.Reference(file, SEED, "cpu")
    given: dict[str, Any] = made.generate_input(1)
    expected = made.ref_kernel(given | {"state": _copied(given["state"])})
    return given | {"expected": expected.detach()}


@pytest.mark.parametrize("make", [Model, Renamed])
def test_it_agrees_with_the_model(modelnew: Any, data: dict[str, Any], make: type) -> None:
    candidate = modelnew.Candidate(make)
    candidate.lay_out(data)
    assert torch.allclose(candidate(data), data["expected"], atol=1e-6)


class PretrainedConfig:
    """As transformers has it: attributes that its JSON gives back."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    def to_json_string(self, *, use_diff: bool) -> str:
        return json.dumps(self.values)


class Configured(nn.Module):
    def __init__(self, name: str, config: PretrainedConfig) -> None:
        super().__init__()
        self.config = config
        self.linear = nn.Linear(config.values["width"], len(name))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.linear(x)
        return found


@pytest.mark.parametrize("notes", ["", "n" * 120_000], ids=["short", "longer than a text may be"])
def test_a_configuration_of_transformers_reaches_the_constructor(
    modelnew: Any, monkeypatch: pytest.MonkeyPatch, notes: str
) -> None:
    auto = SimpleNamespace(for_model=lambda model_type, **values: PretrainedConfig(model_type=model_type, **values))
    library = SimpleNamespace(PretrainedConfig=PretrainedConfig, AutoConfig=auto)
    monkeypatch.setitem(sys.modules, "transformers", library)
    config = PretrainedConfig(model_type="tiny", width=4, notes=notes)
    file = SimpleNamespace(
        Model=Configured, get_inputs=lambda: [torch.rand(8, 4)], get_init_inputs=lambda: ["abc", config]
    )
    reference = modelnew.Reference(file, SEED, "cpu")
    data = reference.generate_input(1)
    leaves: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor, path: str) -> int:
        leaves.append(tensor)
        return len(leaves) - 1

    tree = importlib.import_module("tree")
    sent = tree.build(json.loads(json.dumps(tree.walk(data, keep))), leaves)
    candidate = modelnew.Candidate(Configured)
    candidate.lay_out(sent)
    assert torch.equal(candidate(sent), reference.ref_kernel(data).detach())
    assert candidate._model.config.values == config.values


def test_it_reads_the_weights_that_are_sent_at_the_time_of_the_call(modelnew: Any, data: dict[str, Any]) -> None:
    candidate = modelnew.Candidate(Model)
    sent = _copied(data["state"])
    for pack in data["state"].values():
        pack.zero_()  # the arena is zero during layout
    candidate.lay_out(data)
    for kind, pack in data["state"].items():
        pack.copy_(sent[kind])
    assert torch.allclose(candidate(data), data["expected"], atol=1e-6)


def test_it_changes_the_state_where_the_judge_reads_it(modelnew: Any, data: dict[str, Any]) -> None:
    candidate = modelnew.Candidate(Renamed)
    candidate.lay_out(data)
    candidate(data)
    assert data["state"]["int64 changing"][0] == 1
    assert data["state"]["float32 changing"].count_nonzero() > 3


def test_parameters_under_other_names_are_told(
    modelnew: Any, data: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    candidate = modelnew.Candidate(Renamed)
    candidate.lay_out(data)
    candidate.lay_out(data)
    said = capsys.readouterr().err
    assert "linear.weight, linear.bias" in said
    assert said.count("photofinish:") == 1, "once"


def test_nothing_is_told_of_a_model_with_the_same_names(
    modelnew: Any, data: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    modelnew.Candidate(Model).lay_out(data)
    assert capsys.readouterr().err == ""


def test_state_that_is_missing_is_named(modelnew: Any, data: dict[str, Any]) -> None:
    with pytest.raises(modelnew.NotConstructed, match="running_mean"):
        modelnew.Candidate(Stateless).lay_out(data)


def test_the_constructors_own_exception_is_the_cause(modelnew: Any, data: dict[str, Any]) -> None:
    with pytest.raises(modelnew.NotConstructed) as failed:
        modelnew.Candidate(Broken).lay_out(data)
    assert "no kernel for 4" in str(failed.value.__cause__)


def test_a_pack_gives_back_what_was_packed(modelnew: Any) -> None:
    tensors = {"a": torch.rand(3, 5), "b": torch.tensor(7), "c": torch.rand(0, 2), "d": torch.rand(2).half()}
    index, packs = modelnew.pack(tensors, {"b"})
    found = modelnew.unpack(index, packs)
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
    assert set(packs) == {"float32", "int64 changing", "float16"}


def _copied(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {kind: pack.clone() for kind, pack in state.items()}
