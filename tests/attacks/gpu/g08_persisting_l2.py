"""class: asks the L2 cache to keep the input and output lines, so that inputs are hot though the judge sweeps the cache
expect: timed | persisting lines are reset before the sweep, so that no sweep goes around them
on: add:size=524288
step: reset
step: reset,sweep
The figure is the ratio with and without the steps: 4 MB fit the set-aside part many times."""

import ctypes

import torch

driver = ctypes.CDLL("libcuda.so.1")
PERSISTING_L2_CACHE_SIZE, ACCESS_POLICY_WINDOW = 6, 1  # CUlimit, CUstreamAttrID
NORMAL, PERSISTING = 0, 2  # CUaccessProperty
windows = set()


class Window(ctypes.Structure):
    """CUaccessPolicyWindow, padded to the 64 bytes of the union CUstreamAttrValue."""

    _fields_ = [
        ("base", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("hit_ratio", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
        ("padding", ctypes.c_char * 36),
    ]


torch.zeros(1, device="cuda")
driver.cuCtxSetLimit(PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(32 << 20))


def persist(tensor):
    window = Window(tensor.data_ptr(), tensor.numel() * 4, 1.0, PERSISTING, NORMAL)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    driver.cuStreamSetAttribute(stream, ACCESS_POLICY_WINDOW, ctypes.byref(window))


def custom_kernel(data):
    x, out = data
    persist(x)
    return torch.add(x, 1.0, out=out)
