"""Stability of the differences between waiting containers. By hand, after `source benchmarks/gpu/setup.sh`.

python -m benchmarks.gpu.waits SETS SECONDS [SECONDS …]

Prepares SETS sets of containers as the daemon does, all of which then wait at the same time. Compares each set at once
and again after SECONDS: by how much a side's calls report more time than the other side's (`contexts`), and by how much
its gap is longer (`gaps`), ns. COMPARED_S of runner/job/prepare.py has the derived figure.
"""

import sys
import time
from contextlib import ExitStack

from runner import config
from runner.evidence import certificate
from runner.host import accelerators
from runner.job.prepare import Prepared, prepared
from runner.judge.sides import tenant


def main() -> None:
    sets, *waits = sys.argv[1:]
    settings = config.load_judge()
    device = accelerators.device_of(settings)
    print("set | seconds waited | contexts, ns | gaps, ns | error of the gaps, ns")
    with accelerators.DeviceLock(device, settings.runner_locks), ExitStack() as stack:
        ready = [stack.enter_context(prepared(settings)) for _ in range(int(sets))]
        began = time.monotonic()
        for wait in (0.0, *sorted(map(float, waits))):
            time.sleep(max(0.0, began + wait - time.monotonic()))
            for number, one in enumerate(ready, 1):
                print(f"{number} | {time.monotonic() - began:.0f} | {line(one)}", flush=True)


def line(ready: Prepared) -> str:
    found = tenant.own_calls(ready.sides).own_calls
    columns = (certificate.device_offsets(found), certificate.gap_offsets(found))
    told, apart = (", ".join(f"{ns:+.0f}" for ns in column.values()) or "unknown" for column in columns)
    sides = list(found.values())
    error = f"{certificate.gap_error_ns(sides[0], sides[1]):.0f}" if len(sides) > 1 and all(sides) else "none"
    return f"{told} | {apart} | {error}"


if __name__ == "__main__":
    main()
