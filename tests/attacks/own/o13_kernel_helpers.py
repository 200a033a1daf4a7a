"""class: has the kernel's own threads and helpers work beside the baseline: read ahead, evict, merge, collapse, pair cores
expect: contained | the advice and options that hand work to somebody who is not frozen are refused"""

import ctypes
import mmap
import os
import sys

import torch

libc = ctypes.CDLL(None, use_errno=True)
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.posix_fadvise.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_int]
libc.readahead.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_size_t]
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
LARGE = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
ADVICE = {"WILLNEED": 3, "REMOVE": 9, "MERGEABLE": 12, "COLD": 20, "PAGEOUT": 21, "COLLAPSE": 25}
WILLNEED, DONTNEED = 3, 4
OPTIONS = {"PR_SCHED_CORE": (62, 1, 0, 1, 0), "PR_SET_MEMORY_MERGE": (67, 1, 0, 0, 0), "PR_SET_SECCOMP": (22, 1, 0, 0, 0),
           "PR_SET_SYSCALL_USER_DISPATCH": (59, 0, 0, 0, 0), "PR_SET_MM": (35, 1, 0, 0, 0),
           "PR_SET_SPECULATION_CTRL": (53, 0, 4, 0, 0), "PR_SET_IO_FLUSHER": (57, 1, 0, 0, 0)}  # fmt: skip


def effect(text):
    sys.stderr.write(f"ATTACK-EFFECT o13_kernel_helpers: {text}\n")


memory = mmap.mmap(-1, 4 << 20)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
ctypes.memset(address, 1, 4 << 20)
for name, number in ADVICE.items():
    if libc.madvise(address, 4 << 20, number) == 0:
        effect(f"madvise {name} is allowed")
file = os.open(LARGE, os.O_RDONLY)
if libc.readahead(file, 0, 64 << 20) == 0:
    effect("readahead is allowed")
for name, number in {"WILLNEED": WILLNEED, "DONTNEED": DONTNEED}.items():
    if libc.posix_fadvise(file, 0, 0, number) == 0:
        effect(f"fadvise {name} is allowed")
for name, arguments in OPTIONS.items():
    pid = os.fork()  # in a copy: a strict seccomp mode would end us
    if pid == 0:
        os._exit(1 if libc.prctl(*arguments) == 0 or ctypes.get_errno() != 1 else 0)
    if os.waitpid(pid, 0)[1]:
        effect(f"prctl {name} is open")


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
