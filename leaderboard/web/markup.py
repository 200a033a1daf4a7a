"""Text to safe HTML: markdown with math for descriptions, coloured code for sources.

Math becomes MathML here, on the server, so pages need no script for it. The output passes an allow list (nh3) last: an
organiser's description is still untrusted text.

Sources are coloured in time that is linear in their length, which Pygments does not promise. Each language is a single
regular expression without backtracking: its repetitions are possessive, and a comment or string matches without its
end, too. Class names are those of Pygments; static/photofinish/code.css gives them colours.
"""

import builtins
import hashlib
import keyword
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from itertools import islice
from threading import Lock
from typing import Any, Final, NamedTuple

import latex2mathml.converter
import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin

MAX_MARKDOWN_CHARS: Final = 50_000  # some 1.5 s at worst, once per process; a longer text is shown as typed
MAX_FORMULA_CHARS: Final = 2_000  # the converter's time grows as the square of a formula's depth
MAX_TOKENS: Final = 80_000  # of one source, some 130 ms at worst; the text after them is shown plain
MAX_KEPT_BYTES: Final = 32_000_000  # of coloured sources, in each process

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
    "p": {"tabindex"},
    "pre": {"tabindex"},
    "math": _MATHML_ATTRIBUTES | {"tabindex"},
}


class _Language(NamedTuple):
    token: re.Pattern[str]  # each group is named by the class of its span; "n" is a name, looked up in `words`
    words: Mapping[str, str]  # name → class


# Each match begins with up to 30 runs of plain text, because a match costs Python far more than a turn of the
# expression's loop. This loop and its empty branches are not possessive: Python 3.11.2 forgets where a possessive group
# began when an assertion or repetition in the group fails.
_TRIPLE_QUOTED: Final = r"""
    \"\"\"[^\"\\]*+(?:(?:\\.|\"(?!\"\"))[^\"\\]*+)*+(?:\"\"\")?+
    | '''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+(?:''')?+
"""
_PYTHON: Final = _Language(
    re.compile(
        rf"""
        (?:  # plain text
            (?!^[ \t@])[^\w\"'\#.\n]++
            | \n++(?:[ \t]++(?!@|[ruRU]?+(?:\"\"\"|'''))|)
            | (?<!\ )\.(?![0-9])[\w.]*+  # an attribute; "from ." is a module
        ){{0,30}}
        (?:
        (?P<c>\#[^\n]*+)
        | (?P<sd>^[ \t]*+[ruRU]?+(?:{_TRIPLE_QUOTED}))
        | (?P<s>(?:(?<!\w)[bfruBFRU]{{1,2}}+|)(?:
              {_TRIPLE_QUOTED}
              | \"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"?+
              | '[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'?+))
        | (?P<nd>^[ \t]*+@[\w.]++)
        | (?P<nf>(?<=\bdef\ )\w++)
        | (?P<nc>(?<=\bclass\ )\w++)
        | (?P<nn>(?:(?<=^import\ )|(?<=\ \ import\ )|(?<=^from\ )|(?<=\ \ from\ ))[\w.]++)
        | (?P<m>(?<![\w.])\.?+[0-9](?:[eE][+-]|[\w.])*+)
        | (?P<n>(?<![\w.])[^\W\d]\w*+)
        | (?P<plain>[\w.]++ | . | \Z))
        """,
        re.VERBOSE | re.MULTILINE | re.DOTALL,
    ),
    {
        **{name: "nb" for name in (*dir(builtins), "self", "cls") if name.islower() and name[0] != "_"},
        **dict.fromkeys(keyword.kwlist, "k"),
    },
)
_CPP: Final = _Language(
    re.compile(
        r"""
        (?:
            (?!^[ \t\#])[^\w\"'/.\n]++
            | \n++(?:[ \t]++(?!\#)|)
            | \.(?![0-9])[\w.]*+
            | /(?![/*])
        ){0,30}
        (?:
        (?P<c>//[^\n]*+ | /\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?+)
        | (?P<s>(?<!\w)R\"(?P<end>[^()\\\s]{0,16}+)\([^)]*+(?:\)(?!(?P=end)\")[^)]*+)*+(?:\)(?P=end)\")?+
              | \"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"?+
              | '[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'?+)
        | (?P<cp>^[ \t]*+\#[ \t]*+\w*+(?:[ \t]*+<[^<>\n]*+>|))
        | (?P<nc>(?:(?<=\bclass\ )|(?<=\bstruct\ ))\w++)
        | (?P<m>(?<![\w.])\.?+[0-9](?:[eEpP][+-]|[\w.]|'(?=\w))*+)
        | (?P<n>(?<![\w.])[^\W\d]\w*+)
        | (?P<plain>[\w.]++ | . | \Z))
        """,
        re.VERBOSE | re.MULTILINE | re.DOTALL,
    ),
    dict.fromkeys(
        """
        __constant__ __device__ __forceinline__ __global__ __host__ __launch_bounds__ __managed__ __noinline__
        __restrict__ __shared__ alignas alignof asm auto bool break case catch char char16_t char32_t char8_t class
        co_await co_return co_yield concept const const_cast consteval constexpr constinit continue decltype default
        delete do double dynamic_cast else enum explicit extern false final float for friend goto half if inline int
        int16_t int32_t int64_t int8_t long mutable namespace new noexcept nullptr operator override private protected
        public register reinterpret_cast requires return short signed size_t sizeof static static_assert static_cast
        struct switch template this thread_local throw true try typedef typeid typename uint16_t uint32_t uint64_t
        uint8_t union unsigned using virtual void volatile wchar_t while
        """.split(),  # noqa: SIM905 - a list to read
        "k",
    )
    | dict.fromkeys(("blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize"), "nb"),
)
_LANGUAGES: Final = {  # by the ending of a file, or by the word after a fence of Markdown
    **dict.fromkeys(("py", "python", "python3"), _PYTHON),
    **dict.fromkeys(("c", "cc", "cpp", "c++", "cu", "cuda", "cuh", "h", "hip", "hpp"), _CPP),
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
    reachable = clean.replace("<pre>", '<pre tabindex="0">')  # it scrolls, so the keyboard must reach it
    return mark_safe(reachable)  # noqa: S308 - nh3 has just cleaned it


def code(source: str, filename: str = "submission.py") -> SafeString:
    """Return a source with class names for its colours; the caller puts it into `<pre><code>`."""
    return mark_safe(highlighted(source, filename.rpartition(".")[2]))  # noqa: S308 - every piece is escaped


def make_parser() -> MarkdownIt:
    """Return a parser of Markdown with math and coloured code. Its output is not sanitised, but has no raw HTML."""

    def highlight(source: str, language: str, _attributes: str) -> str:
        return highlighted(source, language)

    def math(display: str) -> Callable[..., str]:
        def render(
            self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
        ) -> str:
            latex = tokens[index].content
            if len(latex) > MAX_FORMULA_CHARS:
                return f"<code>{escape(latex)}</code>"
            try:
                formula = latex2mathml.converter.convert(latex.strip(), display=display)
                # A block scrolls, so the keyboard must reach it.
                return formula.replace("<math", '<math tabindex="0"', 1) if display == "block" else formula
            except Exception:  # of many kinds for LaTeX that the converter does not know: it is shown as typed
                return f"<code>{escape(latex)}</code>"

        return render

    def paragraph(
        self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
    ) -> str:
        """Let the keyboard reach a paragraph with formulas: it scrolls on a narrow screen."""
        if any(child.type == "math_inline" for child in tokens[index + 1].children or ()):
            tokens[index].attrSet("tabindex", "0")
        return self.renderToken(tokens, index, options, env)

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "highlight": highlight})
    parser.enable(["table", "strikethrough"])
    parser.add_render_rule("paragraph_open", paragraph)
    parser.use(dollarmath_plugin, allow_space=True, allow_digits=False, double_inline=True)
    for rule, display in (("math_inline", "inline"), ("math_block", "block"), ("math_inline_double", "block")):
        parser.add_render_rule(rule, math(display))
    return parser


