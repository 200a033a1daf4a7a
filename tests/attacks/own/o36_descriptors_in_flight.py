"""class: has the kernel's own workers collect nested sockets beside the baseline: descriptors in flight are freed later, by nobody's thread
expect: contained | no descriptor can be sent, so that a socket is gone when it is closed"""

import array
import ctypes
import os
import socket
import sys

import torch


def effect(text):
    sys.stderr.write(f"ATTACK-EFFECT o36_descriptors_in_flight: {text}\n")


left, right = socket.socketpair()
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [left.fileno(), right.fileno()]))]
try:
    left.sendmsg([b"x"], rights)
    effect("a socket lies in its own queue, where only the kernel's collector finds it")
except OSError:
    pass
left.close(), right.close()
for name, number in {"sendmsg": 46, "sendmmsg": 307}.items():  # x86-64
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, -1, 0, 0, 0) == 0 or ctypes.get_errno() != 1:
        effect(f"{name} is open: {os.strerror(ctypes.get_errno())}")


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
