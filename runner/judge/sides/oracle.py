"""Requests to the problem's container for inputs, expected outputs and checks. It runs the problem's code; the judge
does not.

The oracle is frozen except during requests. Its answers are bounded; its failures are never the competitor's fault.
One request may go out ahead: the oracle makes the next block's inputs while the judge compares the outputs of the last.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from problems.fields import shown
from problems.spec import Case, case_name
from runner.evidence.starved import Share
from runner.judge.data import faults
from runner.judge.data.call import Input, Stopwatch
from runner.judge.data.compare import Fp64
from runner.judge.data.faults import OracleFailed, OracleFull, ProblemRaised, TooLarge
from runner.judge.data.layout import Buffer, Layout, blaming_the_problem, parse_layout
from runner.judge.data.memory import Memory, NoMemory, Region
from runner.judge.device.processor import WATCHED_S, Meter
from runner.judge.sides.arena import connect
from sandbox import protocol
from sandbox.container import Container, SandboxError, is_ready

ANSWER_S: Final = 120  # for a request
AT_ONCE_NS: Final = 500_000_000  # of the problem's own code, in a request for several inputs
MOST_AT_ONCE: Final = 32
KEPT_BYTES: Final = 1 << 30  # of buffers, when the next case begins: its buffers differ in length, and code needs room

UNREADABLE: Final = "an answer that cannot be read"

Seeds = tuple[int, int | None]  # of an input; of its near twin


@dataclass(frozen=True)
class _Ahead:
    """Request that is out before its inputs are needed."""

    request: dict[str, Any]

    def is_for(self, request: dict[str, Any]) -> bool:
        return all(self.request[key] == request[key] for key in ("case", "wanted", "fp64"))


class Oracle:
    """Connection to the problem's container. Use: connect, load, then `make` and `check`."""

    def __init__(
        self, container: Container, memory: Memory, input_bytes: int, output_bytes: int, meter: Meter | None = None
    ) -> None:
        self.container = container
        self.meter = meter
        self._memory = memory
        self.problem = ""  # digest of the problem that is loaded, or about to be
        self.checks = False  # whether the problem brings its own check
        self._inputs = memory.region("oracle-inputs", input_bytes)
        self._expected = memory.region("oracle-expected", output_bytes)
        self._answer = memory.region("oracle-answer", output_bytes)
        wide_bytes = min(protocol.WIDE_FACTOR * self._expected.size, protocol.WIDE_MOST_BYTES)
        self._wide = memory.region("oracle-wide", wide_bytes)
        self._connection: socket.socket | None = None
        self._number = 0
        self._requests = 0  # sent on this connection
        self._free: dict[int, list[Buffer]] = {}  # by length: allocation on a device takes a microsecond
        self._free_bytes = 0
        self._done: list[int] = []  # numbers of inputs that need no further check
        self._awake = 0  # open `awake` contexts
        self._parsed: tuple[Any, Layout] | None = None  # the last layout, as it came and parsed
        self._ahead: _Ahead | None = None
        self._awake_ahead = ExitStack()  # the `awake` context of that request
        self._ended = False  # whether there is no container left to freeze
        self.asked = Stopwatch()  # total: waiting for the oracle, and copying its results
        self.problem_s = 0.0  # total: the problem's own code, as its container reports
        self.took_ns = 0  # the last request
        self.constructed_s = 0.0  # the construction of Model
        self.held_bytes = 0  # of a device's memory, by its container's report; of the last request
        self.peak_bytes = 0  # the most of all requests
        self.check_bytes = 0  # the most that a check took beside the data kept for it
        self._known: tuple[Case, Fp64] = {}, ""  # case and fp64 of the last request, and the time per input
        self._each_ns = 0.0

    def connect(self) -> None:
        """Wait until its program is ready: torch imported, the regions mapped, no file of a problem in it."""
        regions = (self._inputs, self._expected, self._answer, self._wide)
        descriptors = tuple(fd for region in regions for fd in region.fds)
        sizes = self._inputs.size, self._expected.size
        self._connection = connect(self.container, self._memory, *sizes, descriptors)
        self.container.freeze()

    def load(self, files: dict[str, str], init_seed: int | None = None) -> None:
        """Load the problem, or begin anew with the problem that is loaded. `init_seed`: reference.py defines a Model,
        which is constructed with this seed on every side."""
        answer = self._ask({"do": "load", "files": files, "init_seed": init_seed})
        self.checks = bool(answer.get("checks"))
        self.constructed_s = _whole(answer, "constructed_ns") / 1e9

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Make several requests in one thaw: freezing costs more than some inputs. Only while no side is timed."""
        if not self._awake:
            self._unless_dead(self.container.thaw)
        self._awake += 1
        try:
            yield
        finally:
            self._awake -= 1
            if not self._awake and not self._ended:
                self._unless_dead(self.container.freeze)

    def _unless_dead(self, act: Callable[[], None]) -> None:
        """Freeze or thaw. A container that ended can do neither: the next request finds how it ended."""
        try:
            act()
        except OSError:
            if self.container.alive():
                raise

    def begin_anew(self) -> None:
        """End what was asked ahead, and begin the accounts of a further job. Raises OracleFailed."""
        self.rest()
        self.let_go()
        self.asked, self.problem_s, self.peak_bytes, self.check_bytes = Stopwatch(), 0.0, self.held_bytes, 0
        self._known, self._each_ns, self._done = ({}, ""), 0.0, []

    def follow(self, before: Oracle) -> None:
        """Take the place of a closed oracle: its accounts go on, and no number comes twice."""
        self.asked, self.problem_s, self._number = before.asked, self.problem_s + before.problem_s, before._number

    def begin(self, case: Case, seeds: Sequence[Seeds], *, fp64: Fp64 = "") -> None:
        """Ask for inputs ahead, if one short request yields all of them.

        `make_all` with the same arguments takes them. Any other request and `rest` discard them. A failure comes to
        light when they are taken.
        """
        self.rest()
        if not 0 < len(seeds) <= self._at_once(case, fp64):
            return
        request = {"do": "make", **self._wanted(case, seeds, fp64), "done": self._done}
        self._done = []
        assert self._connection is not None
        self._awake_ahead.enter_context(self.awake())
        self._requests += 1
        with suppress(OSError):  # of a container that ended: waiting for its answer finds how
            protocol.send(self._connection, request | {"request": self._requests})
        self._ahead = _Ahead(request)

    def rest(self) -> None:
        """Discard inputs that were asked for ahead, and freeze the oracle. No side may run before."""
        if self._ahead is not None:
            with suppress(ProblemRaised, TooLarge):  # the next request that needs the same will fail the same
                self._take_ahead()

    def _take_ahead(self) -> dict[str, Any]:
        ahead, self._ahead = self._ahead, None
        assert ahead is not None
        with self._awake_ahead.pop_all():
            return self._await(ahead.request)

    def make(self, case: Case, seed: int, near: int | None = None, *, fp64: Fp64 = "") -> Input:
        """Return an input of this case, copied to private memory before the next request.

        `near`: a seed; the data of (case, seed) with 1 to 8 floating-point elements changed. If no element can be
        changed, fresh data of the seed `near`; `Input.near` shows which, `Input.seed` is the seed that counted.

        `fp64`: the contents of `expected64`; `Rule.fp64` returns the needs of a rule. `values` cost a run of the
        reference in double precision, `spread` three to nine, `condition` as much once per case and no run from then
        on.
        """
        return self.make_all(case, [(seed, near)], fp64=fp64)[0]

    def make_all(self, case: Case, seeds: Sequence[Seeds], *, fp64: Fp64 = "") -> list[Input]:
        """Return inputs for several (seed, near) at once: a request costs as much as making a small input.

        Raises OracleFull with all of them released, so that the caller may ask again.
        """
        if case != self._known[0] and self._free_bytes > KEPT_BYTES:
            self.let_go()
        made: list[Input] = []
        with self.asked.running(), self.awake(), blaming_the_problem(UNREADABLE):
            while left := seeds[len(made) :]:
                try:
                    made += self._make(case, left[: self._at_once(case, fp64)], fp64)
                except OracleFull:
                    for given in made:
                        self.release(given)
                    raise
        return made

    def _at_once(self, case: Case, fp64: Fp64) -> int:
        """Return how many inputs one request may ask for: a single one, until it is known how long these take."""
        is_known = (case, fp64) == self._known and self._each_ns > 0
        return int(min(max(AT_ONCE_NS / self._each_ns, 1), MOST_AT_ONCE)) if is_known else 1

    def _wanted(self, case: Case, seeds: Sequence[Seeds], fp64: Fp64) -> dict[str, Any]:
        wanted = [{"number": self._number + k, "seed": seed, "near": near} for k, (seed, near) in enumerate(seeds, 1)]
        return {"case": case, "wanted": wanted, "fp64": fp64}

    def _make(self, case: Case, seeds: Sequence[Seeds], fp64: Fp64) -> list[Input]:
        """Return inputs for the first of these seeds, as many as there was room for."""
        wanted = self._wanted(case, seeds, fp64)
        if self._ahead is not None and self._ahead.is_for(wanted):
            answer = self._take_ahead()
        else:
            answer = self._ask({"do": "make", **wanted, "done": self._done})
            self._done = []
        answers = answer.get("made")
        if not isinstance(answers, list) or not 0 < len(answers) <= len(seeds):
            raise OracleFailed("the problem's container did not answer with the inputs that it was asked for")
        self._known, self._each_ns = (case, fp64), self.took_ns / len(answers)
        begin, made = (0, 0, 0), []
        with self._memory.together():
            for one, (seed, near) in zip(answers, seeds, strict=False):
                self._number += 1
                made.append(self._made(one if isinstance(one, dict) else {}, case, seed, near, begin, fp64))
                layout, wide = made[-1].layout, made[-1].expected64
                doubles = 0 if wide is None else len(wide)
                begin = begin[0] + layout.input_bytes, begin[1] + layout.output_bytes, begin[2] + doubles
        return made

    def _made(
        self, answer: dict[str, Any], case: Case, seed: int, near: int | None, begin: tuple[int, int, int], fp64: Fp64
    ) -> Input:
        """Return an input from the answer. `begin`: its offsets in bytes in the regions of inputs, expected and wide
        outputs."""
        layout = self._layout(answer.get("layout"), self._inputs.size - begin[0], self._expected.size - begin[1])
        is_near = answer.get("near") is True
        why_not = str(answer.get("fp64"))[:500]
        return Input(
            number=self._number,
            case=case_name(case),
            seed=seed if near is None or is_near else near,
            layout=layout,
            inputs=self._copy(self._inputs, begin[0], layout.input_bytes),
            expected=self._copy(self._expected, begin[1], layout.output_bytes),
            drawn_from=(seed, near),
            near=is_near,
            eager_ns=_whole(answer, "eager_ns"),
            reference_s=_whole(answer, "first_ns") / 1e9,
            expected64=None if why_not else self._copy_wide(layout, begin[2], spread=fp64 != "values"),
            why_not64=why_not,
            arguments=dict(case),
            terms=tuple(int(_number(one)) for one in _by_output(answer.get("terms"), layout)),
            condition=tuple(
                (_number(one[0]), _number(one[1])) if isinstance(one, list) and len(one) == 2 else (0, 0)
                for one in _by_output(answer.get("condition"), layout)
            ),
        )

    def _layout(self, data: Any, input_limit: int, output_limit: int) -> Layout:
        """Parse a layout. Most inputs of a case have the same layout."""
        if self._parsed is not None and data == self._parsed[0]:
            layout = self._parsed[1]
            if layout.input_bytes <= input_limit and layout.output_bytes <= output_limit:
                return layout
        layout = parse_layout(data, input_limit, output_limit, self._memory.ranks)
        self._parsed = data, layout
        return layout

    def _copy_wide(self, layout: Layout, begin: int, *, spread: bool) -> Buffer | None:
        size = layout.wide_places()[1] * (2 if spread else 1)
        if size > self._wide.size - begin:
            raise OracleFailed(f"{size} bytes in float64 were announced, {self._wide.size - begin} are there")
        return self._copy(self._wide, begin, size) if size else None

    def release(self, given: Input) -> None:
        """Release an input's memory for reuse: fresh pages for every call would cost more than the call. Its check is
        over."""
        self._done.append(given.number)
        for buffer in (given.inputs, given.expected, given.expected64):
            if buffer is not None:
                self._free.setdefault(len(buffer), []).append(buffer)
                self._free_bytes += len(buffer)
        while self._free_bytes > self._memory.snapshot_bytes:
            length = next(length for length, buffers in self._free.items() if buffers)
            self._free[length].pop()
            self._free_bytes -= length

    def forget(self) -> None:
        """Have the container free the data of released inputs now, instead of with the next request."""
        if self._done:
            self._ask({"do": "forget", "done": self._done})
            self._done = []

    def let_go(self) -> None:
        """Free all memory kept for the next inputs."""
        self._free.clear()
        self._free_bytes = 0
        self._memory.release()

    def check(self, number: int, layout: Layout, output: Buffer) -> tuple[bool, str]:
        """Run the problem's own `check_implementation` on these bytes. calls.py decides who is to blame for a
        failure."""
        with self.asked.running(), blaming_the_problem(UNREADABLE):
            self._memory.copy(self._answer.bytes, output, layout.output_bytes)
            answer = self._ask({"do": "check", "number": number})
            self.check_bytes = max(self.check_bytes, _whole(answer, "work_bytes"))
            return answer.get("good") is True, _clean(str(answer.get("message", "")))[:4000]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.rest()
        if self._connection is None or self._connection.fileno() < 0:
            raise SandboxError("the problem's container has no connection to this judge: it is closed, or not started")
        self._requests += 1
        with self.awake():
            try:
                protocol.send(self._connection, request | {"request": self._requests})
            except OSError as err:
                raise OracleFailed(self._why_silent(err, request)) from None
            return self._await(request)

    def _await(self, request: dict[str, Any]) -> dict[str, Any]:
        """Wait for the answer to a request that was sent, from now on for ANSWER_S."""
        assert self._connection is not None
        deadline_ns, watched = time.monotonic_ns() + ANSWER_S * 1_000_000_000, None
        try:
            if self.meter is not None and not is_ready(self._connection, WATCHED_S):
                watched = self.meter.read()
            answer, _ = protocol.receive(self._connection, deadline_ns=deadline_ns)
        except (OSError, protocol.ProtocolError) as err:
            share = Share.between(watched, self.meter.read()) if watched is not None and self.meter else None
            raise OracleFailed(self._why_silent(err, request), share) from None
        if answer.get("request") != self._requests:  # perhaps the late answer to a request that timed out
            raise OracleFailed(f"the problem's container did not answer request {self._requests}, but another one")
        self.held_bytes = _whole(answer, "held_bytes")
        self.peak_bytes = max(self.peak_bytes, _whole(answer, "peak_bytes"))
        if "error" in answer:
            with blaming_the_problem(UNREADABLE):
                error = _clean(str(answer["error"]))
            if answer.get("large") is True:
                raise TooLarge(error)
            raise OracleFull(error) if answer.get("full") is True else ProblemRaised(error)
        self.took_ns = _whole(answer, "took_ns")
        self.problem_s += self.took_ns / 1e9
        return answer

    def _why_silent(self, err: Exception, request: dict[str, Any]) -> str:
        """Describe for the organiser how the container ended, or that it is still at work; where; and its last
        output. Raises SandboxError if the host ended it."""
        where = f" at case {case_name(request['case'])}" if "case" in request else ""
        if isinstance(err, TimeoutError):
            why = f"gave no answer within {ANSWER_S} s{where}"
        elif isinstance(err, protocol.ProtocolError) and not isinstance(err, protocol.ConnectionEnded):
            why = f"sent an answer that cannot be read{where}: {str(err)[:500]}"
        else:
            self._ended = True
            if self._connection is None or self._connection.fileno() < 0:
                raise SandboxError(f"the connection to the problem's container was closed during a request{where}")
            end = self.container.wait_exit()
            if end.is_kill:
                raise SandboxError(f"the problem's container was killed from outside{where}")
            why = faults.end_of_problem(end, self.container.policy.memory_bytes, where)
        return f"it {why}. {self.container.logs()['stderr']}".strip()

    def _copy(self, region: Region, begin: int, count: int) -> Buffer:
        if buffers := self._free.get(count):
            private = buffers.pop()
            self._free_bytes -= count
        else:
            try:
                private = self._memory.buffer(count)
            except NoMemory:  # the buffers that wait for inputs have other lengths
                self.let_go()
                private = self._memory.buffer(count)
        self._memory.copy(private, region.bytes[begin : begin + count], count)
        return private

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self.container.close()
        self._free.clear()
        self._free_bytes = 0
        for region in (self._inputs, self._expected, self._answer, self._wide):
            region.close()


def _clean(text: str) -> str:
    return protocol.clean_text(text.encode("utf-8", "replace"))


def _by_output(data: Any, layout: Layout) -> list[Any]:
    """Return the values reported by slot, in the order of the outputs; None without a report."""
    said = data if isinstance(data, dict) else {}
    return [said.get(str(number)) for number, slot in enumerate(layout.slots) if slot.output >= 0]


def _number(data: Any) -> float:
    return data if isinstance(data, int | float) and 0 < data < 1e300 else 0


def _whole(answer: dict[str, Any], key: str) -> int:
    """A time in ns, or bytes, that the problem's container gave. Raises OracleFailed for any other value."""
    value = answer.get(key, 0)
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise OracleFailed(f"the problem's container sent {key} = {shown(value)}")
    return value
