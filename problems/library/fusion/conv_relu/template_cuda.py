#!PHOTOFINISH leaderboard conv_relu
#!PHOTOFINISH gpu H200
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = """
void conv_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor scale, torch::Tensor out);
"""

SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

// One thread an output element, straight from the definition.
__global__ void conv_relu_kernel(const float* x, const float* weight, const float* bias, const float* scale,
                                 float* out, int channels, int filters, int height, int width) {
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x, filter = blockIdx.y, image = blockIdx.z;
    if (pixel >= height * width) return;
    const int row = pixel / width, col = pixel % width;
    float acc = 0;
    for (int channel = 0; channel < channels; channel++) {
        const float* plane = x + (size_t)(image * channels + channel) * height * width;
        const float* taps = weight + (size_t)(filter * channels + channel) * 9;
        for (int tap = 0; tap < 9; tap++) {
            const int r = row + tap / 3 - 1, c = col + tap % 3 - 1;
            if (r >= 0 && r < height && c >= 0 && c < width) acc += plane[r * width + c] * taps[tap];
        }
    }
    const size_t place = (size_t)(image * filters + filter) * height * width + pixel;
    out[place] = fmaxf((acc + bias[filter]) * scale[filter], 0.0f);
}

void conv_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor scale, torch::Tensor out) {
    const int batch = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
    const int filters = weight.size(0), threads = 128;
    const dim3 blocks((height * width + threads - 1) / threads, filters, batch);
    conv_relu_kernel<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), scale.data_ptr<float>(),
        out.data_ptr<float>(), channels, filters, height, width);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_conv_relu",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["conv_relu"],
    extra_cuda_cflags=["-O3"],
)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, scale, out = data
    EXTENSION.conv_relu(x, weight, bias, scale, out)
    return out
