#!/usr/bin/env bash
# A bare GPU host, no network: Docker Engine from an archive of its programs, the image of mount points, Python packages.
# usage: source benchmarks/gpu/setup.sh FOLDER     FOLDER: as pack.sh makes it, docker.tar.xz (bin/, lib/) and wheels/
carried=$1
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target /tmp/site "$carried"/wheels/*.whl 2>&1 | grep -v WARNING
tar -C /usr/local -xJf "$carried/docker.tar.xz"
for library in /usr/local/lib/lib{devmapper,seccomp,ltdl}*; do
  ls /usr/lib/x86_64-linux-gnu/"$(basename "$library")"* >/dev/null 2>&1 || [ -e "$library" ] && cp -a "$library" /usr/lib/x86_64-linux-gnu/
done

ldconfig
(setsid dockerd --iptables=false --bridge=none >/tmp/dockerd.log 2>&1 &)
for _ in $(seq 60); do [ -S /var/run/docker.sock ] && break; sleep 0.5; done
[ -S /var/run/docker.sock ] || tail -20 /tmp/dockerd.log
export PYTHONPATH=/tmp/site:$PWD PYTHONUNBUFFERED=1
export RUNNER_HARDWARE=H200 RUNNER_GPU_STACK=host RUNNER_LOCKS=/tmp SANDBOX_IMAGE=photofinish-gpu-host:latest
export RUNNER_GPU_INTERPRETER; RUNNER_GPU_INTERPRETER=$(python3 -c 'import sys; print(sys.executable)')
export RUNNER_GPU_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
# Containers cannot write bytecode: without it each would compile torch.
python3 -m compileall -q -j 0 /tmp/site "$(python3 -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')" >/dev/null
python3 -m deploy.gpu_image
runner() { python3 -m runner.commands.start "$@"; }
