#!PHOTOFINISH leaderboard layernorm
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;  // a block works on one row

// The sum over all threads of the block, in every thread.
__device__ float block_sum(float value) {
    __shared__ float parts[THREADS / 32];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    __syncthreads();  // the last sum has been read
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int part = 0; part < THREADS / 32; part++) sum += parts[part];
    return sum;
}

__global__ void layer_norm_kernel(const float* x, const float* weight, const float* bias, float* out, int cols) {
    x += static_cast<int64_t>(blockIdx.x) * cols;
    out += static_cast<int64_t>(blockIdx.x) * cols;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += x[c];
    const float mean = block_sum(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += THREADS) squares += (x[c] - mean) * (x[c] - mean);
    const float scale = rsqrtf(block_sum(squares) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += THREADS) out[c] = (x[c] - mean) * scale * weight[c] + bias[c];
}

void layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor out) {
    layer_norm_kernel<<<x.size(0), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_layernorm",
    cpp_sources="void layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor out);",
    cuda_sources=CUDA,
    functions=["layer_norm"],
)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, out = data
    EXTENSION.layer_norm(x, weight, bias, out)
    return out
