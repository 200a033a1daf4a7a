"""/api/docs: the reference of the API, drawn from the schema without third-party scripts."""

import gzip
import re

from drf_spectacular.generators import SchemaGenerator

from leaderboard.web import limits

ENTRY_BYTES = 100  # compressed, of a call or a shape, with its share of the page's frame


def test_every_call_shape_and_code_is_on_the_reference_page(browser, db) -> None:
    from leaderboard.errors import CODES

    page = browser(None).get("/api/docs").content.decode()
    schema = browser(None).get("/api/schema").json()
    for path, methods in schema["paths"].items():
        assert f"<code>{path.removeprefix('/api/v1')}</code>" in page
        assert all(f'id="{call["operationId"]}"' in page for call in methods.values())
    shapes = [name for name, shape in schema["components"]["schemas"].items() if "properties" in shape]
    assert all(f'id="shape-{name}"' in page for name in shapes)
    assert all(f"<code>{code}</code>" in page for code in CODES)


def test_links_of_the_reference_page_lead_somewhere(browser, db) -> None:
    page = browser(None).get("/api/docs").content.decode()
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_reference_page_is_light(browser, db) -> None:
    schema = browser(None).get("/api/schema").json()
    entries = sum(map(len, schema["paths"].values())) + len(schema["components"]["schemas"])
    assert len(gzip.compress(browser(None).get("/api/docs").content)) < ENTRY_BYTES * entries


def test_the_schema_is_made_once_and_counted(browser, db, monkeypatch) -> None:
    """A stranger asks for it, and making it takes a tenth of a second or more."""
    made: list[object] = []
    make = SchemaGenerator.get_schema
    monkeypatch.setattr(SchemaGenerator, "get_schema", lambda *given, **named: made.append(1) or make(*given, **named))
    monkeypatch.setattr(limits, "API_IP", limits.Limit("api ip", 2, 3600))
    assert [browser(None).get("/api/schema").status_code for _ in range(3)] == [200, 200, 429]
    assert len(made) <= 1


def test_the_name_of_the_schemas_file_is_nobodys_choice(browser, db) -> None:
    answer = browser(None).get("/api/schema", {"version": 'x\n"; filename="evil.exe'})
    assert answer.status_code == 200
    assert "evil" not in str(answer.headers)
