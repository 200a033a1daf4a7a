"""A tenant as the judge sees it: its container, its arena, and the course of a call.

Always true: outside a call the container is frozen (if this host allows it); every wait has a deadline; after the first
order every failure is the submission's fault.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from problems.spec import MODEL, Case
from runner.evidence.certificate import LARGE_BYTES
from runner.evidence.sample import Sample
from runner.judge.data import faults
from runner.judge.data.call import ALL, HANDS_OFF, Call, Input, Steps, WallClock
from runner.judge.data.layout import Buffer, Layout
from runner.judge.data.memory import Look, Memory, NoMemory, Shot
from runner.judge.data.room import PLACES
from runner.judge.device.processor import Meter
from runner.judge.sides.arena import START_S, Arena, Orders, Place, connect, died
from sandbox import protocol
from sandbox.container import Container, SandboxError

QUEUE_NS: Final = 100_000_000  # to hand a call's work to the device; then again for the device to do it
FIRST_QUEUE_NS: Final = 5_000_000  # to hand over the work of a side's first call of a case, whose time does not count
AWAIT_S: Final = 0.0005  # between two looks whether a call is done that does not count as queued
RELEASE_NS: Final = 10_000_000_000  # for reading one output; twice that when its tenant is dead
PAUSES: Final = 8  # after one series in this many, some time passes before the outputs are compared again,
LONGEST_PAUSE_US: Final = 2_000  # up to this much

OWN_WARM_CALLS: Final = 8  # of the harness's own kernel, of each side; not counted
OWN_ROUNDS: Final = 16
FEW_OWN_ROUNDS: Final = 12  # where no result can rank; certificate.LEAST_OWN_CALLS of each order must have been queued
OWN_CALLS: Final = {protocol.OWN: 8, protocol.OWN_LONG: 4, protocol.OWN_LEAN: 8}  # of each side in a round, by order
FEW_OWN_CALLS: Final = OWN_CALLS | {protocol.OWN_LEAN: 4}  # a lean call is a series of its own, which takes 3 ms
COPY_ROUNDS: Final = 8  # at the least; every place has its turn
COPY_WARM_ROUNDS: Final = 1  # before them, not counted

SEALS: Final = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE

Samples = dict[str, list[Sample]]
Timed = tuple[Sample, bool]  # of a call, and whether it was queued


@dataclass(frozen=True)
class Wanted:
    """A call to make: its input, the buffer for the whole output, whether it finds the cache as it is, and the order by
    which its work is handed over: of the submission, lean, or of the harness's own kernel. A lean call tells no
    time."""

    given: Input
    into: Buffer
    hot: bool = False
    order: int = protocol.QUEUE


@dataclass
class OwnCalls:
    """Samples of queued calls of the harness's own kernel, by side; the names are those of Evidence."""

    own_calls: Samples = field(default_factory=dict)
    own_long: Samples = field(default_factory=dict)  # of longer vectors
    own_lean: Samples = field(default_factory=dict)  # the same, lean

    def of(self, side: str) -> OwnCalls:
        """Return those of one side."""
        return OwnCalls(*({side: found[side]} if side in found else {} for found in vars(self).values()))


Launches = list[tuple[float, float]]  # ns of a launch of two kernels of the harness
CopyTimes = dict[str, list[tuple[int, int]]]  # putting and taking, in ns, by side


