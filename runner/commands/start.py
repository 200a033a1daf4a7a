"""The `runner` command from its first line on: Ctrl-C while it still loads ends it without a word."""

from __future__ import annotations

import signal


def run() -> None:
    """Entry point. A signal that this process was started to ignore stays ignored."""
    was = signal.getsignal(signal.SIGINT)
    if was is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from runner.commands import main  # for a second an exception would be shown wherever it came

    signal.signal(signal.SIGINT, was)
    main.run()


if __name__ == "__main__":
    run()
