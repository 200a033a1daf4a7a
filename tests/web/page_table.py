"""All pages of the site: who looks at each, its address on the site of showcase.py, and a browser that opens it.

test_pages_hold.py checks them, and `make pictures` takes pictures of them. Each route with a page has an address here;
the routes without a page are in NO_PAGE with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from leaderboard.web.documents import sources
from tests.web.addresses import routes
from tests.web.permission_table import TABLE

if TYPE_CHECKING:
    from playwright.sync_api import Page, Response

MOST_BYTES: Final = 150_000  # of a page with its own files, compressed; without LARGE
LARGE: Final = re.compile(r"/vendor/(codemirror|uplot)")  # the editor and the plots
# The competition that runs, and the contest that is over.
RUNS, OVER = "kernels-101", "hard"

PAGES: Final[dict[str, tuple[str, ...]]] = {  # by viewer; the names are those of showcase.py
    "visitor": (
        *("/", "/boards", "/problems", "/competitions", "/datasets", "/status", "/search?q=ada", "/api/docs", "/docs"),
        *("/boards/softmax", "/boards/softmax/cpu", "/boards/softmax/cpu/history", "/boards/softmax/cpu/cases"),
        *("/boards/topk/cpu/discussion", "/matches", "/matches/{match}", "/matches/{match}/machine/2"),
        "/matches/{match}/worklog/published",
        *(f"/competitions/{RUNS}", f"/competitions/{RUNS}/standings", f"/competitions/{RUNS}/integrity"),
        *(f"/competitions/{OVER}", f"/competitions/{OVER}/awards", f"/competitions/{OVER}/entrants/{{team}}"),
        *("/competitions/fusion", "/collections/model-suite", "/collections/model-suite/ada", "/people/ada"),
        *("/competitions/model-suite/sampling", "/boards/softmax/cpu/sampling"),
        *("/competitions/model-suite/models", "/competitions/model-suite/models/open/kernel-writer-9b?p=1"),
        *("/entries/{leader}", "/entries/{gpu}", "/compare", "/compare?a={leader}&b={second}"),
        *(f"/docs/{name}" for name in sources()),
        *("/sign-up", "/sign-in", "/sign-in/closed", "/sign-in/cancelled", "/account/email/sent"),
        *("/account/password/reset", "/account/password/reset/sent", "/account/password/reset/done"),
        *("/account/password/reset/{uid}-{reset}", "/account/email/{confirm}", "/notifications/off/{off}"),
    ),
    "competitor": (
        *("/", "/boards/softmax/cpu", "/boards/layernorm/submit", f"/competitions/{OVER}/team", "/invite-code"),
        *("/submissions", "/submissions/{own}", "/submissions/{own}/measured", "/submissions/{own}/compare/{first}"),
        *("/batches", "/batches/{batch}", "/matches", "/matches/{match}", "/matches/{new_match}"),
        *("/classes", "/classes/hands-on/mine", "/classes/hands-on/assignments/{assignment}/start"),
        "/classes/hands-on/grades/{released_work}",
        *("/matches/{match}/send", "/matches/{match}/paste", "/matches/{match}/human/4", "/boards/softmax/cpu/match"),
        *("/matches/{match}/worklog", "/matches/{match}/worklog/print", "/matches/{match}/worklog/plan"),
        *("/submissions/{gpu}", "/submissions/{gpu}/measured", "/submissions/{searched}/lineage", "/runs"),
        *("/submissions/{tested}", "/submissions/{wrong}", "/submissions/{broken}", "/submissions/{asked}"),
        *("/submissions/{waiting}", "/boards/topk/cpu/discussion", "/welcome", "/device", "/tokens"),
        *("/notifications", "/notifications/settings", "/account", "/account/password", "/account/email"),
        *("/account/sessions", "/account/connections", "/account/close", "/account/confirm"),
        *("/account/second-factor", "/account/second-factor/app", "/account/second-factor/keys"),
        "/account/second-factor/keys/add",
    ),
    "competitor with a second factor": (
        *("/account/second-factor", "/account/second-factor/codes", "/account/second-factor/codes/new"),
        *("/account/second-factor/app/remove", "/account/confirm/code"),
    ),
    "competitor who signs in": ("/sign-in/code",),
    "competitor without a password": ("/account/password/set",),
    "reviewer": (
        *("/review", "/review/{case}", "/review/{gpu_case}", "/organise", "/rejudge", "/rejudge/{rejudge}"),
        "/admission",
    ),
    "organiser": (
        *("/organise", f"/organise/{RUNS}", f"/competitions/{OVER}/awards", "/review/accounts", "/rejudge/new"),
        *(f"/organise/{RUNS}/{page}" for page in ("settings", "history", "clone", "roles", "boards", "problems")),
        *(f"/organise/{RUNS}/{page}" for page in ("tracks", "codes", "announcements", "message", "delete")),
        *(f"/organise/{RUNS}/{page}" for page in ("analytics", "quotas", "thresholds", "standing", "state")),
        *(f"/organise/{RUNS}/{page}" for page in ("confirmations", "exports", "boards/{board}", "problems/softmax")),
        f"/organise/{RUNS}/problems/histogram/delete",
        *(f"/organise/{RUNS}/tracks/{{track}}", "/admission/{test}"),
        *("/classes", "/classes/hands-on", "/classes/hands-on/roster", "/classes/hands-on/seats/{seat}"),
        "/classes/hands-on/settings",
        *("/classes/hands-on/assignments", "/classes/hands-on/assignments/{extended}", "/classes/hands-on/grading"),
        *("/classes/hands-on/grading/works/{released_work}", "/classes/hands-on/grading/works/{graded_work}"),
        *("/classes/hands-on/grading/rubrics/new", "/classes/hands-on/grading/rubrics/{rubric}"),
        "/classes/hands-on/grading/rubrics",
    ),
    "operator": (
        *(
            "/organise/new",
            "/classes/new",
            "/runners",
            "/runners/cpu-1",
            "/hosts/rack",
            "/sets",
            "/sets/{upload}",
            "/mailbox",
        ),
        *("/matches/{match}", "/status", "/desk?q=ada", "/desk/people/{person}", "/desk/bans", "/submissions/{own}"),
    ),
}
REFUSALS: Final = {"/nothing": 404, "/sign-out": 405}  # pages of refusal that a visitor can see, by address
NO_PAGE: Final[dict[str, tuple[str, ...]]] = {  # reason → routes, or beginnings of routes
    "an API": ("api/v1/", "api/runner/v1/", "popcorn/", "api/schema", "api/feedback.schema.json", r"^api(?:/.*)?\Z"),
    "Django's own pages": ("admin/",),
    "another program reads it": (
        *("readyz", "metrics", "robots.txt", "sitemap.xml", "feeds/", "competitions/<slug:slug>/records.atom"),
        *("competitions/<slug:slug>/announcements.atom", "boards/<slug:slug>/<str:hardware>/pulse"),
        "matches/<int:pk>/pulse",
    ),
    "a file": (
        *("boards/<slug:slug>/files/", "entries/<int:pk>/code", "account/second-factor/codes/file"),
        *("competitions/<slug:slug>/awards.csv", "competitions/<slug:slug>/awards.json", "rejudge/<int:pk>.csv"),
        *("organise/<slug:slug>/confirmations/<int:pk>.json", "organise/<slug:slug>/state.json"),
        *("organise/<slug:slug>/exports/<slug:name>.<slug:kind>", "classes/<slug:slug>/grid."),
        "classes/<slug:slug>/grading/<int:pk>/grades.",
        "matches/<int:pk>/worklog.",
    ),
    "a picture": (
        "picture.png",
        "matches/<int:pk>/picture.png",
        "boards/<slug:slug>/<str:hardware>/picture.png",
        "entries/<int:pk>/badge.svg",
    ),
    "leads elsewhere": ("competitions/<slug:slug>/thresholds",),
    "a provider answers first": ("sign-in/github", "sign-in/discord", "sign-in/google"),
    "a passkey answers first, which test_second_factors.py has": (
        *("account/confirm/key", "account/second-factor/keys/<int:pk>/"),
    ),
}


class Entry(NamedTuple):
    who: str
    address: str  # with placeholders

    @property
    def name(self) -> str:
        """Name of its pictures; a page of several viewers has several."""
        path = re.sub(r"\W+", "-", self.address).strip("-") or "home"
        return f"{path}-{self.who.replace(' ', '-')}"


def entries() -> Iterator[Entry]:
    shown = PAGES | {"visitor": (*PAGES["visitor"], *REFUSALS)}
    return (Entry(who, address) for who, addresses in shown.items() for address in addresses)


def routes_with_pages() -> set[str]:
    """Return the routes that answer a GET, as permission_table.py knows, without NO_PAGE."""
    without = tuple(route for group in NO_PAGE.values() for route in group)
    read = {route for route in routes() if any(set(get) - set("IM") for _, get, _ in TABLE.get(route, ()))}
    return {route for route in read if not route.startswith(without)}


def open_page(page: Page, entry: Entry, keys: dict[str, Any]) -> list[str]:
    """Open a page as its viewer. Return its faults: status, another address, title, headings."""
    address = entry.address.format_map(keys)
    answer: Response | None = page.goto(address)
    assert answer is not None
    faults = [] if answer.status == REFUSALS.get(address, 200) else [f"status {answer.status}"]
    landed = page.evaluate("decodeURI(location.pathname)")
    if landed != address.partition("?")[0] and "{reset}" not in entry.address:  # the secret leaves that address
        faults.append(f"leads to {landed}")
    title, headings = page.title(), page.locator("h1").count()
    if "Photofinish" not in title or headings != 1:
        faults.append(f"title {title!r}, {headings} headings of level 1")
    return faults


def weight_of(page: Page) -> int:
    """Return the compressed bytes of an open page with its own files, without LARGE."""
    files: list[tuple[str, int]] = page.evaluate(
        "['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))"
        ".map(file => [file.name, file.encodedBodySize])"
    )
    return sum(size for name, size in files if not LARGE.search(name))
