#!PHOTOFINISH leaderboard prefixsum
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256, EACH = 8, BLOCK = THREADS * EACH;

// What lies before each thread's value in its block; `total` becomes the sum of all.
__device__ float scan_block(float value, float* total) {
    __shared__ float sums[THREADS];
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        const float left = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += left;
        __syncthreads();
    }
    *total = sums[THREADS - 1];
    return threadIdx.x ? sums[threadIdx.x - 1] : 0;
}

__global__ void sum_blocks(const float* x, double* sums, int64_t n) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x * EACH;
    float sum = 0, total;
    for (int k = 0; k < EACH; k++) sum += first + k < n ? x[first + k] : 0;
    scan_block(sum, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// What lies before a block is large, and small sums come back from it: it is kept in double precision.
__global__ void scan_blocks(const float* x, const double* before, float* out, int64_t n) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x * EACH;
    float sum = 0, total;
    for (int k = 0; k < EACH; k++) sum += first + k < n ? x[first + k] : 0;
    double running = scan_block(sum, &total) + before[blockIdx.x];
    for (int k = 0; k < EACH && first + k < n; k++) out[first + k] = static_cast<float>(running += x[first + k]);
}

void prefix_sum(torch::Tensor x, torch::Tensor out) {
    const int64_t n = x.numel(), blocks = (n + BLOCK - 1) / BLOCK;
    const auto stream = c10::cuda::getCurrentCUDAStream();
    torch::Tensor sums = torch::empty({blocks}, x.options().dtype(torch::kFloat64));
    sum_blocks<<<blocks, THREADS, 0, stream>>>(x.data_ptr<float>(), sums.data_ptr<double>(), n);
    torch::Tensor before = torch::cumsum(sums, 0) - sums;
    scan_blocks<<<blocks, THREADS, 0, stream>>>(
        x.data_ptr<float>(), before.data_ptr<double>(), out.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_prefixsum",
    cpp_sources="void prefix_sum(torch::Tensor x, torch::Tensor out);",
    cuda_sources=CUDA,
    functions=["prefix_sum"],
)


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    EXTENSION.prefix_sum(x, out)
    return out
