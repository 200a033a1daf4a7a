# C++ through torch's load_inline: one visit a row, the sum of squares in double precision.
#!PHOTOFINISH leaderboard rmsnorm_rotary
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>

void rmsnorm_rotary(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& cos, const at::Tensor& sin,
                    at::Tensor out) {
    const float* __restrict a = x.const_data_ptr<float>();
    const float* __restrict g = gain.const_data_ptr<float>();
    const float* __restrict c = cos.const_data_ptr<float>();
    const float* __restrict s = sin.const_data_ptr<float>();
    float* __restrict o = out.mutable_data_ptr<float>();
    const int64_t tokens = x.size(0), heads = x.size(1), half = x.size(2) / 2;
    for (int64_t t = 0; t < tokens; t++, c += half, s += half)
        for (int64_t h = 0; h < heads; h++, a += 2 * half, o += 2 * half) {
            double squares = 0;
            for (int64_t i = 0; i < 2 * half; i++) squares += static_cast<double>(a[i]) * a[i];
            const float inverse = static_cast<float>(1 / std::sqrt(squares / (2 * half) + 1e-6));
            for (int64_t i = 0; i < half; i++) {
                const float left = a[i] * inverse * g[i], right = a[half + i] * inverse * g[half + i];
                o[i] = left * c[i] - right * s[i];
                o[half + i] = right * c[i] + left * s[i];
            }
        }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rmsnorm_rotary", &rmsnorm_rotary); }
"""

EXTENSION = load_inline(
    name="rmsnorm_rotary", cpp_sources=SOURCE, extra_cflags=["-O3", "-ffast-math"], no_implicit_headers=True
)


def custom_kernel(data):
    x, gain, cos, sin, out = data
    EXTENSION.rmsnorm_rotary(x, gain, cos, sin, out)
    return out
