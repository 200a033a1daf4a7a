"""class: arms timers that fire in the kernel while this container is frozen, to slow the baseline down
expect: contained | nothing of a tenant runs while another is timed: the system calls that would do it are refused"""

import ctypes
import sys

import torch

libc = ctypes.CDLL(None, use_errno=True)
CLOCK_MONOTONIC, ITIMER_REAL = 1, 0
TRIED = {
    "timerfd_create": lambda: libc.timerfd_create(CLOCK_MONOTONIC, 0),
    "timer_create": lambda: libc.syscall(222, CLOCK_MONOTONIC, None, ctypes.byref(ctypes.c_int())),
    "setitimer": lambda: libc.setitimer(ITIMER_REAL, ctypes.byref((ctypes.c_long * 4)(100, 0, 100, 0)), None),
    "alarm": lambda: libc.syscall(37, 100),
    "signalfd": lambda: libc.signalfd(-1, ctypes.byref((ctypes.c_ulong * 16)(1 << 39)), 0),
    "io_setup": lambda: libc.syscall(206, 1, ctypes.byref(ctypes.c_long())),
    "io_uring_setup": lambda: libc.syscall(425, 1, None),
    "mq_open": lambda: libc.syscall(240, b"q", 0o102, 0o600, None),
}
for name, call in TRIED.items():
    if call() >= 0:
        sys.stderr.write(f"ATTACK-EFFECT o05_kernel_timers: {name} is allowed\n")


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
