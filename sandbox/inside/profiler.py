"""First program of a profile's container: runs a case of the submission under a profiler and sends its figures.

It shares no memory with the judge. The inputs, and what was built of the submission ahead, come in files in memory that
nobody can write any more. The answer is a single message of limited size, over the connection that this container made.
With `counters`, this program starts itself once more under Nsight Compute. It holds no secret and, like the harness, is
assumed to be hostile from the moment it imports the submission: the judge believes no number of its answer.
"""

import base64
import gzip
import json
import mmap
import os
import shutil
import socket
import subprocess
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import built
import harness
import native
import protocol
import torch
from torch.profiler import ProfilerActivity, profile, record_function

FOLDER = "/tmp"  # noqa: S108  inside the container
JOB, TRACE, COUNTERS = (f"{FOLDER}/{name}" for name in ("job.json", "trace.json.gz", "counters.ncu-rep"))
NCU = "/usr/local/cuda/bin/ncu"
CALL = "one call of the kernel"  # its range in the trace
WARM_CALLS = 3
MOST_CALLS, CALLS_NS = 20, 1_000_000_000  # that are measured, and their time
MOST_LAUNCHES = 8  # of kernels in a call, each repeated for every set of counters
MOST_OPERATORS, MOST_NAME = 40, 300
MOST_FILES_BYTES = 3_000_000  # all files of an answer
MOST_TEXT = 4_000

clock = time.perf_counter_ns


class Profiled(harness.Harness):  # type: ignore[misc]  # flat beside this file in the image
    """The submission with a single input, in memory of its own."""

    def __init__(self, job: dict[str, Any], inputs: str) -> None:
        """`inputs`: the path of their bytes."""
        self.on_device = job["device"] != "cpu"
        self.sources, self.submission, self.entry = dict(job["files"]), job["submission"], job["entry"]
        self.interface, self.build, self.built = job["interface"], job["build"], -1
        self.rank, self.ranks = 0, 1
        self.function = self.data = self.renewed = self.result = None
        self._layout, self._number = json.loads(job["layout"]), -1
        with open(inputs, "rb") as file:
            pages = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self.inputs = torch.frombuffer(pages, dtype=torch.uint8).to(job["device"])
        size = max(self._layout["output_bytes"], protocol.ALIGN)
        self.outputs = torch.zeros(size, dtype=torch.uint8, device=job["device"])
        for slot in self._layout["slots"]:
            if slot["role"] == "inout":
                begin, end = slot["input"], slot["input"] + slot["nbytes"]
                self.outputs[slot["output"] : slot["output"] + slot["nbytes"]] = self.inputs[begin:end]

    def prepare(self) -> None:
        """Import the submission, and make the calls that may still compile."""
        self._load()
        self._settle(0)
        for _ in range(WARM_CALLS):
            self.call()

    def call(self) -> None:
        self._renew()
        self._work()()
        if self.on_device:
            torch.cuda.synchronize()


def traced(work: Profiled) -> dict[str, Any]:
    """Return times of calls without the profiler, then operators and files of calls under it."""
    work.prepare()
    began = clock()
    work.call()
    calls = max(1, min(MOST_CALLS, CALLS_NS // max(clock() - began, 1)))
    began, worked = clock(), time.process_time_ns()
    for _ in range(calls):
        work.call()
    wall_us, cpu_us = (clock() - began) / calls / 1e3, (time.process_time_ns() - worked) / calls / 1e3
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if work.on_device else [])]
    for count in (1, calls):  # the first profile has the costs of its own start in it
        with profile(activities=kinds, record_shapes=True, acc_events=True) as seen:
            for _ in range(count):
                with record_function(CALL):
                    work.call()
    averages = seen.key_averages()
    operators, outside, inside = [], 0.0, 0.0
    for one in averages:
        on_device = one.device_type.name == "CUDA"
        if one.key == CALL and not on_device:
            outside, inside = one.self_cpu_time_total, one.cpu_time_total
        elif one.key != CALL and on_device == work.on_device:
            us = one.self_device_time_total if work.on_device else one.self_cpu_time_total
            operators.append({"name": one.key[:MOST_NAME], "calls": one.count, "us": us / calls})
    seen.export_chrome_trace(TRACE)
    order = "self_device_time_total" if work.on_device else "self_cpu_time_total"
    table = averages.table(sort_by=order, row_limit=MOST_OPERATORS, max_name_column_width=100)
    return {
        "wall_us": wall_us,
        "cpu_us": cpu_us,
        "cores": len(os.sched_getaffinity(0)),
        # A compiled kernel has no operators: all of its time is its own code.
        "outside": 0.0 if isinstance(work.function, native.Kernel) or not inside else outside / inside,
        "operators": sorted(operators, key=lambda one: -one["us"])[:MOST_OPERATORS],
        "files": packed({"operators.txt": table.encode(), "trace.json.gz": _read(TRACE)}),
    }


def counted(job: dict[str, Any], inputs: str) -> dict[str, Any]:
    """Run this program under Nsight Compute; return its files, or its last words."""
    with open(JOB, "w", encoding="utf-8") as file:
        json.dump({"job": job, "inputs": inputs}, file)
    ncu = shutil.which("ncu") or NCU
    options = ["--config-file", "off", "--target-processes", "application-only", "--profile-from-start", "off"]
    options += ["--set", "full", "--launch-count", str(MOST_LAUNCHES), "--export", COUNTERS]
    try:
        said = _said([ncu, *options, sys.executable, "-I", "-u", os.path.abspath(__file__), JOB])
    except FileNotFoundError:
        return {"said": f"there is no Nsight Compute here: {ncu} is missing"}
    if not os.path.exists(COUNTERS):
        return {"said": said[-MOST_TEXT:].decode(errors="replace")}
    shown = [ncu, "--import", COUNTERS, "--page", "details"]
    files = {"counters.csv": _said([*shown, "--csv"]), "counters.txt": _said(shown)}
    return {"files": packed({**files, "counters.ncu-rep.gz": gzip.compress(_read(COUNTERS))})}


def under_ncu(path: str) -> None:
    """Make the one call whose kernels Nsight Compute measures."""
    with open(path, encoding="utf-8") as file:
        given = json.load(file)
    work = Profiled(given["job"], given["inputs"])
    work.prepare()
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    work.call()
    torch.cuda.profiler.stop()  # type: ignore[no-untyped-call]


def packed(files: dict[str, bytes]) -> dict[str, str]:
    """Return the files as text, the first ones first, as far as there is room."""
    found, room = {}, MOST_FILES_BYTES
    for name, content in files.items():
        if content and len(content) <= room:
            found[name] = base64.b64encode(content).decode()
            room -= len(content)
    return found


def _said(command: list[str]) -> bytes:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).stdout


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def main() -> None:
    harness.set_up()
    if len(sys.argv) > 1:
        under_ncu(sys.argv[1])
        return
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(harness.SOCKET)
    protocol.send(connection, {"ready": protocol.VERSION})
    _, (fd,) = protocol.receive(connection, descriptors=1)
    protocol.send(connection, {"mapped": True})
    job, fds = protocol.receive(connection, descriptors=3)
    harness.print_into(fds[:2])
    inputs = f"/proc/{os.getpid()}/fd/{fd}"
    try:
        if job["has_built"]:
            built.unpack(fds[2], harness.HOME)
        answer = counted(job, inputs) if job["counters"] else traced(Profiled(job, inputs))
    except BaseException as err:  # the submission may raise any exception
        answer = {"failed": harness.explain(err, protocol.CALL, job["submission"])[1]}
    protocol.send(connection, answer)


if __name__ == "__main__":
    main()
