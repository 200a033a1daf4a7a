"""Preparation before a job is known: hardware, cores, containers with torch imported, connected, frozen.

Owns the containers of a job: one per side, and the oracle's. Always true: a submission's side serves one job, an oracle
one problem, and they hold no file of a user or a problem when `prepared` yields. After a job that never ranks, `renew`
keeps the oracle, and a baseline that does not tune itself, for the next job of the same problem, and spare containers
import torch for the jobs to come.
"""

from __future__ import annotations

import gc
import math
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

from problems.spec import Problem
from runner import config
from runner.errors import ConfigError
from runner.evidence.schedule import A, B, Profile
from runner.host import accelerators
from runner.host.image_versions import chosen_image, versions_inside
from runner.job.spares import ORACLE, TENANT, Spares
from runner.judge.data.call import ALL, Steps
from runner.judge.data.faults import OracleFailed
from runner.judge.data.memory import Memory
from runner.judge.device.make import Make
from runner.judge.device.processor import Meter, Others
from runner.judge.sides import tenant
from runner.judge.sides.oracle import Oracle
from runner.judge.sides.tenant import Tenant
from sandbox import container, helper, policy
from sandbox.container import SandboxError

COMPARED_S: Final = 60.0  # how long the offsets between containers are known to stay; longer is not measured


@dataclass(frozen=True)
class Hardware:
    """Device of a job: its make, the judge's memory on it, the equipment of containers."""

    make: Make
    memory: Memory
    profile: Profile
    gpu: policy.Gpu | None
    input_bytes: int
    output_bytes: int
    steps: Steps = ALL

    @classmethod
    def of(cls, settings: config.JudgeSettings, ranks: int = 1) -> Hardware:
        """Return the hardware of these settings, for so many ranks. Raises ConfigError, and SandboxError if a GPU is
        not fit for a job."""
        try:
            steps = Steps.without(settings.runner_leave_out)
        except ValueError as err:
            raise ConfigError(f"RUNNER_LEAVE_OUT: {err}") from None
        make = accelerators.make_of(settings.runner_hardware)
        make.claim(settings.runner_gpu, settings.runner_gpus)
        if wrong := _wrong_with(make, settings):
            raise SandboxError(wrong)
        memory = make.memory(steps, ranks)
        return cls(make, memory, make.profile, make.equipment(settings, ranks), *memory.region_bytes(), steps)

    @property
    def ranks(self) -> int:
        return self.memory.ranks


def _wrong_with(make: Make, settings: config.JudgeSettings) -> str:
    """Return why these devices may not begin a job, with a remedy; "" if they may."""
    for gpu in range(settings.runner_gpu, settings.runner_gpu + settings.runner_gpus):
        if wrong := [f"{fit.name}: {fit.found}. {fit.remedy}" for fit in make.job_fit(gpu) if not fit.ok]:
            return f"GPU {gpu} is not fit to judge: {' '.join(wrong)}"
    return ""


