# C++ through torch's load_inline: three plain loops a row, vectorised for any x86-64 by the compiler.
#!PHOTOFINISH leaderboard softmax
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>

void softmax(const at::Tensor& x, at::Tensor out) {
    const float* __restrict a = x.const_data_ptr<float>();
    float* __restrict o = out.mutable_data_ptr<float>();
    const int64_t rows = x.size(0), cols = x.size(1);
    for (int64_t r = 0; r < rows; r++, a += cols, o += cols) {
        float top = a[0], sum = 0;
        for (int64_t c = 1; c < cols; c++) top = a[c] > top ? a[c] : top;
        for (int64_t c = 0; c < cols; c++) {
            o[c] = std::exp(a[c] - top);
            sum += o[c];
        }
        for (int64_t c = 0; c < cols; c++) o[c] *= 1 / sum;
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("softmax", &softmax); }
"""

EXTENSION = load_inline(
    name="softmax", cpp_sources=SOURCE, extra_cflags=["-O3", "-ffast-math"], no_implicit_headers=True
)


def custom_kernel(data):
    x, out = data
    EXTENSION.softmax(x, out)
    return out
