#!PHOTOFINISH leaderboard vectoradd
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;

__global__ void add_kernel(const float* x, const float* y, float* out, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}

void add(torch::Tensor x, torch::Tensor y, torch::Tensor out) {
    const int64_t n = out.numel();
    add_kernel<<<(n + THREADS - 1) / THREADS, THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_vectoradd",
    cpp_sources="void add(torch::Tensor x, torch::Tensor y, torch::Tensor out);",
    cuda_sources=CUDA,
    functions=["add"],
)


def custom_kernel(data: input_t) -> output_t:
    x, y, out = data
    EXTENSION.add(x, y, out)
    return out
