#!PHOTOFINISH leaderboard conv_relu
#!PHOTOFINISH gpu cpu
import torch
import torch.nn.functional as F
from task import input_t, output_t

torch.backends.cudnn.allow_tf32 = False  # its 11 bits are too few here


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, scale, out = data
    # Your turn: three operations, three trips through memory. One is enough.
    convolved = F.conv2d(x, weight, bias, padding=1)
    out.copy_(torch.relu(convolved * scale.view(1, -1, 1, 1)))
    return out
