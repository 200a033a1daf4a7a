"""Descriptions: markdown and math are drawn, everything else is shown as text."""

from __future__ import annotations

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
