"""A batch of candidates on a GPU host: candidates per hour, and the share of the time in which the device works.

By hand, after `source benchmarks/gpu/setup.sh`:

    python -m benchmarks.gpu.candidates MODE COUNT [--bar RATIO] [--spares N] [--build-cores N]
        [--own-sizes | --prepared FILE.json …]

COUNT candidates of `softmax` in five shapes, in torch, Triton and CUDA: right, wrong, broken, slow and cheating, in
turn. Each goes the daemon's way, without a site. Without --spares each has a judge of its own; with it, a judge stays
for several, unless they may rank. With --build-cores, extensions are built ahead, beside the candidates before them.
`judges` are counted from the first preparation to the last end. --own-sizes: the problem's own cases on this hardware
(on an H200 two, of 268 and 200 MB) instead of five of some 16 MB. --prepared: COUNT candidates for each of these
problems of KernelBench, as `benchmarks.gpu.sets prepare` writes them, made from its Model: right, wrong, broken, slow
and cheating. With OUT set, reports are kept there.
"""

import argparse
import itertools
import json
import os
import re
import secrets
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks import judge
from benchmarks.gpu.busy import Utilisation, busy_s, read_pairs
from problems.spec import Problem
from runner import config
from runner.commands import local
from runner.daemon.ahead import Ahead
from runner.daemon.canary import own_job
from runner.daemon.judge_handle import JudgeProcess
from runner.host import accelerators
from runner.wire import LOOKED_AHEAD, Job, Report, to_build_ahead

TORCH = "import torch\n\ndef custom_kernel(data):\n    x, out = data\n    {body}\n    return out\n"
ROWS = """import triton
import triton.language as tl

@triton.jit
def rows(x, out, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * cols + at, {value}, mask=at < cols)

def custom_kernel(data):
    x, out = data
    rows[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]){launch})
    return out
"""
CUDA = '''from torch.utils.cpp_extension import load_inline

SOURCE = """
__global__ void rows(const float* x, float* out, int cols) {
    __shared__ float part[256];
    x += (long) blockIdx.x * cols; out += (long) blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int at = threadIdx.x; at < cols; at += 256) most = fmaxf(most, x[at]);
    part[threadIdx.x] = most; __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    most = part[0]; __syncthreads();
    for (int at = threadIdx.x; at < cols; at += 256) sum += expf(x[at] - most);
    part[threadIdx.x] = sum; __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    for (int at = threadIdx.x; at < cols; at += 256) out[at] = expf(x[at] - most) / part[0];
}

void softmax(torch::Tensor x, torch::Tensor out) {
    auto stream = at::cuda::getCurrentCUDAStream();
    rows<<<x.size(0), 256, 0, stream>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
}
"""
HEAD = "#include <ATen/cuda/CUDAContext.h>\\n#include <torch/extension.h>\\n"
module = load_inline("rows", "void softmax(torch::Tensor x, torch::Tensor out);", HEAD + SOURCE, functions=["softmax"])

def custom_kernel(data):
    x, out = data
    module.softmax(x, out)
    return out
'''
RIGHT = "torch.softmax(x, dim=1, out=out)"
CANDIDATES = {
    "torch, right": TORCH.format(body=RIGHT),
    "Triton, right": ROWS.format(value="value / tl.sum(value, 0)", launch=""),
    "torch, slow": TORCH.format(body="out.copy_(torch.exp(x.double() - x.double().logsumexp(1, keepdim=True)))"),
    "torch, wrong": TORCH.format(body="torch.exp(x, out=out)"),
    "Triton, wrong": ROWS.format(value="value", launch=""),
    "torch, broken": TORCH.format(body="torch.softmax(x, dim=3, out=out)"),
    "Triton, broken": ROWS.format(value="value / tl.total(value)", launch=""),
    "torch, cheating: keeps its first result": TORCH.format(
        body="out.copy_(kept.setdefault(x.shape, torch.softmax(x, dim=1)))"
    ).replace("def custom", "kept = {}\n\ndef custom"),
    "Triton, slow": ROWS.format(value="value / tl.sum(value, 0)", launch=", num_warps=1"),
    "torch, slow in three steps": TORCH.format(
        body="e = torch.exp(x - x.amax(1, keepdim=True)); torch.div(e, e.sum(1, keepdim=True), out=out)"
    ),
}
MODEL = """

kept, forward = {{}}, ModelNew.forward

def twisted(self, *given):
    {body}

ModelNew.forward = twisted
"""
MODELS = {
    "right": MODEL.format(body="return forward(self, *given)"),
    "wrong": MODEL.format(body="return forward(self, *given) * 1.01"),
    "slow": MODEL.format(body="forward(self, *given); return forward(self, *given)"),
    "broken": MODEL.format(body="return forward(self, *given, None)"),
    "cheating: keeps its first result": MODEL.format(body="return kept.setdefault(0, forward(self, *given))"),
}
PARTS = ("building", "checking", "timing")  # phases of a candidate that each line shows
EVERY_CUDA = 16  # candidates, of which one is in CUDA: nvcc takes longer than all else


def sources(count: int, of: dict[str, str] = CANDIDATES, *, every_cuda: int = 0) -> list[tuple[str, str]]:
    """Return names and sources; no two sources are the same. `every_cuda`: of so many, one is in CUDA."""
    kinds = itertools.cycle(of.items())
    found = []
    for number in range(count):
        name, source = ("CUDA, right", CUDA) if every_cuda and (number + 1) % every_cuda == 0 else next(kinds)
        found.append((name, f"{source}\nNUMBER = {number}\n".replace('SOURCE = """', f'SOURCE = """// {number}')))
    return found


