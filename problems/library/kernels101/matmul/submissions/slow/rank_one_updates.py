# Correct, and slow: adds one outer product after the other onto the whole output, k passes over memory.
#!PHOTOFINISH leaderboard matmul


def custom_kernel(data):
    a, b, out = data
    out.zero_()
    for column, row in zip(a.T, b, strict=True):
        out.addr_(column, row)
    return out
