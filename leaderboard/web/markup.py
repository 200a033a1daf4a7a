"""Text to safe HTML: markdown with math for descriptions, coloured code for sources.

Math becomes MathML here, on the server, so pages need no script for it. The output passes an allow list (nh3) last: an
organiser's description is still untrusted text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import latex2mathml.converter
import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin

from leaderboard.web.highlight import highlighted

MAX_MARKDOWN_CHARS: Final = 50_000  # some 1.5 s at worst, once per process; a longer text is shown as typed
MAX_FORMULA_CHARS: Final = 2_000  # the converter's time grows as the square of a formula's depth

_MATHML_TAGS: Final = set(
    """
    math menclose mfrac mi mn mo mover mpadded mphantom mroot mrow ms mspace msqrt mstyle msub msubsup msup
    mtable mtd mtext mtr munder munderover
    """.split()  # noqa: SIM905 - a list to read
)
_MATHML_ATTRIBUTES: Final = set(
    """
    accent columnalign columnlines columnspacing display displaystyle fence height largeop linethickness lspace
    mathvariant maxsize minsize movablelimits notation rowspacing rspace scriptlevel separator stretchy symmetric
    voffset width
    """.split()  # noqa: SIM905
)
_TAGS: Final = nh3.ALLOWED_TAGS | _MATHML_TAGS
_ATTRIBUTES: Final[dict[str, set[str]]] = {
    **nh3.ALLOWED_ATTRIBUTES,
    **{tag: set(_MATHML_ATTRIBUTES) for tag in _MATHML_TAGS},
    "code": {"class"},
    "span": {"class"},
    "pre": {"tabindex"},
}


@lru_cache(maxsize=256)
def markdown(text: str) -> SafeString:
    """Render Markdown with $inline$ and $$display$$ math, sanitised."""
    if len(text) > MAX_MARKDOWN_CHARS:
        return mark_safe(f"<pre>{escape(text)}</pre>")  # noqa: S308 - escaped
    clean = nh3.clean(
        _parser().render(text),
        tags=set(_TAGS),
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener",
    )
    return mark_safe(clean)  # noqa: S308 - nh3 has just cleaned it


def code(source: str, filename: str = "submission.py") -> SafeString:
    """Return a source with class names for its colours; the caller puts it into `<pre><code>`."""
    return mark_safe(highlighted(source, filename.rpartition(".")[2]))  # noqa: S308 - every piece is escaped


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    def highlight(source: str, language: str, _attributes: str) -> str:
        return highlighted(source, language)

    def math(display: str) -> Callable[..., str]:
        def render(
            self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
        ) -> str:
            return _mathml(tokens[index].content, display=display)

        return render

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "highlight": highlight})
    parser.enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, allow_space=True, allow_digits=False, double_inline=True)
    for rule, display in (("math_inline", "inline"), ("math_block", "block"), ("math_inline_double", "block")):
        parser.add_render_rule(rule, math(display))
    return parser


def _mathml(latex: str, *, display: str) -> str:
    """Return MathML of a formula. LaTeX that the converter does not know is shown as typed."""
    if len(latex) > MAX_FORMULA_CHARS:
        return f"<code>{escape(latex)}</code>"
    try:
        return latex2mathml.converter.convert(latex.strip(), display=display)
    except Exception:  # the converter raises many kinds for bad LaTeX; a description must still be readable
        return f"<code>{escape(latex)}</code>"
