"""class: leaves its cores, raises its priority, or reaches for the control groups that freeze and limit it
expect: contained | cores and limits are the control group's, whose files it cannot write"""

import ctypes
import glob
import os
import sys

import torch

libc = ctypes.CDLL(None, use_errno=True)


def effect(text):
    sys.stderr.write(f"ATTACK-EFFECT o29_core_escape: {text}\n")


given = os.sched_getaffinity(0)
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
    if os.sched_getaffinity(0) - given:
        effect(f"cores {os.sched_getaffinity(0)} instead of {given}")
except OSError:
    pass
for name, call in {
    "nice": lambda: os.nice(-5),
    "scheduler": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "batch": lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
}.items():
    try:
        call()
        effect(f"{name} could be changed")
    except OSError:
        pass
for path in glob.glob("/sys/fs/cgroup/**", recursive=True):
    if os.path.isfile(path) and os.access(path, os.W_OK):
        try:
            os.close(os.open(path, os.O_WRONLY))
            effect(f"{path} can be written")
        except OSError:
            pass
for path in ("/proc/sys/vm/drop_caches", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/irq"):
    if os.access(path, os.W_OK):
        effect(f"{path} can be written")


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
