# Correct, and slow: a Python loop over rows, with temporaries for each.
#!PHOTOFINISH leaderboard layernorm


def custom_kernel(data):
    x, weight, bias, out = data
    for row, target in zip(x, out, strict=True):
        moved = row - row.mean()
        target.copy_(moved * (moved.square().mean() + 1e-5).rsqrt() * weight + bias)
    return out
