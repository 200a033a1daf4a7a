#!PHOTOFINISH leaderboard linear_gelu
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>

void linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& residual,
                 at::Tensor out) {
    const float *rows = x.const_data_ptr<float>(), *cols = weight.const_data_ptr<float>();
    const float *b = bias.const_data_ptr<float>(), *added = residual.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t m = x.size(0), inner = x.size(1), n = weight.size(0);
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < n; c++) {
            float y = b[c];
            for (int64_t k = 0; k < inner; k++) y += rows[r * inner + k] * cols[c * inner + k];
            o[r * n + c] = y / 2 * (1 + std::erf(y * 0.70710678f)) + added[r * n + c];
        }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("linear_gelu", &linear_gelu); }
"""

EXTENSION = load_inline(
    name="my_linear_gelu",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, residual, out = data
    EXTENSION.linear_gelu(x, weight, bias, residual, out)
    return out
