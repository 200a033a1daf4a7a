"""Pages of the documentation: the list with its search, and a document."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard.web.documents import library


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "")[: library.MAX_QUERY_CHARS].strip()
    context = {"groups": library.contents(), "query": query, "hits": library.search(query), "most": library.MOST_HITS}
    return render(request, "web/documents/index.html", context)


@require_safe
def document(request: HttpRequest, name: str) -> HttpResponse:
    found = library.document(name)
    if found is None:
        raise Http404
    names = list(library.sources())
    at = names.index(name)
    context = {
        "groups": library.contents(),
        "document": found,
        "before": library.sources()[names[at - 1]] if at else None,
        "after": library.sources()[names[at + 1]] if at + 1 < len(names) else None,
    }
    return render(request, "web/documents/document.html", context)
