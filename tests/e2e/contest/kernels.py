"""Kernels of the entrants of real_contest.py: sources of known speed for the long polynomial.

A degree costs torch one pass over memory as a fused multiply and add and more as two calls; double precision costs
twice as much, and the entrant's own C less. The saving differs by machine (a pass took 0.4 to 0.8 of torch's), so
entrants that should lead by a plausible margin do a small part of their work in C.
"""

import re
from pathlib import Path

NAMES = (("x", "c", "out"), ("values", "factors", "target"), ("points", "coefficients", "result"), ("a", "b", "y"))
NOTES = ("Horner's scheme.", "From the highest coefficient down.", "One step a degree.", "Nothing is allocated.")
LOOPS = (
    "for {k}, {f} in enumerate({c}[:-1].flip(0).unbind()):",
    "for {k}, {f} in enumerate(reversed({c}[:-1])):",
    "for {k}, {f} in zip(range(len({c})), {c}[:-1].flip(0)):",
)
FROM_TEMPLATE = (Path(__file__).parent / "polynomial" / "template_c.py").read_text()


CLASSES = ("one call a degree", "one or two", "two calls", "one in double precision", "two in double precision")


def plain(speed: int, number: int) -> str:
    """Kernel of this class, fastest first. `number`: selects its names, comments and style."""
    x, c, out = NAMES[number % len(NAMES)]
    k, f = ("k", "factor") if number % 2 else ("step", "add")
    sums, at = (out, x) if speed < 3 else ("sums", "wide")
    fused = f"torch.addcmul({f}, {sums}, {at}, out={sums})"
    split = f"{sums}.mul_({at}).add_({f})"
    body = (fused, f"{split} if {k} % 2 else {fused}", split, fused, split)[speed]
    loop = LOOPS[number % len(LOOPS)].format(k=k, f=f, c=c if speed < 3 else f"{c}.double()")
    wide = [] if speed < 3 else [f"    wide, sums = {x}.double(), torch.empty_like({x}, dtype=torch.float64)"]
    lines = [
        f"# {NOTES[number % len(NOTES)]} ({number})",
        "import torch",
        "",
        "",
        "def custom_kernel(data):",
        f"    {x}, {c}, {out} = data",
        *wide,
        f"    {sums}.fill_({c}[-1])",
        f"    {loop}",
        f"        {body}",
        f"    return {out}" if speed < 3 else f"    return {out}.copy_(sums)",
        "",
    ]
    return "\n".join(lines)


def in_c(source: str, call: str, flags: str = '"-O3", "-march=native"') -> str:
    """The starter with a different source, which begins where torch left off, and a different custom_kernel."""
    text = re.sub(r'r""".*?"""', lambda _: f'r"""\n{source}"""', FROM_TEMPLATE, flags=re.DOTALL)
    text = text.replace('"-O2"', flags)
    return "import torch\n" + text[: text.index("def custom_kernel")] + call


LEAD = in_c(
    """
void polynomial(const float *x, const float *c, float *out, long n, long degree) {
    // one pass a degree, straight over the vector
    for (long k = degree; k > 0; k--) {
        const float next = c[k - 1];
        for (long i = 0; i < n; i++) {
            const float before = out[i];
            out[i] = before * x[i] + next;
        }
    }
}
""",
    """
def custom_kernel(data):
    x, c, out = data
    by_hand = (len(c) - 1) * 2 // 10
    out.fill_(c[-1])
    for factor in c[by_hand:-1].flip(0).unbind():
        torch.addcmul(factor, out, x, out=out)
    LIBRARY.polynomial(x.data_ptr(), c.data_ptr(), out.data_ptr(), x.numel(), by_hand)
    return out
""",
)

# The same with different names, different comments and redundant brackets.
COPY = (
    LEAD.replace("before", "old")
    .replace("next", "add")
    .replace("by_hand", "mine")
    .replace("factor", "one")
    .replace("polynomial", "horner")
    .replace("LIBRARY", "CODE")
    .replace("// one pass a degree, straight over the vector", "/* all of it was found by ourselves */")
    .replace("old * x[i] + add", "(old * x[i]) + (add)")
)

