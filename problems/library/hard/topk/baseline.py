"""The tuned baseline. On a cpu one scan of every row past a heap of the k best, in C++; on a GPU torch's own selection,
among whose equal values the first ones are then found.
"""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <algorithm>
#include <cstdint>
#include <vector>

struct Found { float value; int64_t index; };

static bool better(const Found& a, const Found& b) {
    return a.value > b.value || (a.value == b.value && a.index < b.index);
}

extern "C" void topk(const float* x, float* values, int64_t* indices, int64_t rows, int64_t n, int64_t k) {
    std::vector<Found> best(k);
    for (int64_t row = 0; row < rows; row++, x += n, values += k, indices += k) {
        for (int64_t i = 0; i < k; i++) best[i] = {x[i], i};
        std::make_heap(best.begin(), best.end(), better);  // the worst of them on top
        float worst = best[0].value;
        for (int64_t i = k; i < n; i++) {
            if (!(x[i] > worst)) continue;  // an equal one comes too late
            std::pop_heap(best.begin(), best.end(), better);
            best[k - 1] = {x[i], i};
            std::push_heap(best.begin(), best.end(), better);
            worst = best[0].value;
        }
        std::sort_heap(best.begin(), best.end(), better);
        for (int64_t i = 0; i < k; i++) {
            values[i] = best[i].value;
            indices[i] = best[i].index;
        }
    }
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "topk.cpp").write_text(SOURCE)
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", folder / "topk.so", folder / "topk.cpp"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "topk.so"))
    library.topk.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3
    return library


LIBRARY = None if torch.cuda.is_available() else build()


def custom_kernel(data):
    x, values, indices = data
    k = values.shape[1]
    if LIBRARY is not None:
        LIBRARY.topk(x.data_ptr(), values.data_ptr(), indices.data_ptr(), *x.shape, k)
        return values, indices
    torch.topk(x, k, dim=-1, out=(values, indices))
    least = values[:, -1:]
    row, column = (x >= least).nonzero(as_tuple=True)  # a few more than k in every row
    order = x[row, column].argsort(descending=True, stable=True)
    order = order[row[order].argsort(stable=True)]
    row, column = row[order], column[order]
    counts = row.bincount(minlength=x.shape[0])
    rank = torch.arange(len(row), device=x.device) - (counts.cumsum(0) - counts)[row]
    indices.copy_(column[rank < k].view(-1, k))
    return values, indices
