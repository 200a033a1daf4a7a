"""Pictures of boards (PNG) and badges (SVG), drawn from text and figures alone. The last results are kept.

A text is cut to its width before it is drawn, so that no name makes a picture costly. The fonts have Latin, Greek and
Cyrillic letters; other letters become boxes.
"""

import io
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from pathlib import Path
from threading import Lock
from typing import Final

from PIL import Image, ImageDraw, ImageFont

SIZE: Final = (1200, 630)  # what previews of links expect
MOST_KEPT: Final = 256  # pictures of some 20 kB, in each process
MOST_ROWS: Final = 5
MAX_CHARS: Final = 120  # of a text
FONTS: Final = Path(__file__).parent / "fonts"
PAPER, SURFACE, INK, MUTED = "#f8f6f1", "#ffffff", "#1a1b1e", "#5b5d63"  # the light palette of tokens.css
LINE, FINISH, BAR = "#ddd8cc", "#c2161d", "#c9c3b5"
LEFT: Final = 70
RIGHT: Final = SIZE[0] - LEFT
_drawing: Final = Lock()  # a picture takes a tenth of a second of a processor: one at a time in each process


@dataclass(frozen=True)
class PictureRow:
    """An entrant's row. `share`: its time as a share of the longest time shown, 0 … 1."""

    rank: str
    name: str
    figure: str
    share: float


@dataclass(frozen=True)
class Picture:
    title: str
    place: str  # hardware and competition
    rows: tuple[PictureRow, ...]
    foot: str
    base: float  # the baseline's time as a share of the longest time shown; 0: none is drawn


@lru_cache(maxsize=MOST_KEPT)
def png(picture: Picture) -> bytes:
    """Return the picture of a board."""
    image = Image.new("RGB", SIZE, PAPER)
    written = io.BytesIO()
    with _drawing:
        _draw(ImageDraw.Draw(image), picture)
        image.quantize(64, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()


@lru_cache(maxsize=MOST_KEPT)
def badge(label: str, value: str) -> str:
    """Return an SVG of two fields: a label and its value."""
    widths = [round(_font(11).getlength(text[:MAX_CHARS])) + 14 for text in (label, value)]
    label, value = escape(label[:MAX_CHARS]), escape(value[:MAX_CHARS])
    whole, left, right = sum(widths), *widths
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" viewBox="0 0 {whole} 20" role="img">'
        f"<title>{label}: {value}</title>"
        f'<rect width="{left}" height="20" fill="#17181b"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{FINISH}"/>'
        f'<g font-family="DejaVu Sans,Verdana,sans-serif" font-size="11" fill="#ffffff">'
        f'<text x="7" y="14" textLength="{left - 14}">{label}</text>'
        f'<text x="{left + 7}" y="14" textLength="{right - 14}">{value}</text></g></svg>\n'
    )


@cache
def _font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / f"DejaVuSans{'-Bold' if bold else ''}.ttf", size)


def _draw(draw: ImageDraw.ImageDraw, picture: Picture) -> None:
    _draw_head(draw, picture)
    strip_left, strip_right = 520, 960
    for at, row in enumerate(picture.rows[:MOST_ROWS]):
        top = 232 + 62 * at
        draw.line((LEFT, top + 54, RIGHT, top + 54), fill=LINE, width=1)
        draw.text((LEFT, top + 10), row.rank, font=_font(28, bold=True), fill=FINISH if at == 0 else MUTED)
        draw.text(
            (LEFT + 70, top + 10), _cut(row.name, _font(28, bold=at == 0), 370), font=_font(28, bold=at == 0), fill=INK
        )
        end = strip_left + (strip_right - strip_left) * min(max(row.share, 0.0), 1.0)
        draw.rectangle((strip_left, top + 16, end, top + 38), fill=FINISH if at == 0 else BAR)
        width = _font(28, bold=True).getlength(row.figure)
        draw.text((RIGHT - width, top + 10), row.figure, font=_font(28, bold=True), fill=INK)
    if picture.base and picture.rows:
        x = strip_left + (strip_right - strip_left) * min(picture.base, 1.0)
        draw.line((x, 232, x, 232 + 62 * len(picture.rows[:MOST_ROWS]) - 10), fill=INK, width=2)
    draw.text((LEFT, SIZE[1] - 62), _cut(picture.foot, _font(24), RIGHT - LEFT), font=_font(24), fill=MUTED)


def _draw_head(draw: ImageDraw.ImageDraw, picture: Picture) -> None:
    """Draw the mark of the site, the strip of the camera, and the titles."""
    draw.rectangle((0, 0, SIZE[0], 78), fill=SURFACE)
    for top, width in ((24, 38), (36, 24), (48, 30)):
        draw.rectangle((LEFT, top, LEFT + width, top + 6), fill=INK)
    draw.rectangle((LEFT + 42, 18, LEFT + 46, 60), fill=FINISH)
    draw.text((LEFT + 66, 20), "Photofinish", font=_font(30, bold=True), fill=INK)
    for x in range(0, SIZE[0], 12):
        draw.line((x, 98, x, 98 - (12 if x % 60 == 0 else 6)), fill=MUTED, width=1)
    draw.line((0, 78, SIZE[0], 78), fill=LINE, width=1)
    draw.line((0, 98, SIZE[0], 98), fill=LINE, width=1)
    draw.rectangle((742, 78, 745, 98), fill=FINISH)
    draw.text((LEFT, 118), _cut(picture.title, _font(50, bold=True), RIGHT - LEFT), font=_font(50, bold=True), fill=INK)
    draw.text((LEFT, 182), _cut(picture.place, _font(26), RIGHT - LEFT), font=_font(26), fill=MUTED)


def _cut(text: str, font: ImageFont.FreeTypeFont, width: float) -> str:
    """Return a text that fits into a width; a cut text ends in an ellipsis."""
    text = "".join(letter for letter in text[:MAX_CHARS] if letter.isprintable())
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text.rstrip()}…"