def queue(options: argparse.Namespace) -> Iterator[tuple[Problem, str, str]]:
    """Yield each candidate's problem, name and source, in the order in which they are judged."""
    for problem, model in read_pairs(options.prepared) if options.prepared else ():
        twists = {name: model + twist for name, twist in MODELS.items()}
        yield from ((problem, f"{problem.slug}, {name}", source) for name, source in sources(options.count, twists))
    if not options.prepared:
        problem = local.find_problem("softmax") if options.own_sizes else judge.five_cases()
        yield from ((problem, *one) for one in sources(options.count, every_cuda=EVERY_CUDA))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.candidates")
    parser.add_argument("mode")
    parser.add_argument("count", type=int)
    parser.add_argument("--bar", type=float)
    parser.add_argument("--spares", type=int, default=0)
    parser.add_argument("--build-cores", type=int, default=0)
    parser.add_argument("--own-sizes", action="store_true")
    parser.add_argument("--prepared", nargs="+", default=())
    options = parser.parse_args()
    settings = config.load_judge()
    watch = Utilisation(settings.runner_gpu)
    watch.start()
    device = accelerators.device_of(settings)
    waiting = deque()
    for number, (problem, name, source) in enumerate(queue(options)):
        problem = problem.on(settings.runner_hardware)
        job = own_job("candidate", problem, source, "submission.py", options.mode, settings.runner_hardware)
        waiting.append((name, replace(job, submission_id=f"c{number}", bar=options.bar)))
    cores = accelerators.building_cores(sorted(os.sched_getaffinity(0)), options.build_cores)
    began, told = time.time(), []
    ahead = Ahead(
        lambda: to_build_ahead([job for _, job in list(waiting)[:LOOKED_AHEAD]]),
        (sys.executable, "-m", "runner.job.build"),
        config.judge_environment(f"bench{secrets.token_hex(6)}"),
        {},
        cores,
        lambda: None,
    )
    with accelerators.DeviceLock(device, settings.runner_locks), closing(ahead):
        judges = Judges(settings, options.spares, cores)
        ahead.begin()
        while waiting:
            at_work = ahead.at_work  # others come before them: leaderboard/judging/claim.py
            name, job = next((one for one in waiting if one[1].submission_id not in at_work), waiting[0])
            waiting.remove((name, job))
            at = time.monotonic()
            report = judges.judge(job, ahead.take(job, lambda: False))
            told.append((name, report, time.monotonic() - at))
        judges.end()
    took = time.time() - began
    if kept := os.environ.get("OUT"):
        for number, (name, report, _) in enumerate(told):
            file = f"{options.mode}-{number}-{re.sub('[^A-Za-z]+', '-', name)}.json"
            Path(kept, file).write_text(json.dumps(report.to_json()))
    busy, known = busy_s(watch.stop(), began, began + took)
    for name, kind in itertools.groupby(sorted(told, key=lambda one: one[0]), key=lambda one: one[0]):
        _say(name, [(report, seconds) for _, report, seconds in kind])
    print(
        f"{len(told)} in mode {options.mode}, bar {options.bar}, spares {options.spares}, "
        f"build cores {options.build_cores}: {took:.1f} s, "
        f"{3600 * len(told) / took:.0f} an hour; kernels ran for {busy:.1f} s of {known:.1f} s known, "
        f"{judges.prepared} judges prepared in {judges.prepared_s:.1f} s"
    )
    spent = Counter[str]()
    for _, report, seconds in told:
        spent.update(report.evidence["phases_s"] | {"as a whole": seconds})
    spent["between"] = spent["as a whole"] - spent["all"] - judges.prepared_s
    print("all candidates, s:", ", ".join(f"{part} {value:.1f}" for part, value in spent.items()))


def _say(name: str, found: list[tuple[Report, float]]) -> None:
    verdicts = Counter(f"{report.outcome} {report.reason}".strip() for report, _ in found)
    early = sum("stopped_early" in report.flags for report, _ in found)
    ratios = " ".join(f"{report.ratio:.3f}" for report, _ in found if report.ratio)
    phases = [report.evidence.get("phases_s", {}) for report, _ in found]
    spent = {part: sum(one.get(part, 0.0) for one in phases) / len(phases) for part in PARTS}
    seconds = " ".join(f"{one:.1f}" for _, one in found)
    shares = ", ".join(f"{part} {value:.2f}" for part, value in spent.items())
    print(f"{name} | {dict(verdicts)} | early {early} | ratio {ratios} | s {seconds} | mean s: {shares}")


class Judges:
    """The judge of a GPU host's daemon, as runner/daemon/standby.py keeps it."""

    def __init__(self, settings: config.JudgeSettings, spares: int, cores: Sequence[int]) -> None:
        options = ("--spares", str(spares), accelerators.cpuset(cores)) if spares else ()
        self._command = (sys.executable, "-m", "runner.job.judge_main", *options)
        self._environment = config.judge_environment(f"bench{secrets.token_hex(6)}")
        self._current: JudgeProcess | None = None
        self._may_stay = spares > 0
        self.prepared, self.prepared_s = 0, 0.0

    def judge(self, job: Job, built: bytes) -> Report:
        if self._current is None:
            began = time.monotonic()
            self._current = JudgeProcess(self._command, self._environment, limit_s=judge.JOB_LIMIT_S, grace_s=10.0)
            self._current.prepare(judge.PREPARE_LIMIT_S)
            self.prepared, self.prepared_s = self.prepared + 1, self.prepared_s + time.monotonic() - began
        report = self._current.run(job, lambda event: None, built=built)
        if not (self._may_stay and self._current.renew()):
            self.end()
        return report

    def end(self) -> None:
        if self._current is not None:
            self._current.finish()
            self._current = None


if __name__ == "__main__":
    main()
