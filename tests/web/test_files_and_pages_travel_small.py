"""Static files have fingerprinted names, and answers are compressed unless their length could reveal a secret."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.mark.django_db
def test_collected_files_have_fingerprints_and_are_kept_for_ever(settings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = str(tmp_path)
    call_command("collectstatic", interactive=False, verbosity=0)
    page = Client().get("/docs").content.decode()
    files = re.findall(r'(?:href|src)="(/static/photofinish/[^"]*)"', page)
    assert files
    assert all(re.search(r"\.[0-9a-f]{12}\.(css|js|svg|png|ico)$", name) for name in files), files
    for name in files:
        answer = Client().get(name, headers=GZIP)
        assert answer.status_code == 200
        assert "max-age=315360000, public, immutable" in answer["Cache-Control"]
        assert "Content-Encoding" in answer or name.endswith(("png", "ico", "svg"))
        answer.close()
    for one in tmp_path.glob("photofinish/*.????????????.js"):
        for imported in re.findall(r'from "\./([^"]*)"', one.read_text()):
            assert (one.parent / imported).exists()
            assert re.fullmatch(r".+\.[0-9a-f]{12}\.js", imported), f"{one.name} imports {imported}"


@pytest.mark.django_db
def test_files_have_plain_names_where_nothing_was_collected(settings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = str(tmp_path)
    assert 'href="/static/photofinish/base.css"' in Client().get("/docs").content.decode()


@pytest.mark.django_db
def test_answers_to_strangers_are_compressed() -> None:
    plain, packed = Client().get("/docs/rules"), Client().get("/docs/rules", headers=GZIP)
    assert (plain.headers.get("Content-Encoding"), packed["Content-Encoding"]) == (None, "gzip")
    assert "Accept-Encoding" in plain["Vary"]
    assert "Accept-Encoding" in packed["Vary"]
    assert len(gzip.decompress(packed.content)) == len(plain.content)
    assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content) / 2


@pytest.mark.django_db
def test_a_compressed_answer_has_a_weak_etag_that_is_recognised() -> None:
    first = Client().get("/docs/rules", headers=GZIP)
    assert first["ETag"].startswith('W/"')
    again = Client().get("/docs/rules", headers=GZIP | {"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_page_with_text_of_a_link_is_not_compressed_for_a_signed_in_reader(stage, browser) -> None:
    client = browser(stage.ada)
    for path in ("/docs?q=quota", "/account", "/submissions", "/tokens"):
        answer = client.get(path, headers=GZIP)
        assert answer.status_code == 200, path
        assert "Content-Encoding" not in answer, path
    assert client.get("/docs", headers=GZIP)["Content-Encoding"] == "gzip"
    assert client.get("/boards/softmax", headers=GZIP)["Content-Encoding"] == "gzip"


def test_answers_of_the_api_to_a_token_are_compressed(stage, tool) -> None:
    assert tool(stage.ada).get("/api/schema", headers=GZIP)["Content-Encoding"] == "gzip"


@pytest.mark.django_db
@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "gzip; q=0.0, br"])
def test_an_answer_is_not_compressed_for_a_client_that_cannot_read_it(accepted: str) -> None:
    assert "Content-Encoding" not in Client().get("/docs", headers={"Accept-Encoding": accepted})
