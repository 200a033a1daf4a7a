#!PHOTOFINISH leaderboard qr
import triton
import triton.language as tl
from task import input_t, output_t


@triton.jit
def householder(a, q, r, n, BLOCK: tl.constexpr):
    """One program factorises one matrix, all of it in registers, padded with zeros to BLOCK × BLOCK.

    Reflections turn W = a into R and, applied to P = I as well, P into Qᵀ.
    """
    start = tl.program_id(0).to(tl.int64) * n * n
    rows = tl.arange(0, BLOCK)
    row, column = rows[:, None], rows[None, :]
    inside = (row < n) & (column < n)
    w = tl.load(a + start + row * n + column, mask=inside, other=0.0)
    p = tl.where(row == column, 1.0, 0.0)
    for j in range(n):
        x = tl.sum(tl.where(column == j, w, 0.0), axis=1)  # column j
        x = tl.where(rows >= j, x, 0.0)
        below = tl.sum(tl.where(rows > j, x * x, 0.0), axis=0)
        if below > 1e-30:  # else what is left is rounding, and 1 / below soon infinite
            head = tl.sum(tl.where(rows == j, x, 0.0), axis=0)
            length = tl.sqrt(head * head + below)
            pivot = tl.where(head > 0, -length, length)  # of the other sign: nothing cancels
            v = tl.where(rows == j, head - pivot, x)
            factor = 1.0 / (length * (length + tl.abs(head)))  # 2 / ‖v‖²
            w -= factor * v[:, None] * tl.sum(v[:, None] * w, axis=0)[None, :]
            p -= factor * v[:, None] * tl.sum(v[:, None] * p, axis=0)[None, :]
            w = tl.where((column == j) & (row == j), pivot, w)
    tl.store(r + start + row * n + column, tl.where(row <= column, w, 0.0), mask=inside)
    tl.store(q + start + column * n + row, p, mask=inside)  # transposed


def custom_kernel(data: input_t) -> output_t:
    a, q, r = data
    batch, n, _ = a.shape
    householder[(batch,)](a, q, r, n, BLOCK=max(triton.next_power_of_2(n), 2), num_warps=4 if n <= 32 else 8)
    return q, r
