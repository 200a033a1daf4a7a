"""Pure: a digest that near-identical sources share: the same tokens except for names, comments and spelling.

An owner's runs with the same digest are one kernel and rank by their mean (standings/ranking/ranking.py), so a changed
comment, name or blank buys no new draw. Comments, docstrings, blank lines, trailing commas and the spelling of a
literal leave no trace. Names become numbers (rendered), except names from elsewhere (imports, attributes, keyword
arguments): `torch.bfloat16` is not a spelling of `torch.float16`. C++ and CUDA in string literals get the same
treatment. A rewrite beyond that is another kernel.

This module neither runs nor compiles a source; the size of the file and MAX_TOKENS bound the work. A source that is not
Python, or too long, is compared by its text without blanks.
"""

import hashlib
import io
import keyword
import math
import re
import tokenize
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, count, groupby, pairwise
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")

VERSION: Final = 1  # part of every digest; another normalisation needs another version
MAX_TOKENS: Final = 100_000


class Token(NamedTuple):
    """Token of Python or C.

    Kinds of Python: name, parameter, argument, member, own member, import. Kinds of C: c name, c member. Tokens of all
    remaining kinds keep their text.
    """

    kind: str
    text: str
    scope: int = 0  # of a name: its function, 0 if outside of functions


LAYOUT: Final = "layout"
_LINE: Final = Token(LAYOUT, "line")
_COMMA: Final = Token("operator", ",")
_QUOTE: Final = Token("operator", '"')

_SKIPPED: Final = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER})
_BLANK: Final = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})
_FSTRING_START: Final = getattr(tokenize, "FSTRING_START", -1)  # Python 3.12 splits f-strings, 3.11 does not
_FSTRING_END: Final = getattr(tokenize, "FSTRING_END", -1)
_STRING: Final = re.compile(r"([A-Za-z]*)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(\n|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[0-7]{1,3}|[\\'\"abfnrtv])")
_SIMPLE: Final[dict[str, str]] = dict(zip("\n\\'\"abfnrtv", ("", *"\\'\"\a\b\f\n\r\t\v"), strict=True))


class _TooLongError(Exception):
    """More tokens than a person writes."""


class Read(NamedTuple):
    """A source, read once for all its uses."""

    code_digest: str
    tokens: list[Token]  # with their names; C++ if the source is not Python; empty if too long
    size: int  # characters of the source


def read(source: str) -> Read:
    try:
        tokens = list(_bounded(_unwrapped(_tidied(_Reader().read(source)))))
    except _TooLongError:
        return Read(_digest("text", source.split()), [], len(source))
    except (tokenize.TokenError, SyntaxError):
        try:
            tokens = list(_bounded(lex_c(source, count(1))))
        except _TooLongError:
            tokens = []
        return Read(_digest("text", source.split()), tokens, len(source))
    return Read(_digest("tokens", rendered(tokens)), tokens, len(source))


def code_digest(source: str) -> str:
    return read(source).code_digest


def verbatim_digest(source: str) -> str:
    """Return a digest that sources share only if they differ in comments and blanks alone.

    Python's own tokens with their text, as the tidied ones above equate sources that run differently, such as `(x,)`
    and `(x)`. A source that is not Python, or too long, equals only its copies.
    """
    try:
        tokens = list(_bounded(_python_tokens(source)))
    except (_TooLongError, tokenize.TokenError, SyntaxError):
        return _digest("source", [source])
    return _digest("verbatim", (f"{tokenize.tok_name[kind]} {'' if kind in _BLANK else text}" for kind, text in tokens))


def _digest(kind: str, parts: Iterable[str]) -> str:
    text = "\x1f".join(parts).encode("utf-8", "backslashreplace")
    return f"{kind}{VERSION}:{hashlib.sha256(text).hexdigest()}"


def _python_tokens(source: str) -> Iterator[tuple[int, str]]:
    """Yield (type, text) of the relevant tokens; an f-string is one token in every Python version.

    Raise SyntaxError.
    """
    lines = io.StringIO(source, newline=None).read().splitlines(keepends=True)
    begun: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(iter([*lines, ""]).__next__):
        if token.type == tokenize.ERRORTOKEN:
            raise SyntaxError(f"no token: {token.string[:20]!r}")
        if token.type == _FSTRING_START:
            begun.append(token.start)
        elif token.type == _FSTRING_END:
            start = begun.pop()
            if not begun:
                rows = lines[start[0] - 1 : token.end[0]]
                rows[-1] = rows[-1][: token.end[1]]
                rows[0] = rows[0][start[1] :]
                yield tokenize.STRING, "".join(rows)
        elif not begun and token.type not in _SKIPPED:
            yield token.type, token.string


