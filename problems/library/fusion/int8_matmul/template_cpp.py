#!PHOTOFINISH leaderboard int8_matmul
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <vector>

void int8_matmul(const at::Tensor& x, const at::Tensor& quantised, const at::Tensor& scale, const at::Tensor& zero,
                 at::Tensor out) {
    const float *rows = x.const_data_ptr<float>(), *s = scale.const_data_ptr<float>();
    const int8_t *q = quantised.const_data_ptr<int8_t>(), *z = zero.const_data_ptr<int8_t>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t m = x.size(0), inner = x.size(1), n = quantised.size(0), groups = scale.size(1);
    std::vector<float> weight(inner);  // one column at a time
    for (int64_t c = 0; c < n; c++, q += inner, s += groups, z += groups) {
        for (int64_t k = 0; k < inner; k++) weight[k] = (q[k] - z[k / 64]) * s[k / 64];
        for (int64_t r = 0; r < m; r++) {
            float sum = 0;
            for (int64_t k = 0; k < inner; k++) sum += rows[r * inner + k] * weight[k];
            o[r * n + c] = sum;
        }
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("int8_matmul", &int8_matmul); }
"""

EXTENSION = load_inline(
    name="my_int8_matmul",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    x, quantised, scale, zero, out = data
    EXTENSION.int8_matmul(x, quantised, scale, zero, out)
    return out
