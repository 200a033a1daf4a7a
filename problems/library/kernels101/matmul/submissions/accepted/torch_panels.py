# The product as a sum over panels of 256 columns of a: torch adds each onto the output.
#!PHOTOFINISH leaderboard matmul

PANEL = 256


def custom_kernel(data):
    a, b, out = data
    out.zero_()
    for left, right in zip(a.split(PANEL, dim=1), b.split(PANEL, dim=0), strict=True):
        out.addmm_(left, right)
    return out
