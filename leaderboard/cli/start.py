"""Start of the `photofinish` command: Ctrl-C during loading ends it silently."""

from __future__ import annotations

import signal


def run() -> None:
    """Run the command. A signal that this process was started to ignore stays ignored."""
    was = signal.getsignal(signal.SIGINT)
    if was is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from . import main  # loads for a third of a second; an interrupt would print a traceback

    signal.signal(signal.SIGINT, was)
    main.run()


if __name__ == "__main__":
    run()
