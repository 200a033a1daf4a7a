# Correct, and slow: a Python loop over blocks of 8,192 elements, each with temporaries of its own.


def custom_kernel(data):
    x, y, out = data
    for start in range(0, out.numel(), 8192):
        end = start + 8192
        out[start:end] = x[start:end] + y[start:end]
    return out
