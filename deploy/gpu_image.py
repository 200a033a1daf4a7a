"""The image for GPU hosts whose own CUDA stack is mounted read-only: empty mount points, and the harness.

    python -m deploy.gpu_image [TAG]      default: photofinish-gpu-host:latest

Where the NVIDIA container toolkit hands the driver over (`RUNNER_GPU_STACK` is `toolkit` or `cdi`) the image of
`python -m deploy.image` is taken instead. The build downloads no files.
"""

import io
import sys
import tarfile
from pathlib import Path
from typing import Final

import docker

TAG: Final = "photofinish-gpu-host:latest"
SANDBOX: Final = Path(__file__).parent.parent / "sandbox"
MOUNT_POINTS: Final = ("usr", "opt", "proc", "sys", "dev", "tmp", "etc", "etc/alternatives", "run/judge", "photofinish")
LINKS: Final = ("bin", "lib", "lib64", "sbin")  # as on hosts with a merged /usr
FILES: Final = ("etc/ld.so.cache", "etc/passwd", "etc/group")


def contents() -> bytes:
    """Return the image's file system as a tar archive."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in MOUNT_POINTS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = (tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755)  # the mount takes it over
            tar.addfile(folder)
        for name in LINKS:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(link)
        for name in FILES:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
        for path in [SANDBOX / "protocol.py", *sorted((SANDBOX / "inside").glob("*.py"))]:
            text = path.read_bytes()
            file = tarfile.TarInfo(f"photofinish/{path.name}")
            file.size, file.mode = len(text), 0o644
            tar.addfile(file, io.BytesIO(text))
    return archive.getvalue()


def main() -> None:
    """Import the image and print its name."""
    repository, _, tag = (sys.argv[1] if len(sys.argv) > 1 else TAG).partition(":")
    client = docker.from_env()
    client.api.import_image_from_data(contents(), repository=repository, tag=tag or "latest")
    print(f"{repository}:{tag or 'latest'}")


if __name__ == "__main__":
    main()
