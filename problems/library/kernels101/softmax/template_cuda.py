#!PHOTOFINISH leaderboard softmax
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;  // a block works on one row

// What `combine` makes of the values of all threads of the block, in every thread.
template <typename Combine>
__device__ float over_block(float value, Combine combine) {
    __shared__ float parts[THREADS / 32];
    for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
    __syncthreads();  // the last result has been read
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int part = 1; part < THREADS / 32; part++) value = combine(value, parts[part]);
    return value;
}

__global__ void softmax_kernel(const float* x, float* out, int cols) {
    x += static_cast<int64_t>(blockIdx.x) * cols;
    out += static_cast<int64_t>(blockIdx.x) * cols;
    float top = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += THREADS) top = fmaxf(top, x[c]);
    top = over_block(top, [](float a, float b) { return fmaxf(a, b); });
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += expf(x[c] - top);
    sum = over_block(sum, [](float a, float b) { return a + b; });
    for (int c = threadIdx.x; c < cols; c += THREADS) out[c] = expf(x[c] - top) / sum;
}

void softmax(torch::Tensor x, torch::Tensor out) {
    softmax_kernel<<<x.size(0), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_softmax",
    cpp_sources="void softmax(torch::Tensor x, torch::Tensor out);",
    cuda_sources=CUDA,
    functions=["softmax"],
)


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    EXTENSION.softmax(x, out)
    return out
