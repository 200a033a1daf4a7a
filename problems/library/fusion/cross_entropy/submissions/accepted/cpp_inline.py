# C++ through torch's load_inline: the maximum, then both sums, over rows that count; float lanes, double totals.
#!PHOTOFINISH leaderboard cross_entropy
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <algorithm>
#include <cmath>

static const int64_t BLOCK = 1024;

void cross_entropy(const at::Tensor& logits, const at::Tensor& targets, at::Tensor out) {
    const float* __restrict x = logits.const_data_ptr<float>();
    const int64_t* t = targets.const_data_ptr<int64_t>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t rows = logits.size(0), vocab = logits.size(1);
    for (int64_t r = 0; r < rows; r++, x += vocab) {
        o[r] = 0;
        if (t[r] == -100) continue;
        float top = x[0];
        for (int64_t c = 1; c < vocab; c++) top = x[c] > top ? x[c] : top;
        double all = 0, sum = 0;
        for (int64_t start = 0; start < vocab; start += BLOCK) {
            const int64_t end = std::min(start + BLOCK, vocab);
            float some = 0, powers = 0;
            for (int64_t c = start; c < end; c++) {
                some += x[c] - top;
                powers += std::exp(x[c] - top);
            }
            all += some;
            sum += powers;
        }
        o[r] = std::log(sum) - 0.9 * (x[t[r]] - top) - 0.1 * (all / vocab);
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("cross_entropy", &cross_entropy); }
"""

EXTENSION = load_inline(
    name="cross_entropy", cpp_sources=SOURCE, extra_cflags=["-O3", "-ffast-math"], no_implicit_headers=True
)


def custom_kernel(data):
    logits, targets, out = data
    EXTENSION.cross_entropy(logits, targets, out)
    return out
