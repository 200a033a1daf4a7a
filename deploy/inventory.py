"""Software inventories and known vulnerabilities: `make sbom`, `make audit`.

`make sbom` writes CycloneDX files to `sbom/`: the packages of this environment and, for each image named in `IMAGES`,
its Python and Debian packages as a container of it reports them. `make audit` asks for the known vulnerabilities of
the pinned requirements.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from deploy.console import SetupError, captured, exit_status, note, step
from deploy.lock import IMAGE, LAYERS, REQUIREMENTS
from deploy.parties import CHECKOUT

FOLDER: Final = CHECKOUT / "sbom"
PROGRAMS: Final = Path(sys.executable).parent
NO_DATA: Final = 3  # exit status of `audit` without an answer, unlike 1: vulnerabilities were found
# Runs in a container. A package of Python is listed where the image's own interpreter finds it.
REPORT: Final = """
import importlib.metadata, json, subprocess
python = sorted({(one.name, one.version) for one in importlib.metadata.distributions()})
command = ["dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\\n"]
listed = subprocess.run(command, capture_output=True, text=True).stdout
print(json.dumps({"pypi": python, "deb": [line.split() for line in listed.splitlines()]}))
"""


def write_inventories(images: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True, parents=True)
    with step("inventory of this environment"):
        made = FOLDER / "environment.json"
        command = [str(PROGRAMS / "cyclonedx-py"), "environment", "--output-reproducible", "--validate", "--pyproject"]
        done = captured([*command, "pyproject.toml", "--output-file", str(made), sys.executable], cwd=CHECKOUT)
        if done.returncode:
            raise SetupError(f"cyclonedx-py failed: {done.stderr.strip()[-1000:]}")
        note(str(made))
    client = docker.from_env()
    for image in images:
        with step(f"inventory of {image}"):
            made = FOLDER / f"{image.rpartition('/')[2].replace(':', '_').replace('@', '_')}.json"
            made.write_text(image_inventory(client, image))
            note(str(made))


def image_inventory(client: docker.DockerClient, image: str) -> str:
    """Return the inventory of an image as JSON, valid by CycloneDX's schema. The container has no network."""
    try:
        options: dict[str, Any] = {"network_mode": "none", "remove": True, "user": "65534", "read_only": True}
        said = client.containers.run(image, ["-c", REPORT], entrypoint="python3", **options)
        digest = str(client.images.get(image).id)
    except docker.errors.DockerException as error:
        raise SetupError(f"{image} gave no list of its packages: {error}") from None
    packages = json.loads(said)
    bom = Bom(components=[_package(PackageURL("pypi", None, name, version)) for name, version in packages["pypi"]])
    for name, version, architecture in packages["deb"]:
        bom.components.add(_package(PackageURL("deb", "debian", name, version, {"arch": architecture})))
    bom.metadata.component = Component(type=ComponentType.CONTAINER, name=image, version=digest)
    bom.register_dependency(bom.metadata.component, bom.components)
    text: str = JsonV1Dot6(bom).output_as_string(indent=1)
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise SetupError(f"the inventory of {image} is not valid: {wrong}")
    return text


def _package(url: PackageURL) -> Component:
    return Component(type=ComponentType.LIBRARY, name=url.name, version=url.version, purl=url, bom_ref=url.to_string())


def audit() -> int:
    """Print the known vulnerabilities of all pinned requirements. Return pip-audit's status, or NO_DATA."""
    paths = [*sorted(REQUIREMENTS.glob("*.txt")), *(IMAGE / f"{layer}.txt" for layer in LAYERS)]
    files = [part for path in paths for part in ("--requirement", str(path))]
    options = ["--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    options += ["--strict"]  # a package without data fails; otherwise it would pass as free of vulnerabilities
    command = [str(PROGRAMS / "pip-audit"), *options, *files]
    done = captured(command, cwd=CHECKOUT)
    print(done.stdout, end="")
    if done.returncode and not done.stdout:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"No audit: the data about vulnerabilities cannot be reached ({reason[:300]})", file=sys.stderr)
        return NO_DATA
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


def main(arguments: list[str]) -> int:
    act, *rest = arguments or [""]
    acts = {"sbom": lambda: write_inventories(rest), "audit": audit}
    if act not in acts:
        print("usage: python -m deploy.inventory sbom [IMAGE …] | audit", file=sys.stderr)
        return 2
    return exit_status(acts[act])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
