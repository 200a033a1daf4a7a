"""Protocol between judge and harness, byte for byte. Standard library only: the same file is in the image.

There are two channels. The first is one connection. It carries, where the judge wants one, a request to draw a context
of the device, answered with the times of all that were drawn; the arena with its descriptors, answered when the arena
is mapped; then, when there is a job, the sources with two descriptors, which the tenant prints into from then on,
and with a third one where the submission was built ahead: of the files that its import left in a container without a
device (sandbox/inside/builder.py).
It is closed before the submission is imported. The second channel, from then on, is two shared pages: `orders` (the
judge writes; the tenant cannot) and `answers` (the tenant writes; the judge reads every word once and trusts no word).
Before the sources the judge may ask for some orders on the pages, too: OWN and the like, which show the cost of this
container's calls by themselves.

A page is four little-endian words (nonce, kind or status, number, length of text), then text. The number of an order to
lay out or to queue gives the places in the two regions where the data begin. The nonce is written last: a visible nonce
means that the rest is there. On a GPU two more words of the answers belong to the devices. The echo: the tenant's
device writes the nonce there when it has done a call's work, and the judge's device waits for that. The gate: the
judge's device writes the nonce there when the inputs have come, and the tenant's device, which received the call's work
before, waits for that. No host code therefore lies between the inputs and the read of the output. In a lean call the
echo comes as soon as the gate is open: the judge's device then reads when the tenant's has no work left. Nonces only
grow, and a gate is open for all that are no larger than its word.

A problem for several devices has a rank for each: inputs and outputs of its own, and answers of its own, which lie one
behind the other. All ranks obey the same orders, and each slot of a layout names its rank.
"""

import json
import math
import re
import socket
import struct
import time
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

VERSION = 22  # of this file and the harness: the judge refuses an image that speaks another

ORDERS_BYTES = 1 << 20
ANSWERS_BYTES = 128 << 10
HEADER_BYTES = 64
ECHO_OFFSET = 32  # of the word that the tenant's device writes
GATE_OFFSET = 40  # of the word that the judge's device writes
MOST_RANKS = 8  # of a problem for several devices
MOST_DESCRIPTORS = 4 * MOST_RANKS  # with the arena
MAX_MESSAGE_BYTES = 8 << 20  # over the socket: the sources of a problem and a submission
MAX_TEXT_BYTES = 16_000  # read from the answers page

# Kinds of order
LOAD, LAYOUT, CALL, IDLE = 1, 2, 3, 4  # IDLE: all steps of a call but the call; only the baseline gets it
# QUEUE: a call's work behind the gate, answered once the device has it, and others may follow; TELL: the time of the
# first call that was not told.
QUEUE, TELL = 5, 6
OWN = 7  # as QUEUE, for a small kernel of the harness while there is no submission: the sum of two vectors
FORGET = 8  # the allocator gives back memory that it keeps for further calls
LEAN = 9  # as QUEUE, with nothing around the work that other code could spare: no events, and an echo at once
OWN_LONG, OWN_LEAN = 10, 11  # as OWN, of longer vectors, with events and lean: an echo at once saves less of short work
# Bytes of each vector of float32: two where the inputs begin, the third where the outputs do.
OWN_BYTES = {OWN: 1 << 20, OWN_LONG: 16 << 20, OWN_LEAN: 16 << 20}
PLACE_BYTES = 1 << 16  # unit of the places in an order's number

# Layouts, the places of nested data's tensors in the regions: inside/slots.py, runner/judge/data/layout.py
ALIGN = 256  # bytes: of offsets and sizes of regions, as device allocators give
MOST_SLOTS = 1024
MOST_DIMS = 12
WIDE_FACTOR = 2  # bytes for outputs in double precision per byte for outputs
WIDE_MOST_BYTES = 4 << 30  # larger outputs are compared with the reference alone
# Bytes of an element in double precision, of the formats that an error model knows.
WIDE_BYTES = {
    **dict.fromkeys(("float64", "float32", "float16", "bfloat16"), 8),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), 8),
    **dict.fromkeys(("complex32", "complex64", "complex128"), 16),
}

# Statuses of an answer
OK = 0
SYNTAX, IMPORT, MISSING, RAISED, NONE, TYPE, SHAPE, DTYPE, MEMORY, LAYOUT_FAILED, COMPILE = range(1, 12)

_WORDS = struct.Struct("<4Q")
_NONCE = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_UNSEEN_KINDS = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
# Characters that Unicode wants displayed as no glyph (Default_Ignorable_Code_Point) and that have a different category:
# variation selectors, fillers, joiners of letters, and code points reserved for more.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


class ProtocolError(Exception):
    """The peer sent a message that does not fit."""


class ConnectionEnded(ProtocolError):
    """The peer is gone."""


def is_unseen(character: str) -> bool:
    """Return whether it could steer a terminal, reverse words or hide text. Tab and newline may pass."""
    if character in "\n\t":
        return False
    return unicodedata.category(character) in _UNSEEN_KINDS or _IGNORABLE.match(character) is not None


