"""Every requirement is pinned with hashes: `make lock` was run after the last change."""

import re
import tomllib
from pathlib import Path

import pytest

from deploy.bootstrap import pip_commands
from deploy.lock import EXTRAS, IMAGE, LAYERS, REQUIREMENTS
from deploy.parties import CHECKOUT

PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
IMAGES = ("requirements", *LAYERS)
LOCKED = [REQUIREMENTS / f"{name}.txt" for name in (*EXTRAS, "build")] + [IMAGE / f"{name}.txt" for name in IMAGES]


def same(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(path: Path) -> dict[str, str]:
    return {same(name): version for name, version in PINNED.findall(path.read_text())}


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.stem)
def test_each_requirement_has_the_version_of_constraints_txt_and_hashes(path: Path) -> None:
    known = pins(CHECKOUT / "constraints.txt")
    for name in IMAGES:
        known |= pins(IMAGE / f"{name}.in")
    assert {name: version for name, version in pins(path).items() if known.get(name) != version} == {}
    blocks = re.split(r"\n(?=[A-Za-z0-9])", path.read_text())
    assert [block for block in blocks if "==" in block and "--hash=sha256:" not in block] == []


def test_each_requirement_of_an_extra_is_locked() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    for extra in EXTRAS:
        wanted = {same(re.split(r"[^\w.-]", line)[0]) for line in project["optional-dependencies"][extra]}
        wanted |= {same(re.split(r"[^\w.-]", line)[0]) for line in project["dependencies"]}
        assert wanted - {"torch"} <= set(pins(REQUIREMENTS / f"{extra}.txt")), f"{extra}: run `make lock`"


def test_torch_alone_comes_without_hashes_from_its_index() -> None:
    hashed, torch, checkout = pip_commands(Path("python"), ["server", "runner"], Path("/src"), "https://torch.example")
    assert "--require-hashes" in hashed
    assert [part for part in hashed if part.endswith(".txt")] == [
        f"/src/requirements/{name}.txt" for name in ("build", "runner", "server")
    ]
    assert torch[-3:] == ["--index-url", "https://torch.example", "torch"]
    assert torch[torch.index("--constraint") + 1] == "/src/constraints.txt"
    assert checkout[-4:] == ["--no-deps", "--no-build-isolation", "--editable", "/src"]
    assert len(pip_commands(Path("python"), ["server"], Path("/src"), None)) == 2, "no torch without the judge"
    assert not any("--extra-index-url" in command for command in (hashed, torch, checkout))
