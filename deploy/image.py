"""The sandbox image: base, wheels, build, tag; skipped when an image of the same inputs exists.

`python -m deploy.image`. Owns the tags `photofinish-sandbox:…` and `photofinish-base:bookworm` and `STATE/image`.
IMAGE_EXTRAS names a layer of further packages (`sandbox/image/LAYER.txt`); an image with it has a tag of its own.
Always true: wheels are fetched on the host, whose pip knows index and certificates, and no setting, certificate or
secret of the host enters the image; with our own base, the build itself has no network.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors

from deploy.bootstrap import torch_source
from deploy.console import SetupError, captured, exit_status, note, step
from deploy.docker_engine import install_packages
from deploy.lock import IMAGE, LAYERS
from deploy.parties import CHECKOUT, is_root, state_folder

REPOSITORY: Final = "photofinish-sandbox"
HUB_BASE: Final = "python:3.11-slim-bookworm"
OWN_BASE: Final = "photofinish-base:bookworm"
BASE_PACKAGES: Final = ("python3", "python3-venv", "python3-dev", "g++")
LEFT_OUT: Final = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
IMAGE_PYTHON: Final = (3, 11)
PULL_TIMEOUT_S: Final = 300

KEPT_IMAGES: Final = 2  # the present image and its predecessor: a rollback needs no build

VERSIONS: Final = IMAGE / "requirements.in"


def ensure_image() -> str:
    """Return the image's tag for the inputs in this checkout, built when missing. Also move `latest` to it."""
    client, work, tag = docker.from_env(timeout=900), state_folder() / "image", image_tag()
    if _has(client, tag):
        note(f"{tag} exists")
    else:
        _build(client, tag, work, locked_packages(os.environ.get("IMAGE_EXTRAS", "")))
        with (work / "built").open("a") as noted:
            noted.write(f"{tag}\n")
    client.images.get(tag).tag(REPOSITORY, "latest")
    prune(client, tag, work)
    return tag


def image_tag() -> str:
    """Return the tag of the image for the inputs in this checkout, built or not."""
    hashed = locked_packages(os.environ.get("IMAGE_EXTRAS", ""))
    return f"{REPOSITORY}:{image_digest(digest_inputs(CHECKOUT, hashed))}"


def prune(client: docker.DockerClient, tag: str, work: Path) -> None:
    """Remove images that earlier updates built from this state folder, but for this image and its predecessor.

    Images that different checkouts built are theirs to remove, and an image that a container still uses stays.
    """
    noted = work / "built"
    built = noted.read_text().split() if noted.exists() else []
    for old in [one for one in built if one != tag][: 1 - KEPT_IMAGES]:
        try:
            client.images.remove(old)
            note(f"{old} is removed")
        except docker.errors.ImageNotFound:
            pass
        except docker.errors.APIError:
            continue  # a container uses it: the next update tries again
        built.remove(old)
    if built:
        noted.write_text("\n".join(built) + "\n")
    for folder in sorted(work.glob("wheels-*"), key=lambda path: path.stat().st_mtime)[:-KEPT_IMAGES]:
        shutil.rmtree(folder)


def locked_packages(layer: str) -> Path:
    """Return the file with the hashes of the image's packages, all but torch. Raises SetupError for no known layer."""
    if layer not in ("", *LAYERS):
        raise SetupError(f"IMAGE_EXTRAS: {layer!r} is no layer of the image; known are: {', '.join(LAYERS)}")
    return IMAGE / f"{layer or 'requirements'}.txt"


def digest_inputs(checkout: Path, hashed: Path) -> dict[str, bytes]:
    """Return name in the image's build -> content, of every file that decides the image's contents."""
    image = checkout / "sandbox" / "image"
    named = {"Dockerfile": image / "Dockerfile", "requirements.in": VERSIONS, "requirements.txt": hashed}
    named |= {f"inside/{path.name}": path for path in inside_files(checkout)}
    return {name: path.read_bytes() for name, path in named.items()}


def inside_files(checkout: Path) -> list[Path]:
    """Return the programs of a container: the harness's modules and the module that they share with the judge."""
    sandbox = checkout / "sandbox"
    harness = [path for path in sorted((sandbox / "inside").glob("*.py")) if path.name != "__init__.py"]
    return [*harness, sandbox / "protocol.py"]


