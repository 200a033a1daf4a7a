# The formula as it is written: a temporary for each operation.
#!PHOTOFINISH leaderboard conv_relu
import torch
import torch.nn.functional as F

torch.backends.cudnn.allow_tf32 = False


def custom_kernel(data):
    x, weight, bias, scale, out = data
    convolved = F.conv2d(x, weight, padding=1) + bias.view(1, -1, 1, 1)
    out.copy_(torch.relu(convolved * scale.view(1, -1, 1, 1)))
    return out
