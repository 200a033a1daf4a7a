#!PHOTOFINISH leaderboard cross_entropy
#!PHOTOFINISH gpu H200
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = """
void cross_entropy(torch::Tensor logits, torch::Tensor targets, torch::Tensor out);
"""

SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;  // a power of two

// Over all threads of the block; every thread gets the result, and all must call it.
__device__ float reduce(float value, bool largest) {
    __shared__ float part[THREADS];
    part[threadIdx.x] = value;
    __syncthreads();
    for (int step = THREADS / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            const float other = part[threadIdx.x + step];
            part[threadIdx.x] = largest ? fmaxf(part[threadIdx.x], other) : part[threadIdx.x] + other;
        }
        __syncthreads();
    }
    const float result = part[0];
    __syncthreads();  // nobody writes the next values before all have read
    return result;
}

// A row a block: its maximum first, then the two sums.
__global__ void cross_entropy_kernel(const float* logits, const int64_t* targets, float* out, int vocab) {
    const float* x = logits + (size_t)blockIdx.x * vocab;
    const int64_t target = targets[blockIdx.x];
    if (target == -100) {  // the same for the whole block
        if (threadIdx.x == 0) out[blockIdx.x] = 0;
        return;
    }
    float top = -INFINITY;
    for (int i = threadIdx.x; i < vocab; i += THREADS) top = fmaxf(top, x[i]);
    top = reduce(top, true);
    float all = 0, sum = 0;
    for (int i = threadIdx.x; i < vocab; i += THREADS) {
        all += x[i] - top;
        sum += expf(x[i] - top);
    }
    all = reduce(all, false);
    sum = reduce(sum, false);
    if (threadIdx.x == 0) out[blockIdx.x] = logf(sum) - 0.9f * (x[target] - top) - 0.1f * (all / vocab);
}

void cross_entropy(torch::Tensor logits, torch::Tensor targets, torch::Tensor out) {
    const int rows = logits.size(0), vocab = logits.size(1);
    cross_entropy_kernel<<<rows, THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        logits.data_ptr<float>(), targets.data_ptr<int64_t>(), out.data_ptr<float>(), vocab);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_cross_entropy",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["cross_entropy"],
    extra_cuda_cflags=["-O3"],
)


def custom_kernel(data: input_t) -> output_t:
    logits, targets, out = data
    EXTENSION.cross_entropy(logits, targets, out)
    return out
