#!PHOTOFINISH leaderboard rmsnorm_rotary
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>

void rmsnorm_rotary(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& cos, const at::Tensor& sin,
                    at::Tensor out) {
    const float *row = x.const_data_ptr<float>(), *g = gain.const_data_ptr<float>();
    const float *c = cos.const_data_ptr<float>(), *s = sin.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t tokens = x.size(0), heads = x.size(1), half = x.size(2) / 2;
    for (int64_t t = 0; t < tokens; t++, c += half, s += half)
        for (int64_t h = 0; h < heads; h++, row += 2 * half, o += 2 * half) {
            float squares = 0;
            for (int64_t i = 0; i < 2 * half; i++) squares += row[i] * row[i];
            const float inverse = 1 / std::sqrt(squares / (2 * half) + 1e-6f);
            for (int64_t i = 0; i < half; i++) {
                const float left = row[i] * inverse * g[i], right = row[half + i] * inverse * g[half + i];
                o[i] = left * c[i] - right * s[i];
                o[half + i] = right * c[i] + left * s[i];
            }
        }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rmsnorm_rotary", &rmsnorm_rotary); }
"""

EXTENSION = load_inline(
    name="my_rmsnorm_rotary",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    x, gain, cos, sin, out = data
    EXTENSION.rmsnorm_rotary(x, gain, cos, sin, out)
    return out
