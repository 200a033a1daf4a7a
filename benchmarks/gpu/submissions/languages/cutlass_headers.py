"""CUTLASS's headers in inline CUDA: four elements a thread, as one array."""

from pathlib import Path

import cutlass_library
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cutlass/array.h>
#include <cutlass/functional.h>

using Four = cutlass::Array<float, 4>;

__global__ void add_fours(const Four* x, const Four* y, Four* out, long fours) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < fours) out[i] = cutlass::plus<Four>()(x[i], y[i]);
}
__global__ void add_rest(const float* x, const float* y, float* out, long from, long n) {
  long i = from + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}
void run(torch::Tensor x, torch::Tensor y, torch::Tensor out) {
  long n = out.numel(), fours = n / 4;
  auto stream = at::cuda::getCurrentCUDAStream();
  auto a = x.data_ptr<float>(), b = y.data_ptr<float>(), c = out.data_ptr<float>();
  if (fours) add_fours<<<(fours + 255) / 256, 256, 0, stream>>>((const Four*)a, (const Four*)b, (Four*)c, fours);
  if (n % 4) add_rest<<<1, 4, 0, stream>>>(a, b, c, fours * 4, n);
}
"""
module = load_inline(
    "add_fours",
    "void run(torch::Tensor x, torch::Tensor y, torch::Tensor out);",
    "#include <ATen/cuda/CUDAContext.h>\n" + SOURCE,
    functions=["run"],
    extra_include_paths=[str(Path(cutlass_library.__file__).parent / "source" / "include")],
)


def custom_kernel(data):
    x, y, out = data
    module.run(x, y, out)
    return out
