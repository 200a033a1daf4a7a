# C++ through torch's load_inline: the k best so far lie sorted, a better one moves up to its place.
#!PHOTOFINISH leaderboard topk
#!PHOTOFINISH gpu cpu
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

void topk(const at::Tensor& x, at::Tensor values, at::Tensor indices) {
    const int64_t rows = x.size(0), n = x.size(1), k = values.size(1);
    const float* source = x.const_data_ptr<float>();
    float* best = values.mutable_data_ptr<float>();
    int64_t* place = indices.mutable_data_ptr<int64_t>();
    for (int64_t row = 0; row < rows; row++, source += n, best += k, place += k) {
        for (int64_t i = 0; i < n; i++) {
            if (i >= k && !(source[i] > best[k - 1])) continue;
            int64_t at = i < k ? i : k - 1;
            for (; at > 0 && source[i] > best[at - 1]; at--) {
                best[at] = best[at - 1];
                place[at] = place[at - 1];
            }
            best[at] = source[i];
            place[at] = i;
        }
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("topk", &topk); }
"""

EXTENSION = load_inline(name="topk", cpp_sources=SOURCE, extra_cflags=["-O3"], no_implicit_headers=True)


def custom_kernel(data):
    x, values, indices = data
    EXTENSION.topk(x, values, indices)
    return values, indices
