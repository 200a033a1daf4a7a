"""Safe reading of files, YAML and archives that organisers wrote: bounded, inside one root, plain values only.

Always true: no file outside the root is opened or probed (symbolic links are resolved first), text has no byte order
mark and ends its lines with "\\n" alone, and a YAML file cannot unfold into more text, values or levels than the limits
below. An archive's own figures are not trusted: bytes are counted while they are unpacked, and a name that climbs, a
link, a doubled name or a bomb refuses the whole archive.
"""

import io
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from problems.fields import ProblemError, shown
from problems.formats import inspect

MAX_FILE_BYTES: Final = 1_000_000
MAX_YAML_CHARS: Final = 256_000  # the reader is slow: a larger file would hold up its caller
MAX_NODES: Final = 20_000  # values of one YAML file, as written
MAX_DEPTH: Final = 24  # values inside values, aliases followed
MAX_CHARS_IN_ALL: Final = 8_000_000  # of the files of one load
MAX_YAML_CHARS_IN_ALL: Final = 2_000_000  # the slowest to read: some 100 kB a second where it means harm
MAX_UNFOLDED_CHARS: Final = 1_000_000  # of all values together, each alias (*name) counted as its target
MAX_ZIP_BYTES: Final = 5_000_000
MAX_ENTRIES: Final = 5000  # files and folders of an archive
MAX_UNPACKED_BYTES: Final = 50_000_000  # of all files together
MAX_NAME_CHARS: Final = 300  # of a name in an archive
MAX_LEVELS: Final = 16  # of folders in an archive
DAMAGE: Final = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError, OverflowError)
_CHUNK_BYTES: Final = 65_536
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_FLOAT_TAG: Final = "tag:yaml.org,2002:float"
_FLOAT: Final = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+|\d+\.\d*|\.\d+|\.inf|\.Inf|\.nan|\.NaN)")


class FileMissing(ProblemError):
    """There is no file or folder at that path."""


