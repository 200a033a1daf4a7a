# Correct, and slow: one convolution for every filter, so the whole input is read as often as there are filters.
import torch
import torch.nn.functional as F

torch.backends.cudnn.allow_tf32 = False


def custom_kernel(data):
    x, weight, bias, scale, out = data
    for n in range(weight.shape[0]):
        one = F.conv2d(x, weight[n : n + 1], bias[n : n + 1], padding=1)
        out[:, n] = torch.relu(one[:, 0] * scale[n])
    return out
