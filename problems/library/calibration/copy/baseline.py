"""The library's own copy, `rounds` times."""


def custom_kernel(data):
    x, out, rounds = data
    for _ in range(rounds):
        out.copy_(x)
    return out