_parser: Final = lru_cache(maxsize=1)(make_parser)


def highlighted(source: str, language: str) -> str:
    """Return a source as HTML, to the letter. An unknown language has no colours."""
    known = _LANGUAGES.get(language.lower())
    if known is None:
        return escape(source)
    key = hashlib.sha256(f"{known is _PYTHON}:{source}".encode("utf-8", "surrogatepass")).hexdigest()
    kept = _kept.get(key)
    if kept is not None:
        return kept.decode("utf-8", "surrogatepass")
    html = "".join(_pieces(source, known))
    _kept.put(key, html.encode("utf-8", "surrogatepass"))
    return html


def _pieces(source: str, language: _Language) -> Iterator[str]:
    plain_from = 0
    for found in islice(language.token.finditer(source), MAX_TOKENS):
        kind = found.lastgroup
        if kind == "plain" or kind is None:
            continue
        text = found[kind]
        if kind == "n":
            kind = language.words.get(text)
            if kind is None:
                continue
        end = found.end()
        yield f'{escape(source[plain_from : end - len(text)])}<span class="{kind}">{escape(text)}</span>'
        plain_from = end
    yield escape(source[plain_from:])


class _Kept:
    """Least recently used cache of coloured sources, by digest, of at most MAX_KEPT_BYTES."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._html: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> bytes | None:
        with self._lock:
            if key in self._html:
                self._html.move_to_end(key)
            return self._html.get(key)

    def put(self, key: str, html: bytes) -> None:
        with self._lock:
            self._bytes += len(html) - len(self._html.pop(key, b""))
            self._html[key] = html
            while self._bytes > MAX_KEPT_BYTES:
                self._bytes -= len(self._html.popitem(last=False)[1])


_kept: Final = _Kept()
