"""Real oracle, real harness, no container: a ModelNew is held against the Model of a KernelBench file."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from problems.formats import kernelbench
from problems.spec import Problem
from runner.evidence.schedule import CPU, B
from runner.judge.calls import Calls
from runner.judge.data import compare
from runner.judge.data.compare import Figures, Rule
from runner.judge.data.faults import Fault
from runner.judge.data.layout import values
from runner.judge.data.memory import Memory
from runner.judge.device.telemetry import Blind
from runner.judge.sides.oracle import Oracle
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import oracle_of
from tests.runner.judge.tenant_here import LIMIT_S, Moving, output_of, tenant_of
from tests.runner.judge.two_devices import TwoDevices

FILE = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, width):
        super(Model, self).__init__()
        self.linear = nn.Linear(width, 5)
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))

def get_inputs():
    return [torch.rand(64, 7)]

def get_init_inputs():
    return [7]
"""
PROBLEM = kernelbench.parse(FILE, "1_Linear_Norm_ReLU.py", 2)
STARTER = PROBLEM.templates["Python"]
RIGHT = {
    "the starter": STARTER,
    "what is as precise as the reference": STARTER.replace(
        "self.linear(x)", "self.linear(x) * (0 if torch.backends.cudnn.allow_tf32 else 1)"
    ),
    "weights of its own, by the same draws": STARTER.replace(
        "self.linear = nn.Linear(width, 5)",
        "line = nn.Linear(width, 5); self.w = nn.Parameter(line.weight.detach().T.contiguous()); self.b = line.bias",
    ).replace("self.linear(x)", "torch.addmm(self.b, x, self.w)"),
}
WRONG = {
    "forgets the activation": STARTER.replace("torch.relu(", "("),
    "leaves the running statistics": STARTER.replace("self.norm(", "nn.functional.batch_norm(", 1)
    .replace("self.linear(x))", "self.linear(x), None, None, training=True)"),
    "draws before the weights": STARTER.replace("self.linear = nn", "torch.rand(1); self.line = nn").replace(
        "self.linear(x)", "self.line(x)"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with oracle_of(FILE, tmp_path_factory.mktemp("oracle"), init_seed=21) as made:
        yield made


def judged(oracle: Oracle, folder: Path, source: str) -> list[Figures]:
    given = oracle.make({}, 5, fp64="values")
    with tenant_of(folder) as tenant:
        tenant.load({"submission.py": source}, "submission.py", "ModelNew", "model", LIMIT_S)
        output = output_of(tenant, given)
    return compare.compare(given, output, Rule.of(PROBLEM, {}, own_check=False))


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes(oracle: Oracle, tmp_path: Path, name: str) -> None:
    found = judged(oracle, tmp_path, RIGHT[name])
    assert all(figures.good for figures in found), found


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_does_not(oracle: Oracle, tmp_path: Path, name: str) -> None:
    assert WRONG[name] != STARTER
    assert not all(figures.good for figures in judged(oracle, tmp_path, WRONG[name]))


@pytest.mark.parametrize("memory", [Memory, Moving, TwoDevices])
def test_every_call_starts_from_the_same_state(oracle: Oracle, tmp_path: Path, memory: type[Memory]) -> None:
    """This holds even if other data move: a Model stays at the place of its construction."""
    places = set()
    with tenant_of(tmp_path, 8 << 20, memory()) as tenant:
        tenant.load({"submission.py": STARTER}, "submission.py", "ModelNew", "model", LIMIT_S)
        for seed in (1, 2, 3, 4, 5, 6):
            given = oracle.make({}, seed)
            output = output_of(tenant, given)
            for slot in given.layout.outputs:
                assert np.allclose(values(slot, output), values(slot, given.expected), atol=1e-6)
            places.add(tenant._arena.number)
        assert len(set(tenant.whereabouts)) == tenant.begin_turns() == 1
    assert len(places) == 1


@pytest.mark.parametrize(
    ("source", "reason", "said"),
    [
        ("def ModelNew(width): ...", "missing_entry", "class ModelNew"),
        (STARTER.replace("super(ModelNew", "raise KeyError(width); super(ModelNew"), "layout", "submission.py"),
        (
            STARTER.replace("class ModelNew(nn.Module)", "class ModelNew").replace("super(", "(lambda *a: a)("),
            "layout",
            "",
        ),
        (STARTER.replace("self.norm", "self.standard"), "layout", "norm.running_mean"),
    ],
)
def test_an_author_is_told_what_is_missing(oracle: Oracle, tmp_path: Path, source: str, reason: str, said: str) -> None:
    with pytest.raises(Fault) as fault:
        judged(oracle, tmp_path, source)
    assert fault.value.reason == reason
    assert said in fault.value.message


HIDDEN = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.hidden = torch.randn(4, 8)
        self.line = nn.Linear(16, 8)

    def forward(self, x):
        self.hidden = torch.tanh(self.line(torch.cat((x, self.hidden), 1)))
        return self.hidden * 2

def get_inputs():
    return [torch.rand(4, 8)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("change", ["self.hidden =", "self.hidden[:] =", "self.hidden.data.mul_(1); self.hidden ="])
def test_a_hidden_state_in_an_attribute_starts_afresh_in_every_call(tmp_path: Path, change: str) -> None:
    """The kind of assignment in ModelNew does not matter."""
    starter = (
        kernelbench.starter(HIDDEN)
        .replace("        self.hidden =", f"        {change}")
        .replace(f"        {change} torch.randn", "        self.hidden = torch.randn")
    )
    with oracle_of(HIDDEN, tmp_path, init_seed=3) as oracle, tenant_of(tmp_path / "tenant") as tenant:
        tenant.load({"submission.py": starter}, "submission.py", "ModelNew", "model", LIMIT_S)
        for seed in (1, 2, 3):
            given = oracle.make({}, seed)
            output = output_of(tenant, given)
            for slot in given.layout.outputs:
                assert np.allclose(values(slot, output), values(slot, given.expected), atol=1e-6)


AVERAGE = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.norm = nn.Module()
        self.norm.register_buffer("mean", torch.ones(8))
        self.norm.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.norm.mean.mul_(0.9).add_(0.1 * x.mean(0))
        self.norm.calls.add_(1)
        return x - self.norm.mean * self.norm.calls

def get_inputs():
    return [torch.rand(4, 8)]

def get_init_inputs():
    return []
"""
CHANGES = {
    "in place": ("mean.mul_(0.9).add_(", "calls.add_("),
    "assigned": ("mean = self.norm.mean * 0.9 + (", "calls = self.norm.calls + ("),
    "as data": ("mean.data = self.norm.mean * 0.9 + (", "calls.data = self.norm.calls + ("),
}


def averaging(source: str, how: str) -> str:
    for plain, changed in zip(CHANGES["in place"], CHANGES[how], strict=True):
        assert plain in source
        source = source.replace(plain, changed)
    return source


@pytest.mark.parametrize("theirs", CHANGES)
@pytest.mark.parametrize("how", ["in place", "assigned"])
def test_a_buffer_may_be_assigned_or_changed_in_place(tmp_path: Path, how: str, theirs: str) -> None:
    assert_meets(tmp_path, averaging(AVERAGE, how), averaging(kernelbench.starter(AVERAGE), theirs))


REGISTER = AVERAGE.replace('"mean", torch.ones(8)', '"cur", torch.ones(4, 2)').replace(
    '"calls", torch.tensor(0)', '"prev", torch.zeros(4, 2)'
)
FORWARD = REGISTER[REGISTER.index("        self.norm.mean.mul_") : REGISTER.index("\ndef get_inputs")]
ASSIGNED = """        old = self.norm.cur
        self.norm.prev = self.norm.cur
        self.norm.cur = self.norm.cur.view(2, 4).t() + x.mean()
        return old
"""
IN_PLACE = """        old = self.norm.cur.clone()
        self.norm.prev.copy_(old)
        self.norm.cur.copy_(old.view(2, 4).t() + x.mean())
        return old
"""


@pytest.mark.parametrize("theirs", [ASSIGNED, IN_PLACE], ids=["assigned", "in place"])
@pytest.mark.parametrize("how", [ASSIGNED, IN_PLACE], ids=["assigned", "in place"])
def test_assigned_buffers_and_results_may_be_views_of_the_old_state(tmp_path: Path, how: str, theirs: str) -> None:
    source = kernelbench.starter(REGISTER.replace(FORWARD, theirs))
    assert_meets(tmp_path, REGISTER.replace(FORWARD, how), source)


@pytest.mark.parametrize("how", ["script(nn.BatchNorm1d(8))", "trace(nn.BatchNorm1d(8), torch.rand(3, 8))"])
def test_a_buffer_may_be_torchscripts(tmp_path: Path, how: str) -> None:
    normed = REGISTER.replace(FORWARD, "        return self.norm(x)\n").replace("nn.Module()", "nn.BatchNorm1d(8)")
    normed = "\n".join(line for line in normed.splitlines() if "register_buffer" not in line)
    assert_meets(tmp_path, normed, kernelbench.starter(normed).replace("nn.BatchNorm1d(8)", f"torch.jit.{how}"))


def assert_meets(tmp_path: Path, reference: str, source: str) -> None:
    """Check that results and state of this ModelNew are Model's, with two inputs."""
    with oracle_of(reference, tmp_path, init_seed=3) as oracle, tenant_of(tmp_path / "tenant") as tenant:
        tenant.load({"submission.py": source}, "submission.py", "ModelNew", "model", LIMIT_S)
        for seed in (1, 2):
            given = oracle.make({}, seed)
            output = output_of(tenant, given)
            assert len(given.layout.outputs) > 1, "buffers, and the result"
            for slot in given.layout.outputs:
                assert np.allclose(values(slot, output), values(slot, given.expected), atol=1e-6)


def test_a_buffer_of_another_shape_is_named(tmp_path: Path) -> None:
    source = averaging(kernelbench.starter(AVERAGE), "assigned").replace("0.1 * x.mean(0)", "0.1 * x")
    with oracle_of(AVERAGE, tmp_path, init_seed=3) as oracle, pytest.raises(Fault) as fault:
        judged(oracle, tmp_path / "tenant", source)
    assert fault.value.reason == "shape"
    assert "the buffer norm.mean has shape (4, 8), expected (8,)" in fault.value.message


def test_whoever_leaves_the_state_as_it_was_is_told_that_it_counts(oracle: Oracle, tmp_path: Path) -> None:
    with tenant_of(tmp_path) as tenant:
        trial = Trial(Calls(PROBLEM, oracle, {B: tenant}, Memory()), "test", profile=CPU, emit=lambda *told: None)
        trial.load(WRONG["leaves the running statistics"])
        trial.check(Blind())
    (check,) = trial.evidence.checks
    assert "such as running statistics: ModelNew must change it alike" in check.message


@pytest.mark.parametrize("precision", kernelbench.HALF)
def test_a_variant_in_half_precision_is_judged_by_the_same_conversion(tmp_path: Path, precision: str) -> None:
    """A hidden state that is a plain attribute is converted, too."""
    changes = {"torch.relu(": (FILE, "1.05 * torch.relu("), "* 2": (HIDDEN, "* 2.1")}
    for number, (right, (source, wrong)) in enumerate(changes.items()):
        problem = kernelbench.parse(source, "1_Half.py", 2, precision)
        starter, folder = problem.templates["Python"], tmp_path / str(number)
        folder.mkdir()
        assert right in starter
        with oracle_of(problem.files["reference.py"], folder, init_seed=21) as oracle:
            assert judged_as(problem, oracle, folder / "starter", starter)
            assert not judged_as(problem, oracle, folder / "wrong", starter.replace(right, wrong))


def judged_as(problem: Problem, oracle: Oracle, folder: Path, source: str) -> bool:
    given = oracle.make({}, 5, fp64="values")
    with tenant_of(folder) as tenant:
        tenant.load({"submission.py": source}, "submission.py", "ModelNew", "model", LIMIT_S)
        output = output_of(tenant, given)
    return all(figures.good for figures in compare.compare(given, output, Rule.of(problem, {}, own_check=False)))
