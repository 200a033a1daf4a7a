"""Time of a small kernel, by process and by the place of its data; no containers. By hand, on a GPU host.

python -m benchmarks.gpu.places

Three processes at a time with a context each, three times; each works while the rest wait. Each adds 1 to 4 KB, 2 MB
and 64 MB in twelve places, 36 counted calls each behind a gate, with a swept cache, twice. Then a line a size: the
spread of processes, of places within a process, and of two equal rounds.
"""

import json
import statistics
import subprocess
import sys
from typing import Any, Final

SIZES: Final = (1024, 524288, 16777216)
PLACES: Final = 12
APART: Final = 512 << 20  # bytes from one place to the next
CALLS: Final = 36
WARM: Final = 4

Rounds = list[dict[str, list[float]]]  # by size, µs by place


def main() -> None:
    found: list[Rounds] = []
    for _ in range(3):
        programs = [_started() for _ in range(3)]
        for program in programs:
            program.stdout.readline()
        rounds = [[_asked(program) for program in programs] for _ in range(2)]
        found += [list(both) for both in zip(*rounds, strict=True)]
        for program in programs:
            program.stdin.close()
            program.wait()
    print("bytes | processes µs | stray | places within one | two rounds")
    for size in map(str, SIZES):
        _say(size, [[one[size] for one in rounds] for rounds in found])


def _say(size: str, found: list[list[list[float]]]) -> None:
    places = [[statistics.mean(pair) for pair in zip(*rounds, strict=True)] for rounds in found]
    means = [statistics.mean(one) for one in places]
    within = statistics.mean(statistics.pvariance(one) for one in places) ** 0.5
    again = statistics.mean((a - b) ** 2 / 2 for rounds in found for a, b in zip(*rounds, strict=True)) ** 0.5
    said = " ".join(f"{mean:.2f}" for mean in means)
    print(f"{4 * int(size)} | {said} | {statistics.pstdev(means):.3f} | {within:.3f} | {again:.3f}", flush=True)


def _started() -> Any:
    command = [sys.executable, "-m", "benchmarks.gpu.places", "work"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _asked(program: Any) -> dict[str, list[float]]:
    program.stdin.write("go\n")
    program.stdin.flush()
    answer: dict[str, list[float]] = json.loads(program.stdout.readline())
    return answer


def work() -> None:
    """Answer each line of the input with a round."""
    import torch

    inputs, outputs = (torch.zeros(size, dtype=torch.uint8, device="cuda") for size in (8 << 30, 6 << 30))
    sweeper = torch.zeros(3 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    print("ready", flush=True)
    for _ in sys.stdin:
        said: dict[str, list[float]] = {}
        for size in SIZES:
            said[str(size)] = []
            for place in range(PLACES):
                at = place * APART + place * 7919 * 256 % (64 << 20)
                x = inputs[at:][: 4 * size].view(torch.float32)
                out = outputs[at // 2 // 256 * 256 :][: 4 * size].view(torch.float32)
                said[str(size)].append(_midmean_us(x, out, sweeper))
        print(json.dumps(said), flush=True)


def _midmean_us(x: Any, out: Any, sweeper: Any) -> float:
    import torch
    from cuda.bindings import driver

    from runner.evidence import stats

    gate = torch.zeros(1, dtype=torch.int64).pin_memory()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]  # type: ignore[no-untyped-call]
    told = []
    for _ in range(WARM + CALLS):
        torch.cuda.synchronize()
        gate[0] = 0
        sweeper.add_(1)
        driver.cuStreamWaitValue64(torch.cuda.current_stream().cuda_stream, gate.data_ptr(), 1, 1)  # 1: equal
        events[0].record()
        torch.add(x, 1.0, out=out)
        events[1].record()
        gate[0] = 1
        torch.cuda.synchronize()
        told.append(events[0].elapsed_time(events[1]) * 1e3)
    return stats.midmean(told[WARM:])


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        main()
