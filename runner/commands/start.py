"""Start of the `runner` command: Ctrl-C while it still loads ends it silently."""

from __future__ import annotations

import signal


def run() -> None:
    """Entry point of the command. A signal that this process was started to ignore stays ignored."""
    was = signal.getsignal(signal.SIGINT)
    if was is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from runner.commands import main  # takes a second, in which an interrupt would show a traceback

    signal.signal(signal.SIGINT, was)
    main.run()


if __name__ == "__main__":
    run()
