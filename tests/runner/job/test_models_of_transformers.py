"""A file like those of KernelBench's level 4: its Model loads a model of the hub from the image; in real containers."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import docker.errors
import pytest

from deploy.image import REPOSITORY, digest_inputs, image_digest, locked_packages
from deploy.lock import IMAGE
from deploy.parties import CHECKOUT
from problems.formats import kernelbench
from problems.spec import Problem
from runner.commands import local
from runner.config import JudgeSettings
from runner.wire import Report

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(580)]

LAYERED = f"{REPOSITORY}:{image_digest(digest_inputs(CHECKOUT, locked_packages('transformers')))}"
COMMIT = "0" * 40
MAKE_WEIGHTS = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(1)
config = GPT2Config(vocab_size=300, n_positions=32, n_embd=64, n_layer=2, n_head=2)
GPT2LMHeadModel(config).save_pretrained("/made")
"""
FILE = """
import torch
from transformers import AutoConfig, AutoModelForCausalLM

class Model(torch.nn.Module):
    def __init__(self, name, config):
        super().__init__()
        self.inner = AutoModelForCausalLM.from_pretrained(name, config=config)

    def forward(self, tokens):
        return self.inner(tokens).logits

name = "tests/tiny"
config = AutoConfig.from_pretrained(name)

def get_inputs():
    return [torch.randint(0, config.vocab_size, (2, 16))]

def get_init_inputs():
    return [name, config]
"""
DRAWN = kernelbench.starter(FILE).replace("from_pretrained(name, config=config)", "from_config(config).eval()")


def problem() -> Problem:
    found = kernelbench.parse(FILE, "1_Tiny.py", 4)
    assert not found.unsupported
    return found


@pytest.fixture
def layered(docker_client: docker.DockerClient) -> str:
    try:
        docker_client.images.get(LAYERED)
    except docker.errors.ImageNotFound:
        pytest.skip(f"there is no image {LAYERED}: run `IMAGE_EXTRAS=transformers make image`")
    return LAYERED


@pytest.fixture
def with_model(docker_client: docker.DockerClient, layered: str, tmp_path: Path) -> Iterator[str]:
    """An image made as problems/README.md describes, from a cache folder with one small model."""
    model = tmp_path / "cache" / "models--tests--tiny"
    snapshot = model / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(COMMIT)
    volumes = {str(snapshot): {"bind": "/made", "mode": "rw"}}
    docker_client.containers.run(
        layered, ["python", "-c", MAKE_WEIGHTS], volumes=volumes, network_mode="none", remove=True
    )
    made, _ = docker_client.images.build(
        path=str(tmp_path / "cache"),
        dockerfile=str(IMAGE / "models.Dockerfile"),
        buildargs={"SANDBOX_IMAGE": layered},
        rm=True,
    )
    yield made.id
    docker_client.images.remove(made.id)


def judged(image: str, source: str, locks: Path) -> Report:
    settings = JudgeSettings(sandbox_image=image, runner_hardware="cpu", runner_locks=locks)
    return local.judge_here(local.job_from(problem(), source, "mine.py", "test", "cpu"), settings, lambda event: None)


def test_a_model_of_the_hub_is_judged_with_its_own_weights(with_model: str, tmp_path: Path) -> None:
    report = judged(with_model, problem().templates["Python"], tmp_path)
    assert report.outcome == "passed", report.message + report.evidence.get("operator", "")
    wrong = problem().templates["Python"].replace("self.inner(tokens)", "self.inner(tokens.flip(1))")
    assert judged(with_model, wrong, tmp_path).outcome == "wrong"


def test_a_modelnew_without_the_weights_gets_them_from_the_judge(with_model: str, tmp_path: Path) -> None:
    """It draws weights of its own and takes those that are sent under the same names."""
    report = judged(with_model, DRAWN, tmp_path)
    assert report.outcome == "passed", report.message + report.evidence.get("operator", "")


def test_a_model_of_the_hub_passes_the_admission_test(with_model: str, tmp_path: Path) -> None:
    """Without its starters: a compilation by torch takes minutes."""
    settings = JudgeSettings(sandbox_image=with_model, runner_hardware="cpu", runner_locks=tmp_path)
    job = local.admission_job(replace(problem(), templates={}), "cpu")
    report = local.judge_here(job, settings, lambda event: None)
    assert report.outcome == "passed", report.message + report.evidence.get("operator", "")


def test_an_image_without_the_model_is_the_reason_that_the_operator_reads(layered: str, tmp_path: Path) -> None:
    report = judged(layered, problem().templates["Python"], tmp_path)
    assert (report.outcome, report.reason) == ("infra_error", "problem")
    assert "find them in the cached files" in report.evidence["operator"]
    assert "AutoConfig.from_pretrained(name)" in report.evidence["operator"]
