"""class: knocks at every class of system call that could work later, watch others or widen the kernel's open face
expect: contained | what is not on the list answers EPERM (ENOSYS for clone3), whatever its arguments"""

import ctypes
import mmap
import os
import platform
import sys

import torch

libc = ctypes.CDLL(None, use_errno=True)
REFUSED = {  # x86-64 numbers
    "asynchronous": {"io_setup": 206, "io_submit": 209, "io_uring_setup": 425, "io_uring_enter": 426,
                     "io_uring_register": 427, "readahead": 187, "vmsplice": 278, "splice": 275, "tee": 276},
    "clocks": {"timer_create": 222, "timerfd_create": 283, "setitimer": 38, "alarm": 37, "clock_settime": 227,
               "adjtimex": 159, "clock_adjtime": 305, "settimeofday": 164},
    "memory of others": {"process_vm_readv": 310, "process_vm_writev": 311, "ptrace": 101, "process_madvise": 440,
                         "process_mrelease": 448, "pidfd_getfd": 438, "kcmp": 312, "move_pages": 279,
                         "migrate_pages": 256, "userfaultfd": 323, "memfd_secret": 447},
    "placement": {"mbind": 237, "set_mempolicy": 238, "sched_setscheduler": 144, "sched_setattr": 314,
                  "setpriority": 141, "ioprio_set": 251, "sched_setparam": 142},
    "messages": {"mq_open": 240, "mq_notify": 244, "msgget": 68, "signalfd": 282, "signalfd4": 289,
                 "fanotify_init": 300, "lookup_dcookie": 212},
    "privilege": {"mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308,
                  "open_tree": 428, "move_mount": 429, "fsopen": 430, "mount_setattr": 442, "open_by_handle_at": 304,
                  "bpf": 321, "perf_event_open": 298, "init_module": 175, "finit_module": 313, "kexec_load": 246,
                  "keyctl": 250, "add_key": 248, "request_key": 249, "seccomp": 317, "syslog": 103, "quotactl": 179,
                  "swapon": 167, "reboot": 169, "iopl": 172, "ioperm": 173, "modify_ldt": 154, "acct": 163,
                  "sync": 162, "syncfs": 306, "vhangup": 153, "landlock_create_ruleset": 444, "sethostname": 170},
}  # fmt: skip
EPERM = 1
if platform.machine() == "x86_64":
    for kind, calls in REFUSED.items():
        for name, number in calls.items():
            ctypes.set_errno(0)
            if libc.syscall(number, -1, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() != EPERM:
                sys.stderr.write(f"ATTACK-EFFECT o12_system_calls_by_class: {kind}: {name} is open\n")
    for name, code in {
        "32-bit calls": b"\xb8\x14\x00\x00\x00\xcd\x80\xc3",  # mov eax, 20 (getpid); int 0x80; ret
        "x32 calls": b"\xb8\x27\x00\x00\x40\x0f\x05\xc3",  # mov eax, 0x40000027 (getpid); syscall; ret
    }.items():
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
        pid = os.fork()
        if pid == 0:
            os._exit(call() > 0)
        if os.waitpid(pid, 0)[1] == 1 << 8:
            sys.stderr.write(f"ATTACK-EFFECT o12_system_calls_by_class: {name} are answered\n")
for family in (2, 3, 10, 16, 17, 38, 40, 44):  # inet, ax25, inet6, netlink, packet, alg, vsock, xdp
    if libc.socket(family, 3 if family in (16, 17, 44) else 1, 0) != -1 or ctypes.get_errno() != EPERM:
        sys.stderr.write(f"ATTACK-EFFECT o12_system_calls_by_class: sockets of family {family} are open\n")


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
