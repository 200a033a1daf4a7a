"""Pictures and badges of boards: what they show, and that closed and unlisted competitions have none."""

from __future__ import annotations

import io
import re

import pytest
from PIL import Image

from leaderboard.web import limits
from leaderboard.web.sharing import draw


def hide(stage, visibility: str) -> None:
    type(stage.board.competition).objects.update(visibility=visibility)


def test_the_picture_of_a_board_is_a_small_png_of_the_usual_size(stage, browser) -> None:
    stage.judge(stage.submit(), ratio=0.8)
    answer = browser(None).get("/boards/softmax/cpu/picture.png")
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("image/png", "public, max-age=600")
    assert len(answer.content) < 60_000
    assert Image.open(io.BytesIO(answer.content)).size == draw.SIZE


def test_the_picture_of_a_board_shows_names_and_speedups_as_strangers_see_them(stage, browser, monkeypatch) -> None:
    drawn: list[draw.Picture] = []
    monkeypatch.setattr(draw, "png", lambda picture: drawn.append(picture) or b"")
    stage.judge(stage.submit(stage.ada), ratio=0.5)
    stage.judge(stage.submit(stage.ben), ratio=0.8)
    for client in (browser(None), browser(stage.olga)):
        client.get("/boards/softmax/cpu/picture.png")
    assert drawn[0] == drawn[1]
    assert [(row.rank, row.name, row.figure, row.share) for row in drawn[0].rows] == [
        ("1", "ada", "2.000×", 0.5),
        ("2", "ben", "1.250×", 0.8),
    ]
    assert (drawn[0].title, drawn[0].place, drawn[0].base) == ("Row softmax", "cpu · Kernels 101", 1.0)


@pytest.mark.parametrize("visibility", ["unlisted", "closed"])
def test_hidden_boards_have_no_picture_and_no_badge_for_anybody(stage, browser, visibility: str) -> None:
    entry = stage.submit()
    stage.judge(entry)
    hide(stage, visibility)
    for client in (browser(None), browser(stage.ada), browser(stage.olga)):
        assert client.get("/boards/softmax/cpu/picture.png").status_code == 404
        assert client.get(f"/entries/{entry.pk}/badge.svg").status_code == 404
    for page in ("/boards/softmax/cpu", "/boards/softmax", "/competitions/kernels-101", f"/entries/{entry.pk}"):
        text = browser(stage.olga).get(page).content.decode()
        assert '<meta name="robots" content="noindex">' in text, page
        assert re.findall(r'og:image" content="([^"]*)"', text)[0].endswith("//127.0.0.1:8000/picture.png"), page
        assert "badge.svg" not in text


def test_pages_of_public_boards_are_previewed_with_their_picture(stage, browser) -> None:
    entry = stage.submit()
    stage.judge(entry)
    for page in ("/boards/softmax/cpu", "/boards/softmax", f"/entries/{entry.pk}"):
        text = browser(None).get(page).content.decode()
        assert re.findall(r'og:image" content="([^"]*)"', text)[0].endswith("/boards/softmax/cpu/picture.png"), page
        assert "noindex" not in text
    assert "/picture.png" in browser(None).get("/").content.decode()
    assert browser(None).get("/picture.png").status_code == 200


def test_a_badge_tells_rank_and_speedup(stage, browser) -> None:
    entry = stage.submit(stage.ben)
    stage.judge(entry, ratio=0.8)
    stage.judge(stage.submit(stage.ada), ratio=0.5)
    answer = browser(None).get(f"/entries/{entry.pk}/badge.svg")
    assert answer["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert b"<title>Row softmax on cpu: rank 2, 1.250\xc3\x97</title>" in answer.content
    assert f"/entries/{entry.pk}/badge.svg" in browser(None).get(f"/entries/{entry.pk}").content.decode()


def test_names_are_text_in_a_badge() -> None:
    svg = draw.badge("<script>", '"&')
    assert "<script>" not in svg
    assert "&lt;script&gt;: &quot;&amp;" in svg


@pytest.mark.parametrize("name", ["", "x" * 100_000, "ж" * 119, "\u202eevil\n", "中文"])
def test_every_name_can_be_drawn(name: str) -> None:
    row = draw.PictureRow("1=", name, "1.2×", 3.0)
    assert draw.png(draw.Picture(name, name, (row,) * 9, name, 0.5)).startswith(b"\x89PNG")
    assert draw._font(28).getlength(draw._cut(name, draw._font(28), 370)) <= 370


def test_pictures_are_kept_in_a_bounded_memory() -> None:
    assert draw.png.cache_info().maxsize == draw.badge.cache_info().maxsize == draw.MOST_KEPT


def test_an_address_has_a_number_of_pictures_a_minute(stage, browser, monkeypatch) -> None:
    monkeypatch.setattr(limits, "PICTURE_IP", limits.Limit("picture ip", 2, 3600), raising=False)
    statuses = [browser(None).get("/boards/softmax/cpu/picture.png").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_the_icons_of_the_site_are_where_browsers_look(client) -> None:
    for name in ("/favicon.ico", "/apple-touch-icon.png"):
        answer = client.get(name)
        assert answer.status_code == 200
        Image.open(io.BytesIO(b"".join(answer.streaming_content)))
