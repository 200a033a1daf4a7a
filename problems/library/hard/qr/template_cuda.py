#!PHOTOFINISH leaderboard qr
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = "void qr(torch::Tensor a, torch::Tensor q, torch::Tensor r);"

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

// One block factorises one matrix in shared memory: W = [a | I], n rows of 2n. Reflections turn it into [R | Q'].
__global__ void householder(const float* __restrict__ a, float* __restrict__ q, float* __restrict__ r, int n) {
    extern __shared__ float w[];
    const int width = 2 * n;
    const long long start = static_cast<long long>(blockIdx.x) * n * n;
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
        const int row = i / n, column = i % n;
        w[row * width + column] = a[start + i];
        w[row * width + n + column] = row == column ? 1.0f : 0.0f;
    }
    __syncthreads();
    for (int j = 0; j < n; j++) {
        float below = 0;  // every thread sums column j itself: no second barrier
        for (int row = j + 1; row < n; row++) below += w[row * width + j] * w[row * width + j];
        const float head = w[j * width + j];
        const bool is_reflected = below > 1e-30f;  // the same in all threads; less is rounding, and 1 / below infinite
        const float length = sqrtf(head * head + below);
        const float pivot = head > 0 ? -length : length;  // of the other sign: nothing cancels
        const float factor = is_reflected ? 1.0f / (length * (length + fabsf(head))) : 0.0f;  // 2 / |v|^2
        __syncthreads();
        if (is_reflected) {
            for (int column = j + 1 + threadIdx.x; column < width; column += blockDim.x) {
                float sum = (head - pivot) * w[j * width + column];
                for (int row = j + 1; row < n; row++) sum += w[row * width + j] * w[row * width + column];
                sum *= factor;
                w[j * width + column] -= sum * (head - pivot);
                for (int row = j + 1; row < n; row++) w[row * width + column] -= sum * w[row * width + j];
            }
        }
        __syncthreads();
        if (is_reflected && threadIdx.x == 0) w[j * width + j] = pivot;  // nobody reads column j again before the end
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
        const int row = i / n, column = i % n;
        r[start + i] = row <= column ? w[row * width + column] : 0.0f;
        q[start + i] = w[column * width + n + row];
    }
}

void qr(torch::Tensor a, torch::Tensor q, torch::Tensor r) {
    const int batch = static_cast<int>(a.size(0)), n = static_cast<int>(a.size(1));
    const int bytes = 2 * n * n * static_cast<int>(sizeof(float));  // n up to 168 fits into an H200's 227 KB
    C10_CUDA_CHECK(cudaFuncSetAttribute(householder, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    householder<<<batch, 128, bytes, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), q.data_ptr<float>(), r.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_qr", cpp_sources=DECLARATION, cuda_sources=SOURCE, functions=["qr"], extra_cuda_cflags=["-O3"]
)


def custom_kernel(data: input_t) -> output_t:
    a, q, r = data
    EXTENSION.qr(a, q, r)
    return q, r
