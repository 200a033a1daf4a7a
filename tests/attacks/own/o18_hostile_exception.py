"""class: raises an exception whose text lies about its type and size, steers terminals and turns words around
expect: rejected as runtime_error | text comes through one page, capped, decoded once, without control characters"""

import torch


class Sly(str):
    def encode(self, *arguments):
        return self

    def __getitem__(self, index):
        return b"\x1b]0;owned\x07\x1b[2J\xe2\x80\xae\xff\xfe" * 5_000

    def __str__(self):
        return self

    def __len__(self):
        return 1 << 62


class Sneaky(BaseException):
    def __str__(self):
        return Sly("\x1b]0;owned\x07\u202e\ud800" + "A" * (4 << 20))

    __repr__ = __str__


def custom_kernel(data):
    x, out = data
    if x.numel() > 1_000:
        raise Sneaky from Sneaky()
    return torch.softmax(x, dim=-1, out=out)
