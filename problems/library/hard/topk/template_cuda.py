#!PHOTOFINISH leaderboard topk
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = "void topk(torch::Tensor x, torch::Tensor values, torch::Tensor indices);"

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cmath>

constexpr int THREADS = 256;  // a power of two

__device__ bool is_better(float a, int at_a, float b, int at_b) { return a > b || (a == b && at_a < at_b); }

// One block selects the k largest of one row, one after the other: k passes over the row, so room is left.
__global__ void select(const float* __restrict__ x, float* __restrict__ values, int64_t* __restrict__ indices, int n,
                       int k) {
    __shared__ float best[THREADS];
    __shared__ int where[THREADS];
    const float* row = x + static_cast<int64_t>(blockIdx.x) * n;
    float last = INFINITY;  // what was taken; what comes next is smaller, or as large and behind it
    int place = -1;
    for (int taken = 0; taken < k; taken++) {
        float mine = -INFINITY;
        int at = n;
        for (int i = threadIdx.x; i < n; i += THREADS) {
            const bool is_left = row[i] < last || (row[i] == last && i > place);
            if (is_left && is_better(row[i], i, mine, at)) {
                mine = row[i];
                at = i;
            }
        }
        best[threadIdx.x] = mine;
        where[threadIdx.x] = at;
        __syncthreads();
        for (int half = THREADS / 2; half > 0; half /= 2) {
            const int a = threadIdx.x, b = threadIdx.x + half;
            if (a < half && is_better(best[b], where[b], best[a], where[a])) {
                best[a] = best[b];
                where[a] = where[b];
            }
            __syncthreads();
        }
        last = best[0];
        place = where[0];
        if (threadIdx.x == 0) {
            values[static_cast<int64_t>(blockIdx.x) * k + taken] = last;
            indices[static_cast<int64_t>(blockIdx.x) * k + taken] = place;
        }
        __syncthreads();  // everybody has read before anybody writes again
    }
}

void topk(torch::Tensor x, torch::Tensor values, torch::Tensor indices) {
    select<<<static_cast<unsigned>(x.size(0)), THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), values.data_ptr<float>(), indices.data_ptr<int64_t>(), static_cast<int>(x.size(1)),
        static_cast<int>(values.size(1)));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_topk", cpp_sources=DECLARATION, cuda_sources=SOURCE, functions=["topk"], extra_cuda_cflags=["-O3"]
)


def custom_kernel(data: input_t) -> output_t:
    x, values, indices = data
    EXTENSION.topk(x, values, indices)
    return values, indices
