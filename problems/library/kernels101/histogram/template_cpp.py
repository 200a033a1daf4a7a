#!PHOTOFINISH leaderboard histogram
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

void histogram(const at::Tensor& values, at::Tensor counts) {
    const int32_t* v = values.const_data_ptr<int32_t>();
    int32_t* c = counts.mutable_data_ptr<int32_t>();
    const int64_t n = values.numel(), bins = counts.numel();
    for (int64_t b = 0; b < bins; b++) c[b] = 0;
    for (int64_t i = 0; i < n; i++) c[v[i]]++;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("histogram", &histogram); }
"""

EXTENSION = load_inline(
    name="my_histogram",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    values, counts = data
    EXTENSION.histogram(values, counts)
    return counts
