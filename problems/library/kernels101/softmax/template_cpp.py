#!PHOTOFINISH leaderboard softmax
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>

void softmax(const at::Tensor& x, at::Tensor out) {
    const float* a = x.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t rows = x.size(0), cols = x.size(1);
    for (int64_t r = 0; r < rows; r++, a += cols, o += cols) {
        float top = a[0], sum = 0;
        for (int64_t c = 1; c < cols; c++) top = a[c] > top ? a[c] : top;
        for (int64_t c = 0; c < cols; c++) sum += o[c] = std::exp(a[c] - top);
        for (int64_t c = 0; c < cols; c++) o[c] /= sum;
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("softmax", &softmax); }
"""

EXTENSION = load_inline(
    name="my_softmax",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    EXTENSION.softmax(x, out)
    return out
