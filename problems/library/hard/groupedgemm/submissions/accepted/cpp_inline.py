# C++ through torch's load_inline: plain loops, four rows at a time past one row of the weights.
#!PHOTOFINISH leaderboard groupedgemm
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <algorithm>

template <int ROWS>
static void block(const float* __restrict x, const float* __restrict w, float* __restrict out, int64_t k, int64_t n) {
    std::fill(out, out + ROWS * n, 0.0f);
    for (int64_t i = 0; i < k; i++)
        for (int64_t c = 0; c < n; c++)
            for (int row = 0; row < ROWS; row++) out[row * n + c] += x[row * k + i] * w[i * n + c];
}

void multiply(const at::Tensor& x, const at::Tensor& w, const at::Tensor& offsets, at::Tensor out) {
    const int64_t groups = w.size(0), k = w.size(1), n = w.size(2);
    const int64_t* bounds = offsets.const_data_ptr<int64_t>();
    const float* a = x.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    for (int64_t group = 0; group < groups; group++) {
        const float* weights = w.const_data_ptr<float>() + group * k * n;
        int64_t row = bounds[group];
        for (; row + 4 <= bounds[group + 1]; row += 4) block<4>(a + row * k, weights, o + row * n, k, n);
        for (; row < bounds[group + 1]; row++) block<1>(a + row * k, weights, o + row * n, k, n);
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("multiply", &multiply); }
"""

EXTENSION = load_inline(
    name="groupedgemm", cpp_sources=SOURCE, extra_cflags=["-O3", "-march=native"], no_implicit_headers=True
)


def custom_kernel(data):
    x, w, offsets, out = data
    EXTENSION.multiply(x, w, offsets, out)
    return out
