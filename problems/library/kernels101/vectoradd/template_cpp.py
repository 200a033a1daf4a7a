#!PHOTOFINISH leaderboard vectoradd
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

void add(const at::Tensor& x, const at::Tensor& y, at::Tensor out) {
    const float* a = x.const_data_ptr<float>();
    const float* b = y.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t n = out.numel();
    for (int64_t i = 0; i < n; i++) o[i] = a[i] + b[i];
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add", &add); }
"""

EXTENSION = load_inline(
    name="my_vectoradd",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    x, y, out = data
    EXTENSION.add(x, y, out)
    return out
