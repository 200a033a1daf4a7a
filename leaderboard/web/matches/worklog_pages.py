"""Pages of a match's worklog: reading, printing, export, the form of a section, and the hand-in.

The human side and the competition's staff read it, and former members of a team the last hand-in that they wrote. For
everybody else it does not exist, of public matches, too.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.accounts.models import User
from leaderboard.classes import work
from leaderboard.errors import UserError
from leaderboard.matches import worklog as acts
from leaderboard.matches.document import TITLES, as_markdown, linked, links_of
from leaderboard.matches.models import MOST_SECTION_CHARS, SECTIONS, HandIn, Match, SectionText
from leaderboard.matches.permissions import PARTS, is_author, is_member, reads_worklog
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import MAX_KEY, ActForm, add_refusal, sentence
from leaderboard.web.markup import markdown
from leaderboard.web.matches.pages import match_of, title_of

MARKDOWN: Final = "md"
JSON: Final = "json"
TYPES: Final = {MARKDOWN: "text/markdown; charset=utf-8", JSON: "application/json"}
MOST_SHOWN: Final = 20  # hand-ins of a page; the API has all
HELP: Final = {
    "plan": "The reference, the bound that you expect and why, and the order of your steps.",
    "hand": "Each version: its idea, the effect that you expected, the effect that came.",
    "model": "The exact prompt, the answer, and whether it passed both gates at the first try.",
    "head_to_head": "The gap between both kernels, explained by mechanism: bytes, operations, launches, waits.",
    "stuck": "Where you lost time, where the model failed, and the way out.",
}


class SectionForm(ActForm):
    text = forms.CharField(
        required=False,
        strip=False,
        help_text=f"Markdown with $formulas$, at most {MOST_SECTION_CHARS:,} characters. #12 links submission 12.",
        widget=forms.Textarea(attrs={"rows": 22}),
    )
    revision = forms.IntegerField(min_value=0, max_value=MAX_KEY, widget=forms.HiddenInput)


@dataclass(frozen=True)
class Part:
    """A section as the page shows it. `saved`: its text's row, for a worklog that is not handed in."""

    name: str
    title: str
    html: SafeString
    facts: list[dict[str, Any]]
    extracts: list[dict[str, Any]]
    is_missing: bool
    saved: SectionText | None

    @property
    def help(self) -> str:
        return HELP[self.name]


@login_required
@require_safe
def index(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, pk, is_print=False)


@login_required
@require_safe
def printed(request: HttpRequest, pk: int) -> HttpResponse:
    """The worklog with all extracts open and nothing around it, for the browser's print."""
    return _page(request, pk, is_print=True)