def image_digest(inputs: dict[str, bytes]) -> str:
    """Return 12 hex digits. Names and contents count with their length, so that no two sets of inputs read the same."""
    digest = hashlib.sha256()
    for name, content in sorted(inputs.items()):
        digest.update(f"{len(name)} {name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()[:12]


def wheels_command(
    pip: list[str], wanted: list[str], into: Path, *, python: tuple[int, int], machine: str
) -> list[str]:
    """Return pip's command to fetch wheels for the image's Python, which need not be the host's."""
    command = [*pip, "download", "--quiet", "--only-binary=:all:", "--dest", str(into), *wanted]
    if python != IMAGE_PYTHON:
        command += ["--python-version", "3.11", "--implementation", "cp"]
        command += [f"--abi={abi}" for abi in ("cp311", "abi3", "none")]
        for libc in ("_2_28", "_2_27", "_2_17", "2014"):
            command += ["--platform", f"manylinux{libc}_{machine}"]
    return command


def debootstrap_command(tarball: Path) -> list[str]:
    excludes = [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    included = f"--include={','.join(BASE_PACKAGES)}"
    return ["mmdebstrap", "--variant=minbase", included, *excludes, "bookworm", str(tarball)]


def _build(client: docker.DockerClient, tag: str, work: Path, hashed: Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    base = _base(client, work)
    wheels = _wheels(work, hashed)
    with step(f"sandbox image {tag} from {base}"), tempfile.TemporaryFile(dir=work) as context:
        _write_context(context, wheels)
        context.seek(0)
        options: dict[str, Any] = {"custom_context": True, "rm": True, "forcerm": True, "decode": True}
        network, arguments = "none" if base == OWN_BASE else None, {"BASE_IMAGE": base}
        recent: list[str] = []
        for line in client.api.build(fileobj=context, tag=tag, buildargs=arguments, network_mode=network, **options):
            if error := line.get("error"):
                raise SetupError("the image did not build: " + "\n".join([*recent[-20:], str(error)]))
            text = str(line.get("stream", "")).strip()
            if text.startswith("Step "):
                note(text[:110])
            elif text:
                recent.append(text)


def _base(client: docker.DockerClient, work: Path) -> str:
    """Return the base: BASE_IMAGE, our own if it exists, the hub's if it can be had, else our own, made now."""
    if chosen := os.environ.get("BASE_IMAGE"):
        return chosen
    if _has(client, OWN_BASE):
        return OWN_BASE
    if _has(client, HUB_BASE):
        return HUB_BASE
    with step(f"pull {HUB_BASE}"):
        try:
            pulled = captured(["docker", "pull", "--quiet", HUB_BASE], timeout=PULL_TIMEOUT_S)
            if pulled.returncode == 0:
                return HUB_BASE
            note(f"not possible: {pulled.stderr.strip().splitlines()[-1:]}")
        except (OSError, subprocess.TimeoutExpired) as error:
            note(f"not possible: {type(error).__name__}")
    with step("base of the sandbox image, made by mmdebstrap (the image hub cannot be reached)"):
        if shutil.which("mmdebstrap") is None:
            install_packages(["mmdebstrap", "debian-archive-keyring"])
        part = work / "base.part.tar"
        done = captured([*([] if is_root() else ["sudo", "-n"]), *debootstrap_command(part)])
        if done.returncode:
            raise SetupError(f"mmdebstrap failed, give a base with BASE_IMAGE=…: {done.stderr.strip()[-1500:]}")
        repository, version = OWN_BASE.split(":")
        client.api.import_image_from_file(str(part), repository=repository, tag=version)
        part.unlink()
    return OWN_BASE


def _wheels(work: Path, hashed: Path) -> Path:
    """Return a folder of the image's wheels, fetched once per content of the requirements.

    The Dockerfile checks the hashes again, for it also finds the files here that torch brought along.
    """
    wheels = work / f"wheels-{hashlib.sha256(VERSIONS.read_bytes() + hashed.read_bytes()).hexdigest()[:12]}"
    if wheels.exists():
        wheels.touch()  # marked as used: `prune` removes the oldest
        return wheels
    with step("wheels for the sandbox image"):
        part = work / "wheels.part"
        part.mkdir(exist_ok=True)
        pip, python = [sys.executable, "-m", "pip"], sys.version_info[:2]
        torch = ["--constraint", str(VERSIONS), *torch_source(os.environ.get("TORCH_INDEX_URL")), "torch"]
        for wanted in (torch, ["--no-deps", "--require-hashes", "--requirement", str(hashed)]):
            done = captured(wheels_command(pip, wanted, part, python=python, machine=platform.machine()))
            if done.returncode:
                raise SetupError(f"pip could not fetch the wheels of {hashed.name}: {done.stderr.strip()[-1500:]}")
        shutil.copy2(VERSIONS, part)
        shutil.copy2(hashed, part / "requirements.txt")  # the name that the Dockerfile installs from
        part.rename(wheels)
        note(f"{sum(path.stat().st_size for path in wheels.iterdir()) / 1e6:.0f} MB")
    return wheels


def _write_context(file: Any, wheels: Path) -> None:
    """Write a tar of Dockerfile, wheels/ and inside/, with fixed owners and times for the builder's cache."""
    members = {"Dockerfile": IMAGE / "Dockerfile"}
    members |= {f"wheels/{path.name}": path for path in sorted(wheels.iterdir())}
    members |= {f"inside/{path.name}": path for path in inside_files(CHECKOUT)}
    with tarfile.open(fileobj=file, mode="w") as context:
        for name, path in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as content:
                context.addfile(entry, content)


def _has(client: docker.DockerClient, name: str) -> bool:
    try:
        client.images.get(name)
    except docker.errors.ImageNotFound:
        return False
    return True


if __name__ == "__main__":
    sys.exit(exit_status(ensure_image))
