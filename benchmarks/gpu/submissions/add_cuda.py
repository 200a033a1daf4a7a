"""Inline CUDA: four elements a thread."""

from torch.utils.cpp_extension import load_inline

SOURCE = r"""
__global__ void add_one(const float4* x, float4* out, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) { float4 v = x[i]; v.x += 1; v.y += 1; v.z += 1; v.w += 1; out[i] = v; }
}
__global__ void add_tail(const float* x, float* out, long from, long n) {
  long i = from + threadIdx.x;
  if (i < n) out[i] = x[i] + 1;
}
void run(torch::Tensor x, torch::Tensor out) {
  long n = x.numel(), quads = n / 4;
  auto from = (const float4*)x.data_ptr<float>();
  auto to = (float4*)out.data_ptr<float>();
  if (quads) add_one<<<(quads + 255) / 256, 256>>>(from, to, quads);
  if (n % 4) add_tail<<<1, 4>>>(x.data_ptr<float>(), out.data_ptr<float>(), quads * 4, n);
}
"""
module = load_inline("add_one", "void run(torch::Tensor x, torch::Tensor out);", SOURCE, functions=["run"])


def custom_kernel(data):
    x, out = data
    module.run(x, out)
    return out
