"""Pure: the tokens of C++ or CUDA source in string literals, for tokens.py.

This is no parser. An identifier is the author's own if it is declared (it follows a type, and its next token can follow
a declared name), or if it is never called, never a type and never qualified. All remaining identifiers (`expf`, `half`,
`torch`) keep their names. The scope of an identifier is its function or statement at the top of the source, 0 outside
of brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple


class Token(NamedTuple):
    """Token of Python or C.

    Kinds of Python: name, parameter, argument, member, own member, import. Kinds of C: c name, c member. Tokens of all
    remaining kinds keep their text.
    """

    kind: str
    text: str
    scope: int = 0  # of a name: its function, 0 if outside of functions


_TOKEN: Final = re.compile(
    r"(?P<blank>\s+|\\\n|//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<string>\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"?|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'?)"
    r"|(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.]|'(?=\w))*+)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<operator>::|->|.)",
    re.DOTALL,
)
_WHOLE: Final = re.compile(r"(0x[0-9a-f]+|0b[01]+|[0-9]+)([ul]*)")
_REAL: Final = re.compile(r"([0-9]*\.?[0-9]*(?:e[+-]?[0-9]+)?)((?:b?f16|f|l)?)")
_NOTHING: Final = Token("operator", ";")

KEYWORDS: Final = frozenset(
    """
    alignas alignof asm auto bool break case catch char class const const_cast constexpr continue decltype default
    define defined delete do double dynamic_cast else endif enum explicit extern false float for friend goto if ifdef
    ifndef include inline int long mutable namespace new noexcept nullptr operator pragma private protected public
    register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this
    throw true try typedef typeid typename undef union unsigned using virtual void volatile while
    """.split()  # noqa: SIM905
)
_NO_TYPES: Final = frozenset({"case", "delete", "do", "else", "goto", "new", "return", "sizeof", "throw"})
_AFTER_DECLARED: Final = frozenset("(),;=[{:>")


def is_source(text: str) -> bool:
    return "#include" in text or "#define" in text or (";" in text and "(" in text)


def lex_c(text: str, scopes: Iterator[int]) -> Iterator[Token]:
    """Yield the tokens of a C source. `scopes` numbers the top-level parts through all sources of a file."""
    scope, braces, rounds, previous = next(scopes), 0, 0, _NOTHING
    for found in _TOKEN.finditer(text):
        kind, word = found.lastgroup or "", found.group()
        if kind == "blank":
            continue
        if kind == "operator":
            braces += (word == "{") - (word == "}")
            rounds += (word == "(") - (word == ")")
        is_top = not braces and not rounds
        if kind == "string":
            previous = Token("string" if word[0] == '"' else "literal", word.strip(word[0]))
        elif kind == "number":
            previous = Token("literal", number(word))
        elif kind == "operator":
            previous = Token("operator", word)
        elif word in KEYWORDS:
            previous = Token("keyword", word)
        elif previous.kind == "operator" and previous.text in (".", "->", "::"):
            previous = Token("c member", word)
        else:
            previous = Token("c name", word, 0 if is_top else scope)
        yield previous
        if is_top and word in (";", "}"):
            scope = next(scopes)


def number(text: str) -> str:
    """Return a number normalised by value and type: 0X10 equals 16, 1.0f equals 1.f."""
    plain = text.replace("'", "").lower()
    try:
        if whole := _WHOLE.fullmatch(plain):
            is_octal = whole[1].isdecimal() and whole[1].startswith("0")
            return f"{int(whole[1], 8 if is_octal else 0):x}" + "".join(sorted(whole[2]))
        if real := _REAL.fullmatch(plain):
            return repr(float(real[1])) + real[2]
    except ValueError:
        pass  # thousands of digits, or no digit at all: keep the text
    return plain


def own_names(tokens: Sequence[Token]) -> tuple[set[str], set[str]]:
    """Return the author's own names in the embedded sources: all names, and the functions among them."""
    declared, functions, foreign = set(), set(), set()
    for before, token, after in zip([_NOTHING, *tokens], tokens, [*tokens[1:], _NOTHING], strict=False):
        if token.kind != "c name":
            continue
        declares = before.kind in ("c name", "c member", "keyword") and before.text not in _NO_TYPES
        if before.kind == "operator":  # `a * b` reads like a declaration and does no harm; `a * f(b)` would
            declares = before.text in (">", "*", "&") and after.text != "("
        if declares and after.kind == "operator" and after.text in _AFTER_DECLARED:
            declared.add(token.text)
            if after.text == "(" and not token.scope:
                functions.add(token.text)
        elif after.kind in ("c name", "keyword") or after.text in ("(", "::"):
            foreign.add(token.text)
    return {token.text for token in tokens if token.kind == "c name"} - (foreign - declared), functions
