#!PHOTOFINISH leaderboard matmul
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

void matmul(const at::Tensor& a, const at::Tensor& b, at::Tensor out) {
    const float *x = a.const_data_ptr<float>(), *y = b.const_data_ptr<float>();
    float* __restrict o = out.mutable_data_ptr<float>();
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) o[i * n + j] = 0;
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) o[i * n + j] += x[i * k + l] * y[l * n + j];
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("matmul", &matmul); }
"""

EXTENSION = load_inline(
    name="my_matmul",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    a, b, out = data
    EXTENSION.matmul(a, b, out)
    return out