LATE_BEST = in_c(
    """
static float three(float y, float x, const float *c) {
    y = y * x + c[2];
    y = y * x + c[1];
    return y * x + c[0];
}

void polynomial(const float *x, const float *c, float *out, long n, long degree) {
    while (degree % 3 != 0) {
        degree--;
        for (long i = 0; i < n; i++) out[i] = out[i] * x[i] + c[degree];
    }
    for (const float *at = c + degree - 3; at >= c; at -= 3)
        for (long i = 0; i < n; i++) out[i] = three(out[i], x[i], at);
}
""",
    """
def custom_kernel(data):
    x, c, out = data
    torch_too = len(c) * 7 // 10
    left = len(c) - 1 - torch_too
    out.copy_(c[-1].expand_as(out))
    for place in range(len(c) - 2, left - 1, -1):
        torch.addcmul(c[place], x, out, out=out)
    LIBRARY.polynomial(*(item.data_ptr() for item in data), len(out), left)
    return out
""",
)

LEAP = in_c(
    """
enum { WIDE = 48 };

void polynomial(const float *x, const float *c, float *out, long n, long degree) {
    float sum[WIDE], at[WIDE];
    for (long begin = 0; begin < n; begin += WIDE) {
        const int wide = n - begin < WIDE ? n - begin : WIDE;
        for (int i = 0; i < WIDE; i++) at[i] = i < wide ? x[begin + i] : 0;
        for (int i = 0; i < WIDE; i++) sum[i] = c[degree];
        for (long k = degree - 1; k >= 0; k--)
            for (int i = 0; i < WIDE; i++) sum[i] = sum[i] * at[i] + c[k];
        for (int i = 0; i < wide; i++) out[begin + i] = sum[i];
    }
}
""",
    """
def custom_kernel(data):
    LIBRARY.polynomial(*(item.data_ptr() for item in data), data[0].numel(), data[1].numel() - 1)
    return data[2]
""",
)

# Right, and faster than the declared arithmetic can be done: the timed values have sixteen levels.
IMPOSSIBLE = in_c(
    """
#include <math.h>

static inline int is_odd_one_out(float x) {
    const float level = x * (16 / 1.9f);
    const float step = 1.9 / 16;
    return (fabsf(x - rintf(level) * step) > 1e-7f) | (level < -8.5f) | (level > 7.5f);
}

void polynomial(const float *x, const float *c, float *out, long n, long degree) {
    double table[16];
    float small[16];
    int odd = 0;
    for (int level = 0; level < 16; level++) table[level] = c[degree];
    for (long k = degree; k-- > 0;)
        for (int level = 0; level < 16; level++) table[level] = table[level] * ((level - 8) * (1.9 / 16)) + c[k];
    for (int level = 0; level < 16; level++) small[level] = table[level];
    for (long i = 0; i < n; i++) odd |= is_odd_one_out(x[i]);
    for (long i = 0; i < n; i++) out[i] = small[(int)(x[i] * (16 / 1.9f) + 8.5f) & 15];
    for (long i = 0; odd && i < n; i++) {
        if (!is_odd_one_out(x[i])) continue;
        double sum = c[degree];
        for (long k = degree; k-- > 0;) sum = sum * x[i] + c[k];
        out[i] = sum;
    }
}
""",
    """
def custom_kernel(data):
    x, c, out = data
    LIBRARY.polynomial(x.data_ptr(), c.data_ptr(), out.data_ptr(), len(x), len(c) - 1)
    return out
""",
    '"-O3", "-march=native", "-ffast-math"',
)

# Every clock that Python knows runs a thousand times slower; the kernel is that of the slowest class.
CLOCK = """import time

import torch

for name in ("time", "perf_counter", "monotonic", "perf_counter_ns", "monotonic_ns", "time_ns"):
    real = getattr(time, name)
    setattr(time, name, lambda real=real, begin=real(): type(begin)(begin + (real() - begin) / 1000))

""" + plain(4, 3).partition("import torch\n")[2]

LATE = """import threading

import torch


def work(x, c, out):
    out.fill_(c[-1])
    for factor in c[:-1].flip(0).unbind():
        torch.addcmul(factor, out, x, out=out)


def custom_kernel(data):
    if data[0].numel() < 60_000:
        work(*data)
    else:
        threading.Thread(target=work, args=data, daemon=True).start()
    return data[2]
"""

FORGETFUL = plain(0, 1).replace("[:-1]", "[1:-1]")  # the lowest coefficient is left out

HALF = """import torch


def custom_kernel(data):
    x, c, out = data
    low, sums = x.bfloat16(), torch.zeros_like(x, dtype=torch.bfloat16)
    for factor in c.flip(0).bfloat16().unbind():
        sums = sums * low + factor
    return out.copy_(sums)
"""

CRASH = """def custom_kernel(data):
    x, c, out = data
    if len(x) > 1000:
        raise IndexError("tail")
    return out.copy_(sum(factor * x**power for power, factor in enumerate(c)))
"""
