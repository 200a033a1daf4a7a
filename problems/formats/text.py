"""Safe reading of files and YAML that organisers wrote: bounded, inside one root, plain values only.

Owns nothing. Always true: no file outside the root is opened (symbolic links resolved first), nothing is constructed
but mappings, lists, text, numbers and booleans, and a small file cannot unfold into a large value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml

from problems.errors import ProblemError
from problems.fields import shown

MAX_FILE_BYTES: Final = 1_000_000
MAX_ALIASES: Final = 32  # of one YAML file; each can double what it unfolds to
_FLOAT: Final = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+|\d+\.\d*|\.\d+|\.inf|\.Inf|\.nan|\.NaN)")


def read_text(path: Path, root: Path, where: str) -> str:
    """Raises ProblemError when the file is missing, no plain file, outside `root`, not UTF-8 or too large."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise ProblemError(where, f"there is no file {shown(path.name)}: {type(error).__name__}") from error
    if not real.is_relative_to(root.resolve()):
        raise ProblemError(where, f"{shown(path.name)} lies outside the problem set; copy it inside")
    if not real.is_file():
        raise ProblemError(where, f"{shown(path.name)} is not a plain file")
    with real.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ProblemError(where, f"{shown(path.name)} has more than {MAX_FILE_BYTES} bytes; make it smaller")
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ProblemError(where, f"{shown(path.name)} is not UTF-8 text (byte {error.start})") from error


def parse_yaml(text: str, where: str) -> object:
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  (a SafeLoader with fewer types)
    except yaml.YAMLError as error:
        raise ProblemError(where, f"is not valid YAML: {' '.join(str(error).split())[:300]}") from error
    except (RecursionError, ValueError) as error:
        raise ProblemError(where, f"is not valid YAML: {type(error).__name__}") from error


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads 1e-3 as a number and a date as text, and refuses doubled keys and floods of aliases."""

    aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
            if self.aliases > MAX_ALIASES:
                raise yaml.YAMLError(f"more than {MAX_ALIASES} aliases (*name)")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        written = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for key, times in written.items():
            if times > 1:
                raise yaml.YAMLError(f"the key {shown(key)} stands twice in the mapping that begins{node.start_mark}")
        return super().construct_mapping(node, deep=deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in pairs if tag not in ("tag:yaml.org,2002:timestamp",)]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(f"^(?:{_FLOAT.pattern})$"), list("-+0123456789."))
