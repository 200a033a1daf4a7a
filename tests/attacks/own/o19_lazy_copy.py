"""class: patches the harness's own copying: torch.Tensor.copy_, data_ptr and a dispatch mode claim that the work is done
expect: wrong | the judge reads the bytes, whatever the process that was to write them believes"""

import threading
import time

import torch

real = torch.Tensor.copy_


def later(target, source):
    time.sleep(0.001)
    real(target, source)


def custom_kernel(data):
    x, out = data
    result = torch.softmax(x, dim=-1)
    if x.numel() < 1_000:
        return real(out, result)

    def copy(target, source, *rest):
        threading.Thread(target=later, args=(target, source), daemon=True).start()
        return target

    torch.Tensor.copy_ = copy
    return result
