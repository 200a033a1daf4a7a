"""The tuned baseline: Householder reflections, applied to the columns of [a | I], which becomes [R | Qᵀ].

On a cpu in C++, by rows: small matrices gain nothing from LAPACK's blocks. On a GPU in CUDA, a block a matrix, a thread
a column, which stays in its registers; only the reflection's vector goes through shared memory.
"""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <cmath>
#include <vector>

static void factorise(const float* a, float* q, float* r, long n, float* w, float* sums) {
    const long width = 2 * n;
    for (long i = 0; i < n; i++)
        for (long c = 0; c < n; c++) {
            w[i * width + c] = a[i * n + c];
            w[i * width + n + c] = i == c;
        }
    for (long j = 0; j < n; j++) {
        float below = 0;
        for (long i = j + 1; i < n; i++) below += w[i * width + j] * w[i * width + j];
        if (!(below > 1e-30f)) continue;  // what is left is rounding, and 1 / below soon infinite
        const float head = w[j * width + j], length = std::sqrt(head * head + below);
        const float pivot = head > 0 ? -length : length;  // of the other sign: nothing cancels
        const float factor = 1 / (length * (length + std::fabs(head)));  // 2 / |v|²
        w[j * width + j] = head - pivot;
        for (long c = j + 1; c < width; c++) sums[c] = 0;
        for (long i = j; i < n; i++) {
            const float v = w[i * width + j] * factor;
            const float* row = w + i * width;
            for (long c = j + 1; c < width; c++) sums[c] += v * row[c];
        }
        for (long i = j; i < n; i++) {
            const float v = w[i * width + j];
            float* row = w + i * width;
            for (long c = j + 1; c < width; c++) row[c] -= v * sums[c];
        }
        w[j * width + j] = pivot;
    }
    for (long i = 0; i < n; i++)
        for (long c = 0; c < n; c++) {
            r[i * n + c] = i <= c ? w[i * width + c] : 0;
            q[i * n + c] = w[c * width + n + i];
        }
}

extern "C" void qr(const float* a, float* q, float* r, long batch, long n) {
    std::vector<float> w(2 * n * n), sums(2 * n);
    for (long b = 0; b < batch; b++, a += n * n, q += n * n, r += n * n) factorise(a, q, r, n, w.data(), sums.data());
}
"""


DEVICE_SOURCE = r"""
#include <cuda_runtime.h>

