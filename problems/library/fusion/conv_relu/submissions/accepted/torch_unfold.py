# Patches side by side (im2col), one matrix product an image, bias, scale and ReLU on the product while it is warm.
#!PHOTOFINISH leaderboard conv_relu
import torch
import torch.nn.functional as F


def custom_kernel(data):
    x, weight, bias, scale, out = data
    filters = weight.view(weight.shape[0], -1) * scale.view(-1, 1)
    offset = (bias * scale).view(-1, 1)
    for image, target in zip(x, out.view(*out.shape[:2], -1), strict=True):
        patches = F.unfold(image.unsqueeze(0), 3, padding=1)[0]
        torch.addmm(offset, filters, patches, out=target)
        target.relu_()
    return out
