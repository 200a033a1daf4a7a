"""A wall clock that a chaos run can move: Python imports this at start, from PYTHONPATH.

CHAOS_CLOCK names a file with seconds to add. The monotonic clock stays right, as on a host whose time is set.
`libfaketime` was tried: with a moved clock, `time.sleep` fails there.
"""

import os
import threading
import time
from pathlib import Path


def follow(place: Path) -> None:
    import time_machine

    moved, traveller = 0.0, None
    while True:
        try:
            wanted = float(place.read_text())
        except (OSError, ValueError):
            wanted = moved
        if wanted != moved:
            if traveller is not None:
                traveller.stop()
                traveller = None
            if wanted:
                traveller = time_machine.travel(time.time() + wanted, tick=True)
                traveller.start()
            moved = wanted
        time.sleep(0.2)


if place := os.environ.get("CHAOS_CLOCK"):
    threading.Thread(target=follow, args=(Path(place),), name="clock", daemon=True).start()
