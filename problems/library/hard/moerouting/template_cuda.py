#!PHOTOFINISH leaderboard moerouting
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

DECLARATION = """
void route(torch::Tensor logits, torch::Tensor weights, torch::Tensor chosen, torch::Tensor order,
           torch::Tensor offsets);
"""

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cmath>

constexpr int LANES = 32, WARPS = 8;
constexpr unsigned ALL = 0xffffffffu;

// One warp chooses for one token: k times the best of what is left.
__global__ void choose(const float* __restrict__ logits, float* __restrict__ weights, int* __restrict__ chosen,
                       int tokens, int experts, int k) {
    const int lane = threadIdx.x % LANES, token = blockIdx.x * WARPS + threadIdx.x / LANES;
    if (token >= tokens) return;  // the whole warp
    const float* row = logits + static_cast<int64_t>(token) * experts;
    float* out = weights + static_cast<int64_t>(token) * k;
    int* places = chosen + static_cast<int64_t>(token) * k;
    float last = INFINITY, top = 0.0f, sum = 0.0f;
    int place = -1;  // what comes next is smaller than `last`, or as large and behind `place`
    for (int taken = 0; taken < k; taken++) {
        float best = -INFINITY;
        int at = experts;
        for (int i = lane; i < experts; i += LANES) {
            const bool is_left = row[i] < last || (row[i] == last && i > place);
            if (is_left && row[i] > best) {
                best = row[i];
                at = i;
            }
        }
        for (int step = LANES / 2; step > 0; step /= 2) {
            const float other = __shfl_xor_sync(ALL, best, step);
            const int other_at = __shfl_xor_sync(ALL, at, step);
            if (other > best || (other == best && other_at < at)) {
                best = other;
                at = other_at;
            }
        }
        last = best;
        place = at;
        if (taken == 0) top = best;
        sum += expf(best - top);
        if (lane == 0) {
            out[taken] = expf(best - top);
            places[taken] = at;
        }
    }
    __syncwarp();  // what lane 0 wrote is there for all
    for (int j = lane; j < k; j += LANES) out[j] /= sum;
}

// One block for each expert: how many choices go to lower experts, and then its own, in order.
__global__ void sort(const int* __restrict__ chosen, int* __restrict__ order, int* __restrict__ offsets, int slots,
                     int experts) {
    __shared__ int before, own[LANES * WARPS];
    const int expert = blockIdx.x, threads = LANES * WARPS;
    if (threadIdx.x == 0) before = 0;
    __syncthreads();
    const int share = (slots + threads - 1) / threads;  // each thread looks at a stretch of its own
    const int first = min(static_cast<int>(threadIdx.x) * share, slots), end = min(first + share, slots);
    int lower = 0, mine = 0;
    for (int slot = first; slot < end; slot++) {
        lower += chosen[slot] < expert;
        mine += chosen[slot] == expert;
    }
    atomicAdd(&before, lower);
    own[threadIdx.x] = mine;
    __syncthreads();
    int next = before;
    for (int thread = 0; thread < static_cast<int>(threadIdx.x); thread++) next += own[thread];
    for (int slot = first; slot < end; slot++)
        if (chosen[slot] == expert) order[next++] = slot;
    if (threadIdx.x == 0) offsets[expert] = before;
    if (threadIdx.x == 0 && expert == experts - 1) offsets[experts] = slots;
}

void route(torch::Tensor logits, torch::Tensor weights, torch::Tensor chosen, torch::Tensor order,
           torch::Tensor offsets) {
    const int tokens = static_cast<int>(logits.size(0)), experts = static_cast<int>(logits.size(1));
    const int k = static_cast<int>(weights.size(1));
    const auto stream = at::cuda::getCurrentCUDAStream();
    choose<<<(tokens + WARPS - 1) / WARPS, LANES * WARPS, 0, stream>>>(
        logits.data_ptr<float>(), weights.data_ptr<float>(), chosen.data_ptr<int>(), tokens, experts, k);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    sort<<<experts, LANES * WARPS, 0, stream>>>(
        chosen.data_ptr<int>(), order.data_ptr<int>(), offsets.data_ptr<int>(), tokens * k, experts);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

EXTENSION = load_inline(
    name="my_moerouting",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["route"],
    extra_cuda_cflags=["-O3"],
)


def custom_kernel(data: input_t) -> output_t:
    logits, weights, chosen, order, offsets = data
    EXTENSION.route(logits, weights, chosen, order, offsets)
    return weights, chosen, order, offsets
