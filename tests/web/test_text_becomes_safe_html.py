"""Descriptions: Markdown and maths are rendered, all other input is shown as text."""

import re
from html import escape, unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.web.markup import MAX_TOKENS, code, markdown


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


@settings(deadline=None)
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
    python = code(
        'import torch\n@jit\ndef f(x):\n    """Doc."""\n    y = """Text."""\n    return max(0x1F, x.max)  # end', "a.py"
    )
    for kind, text in (("k", "import"), ("nn", "torch"), ("nd", "@jit"), ("nf", "f"), ("nb", "max"), ("m", "0x1F")):
        assert f'<span class="{kind}">{text}</span>' in python
    assert '<span class="sd">    &quot;&quot;&quot;Doc.&quot;&quot;&quot;</span>' in python
    assert '<span class="s">&quot;&quot;&quot;Text.&quot;&quot;&quot;</span>' in python
    assert python.count(">max<") == 1  # an attribute is not a builtin
    again = code("from torch import nn\n    import numpy as np\n    raise KeyError from None", "a.py")
    assert re.findall('class="nn">([^<]*)', again) == ["torch", "numpy"]
    assert '<span class="k">None</span>' in again
    cuda = code('#include <a.h>\n__global__ void f() { /* a */ x[threadIdx.x] = 1.f; } // b\nR"p(a\n" )" b)p"', "a.cu")
    for kind, text in (("cp", "#include &lt;a.h&gt;"), ("k", "void"), ("nb", "threadIdx"), ("m", "1.f"), ("c", "// b")):
        assert f'<span class="{kind}">{text}</span>' in cuda
    assert cuda.endswith('<span class="s">R&quot;p(a\n&quot; )&quot; b)p&quot;</span>')


PIECES = (
    *('"', '"""', "'", "'''", "\\", "\n", "\r", "\t", "    ", " ", "#", "/", "*", "//", "/*", "*/", "@", "<", ">", "&"),
    *(
        "&amp;",
        "</span>",
        "(",
        ")",
        'R"',
        'R"ab(',
        ')ab"',
        "f'",
        "rb",
        "u",
        "_",
        ".",
        "+",
        "-",
        "1",
        "0x",
        "1e",
        "é",
        "\0",
    ),
    *("def ", "class ", "struct ", "import ", "from ", "#include", "a", "self", "int", "\ud800", "\u2028", "🏁"),
)
SPAN = re.compile(r'<span class="(?:c|cp|k|m|nb|nc|nd|nf|nn|s|sd)">([^<>]+)</span>')


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text())
def test_code_keeps_every_letter_once_and_escaped(text: str) -> None:
    for filename in ("a.py", "a.cu", "a.txt"):
        words = SPAN.sub(r"\1", code(text, filename))
        assert words == escape(text)
        assert unescape(words) == text


def test_code_after_the_last_token_that_is_coloured_is_plain() -> None:
    html = code('"a" ' * MAX_TOKENS + '"<"')
    assert html.count("<span") == MAX_TOKENS
    assert html.endswith("</span> &quot;&lt;&quot;")


def test_long_markdown_and_long_formulas_are_shown_as_typed() -> None:
    assert "<math" not in markdown("$" + "x" * 3_000 + "$")
    assert markdown("*a*" * 20_000).startswith("<pre>*a*")
