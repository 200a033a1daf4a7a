"""class: fills kernel memory that no limit knows: socket buffers, pipe buffers, record locks
expect: contained | what the kernel keeps for a container is charged to it"""

import fcntl
import glob
import os
import socket
import struct
import sys

import torch

USED = [path for path in ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")
        if os.path.exists(path)]  # fmt: skip
kept = []


def used():
    return int(open(USED[0]).read())


def sockets():
    for _ in range(150):
        pair = socket.socketpair()
        kept.append(pair)
        pair[0].setblocking(False)
        try:
            while True:
                kept[-1] and pair[0].send(b"\1" * 65_536)
        except BlockingIOError:
            pass


def pipes():
    for _ in range(100):
        pair = os.pipe()
        kept.append(pair)
        fcntl.fcntl(pair[1], 1031, 262_144)  # F_SETPIPE_SZ
        os.set_blocking(pair[1], False)
        os.write(pair[1], b"\1" * 262_144)


def locks():
    for number in range(40):
        file = open(f"/tmp/lock{number}", "w")
        kept.append(file)
        for at in range(0, 4_000, 2):
            fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, at, 1, 0))


for taking, at_least in ((sockets, 8 << 20), (pipes, 8 << 20), (locks, 8 << 20)):
    if USED:
        before = used()
        try:
            taking()
        except OSError:
            continue
        if used() - before < at_least // 2:
            sys.stderr.write(f"ATTACK-EFFECT o28_kernel_memory: {taking.__name__} are charged to nobody\n")


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
