#!/usr/bin/env bash
# What setup.sh needs on a bare GPU host without a network, packed where there is one (Debian or Ubuntu, this checkout's
# virtual environment): Docker Engine's programs and the runner's wheels, some 35 MB. What travels to a host may be limited.
# usage: benchmarks/gpu/pack.sh FOLDER [PYTHON]     PYTHON: the GPU host's version, 3.12 where it is not given
# own_stack.py wants Engine 25 or later: pack on Debian 13 for it, and before setup.sh write /etc/docker/daemon.json:
# {"features": {"cdi": true}, "userland-proxy": false}
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
python=${2:-3.12}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$work" && apt-get download -q docker.io containerd runc libdevmapper1.02.1 libseccomp2 libltdl7)
for deb in "$work"/*.deb; do dpkg -x "$deb" "$work/root"; done
mkdir -p "$work/docker/bin" "$work/docker/lib"
for program in dockerd docker docker-proxy containerd containerd-shim-runc-v2 runc; do
  find "$work/root" -type f -name "$program" -path '*bin/*' -exec cp {} "$work/docker/bin/" \;
done
find "$work/root" -name 'lib*.so*' -exec cp -a {} "$work/docker/lib/" \;
strip --strip-unneeded "$work"/docker/bin/* 2>/dev/null || true
nice tar -C "$work/docker" -c bin lib | nice xz --x86 --lzma2=preset=9e,dict=256MiB >"$folder/docker.tar.xz"

# torch, triton and cuda-bindings are the host's own
rm -rf "$folder/wheels" && mkdir "$folder/wheels"
"$(dirname "$0")/../../.venv/bin/python" -m pip download -q --only-binary=:all: --python-version "$python" --no-deps -d "$folder/wheels" \
  $(cd "$(dirname "$0")/../.." && .venv/bin/python - <<'NAMES'
from importlib.metadata import requires, version
from pip._vendor.packaging.requirements import Requirement  # pip is here in any case, `packaging` with dev only

left, found = ["photofinish[runner]"], {}
HOSTS = ("torch", "numpy", "photofinish")
while left:
    wanted = Requirement(left.pop())
    for line in requires(wanted.name) or ():
        need = Requirement(line)
        extras = wanted.extras or {""}
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras):
            name = need.name.lower()
            if name not in found and name not in HOSTS:
                found[name] = version(name)
                left.append(str(need).split(";")[0])
print(*(f"{name}=={number}" for name, number in sorted(found.items())))
NAMES
)
du -sh "$folder"
