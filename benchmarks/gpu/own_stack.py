"""The second way to a GPU's containers (`RUNNER_GPU_STACK=cdi`), on a host that has its CUDA stack for itself.

python -m benchmarks.gpu.own_stack     by hand, after `source benchmarks/gpu/setup.sh`, with Engine 25 or later and
features.cdi

Makes an image that has this host's Python, torch and compilers in itself, all but the driver, and the harness. It also
writes the specification of this host's GPU and driver that `nvidia-ctk cdi generate` of the NVIDIA container toolkit
would write. The difference: the loader's cache, which the toolkit's hook makes in each container, is made once. Prints
the image's name.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import docker

from deploy.gpu_image import SANDBOX
from runner.judge.device.nvidia import CDI_KIND, names_of
from sandbox import policy

TAG: Final = "photofinish-own-stack"
SPECIFICATION: Final = Path("/etc/cdi/nvidia.json")
CACHE: Final = Path("/etc/cdi/cache/ld.so.cache")
FOLDERS: Final = ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/libexec", "usr/include", "etc/alternatives")
CUDA: Final = Path("/usr/local/cuda")
LINKS: Final = ("bin", "sbin", "lib", "lib64")  # as on hosts with a merged /usr
DRIVER: Final = ("libcuda.so*", "libcudadebugger.so*", "libnvidia-*.so*")
LIBRARIES: Final = Path("/usr/lib/x86_64-linux-gnu")  # where every container's loader looks
LIMIT_S: Final = 600


def main() -> None:
    names = names_of(0)
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    client = docker.from_env(timeout=LIMIT_S)
    with tempfile.TemporaryDirectory() as staged:
        _stage(Path(staged))
        without = [f"--exclude={str(LIBRARIES)[1:]}/{name}" for name in DRIVER]
        members = ["-C", "/", *_there(FOLDERS + LINKS), *_python(), *_cuda(), "-C", staged, "."]
        command = ["tar", "-cf", "-", *without, "--exclude=nsight*", *members]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as packing:
            client.api.import_image_from_stream(packing.stdout, repository=TAG, tag="latest")
        if packing.returncode:
            raise SystemExit(f"tar ended with {packing.returncode}")
    libraries = [(path, LIBRARIES / path.name) for path in _driver()]
    SPECIFICATION.write_text(json.dumps(specification(names.uuid, names.minor, libraries), indent=1))
    client.containers.run(
        TAG,
        ["/sbin/ldconfig", "-C", f"/cache/{CACHE.name}"],
        device_requests=[{"driver": policy.CDI, "device_ids": [f"{CDI_KIND}={names.uuid}"]}],
        volumes={str(CACHE.parent): {"bind": "/cache", "mode": "rw"}},
        network_mode="none",
        remove=True,
    )
    libraries.append((CACHE, Path("/etc", CACHE.name)))
    SPECIFICATION.write_text(json.dumps(specification(names.uuid, names.minor, libraries), indent=1))
    print(f"{TAG}:latest", f"{client.images.get(TAG).attrs['Size'] / 1e9:.1f} GB")


def specification(uuid: str, minor: str, files: list[tuple[Path, Path]]) -> dict[str, Any]:
    """Return the Container Device Interface: the device's node, and for any device the common nodes and these files."""
    common = [{"path": name} for name in ("/dev/nvidiactl", "/dev/nvidia-uvm")]
    options = ["ro", "nosuid", "nodev", "bind"]
    mounts = [{"hostPath": str(here), "containerPath": str(there), "options": options} for here, there in files]
    return {
        "cdiVersion": "0.5.0",
        "kind": CDI_KIND,
        "devices": [{"name": uuid, "containerEdits": {"deviceNodes": [{"path": f"/dev/nvidia{minor}"}]}}],
        "containerEdits": {"deviceNodes": common, "mounts": mounts},
    }


def _driver() -> list[Path]:
    """Return the driver's libraries, where this host's loader finds them first."""
    folders = [Path(one) for one in os.environ.get("LD_LIBRARY_PATH", "").split(":") if one] + [LIBRARIES]
    folder = next(one for one in folders if (one / "libcuda.so.1").exists())
    return sorted({path for name in DRIVER for path in folder.glob(name)})


def _stage(folder: Path) -> None:
    """Stage the parts that the host lacks: the harness in its place, empty folders."""
    harness = folder / Path(policy.HARNESS).parent.relative_to("/")
    harness.mkdir(parents=True)
    for path in [SANDBOX / "protocol.py", *(SANDBOX / "inside").glob("*.py")]:
        shutil.copy(path, harness)
    for name in ("etc", "proc", "sys", "dev", "tmp", "run/judge", "usr/local"):
        (folder / name).mkdir(parents=True)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    folder.chmod(0o755)
    if CUDA.is_symlink():
        (folder / "usr/local/cuda").symlink_to(CUDA.resolve())


def _python() -> list[str]:
    """Return Python's folders beside /usr: the environment's and its interpreter's."""
    return sorted({one.strip("/") for one in (sys.prefix, sys.base_prefix) if not one.startswith("/usr")})


def _cuda() -> list[str]:
    """Return the compiler's folder, whatever name its link has on the way."""
    return [str(CUDA.resolve()).strip("/")] if CUDA.exists() else []


def _there(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if Path("/", name).exists()]


if __name__ == "__main__":
    main()
