# C++ through torch's load_inline: Householder reflections applied to the rows of [a | I], which becomes [R | Qᵀ].
#!PHOTOFINISH leaderboard qr
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>
#include <vector>

static void factorise(const float* a, float* q, float* r, int64_t n, float* w, float* sums) {
    const int64_t width = 2 * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < n; c++) {
            w[i * width + c] = a[i * n + c];
            w[i * width + n + c] = i == c;
        }
    for (int64_t j = 0; j < n; j++) {
        float below = 0;
        for (int64_t i = j + 1; i < n; i++) below += w[i * width + j] * w[i * width + j];
        if (!(below > 1e-30f)) continue;  // what is left is rounding, and 1 / below soon infinite
        const float head = w[j * width + j], length = std::sqrt(head * head + below);
        const float pivot = head > 0 ? -length : length;
        const float factor = 1 / (length * (length + std::fabs(head)));
        w[j * width + j] = head - pivot;
        for (int64_t c = j + 1; c < width; c++) sums[c] = 0;
        for (int64_t i = j; i < n; i++) {
            const float v = w[i * width + j] * factor;
            const float* row = w + i * width;
            for (int64_t c = j + 1; c < width; c++) sums[c] += v * row[c];
        }
        for (int64_t i = j; i < n; i++) {
            const float v = w[i * width + j];
            float* row = w + i * width;
            for (int64_t c = j + 1; c < width; c++) row[c] -= v * sums[c];
        }
        w[j * width + j] = pivot;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < n; c++) {
            r[i * n + c] = i <= c ? w[i * width + c] : 0;
            q[i * n + c] = w[c * width + n + i];
        }
}

void qr(const at::Tensor& a, at::Tensor q, at::Tensor r) {
    const int64_t n = a.size(1);
    std::vector<float> w(2 * n * n), sums(2 * n);
    for (int64_t b = 0; b < a.size(0); b++) {
        const int64_t start = b * n * n;
        factorise(a.const_data_ptr<float>() + start, q.mutable_data_ptr<float>() + start,
                  r.mutable_data_ptr<float>() + start, n, w.data(), sums.data());
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("qr", &qr); }
"""

EXTENSION = load_inline(name="qr", cpp_sources=SOURCE, extra_cflags=["-O3"], no_implicit_headers=True)


def custom_kernel(data):
    a, q, r = data
    EXTENSION.qr(a, q, r)
    return q, r
