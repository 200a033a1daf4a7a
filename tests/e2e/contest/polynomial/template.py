def custom_kernel(data):
    x, c, out = data
    # Your turn: write the value of the polynomial at every x into out.
    out.fill_(c[-1])
    for factor in c[:-1].flip(0).unbind():
        out.mul_(x).add_(factor)
    return out
