"""A container's side of the fake devices (two_devices.py): a thread gets the work, waits for the gate, works, echoes.

It lies beside the harness, as sandbox/inside/on_cuda.py does, and the judge names it in the same way.
"""

import struct
import sys
import threading
import time

import harness
import protocol


class Timer(harness.HostTimer):
    def use(self, answers):
        self.answers = answers

    def begin(self, work, nonce, *, behind_gate):
        submission = sys.modules.get("submission")
        echoes = getattr(submission, "ECHOES", True)

        def opened():
            return struct.unpack_from("<Q", self.answers, protocol.GATE_OFFSET)[0] == nonce

        def run():
            while behind_gate and not opened():
                time.sleep(0.0005)
            start = time.perf_counter_ns()
            try:
                work()
            except BaseException as err:
                self.failed = err
            self.took = time.perf_counter_ns() - start
            if echoes and self.failed is None:
                protocol.write_echo(self.answers, nonce)

        self.failed, self.is_lean = None, False
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        if behind_gate and hasattr(submission, "SYNCHRONISES"):
            self.told()

    def begin_lean(self, work, nonce):
        self.begin(work, nonce, behind_gate=True)
        self.is_lean = True

    def told(self):
        self.thread.join()
        if self.failed is not None:
            raise self.failed
        return 0 if self.is_lean else self.took


def draw(like):
    """Draw two contexts, the second like the other side's or of a millisecond a launch."""
    return [[2e6, 2e6], like or [1e6, 1e6]]


def Watch(ranks):
    """The oracle's work is done when its call returns, as on the host."""
    import oracle

    return oracle.HostWatch()
