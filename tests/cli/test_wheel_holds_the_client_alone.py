"""The distribution is the client: one package for its users, without the site, the judge or their dependencies."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from runner import __version__
from tests.cli.fake_site import TOKEN, FakeSite

TOP = Path(__file__).resolve().parents[2]
VERSION = __version__
CLIENT = ("leaderboard/__init__.py", "leaderboard/py.typed", "leaderboard/source.py")
BUILD = "import hatchling.build as build, sys; build.build_{kind}(sys.argv[1])"


def python(executable: str | Path, *arguments: str, cwd: Path = TOP, **environment: str) -> str:
    done = subprocess.run(
        [executable, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def built(kind: str, folder: Path, checkout: Path = TOP) -> Path:
    """Return a wheel, an editable wheel or an sdist of a checkout."""
    folder.mkdir()
    python(sys.executable, "-c", BUILD.format(kind=kind), str(folder), cwd=checkout)
    [path] = folder.iterdir()
    return path


def names(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def entry_points(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return archive.read(f"photofinish-{VERSION}.dist-info/entry_points.txt").decode().split("\n")[1:-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", tmp_path_factory.mktemp("wheel") / "dist")


@pytest.fixture(scope="module")
def venv(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and with its dependencies from this one."""
    folder = tmp_path_factory.mktemp("home") / "venv"
    python(sys.executable, "-m", "venv", "--without-pip", str(folder))
    offline = ("--no-index", "--no-deps", "--disable-pip-version-check", "--no-compile", "--quiet")
    python(sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", *offline, str(wheel))
    [site_packages] = folder.glob("lib/python*/site-packages")
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_wheel_has_one_package_and_one_command(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert tops == {"photofinish", f"photofinish-{VERSION}.dist-info"}
    assert {
        "photofinish/client/__init__.py",
        "photofinish/cli/scaffold/task.yml.txt",
        "photofinish/wording/figures.py",
    } <= names(wheel)
    assert entry_points(wheel) == ["photofinish = photofinish.cli.start:run"]


def test_sdist_has_the_client_alone_and_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = built("sdist", tmp_path / "sdist")
    subprocess.run(["tar", "-xzf", sdist, "-C", tmp_path], check=True)
    [unpacked] = tmp_path.glob("photofinish-*")
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    folders = ("leaderboard/cli/", "leaderboard/client/", "leaderboard/wording/")
    assert {name for name in files if "/" in name and not name.startswith(folders)} == set(CLIENT)
    assert names(built("wheel", tmp_path / "again", unpacked)) == names(wheel)


def test_editable_install_has_the_commands_of_the_checkout(tmp_path: Path) -> None:
    editable = built("editable", tmp_path / "editable")
    assert not [name for name in names(editable) if name.endswith(".py")], "a copy would hide later changes"
    assert sorted(entry_points(editable)) == [
        "photofinish = leaderboard.cli.start:run",
        "runner = runner.commands.start:run",
    ]


def test_checkout_has_the_library_under_the_name_of_the_wheel(tmp_path: Path) -> None:
    script = "import photofinish; from photofinish.client import Client, Refused; print(Client is photofinish.Client)"
    script += "; import leaderboard.client; print(Refused is leaderboard.client.Refused)"
    assert python(sys.executable, "-c", script, cwd=tmp_path) == "True\nTrue\n"


def test_installed_command_works_without_the_checkout(venv: Path, site: FakeSite, tmp_path: Path) -> None:
    def photofinish(*arguments: str) -> str:
        settings = {"PHOTOFINISH_URL": site.url, "PHOTOFINISH_TOKEN": TOKEN, "XDG_CONFIG_HOME": str(tmp_path)}
        return python(venv / "bin/photofinish", *arguments, cwd=tmp_path, **settings)

    assert photofinish("--version") == f"photofinish {VERSION}\n"
    assert "Usage: photofinish" in photofinish("--help")
    assert "cleo" in photofinish("board", "softmax")
    photofinish("problem", "new", "silu")
    assert (tmp_path / "silu/task.yml").is_file()


def test_installed_command_says_how_to_judge_here(venv: Path, tmp_path: Path) -> None:
    settings = {"PATH": str(venv / "bin")}
    command = [venv / "bin/photofinish", "run", "softmax", "kernel.py"]
    done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: The judge is not installed here")


@pytest.mark.parametrize("name", ["leaderboard", "runner", "sandbox", "problems"])
def test_general_names_stay_free(venv: Path, tmp_path: Path, name: str) -> None:
    check = f"import importlib.util; print(importlib.util.find_spec({name!r}))"
    assert python(venv / "bin/python", "-c", check, cwd=tmp_path) == "None\n"


def test_client_is_a_library(venv: Path, site: FakeSite, tmp_path: Path) -> None:
    code = (
        "import sys; from photofinish import Client\n"
        "with Client(sys.argv[1]) as site: print(site.boards()[0]['slug'])\n"
        "print(sorted({'django', 'torch', 'docker'} & set(sys.modules)))"
    )
    assert python(venv / "bin/python", "-c", code, site.url, cwd=tmp_path) == "softmax\n[]\n"
