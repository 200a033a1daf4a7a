"""First program in a tenant container: maps the arena, loads the submission and obeys the judge's orders.

It holds no secret and is assumed to be hostile from the moment it imports the submission. The judge believes an answer
only where it sees the same itself. The errors that the harness reports serve honest authors.
"""

import ctypes
import gc
import importlib
import importlib.util
import io
import itertools
import linecache
import mmap
import os
import socket
import sys
import time
import tokenize
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
gc.disable()  # while torch is imported: a tenth of the time would go into collections that find nothing

import built
import kernels_ahead
import modelnew
import native
import problem_code
import protocol
import slots
import stand_in
import torch
import tree
import world
from slots import Refused, name_of

gc.enable()

SOCKET = "/run/judge/socket"
HOME = "/tmp"  # noqa: S108  inside the container: its only writable folder
WORK = "/tmp/work"  # noqa: S108  inside the container
SPINS = 20_000  # polls in a row before the loop begins to sleep; the order after a call's answer arrives within them
NAP_S = 0.0005
LAST_BREATH_S = 0.2  # before a rank tells an error, which may be another rank's end; that ends the container
PY_BUF_READ, PY_BUF_WRITE = 0x100, 0x200  # CPython's constants, which ctypes does not define
MOST_TEXT = 15_000  # characters
EXTENSION_FAILED = "Error building extension"  # beginning of the error of torch.utils.cpp_extension
FRAMES = 12  # of the submission's traceback
MOST_KERNELS = 5  # whose compiler's errors are explained

clock = time.perf_counter_ns


