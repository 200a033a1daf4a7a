"""Documentation on the site: every document is rendered, its links lead somewhere, and a search finds it."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from leaderboard.web import documents as library

NAMES = [one.name for _, group in library.CONTENTS for one in group]


def page(name: str) -> str:
    answer = Client().get(f"/docs/{name}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_contents_name_only_files_that_exist() -> None:
    assert [
        one.path for _, group in library.CONTENTS for one in group if not (library.CHECKOUT / one.path).exists()
    ] == []


@pytest.mark.django_db
@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_document_lead_to_pages_and_anchors_that_exist(name: str) -> None:
    found = library.document(name)
    assert found is not None
    assert page(name).count("<h1") == 1
    for link in re.findall(r'<a href="([^"]*)"', found.html):
        target, _, anchor = link.partition("#")
        assert re.match(r"https?://|/docs/|$", target), f"{link} leads nowhere on the site"
        if target.startswith("/docs/") or not target:
            other = library.document(target.removeprefix("/docs/") or name)
            assert other is not None, link
            assert not anchor or f'id="{anchor}"' in other.html, link


@pytest.mark.django_db
def test_a_link_to_a_file_without_a_page_is_plain_text() -> None:
    html = library.document("settings").html  # type: ignore[union-attr]
    assert ".env.example" in html
    assert 'href=".' not in html


@pytest.mark.django_db
def test_lines_of_a_cell_are_broken_and_links_name_documents() -> None:
    assert "&lt;br&gt;" not in library.document("api").html  # type: ignore[union-attr]
    assert '<a href="/docs/api">HTTP API</a>' in library.document("rules").html  # type: ignore[union-attr]


@pytest.mark.django_db
def test_pictures_of_a_document_are_static_files() -> None:
    [source] = re.findall(r'<img src="([^"]*)"', library.document("reviewers").html)  # type: ignore[union-attr]
    assert Client().get(source).status_code == 200


@pytest.mark.django_db
def test_documents_name_this_site(settings) -> None:
    html = library.document("install").html  # type: ignore[union-attr]
    assert f'href="{settings.SITE_URL}/tokens"' in html
    assert library.THIS_SITE not in html


@pytest.mark.django_db
def test_an_unknown_document_is_not_found() -> None:
    for name in ("nothing", "http.in", "architecture"):
        assert Client().get(f"/docs/{name}").status_code == 404


@pytest.mark.django_db
def test_a_search_of_the_documentation_finds_the_section() -> None:
    text = Client().get("/docs", {"q": "bucket TOKENS"}).content.decode()
    assert 'href="/docs/rules#how-much-you-may-send"' in text
    assert "<mark>bucket</mark>" in text
    assert library.search("bucket tokens")[0].url == "/docs/rules#how-much-you-may-send"


@pytest.mark.django_db
def test_a_search_without_a_hit_says_what_to_do() -> None:
    text = Client().get("/docs", {"q": "<zebra>"}).content.decode()
    assert "Nothing found for “&lt;zebra&gt;”" in text
    assert "Try fewer words" in text


@pytest.mark.django_db
def test_a_long_search_is_cut() -> None:
    assert library.search("a " * 1_000 + "zebra") == library.search("a")
    assert Client().get("/docs", {"q": "x" * 10_000}).status_code == 200


def test_excerpts_are_escaped() -> None:
    assert library._excerpt("use <b> & see the quota", ["<b>", "quota"]) == (
        "use <mark>&lt;b&gt;</mark> &amp; see the <mark>quota</mark>"
    )


@pytest.mark.django_db
def test_documents_of_strangers_may_be_kept_by_caches_and_ask_no_query(django_assert_num_queries) -> None:
    library.document("rules")
    with django_assert_num_queries(1):  # maintenance
        answer = Client().get("/docs/rules")
    assert answer["Cache-Control"] == "public, max-age=10"
    assert Client().get("/docs/rules", headers={"If-None-Match": answer["ETag"]}).status_code == 304


def test_production_images_carry_the_documents() -> None:
    copied = (library.CHECKOUT / "deploy/production/site.Dockerfile").read_text()
    ignored = (library.CHECKOUT / ".dockerignore").read_text().split()
    for folder in {one.path.partition("/")[0] for _, group in library.CONTENTS for one in group}:
        assert f"COPY {folder} {folder}\n" in copied
        assert f"!{folder}" in ignored
