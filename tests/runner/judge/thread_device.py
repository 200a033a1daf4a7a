"""A container's side of the fake devices (two_devices.py): a thread gets the work, waits for the gate, works, echoes.

It lies beside the harness, as sandbox/inside/on_cuda.py does, and the judge names it in the same way.
"""

import struct
import sys
import threading
import time
import types

import harness
import protocol


class Timer(harness.HostTimer):
    def use(self, answers):
        self.answers = answers

    def begin(self, work, nonce, *, behind_gate):
        submission = sys.modules.get("submission")
        echoes = getattr(submission, "ECHOES", True)

        def opened():
            return struct.unpack_from("<Q", self.answers, protocol.GATE_OFFSET)[0] >= nonce

        def run():
            while behind_gate and not opened():
                time.sleep(0.0005)
            start = time.perf_counter_ns()
            try:
                work()
            except BaseException as err:
                begun.failed = err
            begun.took = time.perf_counter_ns() - start
            if echoes and begun.failed is None:
                protocol.write_echo(self.answers, nonce)

        begun = types.SimpleNamespace(failed=None, is_lean=False)
        begun.thread = threading.Thread(target=run, daemon=True)
        if behind_gate and len(self.begun) >= getattr(submission, "ROOM", 1000):
            self.begun[-1].thread.join()  # as in a queue that is full
        begun.thread.start()
        self.begun.append(begun)
        if behind_gate and hasattr(submission, "SYNCHRONISES"):
            begun.thread.join()

    def begin_lean(self, work, nonce):
        self.begin(work, nonce, behind_gate=True)
        self.begun[-1].is_lean = True

    def told(self):
        begun = self.begun.popleft()
        begun.thread.join()
        if begun.failed is not None:
            raise begun.failed
        return 0 if begun.is_lean else begun.took


def draw(like):
    """Draw two contexts, the second like the other side's or of a millisecond a launch."""
    return [[2e6, 2e6], like or [1e6, 1e6]]


def Watch(ranks):
    """The oracle's work is done when its call returns, as on the host."""
    import oracle

    return oracle.HostWatch()