class Harness:
    """The arena, the two pages, and the submission after loading; with several ranks those of one of them."""

    def __init__(self, arena: dict[str, Any], fds: tuple[int, ...], rank: int = 0) -> None:
        self.rank, self.ranks = rank, arena["ranks"]
        inputs, outputs, (orders, answers) = fds[rank], fds[self.ranks + rank], fds[2 * self.ranks :]
        self.on_device = arena["device"] != "cpu"
        self.timer = importlib.import_module(arena["module"]).Timer(rank) if arena["module"] else HostTimer()
        self.inputs = self.timer.map(inputs, arena["input_bytes"])
        self.outputs = self.timer.map(outputs, arena["output_bytes"])
        self.orders = map_shared(orders, protocol.ORDERS_BYTES, mmap.PROT_READ)
        pages = map_shared(answers, self.ranks * protocol.ANSWERS_BYTES)
        self.answers = pages[rank * protocol.ANSWERS_BYTES :][: protocol.ANSWERS_BYTES]
        self.timer.use(self.answers)
        for fd in fds:
            os.close(fd)
        self.sources: dict[str, str] = {}
        self.submission = self.entry = self.interface = ""
        self.build: dict[str, Any] | None = None
        self.built = -1  # descriptor of the files that the submission left when it was built ahead
        self.function: Any = None
        self.data: Any = None
        self.renewed: dict[str, Any] | None = None  # node of the data, if the data are built afresh for every call
        self.result: Any = None
        self.tensors: list[torch.Tensor] = []  # by slot
        self._layout: dict[str, Any] = {}
        self._number = -1  # places where the laid-out data begin
        self._seen = 0  # the last order's nonce

    def await_job(self, connection: socket.socket, others: list[socket.socket]) -> None:
        """Take the sources, and obey the orders that the judge asks for before them; `others`: of further ranks, which
        get them, too.

        No code of the sources runs before the order to load. But for these orders, the judge keeps the container frozen
        here until there is a job.
        """
        while True:
            job, fds = protocol.receive(connection, descriptors=3)
            for other in others:
                protocol.send(other, job, fds)
            if "orders" not in job:
                break
            self.obey(job["orders"])
        print_into(fds[:2])
        self.sources, self.submission, self.entry = job["files"], job["submission"], job["entry"]
        self.interface, self.build = job["interface"], job["build"]
        self.built = fds[2] if job["has_built"] else -1

    def obey(self, most: int | None = None) -> None:
        """Obey orders one after the other: `most` orders, or until the container is killed."""
        for _ in itertools.count() if most is None else range(most):
            seen = self._seen = self._next(self._seen)
            kind, number, text = protocol.read_page(self.orders, protocol.ORDERS_BYTES)
            inner_ns = 0
            try:
                if kind == protocol.LOAD:
                    self._load()
                elif kind == protocol.LAYOUT:
                    self._layout, self._number = protocol.json.loads(text), -1
                    self._settle(number)
                elif kind == protocol.CALL:
                    self._renew()
                    inner_ns = self.timer.time(self._work(), seen)
                elif kind == protocol.IDLE:
                    inner_ns = self.timer.time(lambda: None, seen)
                elif kind in (protocol.QUEUE, protocol.LEAN):
                    self._settle(number)
                    self._renew()
                    self._begin(self._work(), seen, lean=kind == protocol.LEAN)
                elif kind in protocol.OWN_BYTES:
                    size = protocol.OWN_BYTES[kind]
                    inputs, outputs = self._regions_at(number)
                    places = ((inputs, 0), (inputs, size), (outputs, 0))
                    first, second, out = (vector(region, at, size) for region, at in places)
                    self._begin(partial(torch.add, first, second, out=out), seen, lean=kind == protocol.OWN_LEAN)
                elif kind == protocol.TELL:
                    inner_ns = self.timer.told()
                elif kind == protocol.FORGET:
                    self.timer.forget()
                status, sentence = protocol.OK, ""
            except Refused as refused:
                status, sentence = refused.status, str(refused)
            except BaseException as err:  # the submission may raise anything, SystemExit included
                status, sentence = explain(err, kind, self.submission)
            if status != protocol.OK:
                self.timer.begun.clear()  # the judge asks for no time of a series that failed
                time.sleep(LAST_BREATH_S if self.ranks > 1 else 0)
            protocol.write_page(self.answers, seen, status, inner_ns, sentence.encode("utf-8", "replace")[:16_000])

    def _begin(self, work: Callable[[], Any], nonce: int, *, lean: bool) -> None:
        if lean:
            self.timer.begin_lean(work, nonce)
        else:
            self.timer.begin(work, nonce, behind_gate=True)

    def _work(self) -> Callable[[], None]:
        """Return a call of the submission with the data that are laid out now."""
        return partial(self._call, self.data, self.result, self.tensors)

    def _call(self, data: Any, result: Any, tensors: list[torch.Tensor]) -> None:
        if isinstance(self.function, native.Kernel):
            self.function()  # it writes into the outputs itself
        else:
            slots.keep(result, tensors, self.function(data))

    def _regions_at(self, number: int) -> tuple[Any, Any]:
        """Return the input and output regions from the places where the data begin."""
        inputs, outputs = protocol.places_of(number)
        return self.inputs[inputs:], self.outputs[outputs:]

    def _next(self, seen: int) -> int:
        spins, nonce = 0, seen
        while nonce in (seen, 0):  # 0: struct clears a page's words before it writes them; no order has that nonce
            nonce = protocol.read_nonce(self.orders)
            spins += 1
            if spins > SPINS:
                time.sleep(NAP_S)
        return nonce

    def _load(self) -> None:
        if self.built >= 0:
            if not self.rank:
                built.unpack(self.built, HOME)
            os.close(self.built)
        submission, sources, self.sources = self.submission, self.sources, {}
        problem_code.put({} if self.rank else sources, WORK)
        world.meet()
        self.function = load(sources, submission, self.entry, self.interface, self.build, on_device=self.on_device)

    def _settle(self, number: int) -> None:
        """Lay out the data at the places that this number names."""
        if number == self._number:
            return
        layout, self._number = self._layout, -1
        inputs, outputs = self._regions_at(number)
        bases, named = {}, layout["slots"]
        data, result = layout["data"], layout["result"]
        if self.ranks > 1:
            data, result = data["of"][self.rank], result["of"][self.rank]
        for index, slot in enumerate(named):
            if slot["role"] != "view" and slot.get("rank", 0) == self.rank:
                region, where = (inputs, "input") if slot["role"] == "in" else (outputs, "output")
                bases[index] = slots.view(region, slot, where)
        self.tensors = slots.views(named, bases)
        self.data = tree.build(data, self.tensors)
        self.renewed = data if tree.has_module(data) else None
        if isinstance(self.function, native.Kernel):
            self.function.lay_out(layout, self.tensors)
        elif isinstance(self.function, modelnew.Candidate):
            self.function.lay_out(self.data)
        self.result, self._number = result, number

    def _renew(self) -> None:
        if self.renewed is not None:
            self.data = tree.build(self.renewed, self.tensors)


