# C++ through torch's load_inline: two tables in turn, so that equal neighbours do not wait for each other.
#!PHOTOFINISH leaderboard histogram
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <vector>

void histogram(const at::Tensor& values, at::Tensor counts) {
    const int32_t* v = values.const_data_ptr<int32_t>();
    int32_t* c = counts.mutable_data_ptr<int32_t>();
    const int64_t n = values.numel(), bins = counts.numel();
    std::vector<int32_t> even(bins), odd(bins);
    int64_t i = 0;
    for (; i + 2 <= n; i += 2) {
        even[v[i]]++;
        odd[v[i + 1]]++;
    }
    if (i < n) even[v[i]]++;
    for (int64_t b = 0; b < bins; b++) c[b] = even[b] + odd[b];
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("histogram", &histogram); }
"""

EXTENSION = load_inline(name="histogram", cpp_sources=SOURCE, extra_cflags=["-O3"], no_implicit_headers=True)


def custom_kernel(data):
    values, counts = data
    EXTENSION.histogram(values, counts)
    return counts
