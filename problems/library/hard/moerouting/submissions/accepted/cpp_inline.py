# C++ through torch's load_inline: k passes over a token's logits, then a counting sort.
#!PHOTOFINISH leaderboard moerouting
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>
#include <limits>
#include <vector>

void route(const at::Tensor& logits, at::Tensor weights, at::Tensor chosen, at::Tensor order, at::Tensor offsets) {
    const int64_t tokens = logits.size(0), experts = logits.size(1), k = weights.size(1);
    const float* source = logits.const_data_ptr<float>();
    float* weight = weights.mutable_data_ptr<float>();
    int32_t* place = chosen.mutable_data_ptr<int32_t>();
    std::vector<float> left(experts);
    std::vector<int32_t> next(experts + 1, 0);
    for (int64_t token = 0; token < tokens; token++, source += experts, weight += k) {
        left.assign(source, source + experts);
        float sum = 0;
        for (int64_t j = 0; j < k; j++) {
            int64_t best = 0;
            for (int64_t i = 1; i < experts; i++) best = left[i] > left[best] ? i : best;
            left[best] = -std::numeric_limits<float>::infinity();
            weight[j] = source[best];
            next[best + 1]++;
            *place++ = static_cast<int32_t>(best);
        }
        const float top = weight[0];
        for (int64_t j = 0; j < k; j++) sum += weight[j] = std::exp(weight[j] - top);
        for (int64_t j = 0; j < k; j++) weight[j] /= sum;
    }
    for (int64_t expert = 0; expert < experts; expert++) next[expert + 1] += next[expert];
    std::copy(next.begin(), next.end(), offsets.mutable_data_ptr<int32_t>());
    const int32_t* slots = chosen.const_data_ptr<int32_t>();
    int32_t* sorted = order.mutable_data_ptr<int32_t>();
    for (int64_t slot = 0; slot < tokens * k; slot++) sorted[next[slots[slot]]++] = static_cast<int32_t>(slot);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("route", &route); }
"""

EXTENSION = load_inline(name="moerouting", cpp_sources=SOURCE, extra_cflags=["-O3"], no_implicit_headers=True)


def custom_kernel(data):
    EXTENSION.route(*data)
    return data[1:]
