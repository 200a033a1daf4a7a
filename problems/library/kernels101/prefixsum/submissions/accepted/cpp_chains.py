# C++ through torch's load_inline: sums of four quarters first, then four running sums side by side in double precision.
#!PHOTOFINISH leaderboard prefixsum
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

constexpr int CHAINS = 4;

void prefix_sum(const at::Tensor& x, at::Tensor out) {
    const float* a = x.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t n = x.numel(), part = n / CHAINS;
    double sums[CHAINS] = {};
    for (int chain = 1; chain < CHAINS; chain++) {
        double lanes[8] = {};
        const float* from = a + (chain - 1) * part;
        for (int64_t i = 0; i < part / 8 * 8; i += 8)
            for (int k = 0; k < 8; k++) lanes[k] += from[i + k];
        for (int64_t i = part / 8 * 8; i < part; i++) lanes[0] += from[i];
        sums[chain] = sums[chain - 1];
        for (double lane : lanes) sums[chain] += lane;
    }
    for (int64_t i = 0; i < part; i++)
        for (int chain = 0; chain < CHAINS; chain++)
            o[chain * part + i] = static_cast<float>(sums[chain] += a[chain * part + i]);
    for (int64_t i = CHAINS * part; i < n; i++) o[i] = static_cast<float>(sums[CHAINS - 1] += a[i]);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("prefix_sum", &prefix_sum); }
"""

EXTENSION = load_inline(name="prefixsum", cpp_sources=SOURCE, extra_cflags=["-O3"], no_implicit_headers=True)


def custom_kernel(data):
    x, out = data
    EXTENSION.prefix_sum(x, out)
    return out
