"""`make pictures`: the pictures of docs/img and docs/screens, of a scratch site with sample data.

python -m tests.e2e.pictures

Needs chromium. docs/screens has every page of tests/web/page_table.py, wide in the light theme and narrow in the dark
theme. Its README.md lists them with weight and time to the largest paint.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.board import scratch_site
from deploy.console import say
from tests.e2e.browser import FLAGS
from tests.web.live_site import live_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.web.page_table import Entry
    from tests.web.showcase import Showcase

DOCS: Final = Path(__file__).parents[2] / "docs"
IMAGES: Final = DOCS / "img"
SCREENS: Final = DOCS / "screens"
WIDTH: Final = 1400
NARROW: Final = 390
MOST_HEIGHT: Final = 1_600  # of a picture in docs/screens
QUALITY: Final = 30  # of WebP
SAVED_WIDTH: Final = 900  # of a picture in docs/screens; the page was wider
COLOURS: Final = 128  # of PNG
SETTLED_MS: Final = 300
LARGEST_PAINT: Final = """
new PerformanceObserver(list => { window.largestPaint = list.getEntries().at(-1).startTime })
    .observe({type: 'largest-contentful-paint', buffered: true})
"""
HEAD: Final = """# Pictures of all pages

`make pictures` makes this folder anew, from sample data: each page at 1400 px in the light theme, and at 390 px in the
dark theme. A long page is cut, and a wide one made smaller. Weight: the page with its own files, compressed, in kB,
without the editor and the plot library. Paint: time until the largest part of the page is painted, in ms, with an empty
cache, on the machine that made the pictures, which also ran the site. `tests/web/test_pages_hold.py` checks the same
pages in each change.

| page | viewer | weight | paint | pictures |
| --- | --- | --- | --- | --- |
"""


def main() -> None:
    with TemporaryDirectory(prefix="pf-pictures-") as folder, _site(folder):
        from django.core.management import call_command
        from django.test.utils import setup_test_environment

        from tests.web.page_table import entries
        from tests.web.showcase import build

        setup_test_environment()
        os.environ["ALLOWED_HOSTS"] = "127.0.0.1"  # of the process that serves
        call_command("collectstatic", interactive=False, verbosity=0)
        showcase = build()
        with _browser() as (browser, site):
            page = _page(browser, site, showcase, "visitor", WIDTH, "light")
            _picture(page, "/boards/softmax/cpu", "board.png")
            page = _page(browser, site, showcase, "operator", WIDTH, "light")
            _picture(page, f"/review/{showcase.keys['case']}", "review-case.png", above="Cases")
            shutil.rmtree(SCREENS, ignore_errors=True)
            SCREENS.mkdir()
            lines = [_screens(browser, site, showcase, entry) for entry in entries()]
    (SCREENS / "README.md").write_text(HEAD + "".join(lines))
    size = sum(path.stat().st_size for path in SCREENS.iterdir())
    say(f"{len(lines)} pages, {size / 1e6:.1f} MB")


@contextmanager
def _site(folder: str) -> Iterator[None]:
    """A site without data, with its static files and its mailbox in this folder."""
    os.environ |= {"STATIC_ROOT": folder, "MAIL_URL": Path(folder, "mails").as_uri()}
    with scratch_site():
        yield


@contextmanager
def _browser() -> Iterator[tuple[Browser, str]]:
    """A browser, and the address of a live site."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("there is no chromium: `apt-get install chromium fonts-dejavu-core`")
    with live_site() as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser, site.address
        browser.close()


def _page(browser: Browser, site: str, showcase: Showcase, who: str, width: int, scheme: Any) -> Page:
    """An empty page of a viewer, with a cache of its own."""
    size: Any = {"width": width, "height": 800}
    context = browser.new_context(base_url=site, color_scheme=scheme, viewport=size)
    context.add_cookies(showcase.cookies(who, site))  # type: ignore[arg-type]
    context.add_init_script(LARGEST_PAINT)
    return context.new_page()


def _screens(browser: Browser, site: str, showcase: Showcase, entry: Entry) -> str:
    """Take the two pictures of a page, and return its line of the index. The site is warm for the second."""
    from tests.web.page_table import open_page, weight_of

    names, figures = [], ""
    for suffix, width, scheme in (("dark-phone", NARROW, "dark"), ("light", WIDTH, "light")):
        page = _page(browser, site, showcase, entry.who, width, scheme)
        if faults := open_page(page, entry, showcase.keys):
            say(f"{entry.who} at {entry.address}: {', '.join(faults)}")
        page.wait_for_timeout(SETTLED_MS)
        names.append(f"{entry.name}-{suffix}.webp")
        # Before the picture: a tall one paints parts of the page that its viewer has not scrolled to.
        figures = f"{weight_of(page) / 1e3:.0f} | {page.evaluate('window.largestPaint'):.0f}"
        _save(page, SCREENS / names[-1], MOST_HEIGHT)
        page.context.close()
    dark, light = names
    line = f"| `{entry.address}` | {entry.who} | {figures} | [light]({light}), [dark phone]({dark}) |\n"
    say(line.strip())
    return line


def _save(page: Page, path: Path, height: float) -> None:
    """Save the upper part of a page: with few colours as PNG, or as WebP."""
    from PIL import Image

    width = page.viewport_size["width"]  # type: ignore[index]
    height = min(height, page.evaluate("document.documentElement.scrollHeight"))
    clip: Any = {"x": 0, "y": 0, "width": width, "height": height}
    taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip))).convert("RGB")
    if path.suffix == ".png":
        taken.quantize(COLOURS).save(path, optimize=True)
    else:
        taken.thumbnail((SAVED_WIDTH, MOST_HEIGHT))
        taken.save(path, quality=QUALITY)


def _picture(page: Page, address: str, name: str, above: str = "") -> None:
    """The page, or its part above this heading."""
    answer = page.goto(address)
    assert answer is not None
    if answer.status != 200 or not answer.url.endswith(address):
        raise SystemExit(f"{address} answers {answer.status} at {answer.url}")
    height = page.evaluate("document.documentElement.scrollHeight")
    if above:
        box = page.get_by_role("heading", name=above, exact=True).bounding_box()
        assert box is not None
        height = box["y"] - 32
    _save(page, IMAGES / name, height)
    say(f"{name}: {(IMAGES / name).stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