def clean_text(raw: bytes) -> str:
    """Return text for people: valid Unicode in which every character is visible.

    Joined letters and emoji may come apart. The mark that ends many an emoji goes without a trace.
    """
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\ufe0f", "")
    return text.translate(dict.fromkeys(map(ord, filter(is_unseen, set(text))), "\N{REPLACEMENT CHARACTER}"))


def cut(text: str, most: int) -> str:
    """Return at most `most` characters, cut where a line ends, with a last line that counts the missing characters."""
    if len(text) <= most:
        return text
    kept = text[: most - 40]
    kept = kept[: kept.rfind("\n") + 1] or kept + "\n"
    return f"{kept}… {len(text) - len(kept)} characters left out"


def wide_places(outputs: Iterable[tuple[str, Sequence[int]]]) -> tuple[list[int], int]:
    """Return the place in double precision of each output, given as dtype and shape, and the bytes of all.

    The place of an output without any is -1. Behind these bytes the spreads of the same elements have the same places.
    """
    places, end = [], 0
    for dtype, shape in outputs:
        size = math.prod(shape) * WIDE_BYTES.get(dtype, 0)
        places.append(end if size else -1)
        end += -(-size // ALIGN) * ALIGN
    return places, end


def write_page(page: Any, nonce: int, kind: int, number: int = 0, text: bytes = b"") -> None:
    """Write everything, then the nonce. `page` is a writable buffer; text beyond it is cut."""
    text = text[: len(page) - HEADER_BYTES]
    page[HEADER_BYTES : HEADER_BYTES + len(text)] = text
    _WORDS.pack_into(page, 0, read_nonce(page), kind, number, len(text))
    _NONCE.pack_into(page, 0, nonce)


def number_of(places: tuple[int, int]) -> int:
    """Return the number of a page that holds where inputs and outputs begin in their regions."""
    inputs, outputs = places
    return inputs << 32 | outputs


def places_of(number: int) -> tuple[int, int]:
    """Return the byte offsets in a page's number: the counterpart of `number_of`."""
    return (number >> 32) * PLACE_BYTES, (number & 0xFFFFFFFF) * PLACE_BYTES


def read_nonce(page: Any) -> int:
    return int(_NONCE.unpack_from(page, 0)[0])


def read_echo(page: Any) -> int:
    return int(_NONCE.unpack_from(page, ECHO_OFFSET)[0])


def write_echo(page: Any, nonce: int) -> None:
    """Write the echo in the device's place."""
    _NONCE.pack_into(page, ECHO_OFFSET, nonce)


def write_gate(page: Any, nonce: int) -> None:
    """Write the gate in the device's place."""
    _NONCE.pack_into(page, GATE_OFFSET, nonce)


def read_page(page: Any, most: int) -> tuple[int, int, bytes]:
    """Return kind or status, number, and at most `most` bytes of text. It reads each word once and trusts none."""
    _, kind, number, length = _WORDS.unpack_from(page, 0)
    length = min(length, most, len(page) - HEADER_BYTES)
    return kind, number, bytes(page[HEADER_BYTES : HEADER_BYTES + length])


def send(connection: socket.socket, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
    """Send one JSON object after its length; descriptors travel with the length."""
    body = json.dumps(message, allow_nan=False).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        raise ProtocolError(f"a message of {len(body)} bytes, at most {MAX_MESSAGE_BYTES}")
    if descriptors:
        socket.send_fds(connection, [_LENGTH.pack(len(body))], list(descriptors))
    else:
        connection.sendall(_LENGTH.pack(len(body)))
    connection.sendall(body)


def receive(
    connection: socket.socket, descriptors: int = 0, deadline_ns: int | None = None
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Receive a message and its descriptors: the counterpart of `send`.

    The deadline (time.monotonic_ns) is for the whole message, however slowly it arrives. Unrequested descriptors are
    dropped. Raises ProtocolError and OSError (TimeoutError among them).
    """
    fds: tuple[int, ...] = ()
    if descriptors:
        head, received, _, _ = socket.recv_fds(connection, _LENGTH.size, descriptors)
        fds = tuple(received)
    else:
        head = _exactly(connection, _LENGTH.size, deadline_ns)
    if len(head) != _LENGTH.size:
        raise ConnectionEnded("the connection ended")
    (length,) = _LENGTH.unpack(head)
    if length > MAX_MESSAGE_BYTES:
        raise ProtocolError(f"announces {length} bytes, at most {MAX_MESSAGE_BYTES}")
    try:
        message = json.loads(_exactly(connection, length, deadline_ns), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as err:
        raise ProtocolError(f"not JSON: {err}") from None
    if not isinstance(message, dict):
        raise ProtocolError("not an object")
    return message, fds


def _refuse_constant(name: str) -> None:
    """Refuse Infinity and NaN, which Python's parser takes for JSON and no conversion to a whole number survives."""
    raise ValueError(f"{name} is not JSON")


def _exactly(connection: socket.socket, count: int, deadline_ns: int | None) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        if deadline_ns is not None:
            left_s = (deadline_ns - time.monotonic_ns()) / 1e9
            if left_s <= 0:
                raise TimeoutError("no complete message in time")
            connection.settimeout(left_s)
        chunk = connection.recv(min(count - len(parts), 1 << 20))
        if not chunk:
            raise ConnectionEnded("the connection ended")
        parts += chunk
    return bytes(parts)
