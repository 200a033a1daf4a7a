"""Places of errors in a verdict's message, as Python, gcc and nvcc write them. Pure, in linear time.

The message comes from a sandbox with the submission in it, so that a place may be forged. It decides nothing.
"""

import re
from dataclasses import dataclass
from typing import Final

MOST_READ: Final = 60_000  # characters of a message
MOST_FOUND: Final = 50
MOST_SAID: Final = 300  # characters of an error
_NAMED: Final = re.compile(
    r"""^(?:Case[ ][^"\n]{1,300}?:)?\s{0,8}(?:
        File[ ]"(?P<frame>[^"\n]{1,200})",[ ]line[ ](?P<frame_line>\d{1,7})
        | (?P<python>[^,:(\n]{1,200}),[ ]line[ ](?P<python_line>\d{1,7})(?:,[ ]column[ ](?P<python_column>\d{1,7}))?
          :[ ](?P<python_text>[^\n]*)
        | (?P<gcc>[^,:(\n]{1,200}):(?P<gcc_line>\d{1,7}):(?:(?P<gcc_column>\d{1,7}):)?[ ](?:fatal[ ])?error:
          [ ](?P<gcc_text>[^\n]*)
        | (?P<nvcc>[^,:(\n]{1,200})\((?P<nvcc_line>\d{1,7})\):[ ]error:[ ](?P<nvcc_text>[^\n]*)
    )""",
    re.VERBOSE | re.MULTILINE,
)


@dataclass(frozen=True)
class Diagnostic:
    """An error at a place of a file. `line` and `column` count from 1; None: the compiler names no column."""

    file: str
    line: int
    column: int | None
    message: str


def diagnostics(message: str) -> list[Diagnostic]:
    """Return the places in the submission that a message names, in its order, each line of a file once.

    A frame of a traceback has no text of its own and gets the last line of the message, which names the exception.
    """
    text = message[:MOST_READ]
    last = text.rstrip().rsplit("\n", 1)[-1].strip()
    found: dict[tuple[str, int], Diagnostic] = {}
    for match in _NAMED.finditer(text):
        parts = match.groupdict()
        kind = next(kind for kind in ("frame", "python", "gcc", "nvcc") if parts[kind] is not None)
        if kind == "frame" and parts[kind].startswith("/"):
            continue  # of a library: the submission's files have relative paths
        file, line = parts[kind].rsplit("/", 1)[-1].strip(), int(parts[f"{kind}_line"])
        said = last if kind == "frame" else parts[f"{kind}_text"]
        column = int(parts.get(f"{kind}_column") or 0) or None
        if line > 0:
            found.setdefault((file, line), Diagnostic(file, line, column, said.strip()[:MOST_SAID]))
        if len(found) >= MOST_FOUND:
            break
    return list(found.values())