class _Reader:
    """Classifier of tokens, by brackets, indentation, `def` and `import`."""

    def __init__(self) -> None:
        self._brackets: list[str] = []  # open brackets; "def" for the round bracket of a function's head
        self._depth = 0  # of indentation
        self._ends_at: int | None = None  # the depth at which the current function ends
        self._has_body = False
        self._imports = False
        self._scope = self._last_scope = 0
        self._before, self._previous = _LINE, _LINE

    def read(self, source: str) -> Iterator[Token]:
        """Yield our tokens for Python's. The scope of a name is its outermost function; 0 means none."""
        for (kind, text), following in pairwise(chain(_python_tokens(source), [(tokenize.ENDMARKER, "")])):
            token = self.classified(kind, text, following)
            self._before, self._previous = self._previous, token
            yield token

    def classified(self, kind: int, text: str, following: tuple[int, str]) -> Token:
        if kind == tokenize.INDENT or kind == tokenize.DEDENT:
            self._depth += 1 if kind == tokenize.INDENT else -1
            if self._ends_at is not None and self._depth <= self._ends_at:
                self._leave()
            return Token(LAYOUT, "indent" if kind == tokenize.INDENT else "dedent")
        if kind == tokenize.NEWLINE or text == ";":
            self._imports = False
            is_whole = kind == tokenize.NEWLINE and following[0] != tokenize.INDENT
            if is_whole and self._has_body and self._ends_at == self._depth:
                self._leave()  # the whole function is on one line
            return _LINE
        if kind == tokenize.NAME:
            return self._word(text, following[1])
        if kind == tokenize.NUMBER:
            return Token("literal", _number(text))
        if kind == tokenize.STRING:
            return _string(text)
        if text in ("(", "[", "{"):
            is_head = text == "(" and not self._brackets and self._ends_at is not None and not self._has_body
            self._brackets.append("def" if is_head and self._previous.kind != "operator" else text)
        elif text in (")", "]", "}") and self._brackets:
            self._brackets.pop()
        elif text == ":" and not self._brackets and self._ends_at is not None:
            self._has_body = True
        return Token("operator", text)

    def _word(self, text: str, after: str) -> Token:
        previous = self._previous
        if previous == Token("operator", "."):
            is_own = after == "=" and self._before.text == "self"
            return Token("own member" if is_own else "member", text)
        if keyword.iskeyword(text):
            self._imports = self._imports or (text in ("import", "from") and previous.kind == LAYOUT)
            return Token("keyword", text)
        if self._imports and previous.text != "as":
            return Token("import", text)
        if previous in (Token("keyword", "def"), Token("keyword", "class")):
            is_method = self._depth > 0 and self._ends_at is None
            token = Token("own member" if is_method else "name", text, self._scope)
            if previous.text == "def" and self._ends_at is None:  # the tokens after the name are in its scope
                self._last_scope += 1
                self._scope, self._ends_at, self._has_body = self._last_scope, self._depth, False
            return token
        if previous.kind == "operator" and previous.text in ("(", ",", "*", "**") and self._brackets:
            if self._brackets == ["def"]:
                return Token("parameter", text, self._scope)
            if after == "=" and self._brackets[-1] == "(":
                return Token("argument", text)
        return Token("name", text, self._scope)

    def _leave(self) -> None:
        self._scope, self._ends_at = 0, None


def _tidied(tokens: Iterator[Token]) -> Iterator[Token]:
    """Join adjacent strings, and drop strings that stand alone, empty lines and trailing commas."""

    def joined() -> Iterator[Token]:  # in time linear in the sum of the strings
        for kind, run in groupby(_bounded(tokens), key=attrgetter("kind")):
            if kind in ("string", "bytes"):
                yield Token(kind, "".join(token.text for token in run))
            else:
                yield from run

    kept = [_LINE]
    for token in joined():
        last = kept[-1]
        if token == _LINE and last.kind in ("string", "format") and kept[-2].kind == LAYOUT:
            kept.pop()
        elif token == _LINE and last.kind == LAYOUT:
            continue
        else:
            if last == _COMMA and token.text in (")", "]", "}") and token.kind == "operator":
                kept.pop()
            kept.append(token)
    yield from kept


