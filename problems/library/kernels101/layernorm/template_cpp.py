#!PHOTOFINISH leaderboard layernorm
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>

void layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, at::Tensor out) {
    const float *a = x.const_data_ptr<float>(), *w = weight.const_data_ptr<float>(), *b = bias.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t rows = x.size(0), cols = x.size(1);
    for (int64_t r = 0; r < rows; r++, a += cols, o += cols) {
        double sum = 0, squares = 0;
        for (int64_t c = 0; c < cols; c++) sum += a[c];
        const float mean = static_cast<float>(sum / cols);
        for (int64_t c = 0; c < cols; c++) squares += (a[c] - mean) * (a[c] - mean);
        const float scale = static_cast<float>(1 / std::sqrt(squares / cols + 1e-5));
        for (int64_t c = 0; c < cols; c++) o[c] = (a[c] - mean) * scale * w[c] + b[c];
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("layer_norm", &layer_norm); }
"""

EXTENSION = load_inline(
    name="my_layernorm",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, out = data
    EXTENSION.layer_norm(x, weight, bias, out)
    return out