def read_text(path: Path, root: Path, where: str) -> str:
    """Read a file. Raises ProblemError if it is missing, no plain file, outside `root`, not UTF-8 or too large."""
    real = resolve_inside(path, root, where)
    if not real.is_file():
        raise ProblemError(where, f"{shown(path.name)} is not a plain file")
    try:
        with real.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ProblemError(where, f"{shown(path.name)} cannot be read: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ProblemError(where, f"{shown(path.name)} has more than {MAX_FILE_BYTES} bytes; make it smaller")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        fault = f"{shown(path.name)} is not UTF-8 text (byte {error.start}); save it as UTF-8"
        raise ProblemError(where, fault) from error


def resolve_inside(path: Path, root: Path, where: str, *, written: str = "", kind: str = "file") -> Path:
    """Return the real path of an existing file inside `root`, symbolic links followed.

    `written`: its author's name for it, for the message; without it the last part of the path.
    """
    name = shown(written or path.name)
    if not Path(os.path.normpath(path)).is_relative_to(os.path.normpath(root)):
        raise ProblemError(where, f"{name} lies outside the problem set; copy it inside")
    try:
        real, real_root = path.resolve(strict=True), root.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:  # ValueError: a NUL in a name
        raise FileMissing(where, f"there is no {kind} {name}") from error
    if not real.is_relative_to(real_root):
        raise ProblemError(where, f"{name} lies outside the problem set; copy it inside")
    return real


def parse_yaml(text: str, where: str) -> object:
    if len(text) > MAX_YAML_CHARS:
        raise ProblemError(where, f"{len(text)} characters of YAML, at most {MAX_YAML_CHARS}; make it smaller")
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _weigh(node, {})
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        fault = " ".join(str(error).split())
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
            context = f"{error.context}, " if error.context else ""
            fault = f"{context}{error.problem} (line {error.problem_mark.line + 1})"
        raise ProblemError(where, f"is not valid YAML: {fault[:300]}") from error
    except (RecursionError, ValueError) as error:  # a version of thousands of digits
        raise ProblemError(where, f"is not valid YAML: {type(error).__name__}") from error


def _line(node: yaml.Node) -> str:
    return f" (line {node.start_mark.line + 1})"


def _weigh(node: yaml.Node, known: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return a node's weight with its aliases followed: characters (one more a value), levels of nested values.

    Raises YAMLError beyond the limits. A node inside itself is known as None.
    """
    if id(node) in known:
        weight = known[id(node)]
        if weight is None:
            raise yaml.YAMLError(f"an alias (*name) stands for something that it is a part of{_line(node)}")
        return weight
    known[id(node)] = None
    if isinstance(node, yaml.ScalarNode):
        chars, height = 1 + len(node.value), 1
    else:
        inner = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
        weights = [_weigh(part, known) for part in inner]
        chars = 1 + sum(weight[0] for weight in weights)
        height = 1 + max((weight[1] for weight in weights), default=0)
    if chars > MAX_UNFOLDED_CHARS:
        raise yaml.YAMLError(f"its aliases (*name) unfold to more than {MAX_UNFOLDED_CHARS} characters")
    if height > MAX_DEPTH:
        raise yaml.YAMLError(f"values lie more than {MAX_DEPTH} deep in each other{_line(node)}")
    known[id(node)] = chars, height
    return chars, height


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads 1e-3 as a number and a date as text.

    It refuses doubled keys, floods, deep nesting, numbers to base 60 and values that do not match their tag.
    """

    nodes = 0
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise yaml.YAMLError(f"more than {MAX_NODES} values")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.YAMLError(f"values lie more than {MAX_DEPTH} deep in each other")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Check keys as they are written: merging (`<<`) adds more keys later."""
        node = super().compose_mapping_node(anchor)
        written: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in written:
                    raise yaml.YAMLError(f"the key {shown(key.value)} stands twice in one mapping{_line(key)}")
                written.add(key.value)
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ArithmeticError, AttributeError, LookupError, ValueError) as error:
            kind = node.tag.rpartition(":")[2]
            text = shown(node.value) if isinstance(node, yaml.ScalarNode) else "what stands there"
            fault = f"{text} cannot be read as {kind}; if it is text, put it in quotes{_line(node)}"
            raise yaml.YAMLError(fault) from error

    def construct_number(self, node: Any) -> int | float:
        text = str(self.construct_scalar(node))
        if ":" in text:
            fault = f"YAML reads {shown(text)} as a number to base 60; write it out, or put it in quotes{_line(node)}"
            raise yaml.YAMLError(fault)
        return self.construct_yaml_float(node) if node.tag == _FLOAT_TAG else self.construct_yaml_int(node)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in pairs if tag not in ("tag:yaml.org,2002:timestamp",)]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_FLOAT_TAG, re.compile(f"^(?:{_FLOAT.pattern})$"), list("-+0123456789."))
_Loader.add_constructor(_FLOAT_TAG, _Loader.construct_number)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_number)


class Files:
    """Files of one load: each real file is read and parsed once, however many problems name it.

    Returned values are shared and must not be changed. A file that cannot be read is refused each time in the same
    words. Together the files of one load stay within the limits above.
    """

    def __init__(self) -> None:
        self._texts: dict[Path, str | ProblemError] = {}
        self._values: dict[Path, Any] = {}
        self.code = cache(inspect.code)
        self._chars_left = MAX_CHARS_IN_ALL
        self._yaml_chars_left = MAX_YAML_CHARS_IN_ALL

    def text(self, path: Path, root: Path, where: str, *, written: str = "") -> str:
        """Read a file. Raises ProblemError if it is missing, no plain file, outside `root`, not UTF-8 or too large.

        `written`: the name under which the caller knows it.
        """

        def read() -> str:
            text = read_text(path, root, where)
            self._chars_left = _less(self._chars_left, text, where, f"{MAX_CHARS_IN_ALL} characters")
            return text

        found: str = _once(self._texts, resolve_inside(path, root, where, written=written), where, read)
        return found

    def yaml(self, path: Path, root: Path, where: str) -> Any:
        """Read a YAML file. Raises ProblemError as `text` does, and for a file that is not YAML of plain values."""

        def read() -> object:
            text = self.text(path, root, where)
            self._yaml_chars_left = _less(
                self._yaml_chars_left, text, where, f"{MAX_YAML_CHARS_IN_ALL} characters of YAML"
            )
            return parse_yaml(text, where)

        return _once(self._values, resolve_inside(path, root, where), where, read)


def _less(left: int, text: str, where: str, limit: str) -> int:
    if len(text) > left:
        raise ProblemError(where, f"with it the files come to more than {limit} in all; split the set")
    return left - len(text)


def _once(known: dict[Path, Any], path: Path, where: str, read: Callable[[], Any]) -> Any:
    if path not in known:
        try:
            known[path] = read()
        except ProblemError as error:
            known[path] = error
    if isinstance(known[path], ProblemError):
        raise ProblemError(where, known[path].message)
    return known[path]


# -- archives ----------------------------------------------------------------------------------------------------------


def unpack(data: bytes, into: Path) -> None:
    """Unpack the archive. Raises ProblemError, naming the file; the caller removes the files written until then."""
    if len(data) > MAX_ZIP_BYTES:
        fault = f"{len(data)} bytes, at most {MAX_ZIP_BYTES}; leave out what is no problem's text"
        raise ProblemError("archive", fault)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                most = f"at most {MAX_ENTRIES}; pack the set alone"
                raise ProblemError("archive", f"{len(entries)} files and folders, {most}")
            left = MAX_UNPACKED_BYTES
            for entry in entries:
                left -= _unpack(archive, entry, into / _checked_name(entry), left)
    except ProblemError:
        raise
    except DAMAGE as error:
        raise ProblemError("archive", f"is no zip file that can be read ({error}); pack the folder again") from error


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, most: int) -> int:
    """Write a file or folder; return its bytes. Raises ProblemError for more than `most` bytes."""
    try:
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            return 0
        target.parent.mkdir(parents=True, exist_ok=True)
        copied = 0
        with archive.open(entry) as source, target.open("xb") as file:
            while chunk := source.read(_CHUNK_BYTES):
                copied += len(chunk)
                if copied > most:
                    fault = f"unpacks to more than {MAX_UNPACKED_BYTES} bytes; leave large files out"
                    raise ProblemError("archive", fault)
                file.write(chunk)
        return copied
    except OSError as error:  # a name that stands twice, or is both a file and a folder, or is too long
        raise ProblemError(shown(entry.filename), f"cannot be unpacked: {error.strerror}; rename it") from error


def _checked_name(entry: zipfile.ZipInfo) -> PurePosixPath:
    """Return the entry's path below the folder."""
    where = shown(entry.filename)
    name = PurePosixPath(entry.filename)
    mode = entry.external_attr >> 16
    if len(entry.filename) > MAX_NAME_CHARS or len(name.parts) > MAX_LEVELS:
        fault = f"a name of more than {MAX_NAME_CHARS} characters or {MAX_LEVELS} folders; shorten it"
        raise ProblemError(where, fault)
    written = entry.orig_filename
    is_plain = written.isprintable() and not set(written) & set('\\:*?"<>|')
    if name.is_absolute() or ".." in name.parts or not name.parts or not is_plain:
        raise ProblemError(where, "is no path inside the archive; pack the set's folder by its relative name")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ProblemError(where, "is a link or a device; put the file itself into the archive")
    if entry.flag_bits & 0x1:
        raise ProblemError(where, "is encrypted; pack it without a password")
    if entry.compress_type not in _METHODS:
        raise ProblemError(where, "is compressed in a way that is not read here; use plain zip (deflate)")
    return name
