#!PHOTOFINISH leaderboard attention
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = """
void attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor out, bool causal);
"""

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cmath>

constexpr int WARPS = 4, LANES = 32, PARTS = 4;  // a lane holds PARTS elements of a row: dim up to 128

// One warp for each query: a running maximum, a running sum, and a running mean of the values.
__global__ void attend(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                       float* __restrict__ out, int seq, int dim, float scale, bool causal) {
    const int lane = threadIdx.x % LANES, query = blockIdx.x * WARPS + threadIdx.x / LANES;
    if (query >= seq) return;  // the whole warp
    const long long head = static_cast<long long>(blockIdx.y) * seq * dim;
    float mine[PARTS], found[PARTS];
    for (int part = 0; part < PARTS; part++) {
        const int d = part * LANES + lane;
        mine[part] = d < dim ? q[head + static_cast<long long>(query) * dim + d] * scale : 0.0f;
        found[part] = 0.0f;
    }
    float top = -INFINITY, total = 0.0f;
    const int end = causal ? query + 1 : seq;
    for (int key = 0; key < end; key++) {
        const long long row = head + static_cast<long long>(key) * dim;
        float logit = 0.0f;
        for (int part = 0; part < PARTS; part++) {
            const int d = part * LANES + lane;
            if (d < dim) logit += mine[part] * k[row + d];
        }
        for (int step = LANES / 2; step > 0; step /= 2) logit += __shfl_xor_sync(0xffffffffu, logit, step);
        const float higher = fmaxf(top, logit);
        const float shrink = expf(top - higher), weight = expf(logit - higher);
        total = total * shrink + weight;
        for (int part = 0; part < PARTS; part++) {
            const int d = part * LANES + lane;
            if (d < dim) found[part] = found[part] * shrink + weight * v[row + d];
        }
        top = higher;
    }
    for (int part = 0; part < PARTS; part++) {
        const int d = part * LANES + lane;
        if (d < dim) out[head + static_cast<long long>(query) * dim + d] = found[part] / total;
    }
}

void attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor out, bool causal) {
    const int heads = static_cast<int>(q.size(0) * q.size(1));
    const int seq = static_cast<int>(q.size(2)), dim = static_cast<int>(q.size(3));
    TORCH_CHECK(dim <= PARTS * LANES, "dim is ", dim, "; give a lane more parts");
    const dim3 grid((seq + WARPS - 1) / WARPS, heads);
    attend<<<grid, WARPS * LANES, 0, at::cuda::getCurrentCUDAStream()>>>(
        q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), seq, dim,
        1.0f / std::sqrt(static_cast<float>(dim)), causal);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_attention",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["attention"],
    extra_cuda_cflags=["-O3"],
)


def custom_kernel(data: input_t) -> output_t:
    q, k, v, out, causal = data
    EXTENSION.attention(q, k, v, out, causal)
    return out
