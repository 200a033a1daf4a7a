"""Ranks of a problem for several devices: processes of a submission, threads of the reference.

A submission's ranks are processes of one container, joined by NCCL on GPUs and by gloo on the host; they are frozen and
ended together. The reference's ranks are threads of the oracle, whose collectives copy between their tensors: all data
of a case then lie in one process, in which nothing can be lost between ranks. In both, `torch.distributed` is ready,
and a rank's own device is the current one.
"""

import ctypes
import importlib
import os
import queue
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

PR_SET_PDEATHSIG = 1
LONGEST = timedelta(days=7)  # a frozen container's time counts, too; the judge's limits end a deadlock long before
# Multicast over NVLink needs a right that containers have not, and only loopback is there to meet on. Threads that
# watch over others would take a freeze for a failure.
SETTINGS = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "NVSHMEM_DISABLE_NVLS": "1",
    "NCCL_SOCKET_IFNAME": "lo",
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_RAS_ENABLE": "0",
    "TORCH_NCCL_ENABLE_MONITORING": "0",
}


def fork(ranks: int) -> tuple[int, list[socket.socket]]:
    """Fork all further ranks. Returns this process's rank and its connections: rank 0's to the others, theirs to it.

    No thread runs yet, and no device is in use. A rank ends with rank 0, and rank 0 with any of them.
    """
    links, pids = list[socket.socket](), list[int]()
    for rank in range(1, ranks):
        near, far = socket.socketpair()
        pids.append(os.fork())
        if pids[-1] == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            for link in (near, *links):
                link.close()
            return rank, [far]
        far.close()
        links.append(near)
    for pid in pids:
        threading.Thread(target=_end_with, args=(pid,), daemon=True).start()
    return 0, links


def _end_with(pid: int) -> NoReturn:
    """End this process when a rank ends, with the rank's exit code; with 1 if a submission took that code."""
    code = 1
    with suppress(ChildProcessError):
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


def join(rank: int, ranks: int, meeting: str, *, on_device: bool) -> None:
    """Join the ranks' process group, and wait until all are in it. `meeting`: path of a file in which they meet."""
    os.environ.update(SETTINGS, RANK=str(rank), WORLD_SIZE=str(ranks))
    backend, here = ("nccl", torch.device("cuda", rank)) if on_device else ("gloo", None)
    store = c10d.FileStore(meeting, ranks)
    dist.init_process_group(backend, timeout=LONGEST, world_size=ranks, rank=rank, store=store, device_id=here)
    dist.barrier()


def meet() -> None:
    """Wait for all ranks; alone, do nothing."""
    if dist.is_available() and dist.is_initialized():
        dist.barrier()


class Threads:
    """Ranks as threads of this process. Their collectives are torch's own for tests of distributed code."""

    def __init__(self, ranks: int, *, on_device: bool) -> None:
        multi_threaded_pg: Any = importlib.import_module("torch.testing._internal.distributed.multi_threaded_pg")
        c10d._set_thread_isolation_mode(True)  # type: ignore[attr-defined]  # each thread has a group of the same name
        multi_threaded_pg._install_threaded_pg()
        self._group = multi_threaded_pg.ProcessLocalGroup
        self.ranks = ranks
        self._on_device = on_device
        self._store = c10d.HashStore()
        self._asked: list[queue.SimpleQueue[Callable[[], Any]]] = [queue.SimpleQueue() for _ in range(ranks)]
        self._answers: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
        for rank in range(ranks):
            threading.Thread(target=self._attend, args=(rank,), name=f"rank {rank}", daemon=True).start()
        self.run([partial(self._join, rank) for rank in range(ranks)])

    def run(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run one piece of work a rank, all at once; return their results. Raises the first error of any rank."""
        for asked, work in zip(self._asked, works, strict=True):
            asked.put(work)
        results, errors = [None] * len(works), list[BaseException]()
        for _ in works:
            rank, results[rank], error = self._answers.get()
            if error is not None:
                errors.append(error)
                self._group.exception_handle(error)  # the ranks that wait for this one: they end with SystemExit
        if errors:
            self._group.reset()
            raise min(errors, key=lambda error: isinstance(error, SystemExit))
        return results

    def run_in_turn(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run each rank's piece of work after that of the rank before, as all draw from the same generators."""
        found = []
        for asked, work in zip(self._asked, works, strict=True):
            asked.put(work)
            _, result, error = self._answers.get()
            if error is not None:
                raise error
            found.append(result)
        return found

    def _join(self, rank: int) -> None:
        if self._on_device:
            torch.cuda.set_device(rank)
        dist.init_process_group("threaded", rank=rank, world_size=self.ranks, store=self._store)

    def _attend(self, rank: int) -> None:
        while True:
            work = self._asked[rank].get()
            try:
                self._answers.put((rank, work(), None))
            except BaseException as err:  # a problem's code may raise anything
                self._answers.put((rank, None, err))
