#!PHOTOFINISH leaderboard int8_matmul
#!PHOTOFINISH gpu H200
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = """
void int8_matmul(torch::Tensor x, torch::Tensor quantised, torch::Tensor scale, torch::Tensor zero, torch::Tensor out);
"""

SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int TILE = 16;
constexpr int GROUP = 64;  // a multiple of TILE: a tile has one scale and one zero point a column

// A tile of the output a block, an element a thread; weights are dequantised on their way into shared memory.
__global__ void int8_matmul_kernel(const float* x, const int8_t* quantised, const float* scale, const int8_t* zero,
                                   float* out, int rows, int inner, int cols, int groups) {
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];  // one more: no bank conflict when read down a column
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    const int loaded = blockIdx.x * TILE + ty;  // the column of the output whose weights this thread fetches
    float acc = 0;
    for (int start = 0; start < inner; start += TILE) {
        const int k = start + tx;
        left[ty][tx] = row < rows && k < inner ? x[(size_t)row * inner + k] : 0;
        float weight = 0;
        if (loaded < cols && k < inner) {
            const size_t shared = (size_t)loaded * groups + k / GROUP;
            weight = (quantised[(size_t)loaded * inner + k] - zero[shared]) * scale[shared];
        }
        right[ty][tx] = weight;
        __syncthreads();
        for (int i = 0; i < TILE; i++) acc += left[ty][i] * right[tx][i];
        __syncthreads();
    }
    if (row < rows && col < cols) out[(size_t)row * cols + col] = acc;
}

void int8_matmul(torch::Tensor x, torch::Tensor quantised, torch::Tensor scale, torch::Tensor zero, torch::Tensor out) {
    const int rows = x.size(0), inner = x.size(1), cols = scale.size(0), groups = scale.size(1);
    const dim3 threads(TILE, TILE), blocks((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    int8_matmul_kernel<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), quantised.data_ptr<int8_t>(), scale.data_ptr<float>(), zero.data_ptr<int8_t>(),
        out.data_ptr<float>(), rows, inner, cols, groups);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_int8_matmul",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["int8_matmul"],
    extra_cuda_cflags=["-O3"],
)


def custom_kernel(data: input_t) -> output_t:
    x, quantised, scale, zero, out = data
    EXTENSION.int8_matmul(x, quantised, scale, zero, out)
    return out
