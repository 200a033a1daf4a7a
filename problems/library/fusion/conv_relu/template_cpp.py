#!PHOTOFINISH leaderboard conv_relu
#!PHOTOFINISH gpu cpu
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>
#include <algorithm>

void conv_relu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& scale,
               at::Tensor out) {
    const float *image = x.const_data_ptr<float>(), *taps = weight.const_data_ptr<float>();
    const float *b = bias.const_data_ptr<float>(), *s = scale.const_data_ptr<float>();
    float* o = out.mutable_data_ptr<float>();
    const int64_t batch = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
    const int64_t filters = weight.size(0);
    for (int64_t n = 0; n < batch; n++, image += channels * height * width)
        for (int64_t f = 0; f < filters; f++, o += height * width) {
            for (int64_t p = 0; p < height * width; p++) o[p] = b[f];
            for (int64_t c = 0; c < channels; c++)
                for (int64_t tap = 0; tap < 9; tap++) {
                    const float factor = taps[(f * channels + c) * 9 + tap];
                    const int64_t down = tap / 3 - 1, right = tap % 3 - 1;
                    const int64_t first = std::max<int64_t>(0, -right), last = std::min(width, width - right);
                    for (int64_t h = std::max<int64_t>(0, -down); h < std::min(height, height - down); h++) {
                        const float* line = image + (c * height + h + down) * width + right;
                        for (int64_t w = first; w < last; w++) o[h * width + w] += factor * line[w];
                    }
                }
            for (int64_t p = 0; p < height * width; p++) o[p] = std::max(o[p] * s[f], 0.0f);
        }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("conv_relu", &conv_relu); }
"""

EXTENSION = load_inline(
    name="my_conv_relu",
    cpp_sources=SOURCE,
    extra_cflags=["-O3"],
    no_implicit_headers=True,  # only the headers that the source names: compiles several times faster
)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, scale, out = data
    EXTENSION.conv_relu(x, weight, bias, scale, out)
    return out
