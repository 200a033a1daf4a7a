"""Text is readable in both themes: WCAG AA, computed from the palette."""

import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).parents[2] / "leaderboard/web/static/photofinish/tokens.css"
PAIR = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
PALETTE = {name: (light, dark) for name, light, dark in PAIR.findall(TOKENS.read_text())}
TEXT = [  # text on ground
    *((ink, ground) for ink in ("ink", "muted", "link", "finish") for ground in ("paper", "surface", "own")),
    *((f"code-{kind}", "surface") for kind in ("keyword", "string", "comment", "number", "name")),
    ("ink", "sunk"),
    ("muted", "sunk"),
    ("good", "good-soft"),
    ("warn", "warn-soft"),
    ("finish", "finish-soft"),
    ("paper", "ink"),
]
SHAPES = [("line-strong", "surface"), ("line-strong", "paper"), ("finish", "bar")]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), TEXT)
def test_text(text: str, ground: str, theme: int) -> None:
    assert contrast(PALETTE[text][theme], PALETTE[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("shape", "ground"), SHAPES)
def test_shapes(shape: str, ground: str, theme: int) -> None:
    assert contrast(PALETTE[shape][theme], PALETTE[ground][theme]) >= 3
