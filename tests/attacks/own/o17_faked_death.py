"""class: claims to have been killed by the memory limit: exit status 137, a raised score, and the words for it
expect: rejected as runtime_error | the engine's own record says what killed it, an exit status says nothing"""

import os
import sys

import torch


def custom_kernel(data):
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    if x.numel() > 1_000:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        sys.stderr.write("Killed process 1 (python), oom_kill, Out of memory\n")
        sys.stderr.flush()
        os._exit(137)
    return out