class Tenant:
    """A submission in its container. Use: start, connect, load, then `lay_out` and `call` as often as needed."""

    def __init__(
        self,
        container: Container,
        memory: Memory,
        input_bytes: int,
        output_bytes: int,
        steps: Steps = ALL,
        meter: Meter | None = None,
    ) -> None:
        self.meter = meter
        self.container = container
        self.certified = False  # whether this host can freeze it
        self.own_in_series = False  # whether the last own calls were
        self.launches: Launches = []  # of the contexts that were drawn; the last is in use
        self.had_job = False  # whether files of a job may be in it
        self.is_loaded = False  # whether it has its sources, and obeys orders
        self.baseline_of = ""  # digest of the problem whose baseline it has, if further jobs may find it loaded
        self.free_before: int | None = None  # bytes of shared memory, before any code of the baseline's first job
        self.device_s = 0.0  # of all calls: from the clock's start until the output is read and no code runs any more
        self.steps_s = 0.0  # of all calls: every step, also those before and after the clock
        self._clock = WallClock()
        self._steps = steps
        self._arena = Arena(memory, input_bytes, output_bytes)
        self._orders = Orders(container, self._arena, self._clock, meter)
        self._connection: socket.socket | None = None
        self._laid_out = b""
        self._moves = True
        self._is_due = False
        self._sizes = (-1, -1)  # size of the data that places were drawn for
        self._is_fresh = False  # whether no call has used the current place yet

    def connect(self, *, draws: bool = False, like: Tenant | None = None) -> None:
        """Wait until the harness is ready: torch imported, the arena mapped, no file of a submission in it.

        `draws`: the container first draws a context that launches kernels as fast as that of the side `like`, or, for
        the first side, a fast context. The device must be idle meanwhile.
        """
        arena = self._arena

        def draw(connection: socket.socket) -> None:
            if draws and arena.memory.draws:
                wanted = like.launches[-1] if like else None
                protocol.send(connection, {"draw": arena.memory.module, "like": wanted})
                answer, _ = protocol.receive(connection, deadline_ns=time.monotonic_ns() + START_S * 10**9)
                try:
                    self.launches = [(float(increment), float(nothing)) for increment, nothing in answer["drawn"]]
                except (KeyError, TypeError, ValueError) as err:
                    raise SandboxError(f"a container told no launch times: {err!r}") from None

        sizes = arena.inputs.size, arena.outputs.size
        self._connection = connect(self.container, arena.memory, *sizes, arena.descriptors, draw)
        if not self._steps.freeze:
            self.container.never_freeze()
        self.certified = self.container.freezer is not None and not self._steps.left_out
        self.container.freeze()

    def load(
        self,
        files: dict[str, str],
        submission: str,
        entry: str,
        interface: str,
        limit_s: float,
        build: dict[str, Any] | None = None,
        built: bytes = b"",
    ) -> None:
        """Hand over the sources and import the submission, or compile it as `build` specifies. `built`: the files that
        the same import left before (runner/job/build.py). Raises Fault."""
        assert self._connection is not None
        self.had_job = True
        self.container.thaw()
        self._connection.settimeout(START_S)
        self._moves = interface != MODEL  # a Model is constructed anew at every place
        job = {"files": files, "submission": submission, "entry": entry, "interface": interface, "build": build}
        with in_memory(built) as archive:
            descriptors = (*self.container.printed, *([archive] if built else []))
            protocol.send(self._connection, {**job, "has_built": bool(built)}, descriptors)
        self._connection.close()
        self._connection = None
        self._orders.give(protocol.LOAD, b"", limit_s, faults.BUILD)
        self._freeze(faults.BUILD)
        self.is_loaded = True

    def own_calls(self, order: int, count: int) -> list[Call]:
        """Make calls of the harness's own kernel by this order: their extra time is this context's own. A baseline may
        be loaded, no submission. Raises SandboxError."""
        assert self._connection is not None or self.baseline_of
        size = protocol.OWN_BYTES[order]
        memory, layout = self._arena.memory, Layout((), 2 * size, size, b"")
        self._spread(layout)
        try:
            inputs, into = memory.buffer(layout.input_bytes), memory.buffer(layout.output_bytes)
            given = Input(0, "", 0, layout, inputs, inputs)
            # As in a block: a lean call ends its series, and all others have a next one.
            self.own_in_series = self.in_series
            more = 1 if self.in_series and order != protocol.OWN_LEAN else 0
            if self._connection is not None:
                protocol.send(self._connection, {"orders": 2 * (count + more)})
            made = list[Call]()
            while len(made) < count + more:
                left = 1 if order == protocol.OWN_LEAN else count + more - len(made)
                made += self.series([Wanted(given, into, order=order)] * left, START_S)
            self.device_s = self.steps_s = 0.0  # they belong to no job
            return made[:count]
        except faults.Fault as fault:
            raise SandboxError(f"a container failed before there was a job in it: {fault}") from None
        except NoMemory as err:
            raise SandboxError(f"before there was a job in any container: {err}") from None

    def lay_out(self, layout: Layout, limit_s: float) -> None:
        """Send the harness the places of the tensors, without their contents."""
        moved = self._spread(layout) or self._is_due
        if moved:
            self._arena.move()
            self._is_due, self._is_fresh = False, True
        if moved or layout.text != self._laid_out:
            self._thaw(faults.CALL)
            when = faults.CALL if self._moves else faults.CONSTRUCTION
            self._orders.give(protocol.LAYOUT, layout.text, limit_s, when)
            self._freeze(faults.CALL)
            self._laid_out = layout.text

    def forget(self, limit_s: float) -> None:
        """Have the allocator of its code give back the memory that it keeps for further calls."""
        self._thaw(faults.CALL)
        self._orders.give(protocol.FORGET, b"", limit_s, faults.CALL)
        self._freeze(faults.CALL)

    def begin_anew(self) -> bool:
        """Return whether it serves a further job: a baseline that is alive, without memory that its allocator keeps.
        The job finds it not loaded, until it loads the same baseline."""
        if not self.baseline_of:
            return False
        try:
            self.forget(START_S)
        except faults.Fault:
            return False
        self.is_loaded, self.device_s, self.steps_s = False, 0.0, 0.0
        return True

    def _spread(self, layout: Layout) -> bool:
        """Draw places, if there are none for data of this size. Returns whether it drew."""
        sizes = layout.input_bytes, layout.output_bytes
        if sizes == self._sizes:
            return False
        self._arena.spread(layout)
        self._sizes = sizes
        return True

    @property
    def polled_ns(self) -> int:
        """Total time that the judge has waited for this container's answers."""
        return self._orders.polled_ns

    @property
    def whereabouts(self) -> list[tuple[int, int]]:
        """Places that the data take in turn."""
        return list(self._arena.places) if self._moves else [self._arena.place]

    def holds(self, place: tuple[int, int], layout: Layout) -> bool:
        return self._arena.holds(place, layout)

    def begin_turns(self) -> int:
        """Start a round in which each place has its turn, if calls are queued. Returns the number of calls in the
        round: places of the next data are not drawn yet."""
        self._arena.begin_turns()
        self._is_fresh = False
        return PLACES if self._moves else 1

    def move(self) -> None:
        """Move the data before the next call. Data of queued calls always move."""
        self._is_due = self._moves and self._arena.memory.moves

    def time_copies(self, given: Input, place: tuple[int, int], into: Buffer) -> tuple[int, int]:
        """Return how long the judge's device puts and takes at this place, in ns, while no code of this container
        runs."""
        nonce = self._orders.nonce()
        self._arena.go_to(place)
        self._arena.stage(given.layout, given.inputs)
        shot = self._arena.shoot(given.layout, given.inputs, into, nonce, gated=False)
        shot.fire()
        self._release(shot, nonce)
        return shot.times_ns()[1:]

    def call(
        self,
        given: Input,
        into: Buffer,
        limit_s: float,
        *,
        idle: bool = False,
        hot: bool = False,
        queue: bool = True,
    ) -> Call:
        """Make a call; `into` receives the whole output.

        `idle`: the same course without the call. `hot`: the cache is left as it is. `queue`: a device gets its work
        beforehand, if it and the submission can (`series`).

        Poison the output; with all threads frozen start the clock, copy the inputs in, let the tenant go, copy the
        whole output away, stop the clock. Then check whether the inputs are unchanged and, at times after a pause,
        whether the output still is. certificate.py defines which part of the time counts. Raises Fault.
        """
        if queue and self.queues and not idle:
            return self.series([Wanted(given, into, hot)], limit_s)[0]
        arena, self._is_fresh = self._arena, False
        by_device = arena.can_wait and self._steps.arm and self._steps.read
        course, kind = self._by_device if by_device else self._by_host, protocol.IDLE if idle else protocol.CALL
        with arena.memory.together():
            arena.stage(given.layout, given.inputs)
        (made,) = self._made(
            [Wanted(given, into)], [arena.place], lambda: [(course(given, into, limit_s, kind, hot=hot), False)]
        )
        return made

    def series(self, wanted: Sequence[Wanted], limit_s: float, *, is_first: bool = False) -> list[Call]:
        """Make queued calls, all of the same layout, each with the steps of `call`. `is_first`: the first call of a
        case. Code often loads a module in it, for which a device wants its queue empty, and so waits for the gate.

        The container hands over the work of several calls, one after the other, and is frozen once for all of them.
        Each has a place of its own for its data, so that in the end every output can be looked at once more; where
        places overlap, a series is one call. Returns the outcomes of as many calls as it made, up to the first whose
        work could not be handed over.
        """
        if self._moves and not self._is_fresh:
            self._arena.move()
        self._is_fresh = False
        places = self._arena.next_places(len(wanted) if self.in_series else 1)
        wanted = wanted[: len(places)]
        return self._made(wanted, places, lambda: self._queued(wanted, places, limit_s, is_first=is_first))

    def _made(self, wanted: Sequence[Wanted], places: Sequence[Place], course: Callable[[], list[Timed]]) -> list[Call]:
        """Take the steps of calls before and after their course, which is theirs up to the frozen container."""
        arena, memory, layout = self._arena, self._arena.memory, wanted[0].given.layout
        entered = self._clock.now_ns()
        with memory.together():
            for place in places:
                arena.go_to(place)
                arena.poison(layout, secrets.randbits(64))
        with HANDS_OFF:
            try:
                probe_ns = memory.probe_ns()
                began = self._clock.now_ns()
                timed = course()
                self.device_s += (self._clock.now_ns() - began) / 1e9
            except faults.Fault as fault:
                if faults.obeys_after(fault):
                    self._freeze(faults.CALL)
                raise
            except Exception:  # the judge's own want of memory, or failure, may find it thawed
                self.baseline_of = ""  # it has calls begun whose times nobody asked for
                with suppress(faults.Fault):
                    self._freeze(faults.CALL)
                raise
        if secrets.randbelow(PAUSES) == 0:  # no code can know after which calls
            time.sleep(secrets.randbelow(LONGEST_PAUSE_US) / 1e6)
        looks: list[Look] = []
        for one, place, _ in zip(wanted, places, timed, strict=False):
            arena.go_to(place)
            looks += [arena.look_at_inputs(layout, one.given.inputs), arena.look_at_outputs(layout, one.into)]
        same = memory.all_same(looks)
        self.steps_s += (self._clock.now_ns() - entered) / 1e9
        return [
            Call(sample._replace(probe_ns=probe_ns), inputs_kept=kept, late=not still, queued=queued)
            for (sample, queued), kept, still in zip(timed, same[::2], same[1::2], strict=True)
        ]

    def _by_host(self, given: Input, into: Buffer, limit_s: float, kind: int, *, hot: bool) -> Sample:
        """Copy and time a call on the judge's host; an order lets the tenant go."""
        arena, layout, now = self._arena, given.layout, self._clock.now_ns
        nonce = self._orders.nonce()
        start = now()
        arena.put_inputs(layout, given.inputs, hot=hot)
        put = now()
        start = start if self._steps.early else put
        self._orders.write(kind, b"", nonce)
        self._thaw(faults.CALL)
        thawed = now()
        if arena.memory.frozen_stands_still:
            inner_ns = self._orders.answer((kind, nonce), limit_s, faults.CALL)
            freeze_ns = self._freeze(faults.CALL)
        else:  # the snapshot's contents were there before `end`, frozen or not
            self._orders.wait(nonce, limit_s, faults.CALL, by_device=True)
        seen = now()
        arena.take_outputs(layout, into)
        end = now() if self._steps.read else seen
        if not arena.memory.frozen_stands_still:
            inner_ns = self._orders.answer((kind, nonce), limit_s, faults.CALL)
            freeze_ns = self._freeze(faults.CALL)
        return Sample(end - start, put - start, end - seen, inner_ns, 0, thawed - put, freeze_ns)

    def _by_device(self, given: Input, into: Buffer, limit_s: float, kind: int, *, hot: bool) -> Sample:
        """Copy and time a call on the judge's device; an order lets the tenant go when its inputs have come."""
        nonce, now = self._orders.nonce(), self._clock.now_ns
        shot = self._arena.shoot(given.layout, given.inputs, into, nonce, gated=False, hot=hot)
        with self._releasing([shot], [nonce]):
            shot.fire()
            give_up = now() + RELEASE_NS
            while not shot.is_put():
                if now() > give_up:
                    raise SandboxError("the device did not copy an input in time")
            ordered = now()
            self._orders.write(kind, b"", nonce)
            self._thaw(faults.CALL)
            thawed = now()
            self._orders.wait(nonce, limit_s, faults.CALL, by_device=True)
            self._release(shot, nonce)
            inner_ns = self._orders.answer((kind, nonce), limit_s, faults.CALL)
            freeze_ns = self._freeze(faults.CALL)
        return self._timed(shot, inner_ns, thawed - ordered, freeze_ns)

    def _queued(
        self, wanted: Sequence[Wanted], places: Sequence[Place], limit_s: float, *, is_first: bool
    ) -> list[Timed]:
        """Queue calls: the tenant's device gets their work first, and each waits at its gate. Then, with every host
        thread frozen, the judge's device copies a call's inputs in, opens its gate, waits for the echo and reads; the
        next call follows.

        Code that waits for its device while it still hands out work is not ready in time, and neither is work that
        needs the host, or for which the device's queue has no room: that gate then opens with the tenant running, and
        the call does not count as queued, nor do those before it. No other call is handed over after it.
        """
        orders, now = self._orders, self._clock.now_ns
        shots, nonces = list[Shot](), list[int]()
        began = now()
        self._thaw(faults.CALL)
        thaw_ns = now() - began
        with self._releasing(shots, nonces):
            queue_ns = FIRST_QUEUE_NS if is_first else QUEUE_NS
            ready, done = self._hand_over(wanted, places, shots, nonces, queue_ns, limit_s), 0
            if ready == len(shots):
                self._freeze(faults.CALL)
                while done < ready and self._is_done_alone(shots[done]):
                    done += 1
                self._thaw(faults.CALL)
            inner_ns, began = list[int](), now()
            for number, shot in enumerate(shots):
                # The limit of one call is that of all.
                left_s = max(limit_s - (now() - began) // 10**9, min(limit_s, 1.0))
                if number >= done:
                    shot.fire()
                if number < ready < len(shots):  # the container is still at work on its last order
                    self._await(shot, left_s)
                    continue
                if number == ready:
                    orders.answer((wanted[number].order, nonces[number]), left_s, faults.CALL)
                while len(inner_ns) <= number:
                    inner_ns.append(orders.give(protocol.TELL, b"", left_s, faults.CALL))
                if number >= done:
                    self._release(shot, nonces[number])
        freeze_ns = self._freeze(faults.CALL)
        return [
            (self._timed(shot, told_ns, thaw_ns, freeze_ns), number < done)
            for number, (shot, told_ns) in enumerate(zip(shots, inner_ns, strict=True))
        ]

    def _hand_over(
        self,
        wanted: Sequence[Wanted],
        places: Sequence[Place],
        shots: list[Shot],
        nonces: list[int],
        queue_ns: int,
        limit_s: float,
    ) -> int:
        """Have both devices get the work of calls, up to the first that is not ready after `queue_ns`. Appends their
        shots and nonces. Returns how many are ready."""
        arena, orders = self._arena, self._orders
        for number, (one, place) in enumerate(zip(wanted, places, strict=True)):
            nonces.append(orders.nonce())
            arena.go_to(place)
            orders.write(one.order, b"", nonces[-1])
            # While the container hands over the call's work, which no clock measures:
            arena.stage(one.given.layout, one.given.inputs)
            shot = arena.shoot(one.given.layout, one.given.inputs, one.into, nonces[-1], gated=True, hot=one.hot)
            shots.append(shot)
            if not orders.echoed(nonces[-1], queue_ns):
                return number
            orders.answer((one.order, nonces[-1]), limit_s, faults.CALL)
        return len(shots)

    def _is_done_alone(self, shot: Shot) -> bool:
        """Start a shot, and return whether the devices did all its work while every host thread was frozen."""
        waited = shot.fire()  # else inputs came while code may have run
        give_up = self._clock.now_ns() + QUEUE_NS
        while not shot.is_done() and self._clock.now_ns() <= give_up:
            pass
        return waited and shot.is_done()

    def _await(self, shot: Shot, limit_s: float) -> None:
        """Wait until the devices have done a shot's work."""
        give_up = self._clock.now_ns() + int(limit_s * 1e9)
        while not shot.is_done():
            if not self.container.alive():
                raise died(self.container, faults.CALL)
            if self._clock.now_ns() > give_up:
                raise faults.from_timeout(limit_s, faults.CALL)
            time.sleep(AWAIT_S)

    def _timed(self, shot: Shot, inner_ns: int, thaw_ns: int, freeze_ns: int) -> Sample:
        wall_ns, put_ns, take_ns = shot.times_ns()
        wall_ns -= 0 if self._steps.early else put_ns
        return Sample(wall_ns, put_ns, take_ns, inner_ns, 0, thaw_ns, freeze_ns)

    def _freeze(self, when: str) -> int:
        """Freeze the container and return the time it took, in ns. A container that resists, or died meanwhile, is at
        fault."""
        start = self._clock.now_ns()
        try:
            self.container.freeze()
        except TimeoutError:
            raise faults.Fault("policy", "unfreezable", f"Your code could not be stopped {when}.") from None
        except OSError:
            raise died(self.container, when) from None
        return self._clock.now_ns() - start

    def _thaw(self, when: str) -> None:
        try:
            self.container.thaw()
        except OSError:
            raise died(self.container, when) from None

    @property
    def queues(self) -> bool:
        """Whether a device can get a call's work beforehand."""
        steps = self._steps
        return self._arena.can_wait and steps.arm and steps.read and steps.queue

    @property
    def leans(self) -> bool:
        """Whether calls can be lean, and own calls show what such a call costs."""
        arena, size = self._arena, protocol.OWN_BYTES[protocol.OWN_LEAN]
        has_room = arena.inputs.size >= 2 * size and arena.outputs.size >= size
        return self.queues and arena.memory.ranks == 1 and has_room

    @property
    def in_series(self) -> bool:
        """Whether a series of queued calls with the data of now has more than one."""
        return self._moves and self._arena.memory.ranks == 1 and self._arena.are_apart

    @contextmanager
    def _releasing(self, shots: Sequence[Shot], nonces: Sequence[int]) -> Iterator[None]:
        """Never leave a device waiting. A tenant that reported a failed call may get further orders."""
        try:
            yield
        except BaseException as err:
            for shot in shots:
                with suppress(Exception):
                    shot.fire()
            if not all(shot.is_done() for shot in shots):
                if not (faults.obeys_after(err) or isinstance(err, NoMemory)):
                    self.container.kill()
                for shot, nonce in zip(shots, nonces, strict=False):
                    self._release(shot, nonce)
            if len(nonces) > len(shots):  # both devices may wait for a call that was not handed over
                for page in self._arena.pages:
                    protocol.write_gate(page, nonces[-1])
                    protocol.write_echo(page, nonces[-1])
            raise

    def _release(self, shot: Shot, nonce: int) -> None:
        """Wait until the judge's device has read the output. If no device echoed, the judge does, as often as
        necessary: a hostile tenant may write there, too, for as long as it lives. Raises SandboxError."""
        give_up = self._clock.now_ns() + RELEASE_NS
        while not shot.is_done():
            for page in self._arena.pages:
                if protocol.read_echo(page) != nonce:
                    protocol.write_echo(page, nonce)
            if self._clock.now_ns() > give_up:
                self.container.kill()
                if self._clock.now_ns() > give_up + RELEASE_NS:
                    raise SandboxError("the device did not read an output in time")

    @property
    def was_connected(self) -> bool:
        """Whether its harness was ready once."""
        return self.had_job or self._connection is not None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self.container.close()
        self._arena.close()


@contextmanager
def in_memory(content: bytes) -> Iterator[int]:
    """Yield a descriptor for reading a file of this content, sealed."""
    descriptor = os.memfd_create("built", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


# -- differences between containers ---------------------------------------------------------------------------------


def own_calls(sides: Mapping[str, Tenant], *, few: bool = False) -> OwnCalls:
    """Return queued calls of the harness's own kernel; none if no device does calls by itself. `few`: for a job whose
    result cannot rank.

    They are made while no submission is loaded; certificate.py derives the timing offsets between sides from them.
    """
    found = OwnCalls()
    if not all(side.queues for side in sides.values()):
        return found
    _make_own_calls(sides, few, {protocol.OWN: found.own_calls})
    if all(side.leans for side in sides.values()):
        _make_own_calls(sides, few, {protocol.OWN_LONG: found.own_long, protocol.OWN_LEAN: found.own_lean})
    return found


def _make_own_calls(sides: Mapping[str, Tenant], few: bool, into: Mapping[int, Samples]) -> None:
    """Make own calls by these orders, whose data are equally large; orders and sides take turns."""
    rounds, calls = (FEW_OWN_ROUNDS, FEW_OWN_CALLS) if few else (OWN_ROUNDS, OWN_CALLS)
    for order, samples in into.items():
        samples.update({name: [] for name in sides})
        for side in sides.values():
            side.own_calls(order, OWN_WARM_CALLS)
    for number in range(rounds):
        for order, samples in into.items():
            for name in sorted(sides, reverse=number % 2 > 0):
                made = sides[name].own_calls(order, calls[order])
                samples[name] += [call.sample for call in made if call.queued]


@dataclass(frozen=True)
class Copies:
    """Places of a case's data by side, for a later timing of the copies. Call `time` when foreign code has ended.

    The judge's own copying lies in every call's wall time, and two containers' allocations differ: on an H200 by half a
    per cent of it, which is 8 µs if a call brings 2.7 GB (docs/lab-notebook). Work of a candidate's device during the
    copying lies in the same time. The same copies are therefore timed again when no foreign code runs any more, and
    that time is taken off both sides' gaps, as far as certificate.py believes it.
    """

    case: Case
    places: dict[str, list[tuple[int, int]]]

    @classmethod
    def of(cls, case: Case, layout: Layout, sides: Mapping[str, Tenant]) -> Copies | None:
        """Return the current places; None if the copies need not be timed, or cannot."""
        if layout.input_bytes + layout.output_bytes < LARGE_BYTES or not all(side.queues for side in sides.values()):
            return None
        return cls(case, {name: side.whereabouts for name, side in sides.items()})

    def time(self, sides: Mapping[str, Tenant], given: Input, into: Buffer) -> CopyTimes:
        """Time the copies of a fresh input of the case, the same for all sides.

        Sides in turn; the first side changes with each round. Returns {} if the input is too large for the old places.
        """
        places = {
            name: [place for place in self.places[name] if side.holds(place, given.layout)]
            for name, side in sides.items()
        }
        if not all(places.values()):
            return {}
        found: CopyTimes = {name: [] for name in sides}
        for number in range(COPY_WARM_ROUNDS + max(COPY_ROUNDS, *map(len, places.values()))):
            for name in sorted(sides, reverse=number % 2 > 0):
                times = sides[name].time_copies(given, places[name][number % len(places[name])], into)
                found[name] += [times] if number >= COPY_WARM_ROUNDS else []
        return found
