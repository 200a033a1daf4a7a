"""Start and end of a command on its terminal: `photofinish` here, and `runner`. Imports the standard library only."""

import contextlib
import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

NOT_WRITTEN: Final = frozenset((errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))


def run() -> None:
    """Run `photofinish`."""
    start(f"{__package__}.main")


def start(module: str) -> None:
    """Import a command's module and call its `run`. Ctrl-C ends the import, which takes up to a second, silently.

    A signal that this process was started to ignore stays ignored.
    """
    was = signal.getsignal(signal.SIGINT)
    if was is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    command = importlib.import_module(module)
    signal.signal(signal.SIGINT, was)
    command.run()


def on_terminal(command: Callable[[], object]) -> None:
    """Call the command. Exit code 130 after Ctrl-C; 2 for output that cannot be written, 1 if its reader has left."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a substitute replaces characters that the terminal cannot show
    try:
        try:
            command()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except OSError as error:
        if error.errno not in NOT_WRITTEN:
            raise
        if error.errno != errno.EPIPE:  # `photofinish board x | head`: the reader needs no more
            with contextlib.suppress(OSError):
                print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            os.dup2(nowhere, stream.fileno())  # otherwise the interpreter writes again at exit
        sys.exit(1 if error.errno == errno.EPIPE else 2)


if __name__ == "__main__":
    run()