class Prepared:
    """Containers without a job. `sides` by name; a further side can be started after the job is known."""

    def __init__(
        self,
        stack: ExitStack,
        settings: config.JudgeSettings,
        hardware: Hardware,
        cores: accelerators.Cores,
        sides: Sequence[str],
    ) -> None:
        """Start all containers before the first wait: they import torch side by side.

        The order is random: of two allocations the judge copies faster into one, and a kernel reads it faster, by its
        place on a device.
        """
        self.cores = cores
        self.hardware = hardware
        self.sides: dict[str, Tenant] = {}
        self.own_calls = tenant.OwnCalls()
        self.long_problem = ""  # digest of a problem of which each case takes long (certificate.py)
        self._compared_at = 0.0  # inf: the offsets do not matter
        self._stack = stack
        self.settings = settings
        self._born = time.monotonic()
        self._client = helper.Client(settings.runner_helper) if settings.runner_helper else container.connect()
        stack.callback(self._client.close)
        self.images = chosen_image(self._client, settings)
        self.image = self.images[0]
        self._others = Others(self.pids, (*cores.judge, *cores.tenant))
        # Ticks are of those cores alone, but what `pids` used is taken off wherever it ran.
        apart = "" if self._others.counts_ticks else accelerators.cpuset(cores.spares)
        self.spares = Spares(self._start_spare, freezes=hardware.steps.freeze, apart=apart)
        stack.callback(self._others.close)
        for name in random.SystemRandom().sample(list(sides), len(sides)):
            self.start_side(name)
        self.oracle = self._start_oracle()
        self._read = self._fingerprint()
        driver, cpus = str(self._read.get("driver", "")), accelerators.cpuset(cores.oracle)
        # While the containers import torch.
        versions = versions_inside(self._client, settings, gpu=hardware.gpu, cpus=cpus, driver=driver)
        self.fingerprint = {**self._read, **versions}

    def _fingerprint(self) -> dict[str, str | int]:
        """Return the fingerprint; this process itself has a single core."""
        settings = self.settings
        host = accelerators.fingerprint(settings.runner_hardware, settings.runner_gpu)
        return {**host, "cpus": len(self.cores.oracle)}

    def connect(self) -> None:
        """Wait until torch is imported everywhere."""
        self._connect_sides(draws=len(self.sides) > 1)
        self.oracle.connect()
        self._compare()

    def _connect_sides(self, *, draws: bool) -> None:
        """Wait for the sides that are new.

        The order is random, so that no side has the better context by rule. `draws`: on a device, all get contexts
        that are alike, as timing needs them.
        """
        like = next((side for side in self.sides.values() if side.was_connected), None)
        new = [side for side in self.sides.values() if not side.was_connected]
        with self.spares.frozen() if draws else nullcontext():
            for side in random.SystemRandom().sample(new, len(new)):
                side.connect(draws=draws, like=like)
                like = like or side

    def add_side(self, name: str, *, few: bool = False) -> None:
        """Add a side while the job is known already but no file of its submission is in any container."""
        first = next(iter(self.sides.values()))
        self.start_side(name)
        self._connect_sides(draws=bool(first.launches))
        self._compare(few=few)

    @property
    def launches(self) -> dict[str, tenant.Launches]:
        """Launch times of the contexts that were drawn, by side."""
        return {name: side.launches for name, side in self.sides.items() if side.launches}

    def _compare(self, *, few: bool = False) -> None:
        """Measure the offsets between the containers, if more than one is timed."""
        if len(self.sides) > 1:
            with self.spares.frozen():
                self.own_calls = tenant.own_calls(self.sides, few=few)
            self._compared_at = time.monotonic()

    def compared(self) -> tenant.OwnCalls:
        """Return `own_calls`, repeated if they are old: no container may hold a submission yet. Raises SandboxError."""
        if time.monotonic() - self._compared_at > COMPARED_S:
            self._compare()
        return self.own_calls

    def renew(self, *, timed: bool) -> None:
        """Replace each side that had a job by a fresh container, for a further job; `timed`: that may be timed. A
        baseline that can serve further jobs stays.

        All of the last job is over before: what it asked of the oracle, and what it holds of the device's memory. In
        calls of over a millisecond offsets between containers are lost: beside the baseline of such a problem a
        submission is not compared. The baseline's own calls stay, since they show how long a probe takes.
        """
        used = [name for name, side in self.sides.items() if side.had_job and not side.begin_anew()]
        for name in used:
            self.sides.pop(name).close()
        try:
            self.oracle.begin_anew()
        except OracleFailed:  # in what it was asked ahead
            self.another_oracle()
        _release(self.hardware)
        for name in random.SystemRandom().sample(used, len(used)):
            self.start_side(name)
        self._connect_sides(draws=timed)
        if timed and self.long_problem and A in self.sides and self.sides[A].baseline_of == self.long_problem:
            self.own_calls, self._compared_at = self.own_calls.of(A), math.inf
        elif timed:
            self._compare(few=True)

    def take_problem(self, problem: Problem, *, may_rank: bool) -> None:
        """Replace an oracle that another problem was loaded into. End a baseline of another problem; if this job may
        rank, end a baseline that had any job."""
        if self.oracle.problem and self.oracle.problem != problem.digest:
            self.another_oracle()
        self.oracle.problem = problem.digest
        baseline = self.sides.get(A)
        if baseline is not None and baseline.had_job and (may_rank or baseline.baseline_of != problem.digest):
            self.sides.pop(A).close()

    def start_side(self, name: str) -> Tenant:
        """Start a tenant's container, which imports torch from now on; `connect` waits for it."""
        hardware = self.hardware
        made = self.spares.take(TENANT)
        meter, arena = Meter(made.pid, self._others.ns), (hardware.input_bytes, hardware.output_bytes)
        side = Tenant(made, hardware.memory, *arena, hardware.steps, meter)
        self._stack.callback(side.close)
        self.sides[name] = side
        return side

    def start_profiler(self, *, counters: bool) -> container.Container:
        """Start the container of a profiler; `counters`: with the permission to read the device's counters, if this
        host gives any."""
        role = partial(policy.counters, self.settings.runner_counters) if counters else policy.profiler
        return self._start(role, self.cores.tenant)

    def another_oracle(self) -> Oracle:
        """Replace an oracle whose problem failed, with no process left alive. The old oracle is closed first: a device
        need not have room for both."""
        self.oracle.close()
        problem, self.oracle = self.oracle.problem, self._start_oracle()
        self.oracle.problem = problem
        self.oracle.connect()
        return self.oracle

    def unfit(self) -> str:
        """Return why this set, after a wait, must not begin a job; "" while it may."""
        settings = self.settings
        if time.monotonic() - self._born > settings.runner_prepared_s:
            return f"it is older than {settings.runner_prepared_s:g} s"
        if not all(one.attached() for one in self._containers()):
            return "a container ended, or the Docker Engine did"
        try:
            if container.image_id(self._client, settings.sandbox_image) != self.image:
                return f"{settings.sandbox_image} is another image now"
            if accelerators.epoch(self._fingerprint()) != accelerators.epoch(self._read):
                return "the device, its driver or its limits changed"
        except (SandboxError, ConfigError) as err:
            return str(err)
        return _wrong_with(self.hardware.make, settings)

    @property
    def devices(self) -> range:
        """Numbers of the devices that the job runs on."""
        first = self.settings.runner_gpu
        return range(first, first + (1 if self.hardware.make.on_host else self.hardware.ranks))

    def pids(self) -> frozenset[int]:
        """Return the pids of this judge and of the first program in each of its containers."""
        return frozenset({os.getpid(), *(one.pid for one in self._containers())})

    def _containers(self) -> tuple[container.Container, ...]:
        sides = (side.container for side in self.sides.values())
        return (self.oracle.container, *sides, *self.spares.containers)

    def _start_oracle(self) -> Oracle:
        made = self.spares.take(ORACLE)
        hardware, meter = self.hardware, Meter(made.pid, self._others.ns)
        oracle = Oracle(made, hardware.memory, hardware.input_bytes, hardware.output_bytes, meter)
        self._stack.callback(oracle.close)
        return oracle

    def _start_spare(self, kind: str) -> container.Container:
        if kind == ORACLE:
            return self._start(policy.oracle, self.cores.oracle)
        return self._start(policy.tenant, self.cores.tenant)

    def _start(self, role: Callable[..., policy.Policy], cores: Sequence[int]) -> container.Container:
        uid, cpus = accelerators.draw_uid(), accelerators.cpuset(cores)
        role = policy.of_ranks(self.hardware.ranks, role)
        wanted = role(self.image, uid, cpus, self.hardware.gpu)  # by its id: the name may move
        new = self._stack.enter_context(container.Container(self._client, wanted, self.settings.runner_id))
        new.start()
        return new