@login_required
@require_safe
def export(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """The worklog as a file, of now or of a hand-in."""
    if kind not in TYPES:
        raise Http404
    match, document, handed = document_for(user_of(request), pk, _number_of_hand_in(request))
    if kind == MARKDOWN:
        text = as_markdown(document, settings.SITE_URL)
    else:
        kept = {"id": handed.pk, "at": handed.at.isoformat(), "digest": handed.digest} if handed else None
        text = json.dumps({**document, "hand_in": kept}, ensure_ascii=False, indent=1) + "\n"
    headers = {
        "Content-Disposition": f'attachment; filename="worklog-{match.pk}.{kind}"',
        "X-Content-Type-Options": "nosniff",
    }
    return HttpResponse(text, content_type=TYPES[kind], headers=headers)


@require_safe
def published(request: HttpRequest, pk: int) -> HttpResponse:
    """The texts of the last hand-in, for readers of a public match whose human side published them."""
    match = match_of(request.user, pk)
    handed = acts.public_texts(match)
    if handed is None:
        raise Http404
    shown = [part for part in parts_of(handed.document, {}) if not part.is_missing]
    context = {"match": match, "title": title_of(match), "parts": shown, "handed": handed}
    return render(request, "web/matches/published.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, pk: int, section: str) -> HttpResponse:
    """Write a section. A conflict shows both texts, and a second save replaces the stored one."""
    user = user_of(request)
    match = worklog_match(user, pk)
    if section not in SECTIONS or not is_member(user, match):
        raise Http404
    if request.method != "POST":
        stored = acts.texts_of(match).get(section)
        initial = {"text": stored.text if stored else "", "revision": stored.revision if stored else 0}
        return _form_page(request, match, section, SectionForm(initial=initial))
    form = SectionForm(request.POST)
    if not form.is_valid():
        return _form_page(request, match, section, form)
    try:
        acts.save_section(match=match, section=section, author=user, now=timezone.now(), **form.cleaned_data)
    except acts.Conflict as conflict:
        merging = SectionForm(initial={"text": form.cleaned_data["text"], "revision": conflict.stored.revision})
        return _form_page(request, match, section, merging, conflict.stored, 409)
    except UserError as error:
        add_refusal(form, error)
        form.refused = error.status
        return _form_page(request, match, section, form)
    messages.success(request, f"“{TITLES[section]}” is saved.")
    return redirect(f"/matches/{pk}/worklog#{section}")


@login_required
@require_POST
def hand_in(request: HttpRequest, pk: int) -> HttpResponse:
    user = user_of(request)
    match = worklog_match(user, pk)
    try:
        made = work.hand_in(match=match, author=user, now=timezone.now())
        missing = ", ".join(TITLES[name] for name in made.document["missing"])
        messages.success(request, "Handed in." + (f" Still empty: {missing}." if missing else ""))
    except UserError as error:
        messages.warning(request, sentence(error.message))
    return redirect(f"/matches/{pk}/worklog")


def worklog_match(user: User, pk: int) -> Match:
    """Return a match whose worklog of now this person reads. Raises Http404."""
    match = match_of(user, pk)
    if not reads_worklog(user, match):
        raise Http404
    return match


def document_for(user: User, pk: int, hand_in: int | None) -> tuple[Match, dict[str, Any], HandIn | None]:
    """Return a match with its worklog of now (`hand_in` None), or of a hand-in by its number. Raises Http404.

    A former member of a team reads its last hand-in if it is theirs, and nothing that came later.
    """
    match = get_object_or_404(Match.objects.select_related(*PARTS, "board__version"), pk=pk)
    hand_ins = match.hand_ins.select_related("by")
    if not reads_worklog(user, match):
        if not is_author(user, match):
            raise Http404
        hand_ins = hand_ins.filter(pk=hand_ins.values("pk")[:1])
        hand_in = hand_ins.get().pk if hand_in is None else hand_in
    if hand_in is None:
        return match, acts.worklog_of(match, timezone.now()), None
    handed = get_object_or_404(hand_ins, pk=hand_in)
    return match, handed.document, handed


def _number_of_hand_in(request: HttpRequest) -> int | None:
    """Return the number of the hand-in that an address names; None: none. Raises Http404."""
    named = request.GET.get("hand_in", "")
    if named and not (named.isascii() and named.isdecimal() and int(named[:20]) <= MAX_KEY):
        raise Http404
    return int(named) if named else None


def _page(request: HttpRequest, pk: int, *, is_print: bool) -> HttpResponse:
    user = user_of(request)
    match, document, handed = document_for(user, pk, _number_of_hand_in(request))
    hand_ins = match.hand_ins.select_related("by").defer("document")[:MOST_SHOWN]
    context = {
        "match": match,
        "title": title_of(match),
        "parts": parts_of(document, {} if handed else acts.texts_of(match)),
        "missing": [TITLES[name] for name in document["missing"]],
        "handed": handed,
        "hand_ins": hand_ins if reads_worklog(user, match) else [],
        "is_member": is_member(user, match),
        "is_print": is_print,
        "query": f"?hand_in={handed.pk}" if handed else "",
    }
    return render(request, "web/matches/worklog.html", context)


def parts_of(document: Mapping[str, Any], saved: Mapping[str, SectionText]) -> list[Part]:
    links = links_of(document)
    return [
        Part(
            name,
            document["titles"][name],
            markdown(linked(document["texts"][name], links)),
            document["facts"][name],
            document["extracts"][name],
            name in document["missing"],
            saved.get(name),
        )
        for name in SECTIONS  # a stored document has lost the order of its keys
    ]


def _form_page(
    request: HttpRequest,
    match: Match,
    section: str,
    form: SectionForm,
    stored: SectionText | None = None,
    status: int | None = None,
) -> HttpResponse:
    document = acts.worklog_of(match, timezone.now())
    part = next(part for part in parts_of(document, {}) if part.name == section)
    context = {"match": match, "title": title_of(match), "part": part, "form": form, "stored": stored}
    return render(request, "web/matches/section.html", context, status=status or form.status)
