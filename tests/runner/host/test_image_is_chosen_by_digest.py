"""SANDBOX_IMAGE_DIGEST names the only image that may judge, by its id or by its digest in a registry."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from runner.config import JudgeSettings
from runner.errors import ConfigError
from runner.host import doctor
from runner.host.image_versions import chosen_image
from runner.job.prepare import prepared
from sandbox import container

ID, PUSHED, OTHER = (f"sha256:{digit * 64}" for digit in "abc")


def engine(digests: Sequence[str] | None) -> Any:
    image = SimpleNamespace(id=ID, attrs={"RepoDigests": digests})
    return SimpleNamespace(images=SimpleNamespace(get=lambda name: image))


def settings(tmp_path: Path, digest: str) -> JudgeSettings:
    image = os.environ.get("SANDBOX_IMAGE", "photofinish-sandbox:latest")
    told = {"runner_state": tmp_path, "runner_locks": tmp_path, "sandbox_image": image}
    return JudgeSettings(**told, sandbox_image_digest=digest)


@pytest.mark.parametrize("digest", ["", ID, PUSHED])
def test_image_counts_by_its_id_and_by_its_digest_in_a_registry(tmp_path: Path, digest: str) -> None:
    known = engine([f"registry.example:5000/sandbox@{PUSHED}", f"mirror.example/sandbox@{PUSHED}"])
    assert chosen_image(known, settings(tmp_path, digest)) == [ID, PUSHED]


def test_other_image_is_refused_with_its_digests(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"SANDBOX_IMAGE_DIGEST: '{OTHER}': .* is another image \\({ID}\\)"):
        chosen_image(engine(None), settings(tmp_path, OTHER))
    with pytest.raises(ValidationError):
        settings(tmp_path, "latest")


@pytest.mark.docker
def test_judge_makes_no_container_of_another_image(tmp_path: Path) -> None:
    wanted = settings(tmp_path, OTHER).model_copy(update={"runner_id": "otherimage"})
    with pytest.raises(ConfigError, match="is another image"), prepared(wanted):
        pass
    client = container.connect()
    try:
        assert "otherimage" not in container.owners(client)
        right = settings(tmp_path, container.image_id(client, wanted.sandbox_image))
        assert chosen_image(client, right)[0] == right.sandbox_image_digest
    finally:
        client.close()
    [*_, check] = doctor.check_engine(wanted, doctor.Host(), doctor.Engine(wanted))
    assert (check.name, check.result) == ("image digest", doctor.UNFIT)
    [named] = [c for c in doctor.check_engine(right, doctor.Host(), doctor.Engine(right)) if c.name == "image digest"]
    assert named.result == doctor.OK