@contextmanager
def prepared(
    settings: config.JudgeSettings, sides: Sequence[str] = (B, A), ranks: int = 1, beside: Sequence[int] = ()
) -> Iterator[Prepared]:
    """Yield a set of containers for so many ranks and the judge's core, until the context ends. `beside`: cores that
    build beside timed jobs. Raises SandboxError, OSError, ConfigError."""
    before = os.sched_getaffinity(0)
    cores = accelerators.share_out(sorted(before), beside)
    os.sched_setaffinity(0, cores.judge)
    try:
        hardware = Hardware.of(settings, ranks)
        _release(hardware)  # also memory that an exception of the run before held until its traceback was gone
        try:
            with ExitStack() as stack:
                ready = Prepared(stack, settings, hardware, cores, sides)
                try:
                    ready.connect()
                    gc.collect()
                    gc.freeze()  # all that is there for all jobs: a collection between jobs is quick without it
                    yield ready
                finally:
                    try:
                        ready.spares.end()  # before the stack, which must know all containers
                    finally:
                        ready.spares.end()  # a first signal may have broken that off; a second is ignored
        finally:
            ready = None  # type: ignore[assignment]
            gc.unfreeze()
            _release(hardware)
    finally:
        os.sched_setaffinity(0, before)


def _release(hardware: Hardware) -> None:
    """Free inputs and outputs that a job kept in cycles: the next job here needs the room."""
    gc.collect()
    hardware.memory.release()
