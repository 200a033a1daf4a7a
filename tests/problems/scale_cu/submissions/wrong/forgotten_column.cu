//!PHOTOFINISH leaderboard scale_cu
// inputs: x, out; numbers: scale, shift; outputs: out. With a GPU nvcc compiles this file, on a cpu g++ does.
#include "helpers.h"

#ifdef __CUDACC__
__global__ void scale(const float* x, float* out, int64_t rows, int64_t cols, int64_t s0, int64_t s1, float a, float b) {
  const int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (at < rows * cols) out[at] = a * x[at / cols * s0 + at % cols * s1] + b;
}
#endif

extern "C" int custom_kernel(const pf_call* call) {
  const pf_tensor* x = &call->inputs[0];
  const pf_tensor* y = &call->outputs[0];
  const float a = (float)call->numbers[0].real, b = (float)call->numbers[1].real;
  const int64_t rows = x->shape[0], cols = x->shape[1] - (x->shape[1] % 2);
#ifdef __CUDACC__
  const int64_t blocks = (rows * cols + 255) / 256;
  scale<<<blocks, 256, 0, (cudaStream_t)call->stream>>>(
      (const float*)x->data, (float*)y->data, rows, cols, x->stride[0], x->stride[1], a, b);
  return (int)cudaGetLastError();
#else
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      ((float*)y->data)[offset_of(y, i, j)] = a * ((const float*)x->data)[offset_of(x, i, j)] + b;
  return 0;
#endif
}
