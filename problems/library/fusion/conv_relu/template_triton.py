#!PHOTOFINISH leaderboard conv_relu
#!PHOTOFINISH gpu H200
import triton
import triton.language as tl
from task import input_t, output_t

BLOCK = 256  # pixels a program


@triton.jit
def conv_relu(x, weight, bias, scale, out, channels, filters, height, width, BLOCK: tl.constexpr):
    """One filter over a block of one image's pixels, straight from the definition."""
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    filter = tl.program_id(1)
    image = tl.program_id(2)
    inside = pixel < height * width
    row = pixel // width
    col = pixel % width
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for channel in range(channels):
        plane = x + (image * channels + channel) * height * width
        taps = weight + (filter * channels + channel) * 9
        for tap in tl.static_range(9):
            r = row + (tap // 3 - 1)
            c = col + (tap % 3 - 1)
            here = inside & (r >= 0) & (r < height) & (c >= 0) & (c < width)
            acc += tl.load(plane + r * width + c, mask=here, other=0.0) * tl.load(taps + tap)
    acc = (acc + tl.load(bias + filter)) * tl.load(scale + filter)
    place = (image * filters + filter) * height * width + pixel
    tl.store(out + place, tl.maximum(acc, 0.0), mask=inside)


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, scale, out = data
    batch, channels, height, width = x.shape
    filters = weight.shape[0]
    grid = (triton.cdiv(height * width, BLOCK), filters, batch)
    conv_relu[grid](x, weight, bias, scale, out, channels, filters, height, width, BLOCK=BLOCK)
    return out
