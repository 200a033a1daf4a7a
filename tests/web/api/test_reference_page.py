"""/api/docs: the reference of the API, drawn from the schema without third-party scripts."""

import gzip
import re


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
    assert len(gzip.compress(browser(None).get("/api/docs").content)) < 60_000
