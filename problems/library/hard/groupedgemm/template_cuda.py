#!PHOTOFINISH leaderboard groupedgemm
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = "void multiply(torch::Tensor x, torch::Tensor w, torch::Tensor offsets, torch::Tensor out);"

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int TILE = 16;

// One block: a TILE x TILE tile of `out` that belongs to one group. The host knows no offsets, so blocks count tiles;
// there are at most ceil(rows / TILE) + groups tiles of rows, and blocks beyond the last one have nothing to do.
__global__ void grouped(const float* __restrict__ x, const float* __restrict__ w, const int64_t* __restrict__ offsets,
                        float* __restrict__ out, int groups, int k, int n) {
    __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
    int64_t tile = blockIdx.x;
    int group = 0;
    for (; group < groups; group++) {  // whose tile is it?
        const int64_t tiles = (offsets[group + 1] - offsets[group] + TILE - 1) / TILE;
        if (tile < tiles) break;
        tile -= tiles;
    }
    if (group == groups) return;  // the whole block
    const int64_t end = offsets[group + 1], row = offsets[group] + tile * TILE + threadIdx.y;
    const int column = blockIdx.y * TILE + threadIdx.x;
    const float* weights = w + static_cast<int64_t>(group) * k * n;
    float total = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        const int across = first + threadIdx.x, down = first + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < end && across < k ? x[row * k + across] : 0.0f;
        b[threadIdx.y][threadIdx.x] = down < k && column < n ? weights[static_cast<int64_t>(down) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) total += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < end && column < n) out[row * n + column] = total;
}

void multiply(torch::Tensor x, torch::Tensor w, torch::Tensor offsets, torch::Tensor out) {
    const int64_t rows = x.size(0), groups = w.size(0), n = w.size(2);
    const auto down = static_cast<unsigned>((rows + TILE - 1) / TILE + groups);
    const auto across = static_cast<unsigned>((n + TILE - 1) / TILE);
    grouped<<<dim3(down, across), dim3(TILE, TILE), 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), offsets.data_ptr<int64_t>(), out.data_ptr<float>(),
        static_cast<int>(groups), static_cast<int>(w.size(1)), static_cast<int>(n));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_groupedgemm",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["multiply"],
    extra_cuda_cflags=["-O3"],
)


def custom_kernel(data: input_t) -> output_t:
    x, w, offsets, out = data
    EXTENSION.multiply(x, w, offsets, out)
    return out
