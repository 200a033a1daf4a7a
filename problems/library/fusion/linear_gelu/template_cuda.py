#!PHOTOFINISH leaderboard linear_gelu
#!PHOTOFINISH gpu H200
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = """
void linear_gelu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor residual, torch::Tensor out);
"""

SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int TILE = 16;

// A tile of the output a block, an element a thread; the inputs pass through shared memory, a tile at a time.
__global__ void linear_gelu_kernel(const float* x, const float* weight, const float* bias, const float* residual,
                                   float* out, int rows, int inner, int cols) {
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];  // one more: no bank conflict when read down a column
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    const int loaded = blockIdx.x * TILE + ty;  // the row of `weight` that this thread fetches
    float acc = 0;
    for (int start = 0; start < inner; start += TILE) {
        const int k = start + tx;
        left[ty][tx] = row < rows && k < inner ? x[(size_t)row * inner + k] : 0;
        right[ty][tx] = loaded < cols && k < inner ? weight[(size_t)loaded * inner + k] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) acc += left[ty][i] * right[tx][i];
        __syncthreads();
    }
    if (row >= rows || col >= cols) return;
    acc += bias[col];
    const size_t place = (size_t)row * cols + col;
    out[place] = 0.5f * acc * (1 + erff(acc * 0.70710678f)) + residual[place];
}

void linear_gelu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor residual, torch::Tensor out) {
    const int rows = x.size(0), inner = x.size(1), cols = weight.size(0);
    const dim3 threads(TILE, TILE), blocks((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    linear_gelu_kernel<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), residual.data_ptr<float>(),
        out.data_ptr<float>(), rows, inner, cols);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_linear_gelu",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["linear_gelu"],
    extra_cuda_cflags=["-O3"],
)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, residual, out = data
    EXTENSION.linear_gelu(x, weight, bias, residual, out)
    return out
