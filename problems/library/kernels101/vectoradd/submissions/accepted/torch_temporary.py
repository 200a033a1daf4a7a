# The sum goes into a temporary and is copied out: two passes too many over memory.
#!PHOTOFINISH leaderboard vectoradd


def custom_kernel(data):
    x, y, out = data
    out.copy_(x + y)
    return out
