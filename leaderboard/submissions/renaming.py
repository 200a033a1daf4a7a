"""Pure: render tokens as text, with the author's own names numbered by first appearance, for tokens.py.

A name that is known at the top of its file is numbered through the file. A local name is numbered anew in each
function: if two functions use the same letter, renaming it in the first alone leaves no trace. Names that the author
did not choose stay.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from leaderboard.submissions.ctokens import Token, own_names


def rendered(tokens: Sequence[Token]) -> Iterator[str]:
    names = _Names(tokens)
    return map(names.rendered, tokens)


class _Names:
    def __init__(self, tokens: Sequence[Token]) -> None:
        def texts(*kinds: str, top: bool = False) -> set[str]:
            return {token.text for token in tokens if token.kind in kinds and not (top and token.scope)}

        self._imported = texts("import")
        self._top = texts("name", top=True)
        self._parameters = texts("parameter")
        self._shadowing = {(token.scope, token.text) for token in tokens if token.kind == "parameter"}
        self._members = texts("own member")
        self._c_own, self._c_functions = own_names(tokens)
        self._c_top = texts("c name", top=True)
        self._numbers: dict[Hashable, dict[str, int]] = {}

    def rendered(self, token: Token) -> str:
        space = self._space(token)
        if space is None:
            return f"{token.kind} {token.text}"
        numbers = self._numbers.setdefault(space, {})
        return f"{token.kind} {space} {numbers.setdefault(token.text, len(numbers))}"

    def _space(self, token: Token) -> Hashable | None:
        """Return the group in which a token's name is numbered; None if it keeps its text."""
        text = token.text
        if token.kind in ("name", "parameter"):
            if (token.scope, text) in self._shadowing:
                return "local", token.scope
            if text in self._imported:
                return None
            return "top" if text in self._top else ("local", token.scope)
        if token.kind == "c name":
            if text not in self._c_own:
                return None
            return "c top" if text in self._c_top else ("c local", token.scope)
        if token.kind in ("member", "own member", "string") and text in self._c_functions:
            return "c top"
        if token.kind in ("argument", "string") and text in self._parameters:
            return "parameters"
        return "members" if token.kind in ("member", "own member") and text in self._members else None