def load(
    sources: dict[str, str],
    submission: str,
    entry: str,
    interface: str,
    build: dict[str, Any] | None,
    *,
    on_device: bool,
) -> Any:
    """Import a submission that lies in WORK, or compile it as `build` specifies, and return its entry. Empties
    `sources`. Raises Refused and whatever the submission raises."""
    if build is not None:
        sources.clear()
        native.compile_library(submission, build)
        return native.Kernel(submission, entry)
    if not on_device and stand_in.is_wanted(sources):
        stand_in.install()
    if needs_compiler([sources[submission], sources.get("reference.py", "")]):
        importlib.import_module("torch._inductor.config")
    check_encoding(sources[submission], submission)
    compile(sources[submission], submission, "exec", dont_inherit=True)
    sources.clear()
    spec = importlib.util.spec_from_file_location("submission", os.path.join(WORK, submission))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    function = getattr(module, entry, None)
    if interface == "model" and isinstance(function, type):
        return modelnew.Candidate(function)
    if interface == "model" or not callable(function):
        what = "class" if interface == "model" else "function"
        code = f"class {entry}(nn.Module)" if interface == "model" else f"def {entry}(data)"
        fault = f"{submission} defines no {what} {entry}; add `{code}: …` at its top level"
        raise Refused(protocol.MISSING, fault)
    return function


class HostTimer:
    """Timer for host memory, by this process's clock. There is no gate: work is done at once."""

    def __init__(self, rank: int = 0) -> None:
        self.begun = deque[Any]()  # times in ns of calls, until an order asks for them

    @staticmethod
    def map(fd: int, size: int) -> memoryview:
        return map_shared(fd, size)

    def use(self, answers: memoryview) -> None:
        """Do nothing: on the host the answer itself marks the end of a call."""

    def time(self, work: Callable[[], None], nonce: int) -> int:
        self.begin(work, nonce, behind_gate=False)
        return self.told()

    def begin(self, work: Callable[[], None], nonce: int, *, behind_gate: bool) -> None:
        start = clock()
        work()
        self.begun.append(clock() - start)

    def begin_lean(self, work: Callable[[], None], nonce: int) -> None:
        """Do the work at once: a host has no events."""
        self.begin(work, nonce, behind_gate=True)

    def told(self) -> int:
        """Return the time in ns of the first call whose time is still to come."""
        return int(self.begun.popleft())

    def forget(self) -> None:
        """Do nothing: a container's own limit bounds what it keeps of the host's memory."""


def print_into(fds: tuple[int, ...]) -> None:
    """Redirect standard output and error to these descriptors; none of the container's first streams is left."""
    for stream, fd in enumerate(fds, 1):
        os.dup2(fd, stream)
        os.close(fd)


