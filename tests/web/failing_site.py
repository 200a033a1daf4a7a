"""The site with a page that fails while it holds a source."""

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from leaderboard.asgi import application
from leaderboard.web import urls

__all__ = ["application"]


@csrf_exempt
def fail(request: HttpRequest) -> HttpResponse:
    source = request.POST["source"]
    raise ValueError(f"a bug beside {len(source)} characters")


urls.urlpatterns.insert(0, path("fails", fail))
