# C++ through torch's load_inline: two sums and a product a row, vectorised for any x86-64 by the compiler.
#!PHOTOFINISH leaderboard layernorm
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>

constexpr int LANES = 16;  // partial sums: short ones round less, and the compiler keeps them in registers

static float sum_of(const float* lanes) {
    float sum = 0;
    for (int k = 0; k < LANES; k++) sum += lanes[k];
    return sum;
}

void layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, at::Tensor out) {
    const float *a = x.const_data_ptr<float>(), *w = weight.const_data_ptr<float>(), *b = bias.const_data_ptr<float>();
    float* __restrict o = out.mutable_data_ptr<float>();
    const int64_t rows = x.size(0), cols = x.size(1), whole = cols / LANES * LANES;
    for (int64_t r = 0; r < rows; r++, a += cols, o += cols) {
        float sums[LANES] = {}, squares[LANES] = {};
        for (int64_t c = 0; c < whole; c += LANES)
            for (int k = 0; k < LANES; k++) sums[k] += a[c + k];
        for (int64_t c = whole; c < cols; c++) sums[c - whole] += a[c];
        const float mean = sum_of(sums) / cols;
        for (int64_t c = 0; c < whole; c += LANES)
            for (int k = 0; k < LANES; k++) squares[k] += (a[c + k] - mean) * (a[c + k] - mean);
        for (int64_t c = whole; c < cols; c++) squares[c - whole] += (a[c] - mean) * (a[c] - mean);
        const float scale = 1 / std::sqrt(sum_of(squares) / cols + 1e-5f);
        for (int64_t c = 0; c < cols; c++) o[c] = (a[c] - mean) * scale * w[c] + b[c];
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("layer_norm", &layer_norm); }
"""

EXTENSION = load_inline(name="layernorm", cpp_sources=SOURCE, extra_cflags=["-O3"], no_implicit_headers=True)


def custom_kernel(data):
    x, weight, bias, out = data
    EXTENSION.layer_norm(x, weight, bias, out)
    return out
