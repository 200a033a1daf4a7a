"""Which tenant may serve a further job of the same problem: a baseline whose calls all ended, and that is alive."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.evidence.schedule import CPU, A
from runner.judge.calls import Calls
from runner.judge.data.memory import Memory, NoMemory
from runner.judge.sides.tenant import Tenant
from runner.judge.trial import Trial
from tests.runner.judge.oracle_here import oracle_of, problem_of
from tests.runner.judge.tenant_here import tenant_of

SUMS = "def generate_input(*, n, seed):\n    return n\n\ndef ref_kernel(x):\n    return x * 2\n"


def loaded(tmp_path: Path, tenant: Tenant, **changes: Any) -> Trial:
    """Trial whose baseline is loaded."""
    problem = problem_of(SUMS, {"n": 1}, **changes)
    with oracle_of(SUMS, tmp_path) as oracle:
        trial = Trial(Calls(problem, oracle, {A: tenant}, Memory()), "ranked", profile=CPU, emit=lambda *told: None)
        trial.load_baseline()
        return trial


@pytest.fixture
def tenant(tmp_path: Path) -> Iterator[Tenant]:
    with tenant_of(tmp_path / "tenant") as tenant:
        yield tenant


def test_a_further_job_loads_the_same_baseline_at_once(tmp_path: Path, tenant: Tenant) -> None:
    source = "# from an implementation for benchmarking\ndef custom_kernel(x):\n    return x * 2\n"
    trial = loaded(tmp_path, tenant, baseline=source)
    assert tenant.begin_anew()
    assert not tenant.is_loaded, "until the job needs it"
    trial.load_baseline()
    assert tenant.is_loaded


@pytest.mark.parametrize(
    "word", ["@triton.autotune", "torch.compile", "torch.backends.cudnn.benchmark = True", "triton.testing.do_bench(f)"]
)
def test_a_baseline_that_tunes_itself_serves_one_job(tmp_path: Path, tenant: Tenant, word: str) -> None:
    loaded(tmp_path, tenant, baseline=f"# {word}\ndef custom_kernel(x):\n    return x * 2\n")
    assert not tenant.begin_anew()


def test_a_baseline_that_is_dead_serves_no_further_job(tmp_path: Path, tenant: Tenant) -> None:
    loaded(tmp_path, tenant)
    container: Any = tenant.container
    container.kill()
    container.wait_exit()
    assert not tenant.begin_anew()


def test_a_baseline_in_whose_call_the_judge_failed_serves_no_further_job(tmp_path: Path, tenant: Tenant) -> None:
    """It has calls begun whose times nobody asked for."""

    def fails() -> Any:
        raise NoMemory("none")

    loaded(tmp_path, tenant)
    wanted: Any = [SimpleNamespace(given=SimpleNamespace(layout=None))]
    with pytest.raises(NoMemory):
        tenant._made(wanted, [], fails)
    assert tenant.container.alive()
    assert not tenant.begin_anew()
