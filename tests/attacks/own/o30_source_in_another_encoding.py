# coding: unicode_escape
"""class: shows a reviewer one program and runs another: a declared encoding turns a comment into code
expect: rejected as build_error | a source is UTF-8; what is shown, compared and screened is what runs"""

import torch

# \u000aimport sys\u000asys.stderr.write("ATTACK-EFFECT o30_source_in_another_encoding: a comment ran\\n")


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
