#!PHOTOFINISH leaderboard matmul
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def matmul(a, b, out, m, k, n, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    cols = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        across = start + tl.arange(0, K)[None, :]
        down = start + tl.arange(0, K)[:, None]
        left = tl.load(a + rows * k + across, mask=(rows < m) & (across < k), other=0.0)
        right = tl.load(b + down * n + cols, mask=(down < k) & (cols < n), other=0.0)
        sums = tl.dot(left, right, sums, input_precision="ieee")  # TF32, the default, is not precise enough here
    tl.store(out + rows * n + cols, sums, mask=(rows < m) & (cols < n))


def custom_kernel(data: input_t) -> output_t:
    a, b, out = data
    (m, k), n = a.shape, b.shape[1]
    matmul[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, out, m, k, n, M=32, K=32, N=32)
    return out
