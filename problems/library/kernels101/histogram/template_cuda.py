#!PHOTOFINISH leaderboard histogram
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256, BLOCKS = 512;

// Each block counts a share of the values in shared memory, then adds its counters to the others'.
__global__ void histogram_kernel(const int* values, int* counts, int64_t n, int bins) {
    extern __shared__ int own[];
    for (int b = threadIdx.x; b < bins; b += THREADS) own[b] = 0;
    __syncthreads();
    const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < n; i += step)
        atomicAdd(&own[values[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += THREADS)
        if (own[b]) atomicAdd(&counts[b], own[b]);
}

void histogram(torch::Tensor values, torch::Tensor counts) {
    const int bins = counts.numel();
    counts.zero_();
    histogram_kernel<<<BLOCKS, THREADS, bins * sizeof(int), c10::cuda::getCurrentCUDAStream()>>>(
        values.data_ptr<int>(), counts.data_ptr<int>(), values.numel(), bins);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_histogram",
    cpp_sources="void histogram(torch::Tensor values, torch::Tensor counts);",
    cuda_sources=CUDA,
    functions=["histogram"],
)


def custom_kernel(data: input_t) -> output_t:
    values, counts = data
    EXTENSION.histogram(values, counts)
    return counts