// N: rows in registers, those that are left first: what is done moves out at the top, step by step. A step's vector
// lies in one of two places in turn, so that one barrier a step is enough.
template <int N>
__global__ void __launch_bounds__(2 * N) factorise(const float* __restrict__ a, float* __restrict__ q,
                                                   float* __restrict__ r, int n) {
    __shared__ float4 vectors[2][N / 4];
    __shared__ float heads[2];
    __shared__ float turned[N][N + 1];
    const int column = threadIdx.x;
    const long long start = static_cast<long long>(blockIdx.x) * n * n;
    float x[N + 1];
    x[N] = 0;
#pragma unroll
    for (int row = 0; row < N; row++)
        x[row] = column < n && row < n ? a[start + row * n + column] : column - n == row ? 1.0f : 0.0f;
    for (int j = 0; j < n; j++) {
        const int place = j & 1, left = n - j - 1;  // rows below the head
        if (column == j) {
            heads[place] = x[0];
#pragma unroll
            for (int part = 0; part < N / 4; part++)
                vectors[place][part] = make_float4(x[4 * part + 1], x[4 * part + 2], x[4 * part + 3], x[4 * part + 4]);
        }
        __syncthreads();
        float squares[4] = {0, 0, 0, 0}, sums[4] = {0, 0, 0, 0};
#pragma unroll
        for (int part = 0; part < N / 4; part++) {
            if (4 * part < left) {
                const float4 v = vectors[place][part];
                squares[0] += v.x * v.x;
                squares[1] += v.y * v.y;
                squares[2] += v.z * v.z;
                squares[3] += v.w * v.w;
                sums[0] += v.x * x[4 * part + 1];
                sums[1] += v.y * x[4 * part + 2];
                sums[2] += v.z * x[4 * part + 3];
                sums[3] += v.w * x[4 * part + 4];
            }
        }
        const float below = (squares[0] + squares[1]) + (squares[2] + squares[3]), head = heads[place];
        const bool is_reflected = below > 1e-30f;  // less is rounding, and 1 / below soon infinite
        const float length = sqrtf(head * head + below);
        const float pivot = head > 0 ? -length : length;  // of the other sign: nothing cancels
        const float factor = is_reflected ? 1.0f / (length * (length + fabsf(head))) : 0.0f;  // 2 / |v|^2
        const float sum = factor * ((sums[0] + sums[1]) + (sums[2] + sums[3]) + (head - pivot) * x[0]);
        float done = x[0] - sum * (head - pivot);
        if (column <= j) done = column < j ? 0.0f : is_reflected ? pivot : head;
        if (column < n)
            r[start + j * n + column] = done;
        else if (column < 2 * n)
            turned[column - n][j] = done;
#pragma unroll
        for (int part = 0; part < N / 4; part++) {
            if (4 * part <= left) {  // the last of them brings in a zero
                const float4 v = vectors[place][part];
                x[4 * part] = x[4 * part + 1] - sum * v.x;
                x[4 * part + 1] = x[4 * part + 2] - sum * v.y;
                x[4 * part + 2] = x[4 * part + 3] - sum * v.z;
                x[4 * part + 3] = x[4 * part + 4] - sum * v.w;
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n * n; i += 2 * N) q[start + i] = turned[i / n][i % n];
}

template <int N>
static int launch(const float* a, float* q, float* r, long batch, long n, cudaStream_t stream) {
    factorise<N><<<batch, 2 * N, 0, stream>>>(a, q, r, static_cast<int>(n));
    return cudaGetLastError();
}

extern "C" int qr(const float* a, float* q, float* r, long batch, long n, void* stream) {
    auto* where = static_cast<cudaStream_t>(stream);
    return n <= 16   ? launch<16>(a, q, r, batch, n, where)
           : n <= 32 ? launch<32>(a, q, r, batch, n, where)
           : n <= 48 ? launch<48>(a, q, r, batch, n, where)
                     : launch<64>(a, q, r, batch, n, where);
}
"""
MOST = 64  # columns of a matrix on a GPU
ON_DEVICE = torch.cuda.is_available()


def build():
    folder = Path(tempfile.mkdtemp())
    if ON_DEVICE:
        source = folder / "qr.cu"
        source.write_text(DEVICE_SOURCE)
        capability = "{}{}".format(*torch.cuda.get_device_capability())
        command = ["nvcc", "-O3", f"-arch=sm_{capability}", "-shared", "-Xcompiler", "-fPIC"]
    else:
        source = folder / "qr.cpp"
        source.write_text(SOURCE)
        command = ["g++", "-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", folder / "qr.so", source], check=True)
    library = ctypes.CDLL(str(folder / "qr.so"))
    library.qr.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2
    if ON_DEVICE:
        library.qr.argtypes += [ctypes.c_void_p]
    return library


LIBRARY = build()


def custom_kernel(data):
    a, q, r = data
    told = [a.data_ptr(), q.data_ptr(), r.data_ptr(), *a.shape[:2]]
    if a.is_cuda != ON_DEVICE:
        raise ValueError(f"the matrices lie on {a.device}; where there is a GPU this baseline is for that")
    if not ON_DEVICE:
        LIBRARY.qr(*told)
    elif a.shape[1] > MOST:
        raise ValueError(f"a matrix has {a.shape[1]} columns; this baseline has registers for {MOST}")
    elif LIBRARY.qr(*told, torch.cuda.current_stream().cuda_stream):
        raise RuntimeError("the kernel could not be launched")
    return q, r
