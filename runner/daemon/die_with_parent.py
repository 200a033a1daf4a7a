"""Start of a program that dies with its parent: `python -m runner.daemon.die_with_parent PARENT_PID PROGRAM ARGUMENT…`.

The daemon starts the judge through it. It asks the kernel to send SIGKILL when the parent ends in any way, undoes the
daemon's blocked signals, and becomes the program. (A preexec_fn would do the same, but is not safe with threads.)
"""

import ctypes
import os
import signal
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h; survives execve of an ordinary program


def main(arguments: list[str]) -> None:
    parent = int(arguments[0])
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it died before prctl
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.execvp(arguments[1], arguments[1:])  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
