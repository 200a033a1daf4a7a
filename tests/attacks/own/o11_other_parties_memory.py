"""class: looks for the judge, the oracle or anybody's leftovers: /proc, ptrace, descriptors, IPC, /tmp, the judge's door
expect: contained | own namespaces and uid, no descriptor but the standard ones, which are memory to print into, the door is gone, and nothing was left"""

import ctypes
import os
import socket
import sys

import torch

libc = ctypes.CDLL(None, use_errno=True)
PTRACE, VM_READV, VM_WRITEV, PIDFD_GETFD, KCMP, PERF, BPF, KEYCTL = 101, 310, 311, 438, 312, 298, 321, 250


def effect(text):
    sys.stderr.write(f"ATTACK-EFFECT o11_other_parties_memory: {text}\n")


others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
if others:
    effect(f"other processes are visible: {others}")
for number, arguments in {
    PTRACE: (16, 1, 0, 0),
    VM_READV: (1, None, 0, None, 0, 0),
    VM_WRITEV: (1, None, 0, None, 0, 0),
    PIDFD_GETFD: (os.pidfd_open(os.getpid()), 0, 0),
    KCMP: (1, 1, 0, 0, 0),
    PERF: (None, 0, -1, -1, 0),
    BPF: (0, None, 0),
    KEYCTL: (0, -3, 0),
}.items():
    if libc.syscall(number, *arguments) >= 0 or ctypes.get_errno() not in (1, 38):
        effect(f"system call {number} is open, errno {ctypes.get_errno()}")
for path in ("/dev/mem", "/dev/kmem", "/proc/kcore", "/proc/kmsg", "/dev/kmsg", "/proc/1/stack", "/proc/timer_list",
             "/sys/kernel/debug/tracing", "/dev/userfaultfd", "/dev/fuse", "/var/run/docker.sock"):  # fmt: skip
    try:
        if os.path.isdir(path):
            names = os.listdir(path)
            if names:
                effect(f"{path} lists {names[:5]}")
        elif os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 64):
            effect(f"{path} can be read")
    except OSError:
        pass
for path in ("/tmp", "/dev/shm", "/dev/mqueue", "/run/judge"):
    try:
        left = set(os.listdir(path)) - {"work"}
    except OSError:
        continue
    if left:
        effect(f"{path} holds {left}")
if any(len(open(f"/proc/sysvipc/{kind}").readlines()) > 1 for kind in ("shm", "sem", "msg")):
    effect("somebody's System V objects are visible")
for name in os.listdir("/proc/self/fd"):
    target = os.path.realpath(f"/proc/self/fd/{name}")
    if ("memfd" in target and name not in ("1", "2")) or "socket:" in target:
        effect(f"descriptor {name} is {target}")
try:
    socket.socket(socket.AF_UNIX).connect("/run/judge/socket")
    effect("the judge's door still opens")
except OSError:
    pass


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
