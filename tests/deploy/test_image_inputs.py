"""Inputs that decide whether the sandbox image must be built again, and the download of its parts."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.console import SetupError
from deploy.image import (
    debootstrap_command,
    digest_inputs,
    image_digest,
    inside_files,
    locked_packages,
    prune,
    wheels_command,
)
from deploy.lock import IMAGE, LAYERS
from deploy.parties import CHECKOUT
from problems.formats import inspect
from tests.conftest import SANDBOX_IMAGE

PIP = ["python", "-m", "pip"]


@given(
    st.dictionaries(st.text(max_size=5), st.binary(max_size=5), max_size=4), st.text(max_size=5), st.binary(max_size=5)
)
def test_every_change_of_a_name_or_a_content_changes_the_digest(
    inputs: dict[str, bytes], name: str, content: bytes
) -> None:
    changed = {**inputs, name: content}
    assert (image_digest(changed) == image_digest(inputs)) == (changed == inputs)


def test_the_digest_is_twelve_hex_digits_and_ignores_order() -> None:
    digest = image_digest({"a": b"1", "b": b"2"})
    assert re.fullmatch(r"[0-9a-f]{12}", digest)
    assert digest == image_digest({"b": b"2", "a": b"1"})


def test_dockerfile_wheels_and_harness_decide() -> None:
    names = set(digest_inputs(CHECKOUT, locked_packages("")))
    assert {
        "Dockerfile",
        "requirements.in",
        "requirements.txt",
        "inside/harness.py",
        "inside/oracle.py",
        "inside/protocol.py",
    } <= names


@pytest.mark.parametrize("layer", LAYERS)
def test_an_image_with_a_layer_has_every_package_of_the_plain_image_and_a_tag_of_its_own(layer: str) -> None:
    plain, layered = locked_packages(""), locked_packages(layer)
    assert set(_pins(plain).items()) < set(_pins(layered).items())
    assert set(_pins(IMAGE / f"{layer}.in").items()) <= set(_pins(layered).items())
    digests = {image_digest(digest_inputs(CHECKOUT, hashed)) for hashed in (plain, layered)}
    assert len(digests) == 2


@pytest.mark.parametrize("name", ["tensorflow", "requirements", "../transformers"])
def test_an_unknown_layer_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(
        SetupError, match=f"IMAGE_EXTRAS: '{name}' is no layer of the image; known are: languages, transformers"
    ):
        locked_packages(name)


def test_the_reader_of_problems_knows_the_layers() -> None:
    assert set(LAYERS) == set(inspect.LAYERS.values())


def test_the_package_marker_stays_outside() -> None:
    assert "__init__.py" not in {path.name for path in inside_files(CHECKOUT)}


def test_pins_of_the_image_agree_with_the_hosts() -> None:
    host = _pins(CHECKOUT / "constraints.txt")
    image = _pins(CHECKOUT / "sandbox" / "image" / "requirements.in")
    assert {name: host[name] for name in image if name in host} == {name: image[name] for name in image if name in host}
    assert set(image) - set(host) <= {"setuptools", "einops"}  # for code that runs in the image alone


def _pins(path: Path) -> dict[str, str]:
    lines = [line.partition("==") for line in path.read_text().splitlines() if "==" in line]
    return {re.sub(r"[-_.]+", "-", name).lower(): version.split()[0] for name, _, version in lines}


def test_constraints_name_no_file_and_no_local_build() -> None:
    lines = [line for line in (CHECKOUT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []


def test_the_hosts_own_python_needs_no_platform() -> None:
    command = wheels_command(PIP, ["torch"], Path("into"), python=(3, 11), machine="x86_64")
    assert "--platform" not in command


def test_another_python_fetches_wheels_for_the_images() -> None:
    command = wheels_command(PIP, ["torch"], Path("into"), python=(3, 13), machine="aarch64")
    assert command[command.index("--python-version") + 1] == "3.11"
    assert "manylinux_2_28_aarch64" in command


def test_our_base_has_python_and_a_compiler() -> None:
    packages = next(part for part in debootstrap_command(Path("base.tar")) if part.startswith("--include="))
    assert {"python3", "python3-dev", "g++"} <= set(packages.removeprefix("--include=").split(","))


@pytest.fixture
def tags(docker_client: docker.DockerClient) -> Iterator[list[str]]:
    """Four more names of the sandbox image, the oldest first."""
    repository = f"photofinish-tests-prune-{os.getpid()}"
    for number in range(4):
        docker_client.images.get(SANDBOX_IMAGE).tag(repository, str(number))
    yield [f"{repository}:{number}" for number in range(4)]
    for tag in left(docker_client, repository):
        docker_client.images.remove(tag)


def left(client: docker.DockerClient, repository: str) -> list[str]:
    return sorted(tag for image in client.images.list(repository) for tag in image.tags if tag.startswith(repository))


@pytest.mark.docker
def test_prune_keeps_the_present_image_and_the_one_before(
    docker_client: docker.DockerClient, tags: list[str], tmp_path: Path
) -> None:
    (tmp_path / "built").write_text("\n".join(tags) + "\n")
    for age, name in enumerate(("wheels-new", "wheels-before", "wheels-old")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    prune(docker_client, tags[3], tmp_path)
    assert left(docker_client, tags[0].partition(":")[0]) == tags[2:]
    assert (tmp_path / "built").read_text().split() == tags[2:]
    assert sorted(path.name for path in tmp_path.glob("wheels-*")) == ["wheels-before", "wheels-new"]


@pytest.mark.docker
def test_prune_leaves_images_that_another_checkout_built(
    docker_client: docker.DockerClient, tags: list[str], tmp_path: Path
) -> None:
    prune(docker_client, tags[3], tmp_path)
    assert left(docker_client, tags[0].partition(":")[0]) == tags
