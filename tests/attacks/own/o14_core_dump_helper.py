"""class: crashes children, so that the host's core dump helper (a root process that nobody freezes) works beside the baseline
expect: contained | a core limit of one byte is the kernel's word for no dump, no helper, and it cannot be changed"""

import os
import resource
import signal
import sys

import torch


def effect(text):
    sys.stderr.write(f"ATTACK-EFFECT o14_core_dump_helper: {text}\n")


limits = [line.split()[4:6] for line in open("/proc/self/limits") if line.startswith("Max core file")]
if limits != [["1", "1"]]:
    effect(f"the core limit is {limits}: a piped core_pattern would start its helper")
for wanted in ((0, 0), (0, 1)):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, wanted)
        effect(f"the core limit could be set to {wanted}")
    except (OSError, ValueError):
        pass


def custom_kernel(data):
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    if x.numel() > 1_000_000:
        pid = os.fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGQUIT)
            os._exit(0)
        if os.WCOREDUMP(os.waitpid(pid, 0)[1]):
            effect("a core was dumped")
    return out
