"""Spare containers import torch for the jobs to come: apart from timed calls, or frozen beside them.

A thread starts them, so that a job waits for the engine only where it needs a container that is not there yet. Where
the host has cores apart from those of all jobs, a tenant's spares run there until they are taken. All others share the
cores of a job, and stand still beside timed calls. Always true: a spare that is taken runs on the cores of its policy;
while `frozen` is open, none is being started, and those that were on a job's cores when it was opened stand still. A
spare that fails costs no job.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sandbox.container import Container, SandboxError

TENANT: Final = "tenant"
ORACLE: Final = "oracle"

log = logging.getLogger("runner.spares")


class Spares:
    """Containers that wait, by kind. `start` starts a container of a kind; `freezes`: whether freezing is a step of
    this host's judging; `apart`: cores of tenants' spares, "" if there are none."""

    def __init__(self, start: Callable[[str], Container], *, freezes: bool, apart: str = "") -> None:
        self._start, self._freezes, self._apart = start, freezes, apart
        self._waiting: dict[str, deque[Container]] = {TENANT: deque(), ORACLE: deque()}  # the oldest first
        self._moved: set[Container] = set()  # to cores apart
        self._is_frozen = False
        self._idle = threading.Event()
        self._idle.set()
        self._start_guard = threading.Lock()  # held while a container is being started
        self._is_over = False

    @property
    def containers(self) -> tuple[Container, ...]:
        return (*self._waiting[TENANT], *self._waiting[ORACLE])

    def have(self, tenants: int) -> None:
        """Begin to start what is missing of so many tenants' containers, and an oracle's beside them."""
        self.settle()
        self._idle.clear()
        try:
            threading.Thread(target=self._fill, args=(tenants,), name="spares").start()
        except RuntimeError as err:  # no further thread
            self._idle.set()
            log.warning("no spare container: %s", err)

    def settle(self) -> None:
        """Wait until no spare is being started."""
        self._idle.wait()

    def end(self) -> None:
        """Start no further spare, and wait until none is being started. A signal that breaks this off, or broke any
        other wait off, leaves it safe to call again."""
        self._is_over = True
        with self._start_guard:
            pass

    def _fill(self, tenants: int) -> None:
        try:
            for kind, count in ((TENANT, tenants), (ORACLE, min(tenants, 1))):
                while len(self._waiting[kind]) < count:
                    with self._start_guard:
                        if self._is_over:
                            return
                        self._waiting[kind].append(self._started(kind))
        except Exception as err:  # the job that would take it starts its own, or says why it cannot
            log.warning("no spare container: %s", err, exc_info=not isinstance(err, (SandboxError, OSError)))
        finally:
            self._idle.set()

    def _started(self, kind: str) -> Container:
        spare = self._start(kind)
        if not self._apart or kind != TENANT:  # an oracle counts more cores than these
            return spare
        try:
            spare.move(self._apart)
        except OSError as err:
            if spare.attached():  # then no other can be moved
                log.warning("spare containers cannot leave the cores of a job: %s", err)
                self._apart = ""
            try:
                _bring_back(spare)
            except OSError:
                self._drop(spare)
                raise SandboxError("a spare container ended, or is on cores that it should not have") from None
        else:
            self._moved.add(spare)
        return spare

    def take(self, kind: str) -> Container:
        """Return the oldest spare of a kind, or a new container. Raises SandboxError, OSError if there is none."""
        while True:
            if not self._waiting[kind]:
                self.settle()
            if not self._waiting[kind]:
                return self._start(kind)
            spare = self._waiting[kind].popleft()
            try:
                spare.thaw()
                if spare in self._moved:
                    self._moved.remove(spare)
                    _bring_back(spare)
            except OSError:
                self._drop(spare)
            else:
                return spare

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Keep all spares frozen that may use the cores of a job. Contexts may lie inside each other."""
        self.settle()
        if self._is_frozen or not self._freezes:
            yield
            return
        self._is_frozen = True
        self._each(self._stand_still)
        try:
            yield
        finally:
            self._is_frozen = False
            self._each(lambda spare: spare.thaw())

    def _each(self, act: Callable[[Container], None]) -> None:
        for kind, waiting in self._waiting.items():
            for spare in list(waiting):
                try:
                    act(spare)
                except OSError:  # it died, or resists
                    self._waiting[kind].remove(spare)
                    self._drop(spare)

    def _stand_still(self, spare: Container) -> None:
        """Freeze it, unless it is where it was moved to: a service manager may have restored its first cores."""
        if not (spare in self._moved and spare.runs_on(self._apart)):
            spare.freeze()

    def _drop(self, spare: Container) -> None:
        self._moved.discard(spare)
        log.warning("a spare container failed: %s", spare.logs())
        spare.close()


def _bring_back(spare: Container) -> None:
    """Move a container to the cores of its policy. Raises OSError."""
    if not spare.runs_on(spare.policy.cpus):
        spare.move(spare.policy.cpus)
