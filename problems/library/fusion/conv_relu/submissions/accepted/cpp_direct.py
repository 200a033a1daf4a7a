# C++ by g++ and ctypes: a row of eight filters at a time stays in the cache; every tap is a shifted, scaled row.
#!PHOTOFINISH leaderboard conv_relu
#!PHOTOFINISH gpu cpu
import ctypes
import subprocess
import tempfile
from pathlib import Path

SOURCE = r"""
#include <algorithm>
#include <vector>

static const int FILTERS = 8;

// row[0 … width) += sum over the three taps of one line, whose neighbours outside the image are zero.
static void add_line(const float* __restrict line, const float* taps, float* __restrict row, long width) {
    const float a = taps[0], b = taps[1], c = taps[2];
    if (width == 1) { row[0] += b * line[0]; return; }
    row[0] += b * line[0] + c * line[1];
    for (long w = 1; w < width - 1; w++) row[w] += a * line[w - 1] + b * line[w] + c * line[w + 1];
    row[width - 1] += a * line[width - 2] + b * line[width - 1];
}

extern "C" void conv_relu(const float* x, const float* weight, const float* bias, const float* scale, float* out,
                          long batch, long channels, long filters, long height, long width) {
    std::vector<float> rows(FILTERS * width);
    for (long n = 0; n < batch; n++)
        for (long f = 0; f < filters; f += FILTERS)
            for (long h = 0; h < height; h++) {
                const long some = std::min<long>(FILTERS, filters - f);
                for (long k = 0; k < some; k++) std::fill_n(&rows[k * width], width, bias[f + k]);
                for (long c = 0; c < channels; c++)
                    for (long t = h == 0; t < 3 - (h == height - 1); t++) {
                        const float* line = x + ((n * channels + c) * height + h + t - 1) * width;
                        for (long k = 0; k < some; k++)
                            add_line(line, weight + ((f + k) * channels + c) * 9 + 3 * t, &rows[k * width], width);
                    }
                for (long k = 0; k < some; k++) {
                    float* target = out + ((n * filters + f + k) * height + h) * width;
                    for (long w = 0; w < width; w++) target[w] = std::max(rows[k * width + w] * scale[f + k], 0.0f);
                }
            }
}
"""


def build():
    folder = Path(tempfile.mkdtemp())
    (folder / "conv.cpp").write_text(SOURCE)
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", folder / "conv.so", folder / "conv.cpp"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "conv.so"))
    library.conv_relu.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_long] * 5
    return library


LIBRARY = build()


def custom_kernel(data):
    x, weight, _, _, out = data
    batch, channels, height, width = x.shape
    pointers = (tensor.data_ptr() for tensor in data)
    LIBRARY.conv_relu(*pointers, batch, channels, weight.shape[0], height, width)
    return out
