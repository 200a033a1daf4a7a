"""Documentation on the site: Markdown files of the checkout as pages with anchors, and a search over their sections.

The files are the project's own text, read once per process. A link to another document leads to its page; a link to a
file that no page shows, such as a module, becomes plain text. `https://example.org` in a document is this site.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any, Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from leaderboard.web.markup import highlighted, make_parser

CHECKOUT: Final = Path(__file__).parents[2]
PICTURES: Final = "docs/img/"  # settings.STATICFILES_DIRS serves the folder as static files below docs/
THIS_SITE: Final = "https://example.org"
INSTALL: Final = "install"
HEADINGS_SHOWN: Final = (2, 3)
MAX_QUERY_CHARS: Final = 100
MAX_WORDS: Final = 8
MOST_HITS: Final = 30
EXCERPT_CHARS: Final = 220


@dataclass(frozen=True)
class Source:
    """A Markdown file of the checkout. `name` is its address below /docs."""

    name: str
    path: str
    title: str  # in lists
    about: str


CONTENTS: Final[tuple[tuple[str, tuple[Source, ...]], ...]] = (
    (
        "Compete",
        (
            Source("getting-started", "docs/getting-started.md", "Getting started", "From sign-up to a rank"),
            Source(INSTALL, "docs/install.md", "Install the client", "The photofinish command, and signing in"),
            Source("command-line", "docs/command-line.md", "Command line", "Every command, with its exit codes"),
            Source("rules", "docs/competitors.md", "Rules for competitors", "Entering, teams, quotas, your account"),
            Source("popcorn", "docs/popcorn.md", "Popcorn client", "Use an existing client with this site"),
        ),
    ),
    (
        "Judging",
        (
            Source("judging", "docs/how-it-measures.md", "How it measures", "From a call's clock to a verdict"),
            Source("standings", "docs/standings.md", "Standings", "Rank, ties, and scores over boards"),
            Source("records", "docs/records.md", "Records", "How a first place is confirmed"),
            Source("review-rules", "docs/review-rules.md", "Review rules", "What makes a result wait for a person"),
        ),
    ),
    (
        "Organise",
        (
            Source("organisers", "docs/organisers.md", "For organisers", "Competitions, boards, prizes, results"),
            Source("teaching", "docs/teaching.md", "For teachers", "Matches against models, classes, worklogs"),
            Source("problems", "docs/problems.md", "Write a problem", "From an idea to an admitted board"),
            Source("problem-format", "problems/README.md", "Problem format", "Every key of task.yml"),
            Source("reviewers", "docs/reviewer-guide.md", "For reviewers", "Decide on a held result"),
        ),
    ),
    (
        "Programs",
        (
            Source("agents", "docs/agents.md", "Kernels by programs", "Batches, feedback, rewards, data sets"),
            Source("api", "docs/http.md", "HTTP API", "Every call of both APIs"),
        ),
    ),
    (
        "Self-hosting",
        (
            Source("self-hosting", "deploy/README.md", "Install a site", "Your own site, from one machine to many"),
            Source("operate", "docs/operate.md", "Operate", "Hosts, mail, backups, monitoring"),
            Source("settings", "docs/settings.md", "Settings", "Every variable of the environment"),
            Source("gpu-hosts", "docs/gpu-hosts.md", "GPU hosts", "Prepare a host for timing"),
            Source("judge-without-root", "docs/judge-without-root.md", "Judge without root", "A runner in user space"),
            Source("upgrades", "docs/upgrades.md", "Upgrades", "A new version without a pause"),
            Source("reliability", "docs/reliability.md", "Reliability", "What a failure costs"),
            Source("runbook", "deploy/runbook.md", "Runbook", "Faults and their remedies"),
        ),
    ),
)
MORE: Final = "More"
UNLISTED: Final = ("docs/architecture.md", "docs/http.in.md")  # for people who change the code


@dataclass(frozen=True)
class Section:
    """A part of a document from a heading to the next. `text` is plain."""

    anchor: str
    title: str
    level: int
    text: str


@dataclass(frozen=True)
class Document:
    source: Source
    html: SafeString
    sections: tuple[Section, ...]

    @property
    def outline(self) -> list[Section]:
        return [section for section in self.sections if section.level in HEADINGS_SHOWN]


@dataclass(frozen=True)
class Hit:
    document: Document
    section: Section
    excerpt: SafeString

    @property
    def url(self) -> str:
        return f"/docs/{self.document.source.name}#{self.section.anchor}"


@cache
def contents() -> tuple[tuple[str, tuple[Source, ...]], ...]:
    """Return the documents that this installation has, in groups. Further files of docs/ form the last group."""
    groups = [(title, tuple(one for one in group if (CHECKOUT / one.path).is_file())) for title, group in CONTENTS]
    listed = {one.path for _, group in CONTENTS for one in group} | set(UNLISTED)
    more = []
    for path in sorted((CHECKOUT / "docs").glob("*.md")):
        if f"docs/{path.name}" not in listed:
            title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ").strip()
            more.append(Source(path.stem, f"docs/{path.name}", title or path.stem, ""))
    groups.append((MORE, tuple(more)))
    return tuple((title, group) for title, group in groups if group)


@cache
def sources() -> dict[str, Source]:
    return {one.name: one for _, group in contents() for one in group}


@cache
def document(name: str) -> Document | None:
    """Return a document by its address; None: there is no such document."""
    source = sources().get(name)
    if source is None:
        return None
    text = (CHECKOUT / source.path).read_text(encoding="utf-8").replace(THIS_SITE, settings.SITE_URL)
    text = re.sub(r"\A<!--[^>]*-->\s*", "", text)  # a note to those who edit the file
    parser = _parser()
    tokens = parser.parse(text, {})
    taken: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":  # gets the anchor that GitHub gives it, which the documents' links use
            anchor = re.sub(r"[^\w\- ]", "", _plain(inline).lower()).replace(" ", "-")
            taken[anchor] = taken.get(anchor, -1) + 1
            opening.attrSet("id", f"{anchor}-{taken[anchor]}" if taken[anchor] else anchor)
    for token in tokens:
        if token.children:
            token.children = list(_linked(token.children, source))
    html = parser.renderer.render(tokens, parser.options, {})
    return Document(source, mark_safe(html), tuple(_sections(tokens)))  # noqa: S308 - the project's own text


def search(query: str) -> list[Hit]:
    """Return the sections that contain every word of the query, best first: words in a heading weigh more."""
    words = list(dict.fromkeys(query[:MAX_QUERY_CHARS].casefold().split()))[:MAX_WORDS]
    if not words:
        return []
    found: list[tuple[int, Hit]] = []
    for name in sources():
        page = document(name)
        for section in page.sections if page else ():
            title, text = section.title.casefold(), section.text.casefold()
            if page is None or not all(word in title or word in text for word in words):
                continue
            weight = sum(10 * (word in title) + min(text.count(word), 5) for word in words) + 5 * (section.level == 1)
            found.append((weight, Hit(page, section, _excerpt(section.text, words))))
    found.sort(key=lambda pair: -pair[0])
    return [hit for _, hit in found[:MOST_HITS]]


@cache
def _parser() -> MarkdownIt:
    parser = make_parser()
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("table_open", lambda *_: '<div class="documents-table" tabindex="0"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    return parser


def _fence(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]) -> str:
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    return f'<pre tabindex="0"><code>{highlighted(token.content, language)}</code></pre>\n'


def _linked(tokens: Sequence[Token], source: Source) -> Iterator[Token]:
    """Yield the tokens with links to pages of the site; a link to any other file keeps only its text."""
    is_open: list[bool] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "link_open":
            address = _address(str(token.attrGet("href") or ""), source)
            is_open.append(bool(address))
            if address:
                token.attrSet("href", address)
                yield token
        elif token.type == "link_close":
            if is_open.pop():
                yield token
        elif token.type == "text":
            name = str(before.attrGet("href") or "").removeprefix("/docs/") if before else ""
            if name in sources() and token.content.endswith(".md"):
                token.content = sources()[name].title  # instead of the name of its file
            for at, part in enumerate(token.content.split("<br>")):  # breaks the lines of a cell: our only HTML
                if at:
                    yield Token("hardbreak", "br", 0)
                yield Token("text", "", 0, content=part)
        else:
            if token.type == "image":
                path = normpath(f"{dirname(source.path)}/{token.attrGet('src')}")
                token.attrSet("src", static("docs/" + path.removeprefix(PICTURES)))
                token.attrSet("loading", "lazy")
            yield token


def _address(href: str, source: Source) -> str:
    """Return the address of a link on the site; "": no page shows its target."""
    if href.startswith("#") or re.match(r"[a-z]+:", href):
        return href
    path, _, anchor = href.partition("#")
    wanted = normpath(f"{dirname(source.path)}/{path}")
    for one in sources().values():
        if one.path == wanted:
            return f"/docs/{one.name}" + (f"#{anchor}" if anchor else "")
    return ""


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    anchor, title, level, text = "", "", 0, list[str]()
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            if level:
                yield Section(anchor, title, level, " ".join(text))
            anchor, level, text = str(token.attrGet("id")), int(token.tag[1]), []
            title = _plain(tokens[at + 1])
        elif token.type == "inline" and tokens[at - 1].type != "heading_open":
            text.append(_plain(token))
        elif token.type in ("fence", "code_block"):
            text.append(" ".join(token.content.split()))
    if level:
        yield Section(anchor, title, level, " ".join(text))


def _plain(inline: Token) -> str:
    breaks = ("softbreak", "hardbreak")
    return "".join(" " if one.type in breaks else one.content for one in inline.children or ())


def _excerpt(text: str, words: Sequence[str]) -> SafeString:
    """Return the part of a text around the first of these words, with all of them marked."""
    places = [at for word in words if (at := text.casefold().find(word)) >= 0]
    start = max(0, min(places, default=0) - 60)
    if start:
        start = text.find(" ", start) + 1
    part = text[start : start + EXCERPT_CHARS]
    pieces = re.split(f"({'|'.join(map(re.escape, words))})", part, flags=re.IGNORECASE)
    marked = "".join(f"<mark>{escape(one)}</mark>" if at % 2 else escape(one) for at, one in enumerate(pieces))
    begin, end = "… " if start else "", " …" if start + EXCERPT_CHARS < len(text) else ""
    return mark_safe(f"{begin}{marked}{end}")  # noqa: S308 - every piece is escaped


@require_safe
def index_page(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "")[:MAX_QUERY_CHARS].strip()
    context = {"groups": contents(), "query": query, "hits": search(query), "most": MOST_HITS}
    return render(request, "web/documents/index.html", context)


@require_safe
def document_page(request: HttpRequest, name: str) -> HttpResponse:
    found = document(name)
    if found is None:
        raise Http404
    names = list(sources())
    at = names.index(name)
    context = {
        "groups": contents(),
        "document": found,
        "before": sources()[names[at - 1]] if at else None,
        "after": sources()[names[at + 1]] if at + 1 < len(names) else None,
    }
    return render(request, "web/documents/document.html", context)