def _unwrapped(tokens: Iterator[Token]) -> Iterator[Token]:
    """Yield the tokens, with string literals that hold sources replaced by the tokens of the sources."""
    scopes = count(1)
    for token in tokens:
        if token.kind == "format" or (token.kind in ("string", "bytes") and is_source(token.text)):
            yield _QUOTE
            yield from lex_c(token.text, scopes)
            yield _QUOTE
        else:
            yield token


def _bounded(tokens: Iterator[T]) -> Iterator[T]:
    for number, token in enumerate(tokens):
        if number >= MAX_TOKENS:
            raise _TooLongError
        yield token


def _string(text: str) -> Token:
    found = _STRING.fullmatch(text)
    if found is None:
        raise SyntaxError("a string without an end")
    prefix, body = found[1].lower(), found[3]
    if "f" in prefix:
        return Token("format", body)
    return Token("bytes" if "b" in prefix else "string", body if "r" in prefix else _ESCAPE.sub(_unescaped, body))


def _unescaped(found: re.Match[str]) -> str:
    code = str(found[1])
    if code in _SIMPLE:
        return _SIMPLE[code]
    return chr(int(code[1:], 16) if code[0] in "xu" else int(code, 8))


def _number(text: str) -> str:
    """Return a number by value: 0x10, 16 and 1_6 are equal, 1e3 and 1000.0 are equal.

    Keep the text of unreadable numbers.
    """
    plain = text.replace("_", "").lower()
    unit = "j" if plain.endswith("j") else ""
    try:
        if (not unit and not {".", "e"} & set(plain)) or plain.startswith("0x"):
            return f"{int(plain, 0):x}"
        value = float(plain.removesuffix("j"))
    except ValueError:
        return plain
    return repr(value) + unit if math.isfinite(value) else plain


# C++ and CUDA in string literals
#
# This is no parser. An identifier is the author's own if it is declared (it follows a type, and its next token can
# follow a declared name), or if it is never called, never a type and never qualified. All remaining identifiers
# (`expf`, `half`, `torch`) keep their names. The scope of an identifier is its function or statement at the top of the
# source, 0 outside of brackets.

_C_TOKEN: Final = re.compile(
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

_C_KEYWORDS: Final = frozenset(
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
    for found in _C_TOKEN.finditer(text):
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
            previous = Token("literal", _c_number(word))
        elif kind == "operator":
            previous = Token("operator", word)
        elif word in _C_KEYWORDS:
            previous = Token("keyword", word)
        elif previous.kind == "operator" and previous.text in (".", "->", "::"):
            previous = Token("c member", word)
        else:
            previous = Token("c name", word, 0 if is_top else scope)
        yield previous
        if is_top and word in (";", "}"):
            scope = next(scopes)


def _c_number(text: str) -> str:
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


def _own_names(tokens: Sequence[Token]) -> tuple[set[str], set[str]]:
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


def rendered(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield tokens as text, with the author's own names numbered by first appearance.

    A name that is known at the top of its file is numbered through the file. A local name is numbered anew in each
    function: if two functions use the same letter, renaming it in the first alone leaves no trace. Names that the
    author did not choose stay.
    """

    def texts(*kinds: str, top: bool = False) -> set[str]:
        return {token.text for token in tokens if token.kind in kinds and not (top and token.scope)}

    imported, parameters, members = texts("import"), texts("parameter"), texts("own member")
    at_top, c_top = texts("name", top=True), texts("c name", top=True)
    shadowing = {(token.scope, token.text) for token in tokens if token.kind == "parameter"}
    c_own, c_functions = _own_names(tokens)

    def space(token: Token) -> Hashable | None:
        """Return the group in which a token's name is numbered; None if it keeps its text."""
        text = token.text
        if token.kind in ("name", "parameter"):
            if (token.scope, text) in shadowing:
                return "local", token.scope
            if text in imported:
                return None
            return "top" if text in at_top else ("local", token.scope)
        if token.kind == "c name":
            if text not in c_own:
                return None
            return "c top" if text in c_top else ("c local", token.scope)
        if token.kind in ("member", "own member", "string") and text in c_functions:
            return "c top"
        if token.kind in ("argument", "string") and text in parameters:
            return "parameters"
        return "members" if token.kind in ("member", "own member") and text in members else None

    numbers: dict[Hashable, dict[str, int]] = defaultdict(dict)
    for token in tokens:
        if (group := space(token)) is None:
            yield f"{token.kind} {token.text}"
        else:
            known = numbers[group]
            yield f"{token.kind} {group} {known.setdefault(token.text, len(known))}"
