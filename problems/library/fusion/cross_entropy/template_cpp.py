#!PHOTOFINISH leaderboard cross_entropy
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <cmath>

void cross_entropy(const at::Tensor& logits, const at::Tensor& targets, at::Tensor out) {
    const float* x = logits.const_data_ptr<float>();
    const int64_t* target = targets.const_data_ptr<int64_t>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t rows = logits.size(0), vocab = logits.size(1);
    for (int64_t r = 0; r < rows; r++, x += vocab) {
        o[r] = 0;
        if (target[r] == -100) continue;
        float top = x[0];
        for (int64_t c = 1; c < vocab; c++) top = x[c] > top ? x[c] : top;
        double all = 0, sum = 0;  // long rows lose no digits in them
        for (int64_t c = 0; c < vocab; c++) {
            all += x[c] - top;
            sum += std::exp(x[c] - top);
        }
        o[r] = std::log(sum) - 0.9 * (x[target[r]] - top) - 0.1 * (all / vocab);
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("cross_entropy", &cross_entropy); }
"""

EXTENSION = load_inline(
    name="my_cross_entropy",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    logits, targets, out = data
    EXTENSION.cross_entropy(logits, targets, out)
    return out
