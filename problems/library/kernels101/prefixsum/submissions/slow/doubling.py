# Correct, and slow: adds what lies 1, 2, 4, … places before, a pass over memory for every doubling.
#!PHOTOFINISH leaderboard prefixsum


def custom_kernel(data):
    x, out = data
    out.copy_(x)
    step = 1
    while step < out.numel():
        out[step:] += out[:-step].clone()
        step *= 2
    return out
