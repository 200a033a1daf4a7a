#!PHOTOFINISH leaderboard matmul
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int TILE = 16;  // a block works on TILE x TILE elements of the product

__global__ void matmul_kernel(const float* a, const float* b, float* out, int m, int k, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += TILE) {
        const int across = start + threadIdx.x, down = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && across < k ? a[static_cast<int64_t>(row) * k + across] : 0;
        right[threadIdx.y][threadIdx.x] = down < k && col < n ? b[static_cast<int64_t>(down) * n + col] : 0;
        __syncthreads();
        for (int l = 0; l < TILE; l++) sum += left[threadIdx.y][l] * right[l][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) out[static_cast<int64_t>(row) * n + col] = sum;
}

void matmul(torch::Tensor a, torch::Tensor b, torch::Tensor out) {
    const int m = a.size(0), k = a.size(1), n = b.size(1);
    const dim3 threads(TILE, TILE), blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmul_kernel<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), m, k, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_matmul",
    cpp_sources="void matmul(torch::Tensor a, torch::Tensor b, torch::Tensor out);",
    cuda_sources=CUDA,
    functions=["matmul"],
)


def custom_kernel(data: input_t) -> output_t:
    a, b, out = data
    EXTENSION.matmul(a, b, out)
    return out
