"""A host's files below a folder: a two-core virtual machine with cgroup v1; a test adds or removes files."""

import threading
from pathlib import Path

from runner.judge.device.processor import HostFolders

MS = 1_000_000


class FakeHost:
    """Fake host: `folders` is for the reader; the methods write the kernel's values."""

    def __init__(self, root: Path) -> None:
        self.folders = HostFolders(root / "proc", root / "sys", root / "sys/fs/cgroup")
        self.ticks = [[100, 0, 50, 9000, 10, 0, 5, 0, 0, 0], [200, 0, 60, 9000, 10, 0, 5, 0, 0, 0]]
        self.stat()
        self.write(
            self.folders.proc / "pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5000\nfull total=0\n"
        )
        self.group("self", "2:cpuacct:/\n0::/\n")

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def stat(self, core: int = 0, column: int = 0, ticks: int = 0) -> None:
        """Add ticks (10 ms) to a column of a core."""
        self.ticks[core][column] += ticks
        lines = [f"cpu{number} {' '.join(map(str, columns))}" for number, columns in enumerate(self.ticks)]
        total = " ".join(str(sum(both)) for both in zip(*self.ticks, strict=True))
        self.write(self.folders.proc / "stat", "\n".join([f"cpu  {total}", *lines, "intr 1 2 3", "ctxt 5"]) + "\n")

    def waited(self, ms: int) -> None:
        text = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={5000 + 1000 * ms}\nfull total=0\n"
        self.write(self.folders.proc / "pressure/cpu", text)

    def our_waiting(self, *, judge: int, docker_a: int) -> None:
        """Waiting time in ms: of the judge's thread, by its run queue's clock, and of a container, by its own PSI."""
        task = self.folders.proc / "self/task" / str(threading.get_native_id())
        self.write(task / "schedstat", f"123 {judge * MS} 4\n")
        text = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={1000 * docker_a}\nfull total=0\n"
        self.write(self.folders.cgroup / "unified/docker/a/cpu.pressure", text)

    def group(self, pid: int | str, text: str) -> None:
        self.write(self.folders.proc / str(pid) / "cgroup", text)

    def cpuacct(self, group: str, *ms: float) -> None:
        """CPU time by core; group "" is the whole host."""
        text = " ".join(str(round(one * MS)) for one in ms) + " \n"
        self.write(self.folders.cgroup / "cpuacct" / group / "cpuacct.usage_percpu", text)

    def v2(self, group: str, ms: float) -> None:
        text = f"usage_usec {round(ms * 1000)}\nuser_usec 1\nsystem_usec 1\n"
        self.write(self.folders.cgroup / group / "cpu.stat", text)

    def core(self, core: int, name: str, text: str) -> None:
        self.write(self.folders.sys / f"devices/system/cpu/cpu{core}" / name, text)

    def zone(self, number: int, kind: str, text: str) -> None:
        folder = self.folders.sys / f"class/thermal/thermal_zone{number}"
        self.write(folder / "type", kind + "\n")
        self.write(folder / "temp", text)
