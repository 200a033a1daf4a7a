#!PHOTOFINISH leaderboard prefixsum
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

void prefix_sum(const at::Tensor& x, at::Tensor out) {
    const float* a = x.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t n = x.numel();
    double sum = 0;  // a float would lose too many digits on the way
    for (int64_t i = 0; i < n; i++) o[i] = static_cast<float>(sum += a[i]);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("prefix_sum", &prefix_sum); }
"""

EXTENSION = load_inline(
    name="my_prefixsum",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    EXTENSION.prefix_sum(x, out)
    return out
