# Scale and bias folded into the weights, one pass for the ReLU.
#!PHOTOFINISH leaderboard conv_relu
import torch
import torch.nn.functional as F

torch.backends.cudnn.allow_tf32 = False


def custom_kernel(data):
    x, weight, bias, scale, out = data
    folded = F.conv2d(x, weight * scale.view(-1, 1, 1, 1), bias * scale, padding=1)
    return torch.clamp_min(folded, 0, out=out)
