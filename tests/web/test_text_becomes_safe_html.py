"""Descriptions: markdown and math are drawn, everything else is shown as text."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.web.markup import code, markdown


def test_math_becomes_mathml() -> None:
    html = markdown(r"Rows: $\frac{e^{x_i}}{\sum_j e^{x_j}}$ and" + "\n\n$$y = Wx$$\n")
    assert html.count("<math") == 2
    assert 'display="block"' in html
    assert "<mfrac>" in html
    assert "$" not in html


def test_unknown_latex_is_shown_as_typed() -> None:
    assert "frac{" in markdown(r"$\frac{$")


def test_prices_are_no_math() -> None:
    assert "<math" not in markdown("It costs 5$ or 10$ a run.")


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "$\\text{<script>alert(1)</script>}$",
        "```\n<script>alert(1)</script>\n```",
        "```html\n<script>alert(1)</script>\n```",
        '<p style="position:fixed">x</p>',
        "$$<img src=x onerror=alert(1)>$$",
    ],
)
def test_nothing_runs(evil: str) -> None:
    html = markdown(evil)
    for part in ("<script", "<img", 'href="javascript', "<p style"):
        assert part not in html


@given(st.text())
def test_any_text_is_drawn(text: str) -> None:
    assert "<script" not in markdown(text)
    assert "<script" not in code(text)


def test_code_is_coloured_by_class_and_kept_to_the_letter() -> None:
    html = code("\n\ndef f(x):\n    return x < 1  # <b>\n\n")
    assert 'class="k"' in html
    assert "style=" not in html
    assert "<b>" not in html
    assert html.startswith("\n\n")
    assert html.endswith("\n\n")


def test_code_gives_each_kind_of_word_its_class() -> None:
    python = code('import torch\n@jit\ndef f(x):\n    """Doc."""\n    return max(0x1F, x.max)  # end', "a.py")
    for kind, text in (("k", "import"), ("nn", "torch"), ("nd", "@jit"), ("nf", "f"), ("nb", "max"), ("m", "0x1F")):
        assert f'<span class="{kind}">{text}</span>' in python
    assert '<span class="s">&quot;&quot;&quot;Doc.&quot;&quot;&quot;</span>' in python
    assert python.count(">max<") == 1  # an attribute is no builtin
    cuda = code("#include <a.h>\n__global__ void f() { /* a */ x[threadIdx.x] = 1.f; } // b", "a.cu")
    for kind, text in (("cp", "#include &lt;a.h&gt;"), ("k", "void"), ("nb", "threadIdx"), ("m", "1.f"), ("c", "// b")):
        assert f'<span class="{kind}">{text}</span>' in cuda


@given(st.text(alphabet="a1 .\"'\\\n#/*@<&fr"))
def test_code_keeps_every_letter(text: str) -> None:
    for filename in ("a.py", "a.cu"):
        assert unescape(re.sub("<[^>]*>", "", code(text, filename))) == text


def test_long_markdown_and_long_formulas_are_shown_as_typed() -> None:
    assert "<math" not in markdown("$" + "x" * 3_000 + "$")
    assert markdown("*a*" * 20_000).startswith("<pre>*a*")
