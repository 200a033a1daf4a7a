"""Set-up of a device for judging: the lines of `runner doctor`, and those of the host's own cores.

Each line is a name, whether it is right, the state found, and a remedy if it is wrong. No setting is changed.
"""

from contextlib import closing
from typing import Final, NamedTuple

from runner.evidence.throttle import FULL, NONE
from runner.judge.device.processor import STEAL_COLUMN, HostFolders
from runner.judge.device.telemetry import CpuTelemetry

MOST_STEAL: Final = 0.02  # of all time since the host started: as much as a ranked time on a CPU may be unsure


class Fit(NamedTuple):
    """Result of a check; `remedy` if it is not ok."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def fit(name: str, ok: bool, found: str, remedy: str) -> Fit:
    return Fit(name, ok, found, "" if ok else remedy)


def cpu_fit(folders: HostFolders | None = None) -> list[Fit]:
    folders = folders or HostFolders()
    with closing(CpuTelemetry(own=frozenset, folders=folders)) as telemetry:
        telemetry.begin()
        seen, level = telemetry.end().after, telemetry.level
    heat = "clock or heat can be read" if level == FULL else "no clock and no heat to be read, as in a virtual machine"
    remedy = "Nothing says whether others used the cores, so nothing ranks; judge on Linux."
    telemetry_fit = fit("telemetry", level != NONE, f"{level}: {heat}", remedy)
    pressure = "the kernel tells who waited for a core" if seen.waited_ns is not None else "no /proc/pressure/cpu"
    remedy = "Boot with psi=1: else work of others that harms nobody voids too."
    pressure_fit = fit("pressure", seen.waited_ns is not None, pressure, remedy)
    try:
        spent = [int(one) for one in (folders.proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        spent = []
    if len(spent) <= STEAL_COLUMN:
        return [telemetry_fit, pressure_fit, Fit("steal", False, "/proc/stat does not tell", "Judge on Linux.")]
    share = spent[STEAL_COLUMN] / max(1, sum(spent))  # since the start of this host
    remedy = "The hypervisor gives these cores to other guests; ask for dedicated ones."
    found = f"{100 * share:.2g} % of the time since the start"
    return [telemetry_fit, pressure_fit, fit("steal", share <= MOST_STEAL, found, remedy)]
