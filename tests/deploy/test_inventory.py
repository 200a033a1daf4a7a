"""Inventories are valid CycloneDX and list what is there; an audit without data fails."""

import importlib.metadata
import json
from pathlib import Path

import docker
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy import inventory
from tests.conftest import SANDBOX_IMAGE


def listed(text: str) -> dict[str, str]:
    """Return name -> version of a valid inventory's components."""
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    return {part["name"]: part["version"] for part in json.loads(text)["components"]}


@pytest.mark.slow
def test_the_environment_is_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(inventory, "FOLDER", tmp_path / "sbom")
    assert inventory.main(["sbom"]) == 0
    found = listed((tmp_path / "sbom" / "environment.json").read_text())
    assert found["Django"] == importlib.metadata.version("django")
    assert found["torch"] == importlib.metadata.version("torch")


@pytest.mark.docker
def test_an_image_is_listed_with_its_debian_packages(docker_client: docker.DockerClient) -> None:
    text = inventory.image_inventory(docker_client, SANDBOX_IMAGE)
    found = listed(text)
    assert found["torch"].startswith("2.")
    assert "libc6" in found
    about = json.loads(text)["metadata"]["component"]
    assert about["version"] == docker_client.images.get(SANDBOX_IMAGE).id


@pytest.mark.docker
def test_an_image_without_python_is_refused(docker_client: docker.DockerClient) -> None:
    with pytest.raises(inventory.SetupError, match="no-such-image gave no list"):
        inventory.image_inventory(docker_client, "no-such-image")


@pytest.mark.slow
def test_an_audit_without_data_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.txt").write_text(f"idna==3.20 --hash=sha256:{'0' * 64}\n")
    monkeypatch.setattr(inventory, "REQUIREMENTS", tmp_path)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "cache"))
    assert inventory.main(["audit"]) == inventory.NO_DATA
    assert "cannot be reached" in capsys.readouterr().err
