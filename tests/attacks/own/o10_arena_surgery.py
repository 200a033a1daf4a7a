"""class: takes pages from under the judge, or a way to write its orders: truncate, punch, reopen, remap, /proc/self/mem
expect: contained | sizes are sealed, orders are sealed for reading, and nothing can be reopened"""

import ctypes
import fcntl
import os
import sys

import torch

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
libc.mremap.restype = ctypes.c_void_p
READ_WRITE, REMOVE, COLLAPSE, MAYMOVE = 3, 9, 25, 1
tried = False


def effect(text):
    sys.stderr.write(f"ATTACK-EFFECT o10_arena_surgery: {text}\n")


def mappings():
    """(start, length, rights, name) of each of this process's memfds."""
    for line in open("/proc/self/maps"):
        where, rights, _, _, _, *name = line.split()
        if name and name[0].startswith("/memfd:"):
            start, end = (int(part, 16) for part in where.split("-"))
            yield start, end - start, rights, name[0]


def operate():
    for start, length, rights, name in list(mappings()):
        try:
            fd = os.open(f"/proc/self/map_files/{start:x}-{start + length:x}", os.O_RDWR)
            effect(f"{name} was reopened")
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
            os.ftruncate(fd, 0)
        except OSError:
            pass
        if "w" not in rights:
            if libc.mprotect(start, length, READ_WRITE) == 0:
                effect(f"{name} was made writable")
            try:
                with open("/proc/self/mem", "r+b", buffering=0) as memory:
                    memory.seek(start)
                    if memory.write(b"\0" * 8):
                        effect(f"{name} was written through /proc/self/mem")
            except OSError:
                pass
        if libc.madvise(start, min(length, 1 << 20), REMOVE) == 0:
            effect(f"a hole was punched into {name}")
        if libc.madvise(start, length, COLLAPSE) == 0:
            effect(f"{name} was moved to huge pages")
        grown = libc.mremap(start, length, 2 * length, MAYMOVE, None)
        if grown not in (None, ctypes.c_void_p(-1).value):
            libc.mremap(grown, 2 * length, length, 0, None)  # legal: what lies beyond the end cannot be touched


def custom_kernel(data):
    global tried
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    if not tried and x.numel() > 1_000:
        tried = True
        pid = os.fork()  # in a copy: mappings that move must not hurt the original
        if pid == 0:
            operate()
            os._exit(0)
        os.waitpid(pid, 0)
    return out