def map_shared(fd: int, size: int, rights: int = mmap.PROT_READ | mmap.PROT_WRITE) -> memoryview:
    """Map shared memory as mmap.mmap does, without keeping a descriptor for as long as the mapping lives."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    address = libc.mmap(None, size, rights, mmap.MAP_SHARED, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    view = ctypes.pythonapi.PyMemoryView_FromMemory
    view.restype = ctypes.py_object
    view.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
    found: memoryview = view(address, size, PY_BUF_WRITE if rights & mmap.PROT_WRITE else PY_BUF_READ)
    return found


def vector(region: Any, at: int, size: int) -> torch.Tensor:
    """Return a vector of the harness's own kernel."""
    each = {"dtype": "float32", "stride": [1], "nbytes": size}
    found: torch.Tensor = slots.view(region, {**each, "shape": [size // 4], "input": at}, "input")
    return found


def needs_compiler(texts: list[str]) -> bool:
    """Return whether the first call imports torch's compiler, which takes seconds; a call has less time than that.

    `torch.use_deterministic_algorithms` imports it, and so does the context of that purpose in the public sets'
    utils.py.
    """
    return any(word in text for text in texts for word in ("use_deterministic_algorithms", "DeterministicContext"))


def check_encoding(source: str, submission: str) -> None:
    """Refuse a declared encoding other than UTF-8: it could turn a comment, as a reader sees it, into code."""
    declared, _ = tokenize.detect_encoding(io.BytesIO(source.encode()).readline)
    if declared not in ("utf-8", "utf-8-sig"):
        fault = f"{submission} declares the encoding {declared}; sources are UTF-8, remove that line"
        raise Refused(protocol.SYNTAX, fault)


def explain(err: BaseException, kind: int, submission: str) -> tuple[int, str]:
    """Return status and text for the author: the exception, and the frames of the traceback that are the author's."""
    if isinstance(err, SyntaxError) and kind == protocol.LOAD and err.filename in (submission, f"{WORK}/{submission}"):
        line = (err.text or "").rstrip()
        return protocol.SYNTAX, f"{submission}, line {err.lineno}: {err.msg}\n{line}"
    if isinstance(err, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(err):
        return protocol.MEMORY, f"{name_of(err)}: {err}"
    if kind == protocol.LAYOUT and err.__cause__ is None:
        return protocol.LAYOUT_FAILED, f"{name_of(err)}: {err}"
    if isinstance(err, modelnew.NotConstructed):
        err = err.__cause__ or err
    if kind == protocol.LOAD and str(err).startswith(EXTENSION_FAILED):
        return protocol.COMPILE, protocol.cut(str(err), native.MOST_TEXT)
    linecache.checkcache()
    frames = [
        frame
        for frame in traceback.extract_tb(err.__traceback__)
        if not frame.filename.startswith((f"{FOLDER}/", "<frozen"))
    ]
    lines = [*places_in_kernels(err, submission), *traceback.format_list(frames[-FRAMES:])]
    lines += traceback.format_exception_only(err)
    text = "".join(lines).replace(f"{WORK}/", "")
    status = {protocol.LOAD: protocol.IMPORT, protocol.LAYOUT: protocol.LAYOUT_FAILED}.get(kind, protocol.RAISED)
    return status, text[-MOST_TEXT:]


def places_in_kernels(err: BaseException | None, submission: str) -> list[str]:
    """Return lines with the places of an error of Triton's compiler in the submission, the innermost kernel's first.

    The compiler counts lines from a kernel's `def`; an error in a kernel that a kernel calls is a cause of its error.
    """
    found: list[str] = []
    while err is not None and len(found) < MOST_KERNELS:
        source, node = getattr(err, "src", None), getattr(err, "node", None)
        place = getattr(node, "lineno", None), getattr(node, "col_offset", None)
        start = _start_of(source, submission) if isinstance(source, str) else None
        match start, place:
            case (first, indent), (int(line), int(column)):
                said = getattr(err, "error_message", None) or "the kernel that is called here does not compile"
                found.insert(0, f"{submission}, line {first + line - 1}, column {indent + column + 1}: {said}\n")
        err = err.__cause__
    return found


def _start_of(source: str, submission: str) -> tuple[int, int] | None:
    """Return line and indentation of a kernel's source in the submission."""
    wanted = [line.strip() for line in source.strip().split("\n")]
    lines = linecache.getlines(os.path.join(WORK, submission))
    for number, line in enumerate(lines):
        if line.strip() == wanted[0] and [one.strip() for one in lines[number : number + len(wanted)]] == wanted:
            return number + 1, len(line) - len(line.lstrip())
    return None


def set_up() -> None:
    os.environ.pop("HOSTNAME", None)  # Docker adds it: the environment is PATH, HOME, LANG, USER and the image's
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.backends.cudnn.allow_tf32 = False  # as in the oracle: a reference that is its own baseline must be right


def main() -> None:
    set_up()
    kernels_ahead.prepare_triton()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(SOCKET)
    protocol.send(connection, {"ready": protocol.VERSION})
    arena, fds = protocol.receive(connection, descriptors=protocol.MOST_DESCRIPTORS)
    if "draw" in arena:
        protocol.send(connection, {"drawn": importlib.import_module(arena["draw"]).draw(arena["like"])})
        arena, fds = protocol.receive(connection, descriptors=protocol.MOST_DESCRIPTORS)
    rank, links = world.fork(arena["ranks"])
    harness = Harness(arena, fds, rank)
    if arena["ranks"] > 1:
        world.join(rank, arena["ranks"], f"{WORK}-ranks", on_device=harness.on_device)
    if rank:
        connection.close()
        (connection,), links = links, []
    else:
        protocol.send(connection, {"mapped": True})
    harness.await_job(connection, links)
    for one in (connection, *links):
        one.close()  # from here on the container holds only memory
    harness.obey()


if __name__ == "__main__":
    main()
