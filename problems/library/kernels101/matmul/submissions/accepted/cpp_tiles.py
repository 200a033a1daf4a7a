# C++ through torch's load_inline: tiles of 4 x 8 sums in registers, for any x86-64; b is packed into panels first.
#!PHOTOFINISH leaderboard matmul
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <algorithm>
#include <vector>

typedef float Four __attribute__((vector_size(16), may_alias));
constexpr int ROWS = 4, COLS = 8;

// ROWS x COLS elements of the product, from rows of a and a packed panel of b.
static void tile(const float* const* a, const Four* panel, int64_t k, Four (*sums)[2]) {
    Four s[ROWS][2] = {};
    for (int64_t l = 0; l < k; l++)
        for (int i = 0; i < ROWS; i++) {
            s[i][0] += a[i][l] * panel[2 * l];
            s[i][1] += a[i][l] * panel[2 * l + 1];
        }
    std::copy(&s[0][0], &s[0][0] + 2 * ROWS, &sums[0][0]);
}

void matmul(const at::Tensor& a, const at::Tensor& b, at::Tensor out) {
    const float *x = a.const_data_ptr<float>(), *y = b.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    std::vector<Four> panel(2 * k);
    for (int64_t j = 0; j < n; j += COLS) {
        const int64_t cols = std::min<int64_t>(COLS, n - j);
        float* packed = reinterpret_cast<float*>(panel.data());  // what is cut off stays 0
        std::fill(packed, packed + COLS * k, 0.0f);
        for (int64_t l = 0; l < k; l++) std::copy(y + l * n + j, y + l * n + j + cols, packed + COLS * l);
        for (int64_t i = 0; i < m; i += ROWS) {
            const float* rows[ROWS];
            for (int r = 0; r < ROWS; r++) rows[r] = x + std::min(i + r, m - 1) * k;  // the last row again at the edge
            Four sums[ROWS][2];
            tile(rows, panel.data(), k, sums);
            for (int64_t r = 0; r < std::min<int64_t>(ROWS, m - i); r++) {
                const float* row = reinterpret_cast<const float*>(sums[r]);
                std::copy(row, row + cols, o + (i + r) * n + j);
            }
        }
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("matmul", &matmul); }
"""

EXTENSION = load_inline(name="matmul", cpp_sources=SOURCE, extra_cflags=["-O3"], no_implicit_headers=True)


def custom_kernel(data):
    a, b, out = data
    EXTENSION.matmul(a, b, out)
    return out
