"""docs/examples/training.py with scripted policies, on a real site with a real judge."""

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from leaderboard.client import AsyncClient, Client
from tests.e2e.conftest import Stage

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(480)]

SAMPLES = Path("problems/library/kernels101/softmax/submissions")
GOOD = (SAMPLES / "accepted/torch_copy.py").read_text()
WRONG = (SAMPLES / "wrong/no_maximum.py").read_text()
SOFTMAX = {"board": "softmax", "hardware": "cpu"}


@pytest.fixture
def training() -> ModuleType:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("training", "docs/examples/training.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reward_function_for_trl_ranks_scripted_completions(judged: Stage, training: ModuleType) -> None:
    completions = [
        f"I leave the maximum out.\n```python\n{WRONG}```",
        [{"role": "assistant", "content": f"First a sketch:\n```\nx = 1\n```\nThen:\n```python\n{GOOD}```\nDone."}],
        "",
        "```python\nNAME = '\0'\n```",
        "```python\ndef custom_kernel(data:\n```",
    ]
    with Client(judged.url, judged.environment["PHOTOFINISH_TOKEN"]) as site:
        reward_func = training.make_reward_func(site, hardware="cpu", parameters={"cap": 4.0})
        columns = {"board": ["softmax"] * 5, "completion_ids": [[1]] * 5}
        rewards = reward_func(prompts=["Write a softmax."] * 5, completions=completions, **columns)
        wrong, good, empty, binary, broken = rewards
        assert (wrong, empty, binary, broken) == (0.0, 0.0, 0.0, 0.0)
        assert 0.3 < good <= 4.3
        [batch] = site.batches()
        assert (batch["size"], batch["bar"]) == (3, 0.001), "code that the site takes for none is left out of the batch"
        sent = [site.submission(one["submission"]) for one in site.batch(batch["id"])["candidates"]]
        assert [one["outcome"] for one in sent] == ["wrong", "passed", "build_error"]
        assert good == pytest.approx(0.3 + 1 / sent[1]["ratio"]), "the reward is that of the stored verdict"
        assert "stopped_early" in sent[1]["flags"]


def test_reward_function_for_verifiers_takes_the_board_from_info(judged: Stage, training: ModuleType) -> None:
    async def score() -> list[float]:
        async with AsyncClient(judged.url, judged.environment["PHOTOFINISH_TOKEN"]) as site:
            kernel_reward = training.make_kernel_reward(site, mode="test")
            messages = [[{"role": "assistant", "content": f"```python\n{code}```"}] for code in (GOOD, WRONG)]
            info = '{"board": "softmax", "hardware": "cpu"}'
            return await asyncio.gather(
                *(kernel_reward(completion=one, info=info, answer="", state={}) for one in messages), kernel_reward("")
            )

    assert asyncio.run(score()) == [0.3, 0.0, 0.0]


def test_environment_refines_a_wrong_kernel_to_a_correct_one(judged: Stage, training: ModuleType) -> None:
    """The policy is scripted: it sends the next kernel after it has read that the last was wrong."""
    with Client(judged.url, judged.environment["PHOTOFINISH_TOKEN"]) as site:
        environment = training.KernelEnv(site, **SOFTMAX, turns=2)
        observation, info = environment.reset(seed=1)
        assert "Row softmax" in observation
        assert "custom_kernel" in observation
        assert info == {}

        observation, first, terminated, truncated, info = environment.step(WRONG)
        assert (first, terminated, truncated) == (0.0, False, False)
        assert "nan" in observation.lower(), "the policy reads why"

        observation, second, terminated, truncated, info = environment.step(f"```python\n{GOOD}```")
        assert second > 0.3
        assert (terminated, truncated) == (False, True)
        assert "baseline" in observation
        assert info["reward"]["reason"] == "correct"

        assert environment.reset()[0].startswith("Row softmax")
        assert environment.step("no code at all")[3] is False
