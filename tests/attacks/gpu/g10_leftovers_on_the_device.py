"""class: takes nearly all free device memory uninitialised and searches it for what other processes left: expected outputs
expect: contained | the driver clears what it hands to a process; judge-owned memory is not given back while a tenant lives
on: add:size=524288
Reading 100 GB takes some 50 ms; everything is given back before the kernel is called."""

import sys

import torch

free, _ = torch.cuda.mem_get_info()
CHUNK = 1 << 30
taken, found = [], 0
while len(taken) * CHUNK < free * 8 // 10:
    try:
        taken.append(torch.empty(CHUNK // 8, dtype=torch.int64, device="cuda"))
    except torch.OutOfMemoryError:
        break
for block in taken:
    found += int(torch.count_nonzero(block))
if found:
    sys.stderr.write(f"ATTACK-EFFECT g10_leftovers_on_the_device: {found} words in {len(taken)} GiB are not zero\n")
print(f"searched {len(taken)} GiB", flush=True)
taken.clear()
torch.cuda.empty_cache()


def custom_kernel(data):
    x, out = data
    return torch.add(x, 1.0, out=out)
