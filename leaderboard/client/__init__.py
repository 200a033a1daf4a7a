"""The library of the client, for programs that submit kernels or read boards.

    from photofinish.client import Client

    with Client("https://photofinish.example", token) as site:
        sent = site.submit(board="softmax", hardware="cpu", mode="test", filename="kernel.py", code=source)
        submission = site.follow(sent["id"])

AsyncClient has the same methods for asyncio. Answers are the site's JSON (docs/http.md), typed in `shapes`. Errors are
ClientError: Misuse before a request was sent, Refused for an answer that refuses, SiteProblem for no answer.
"""

from . import calls, shapes
from .account import Account, ClientError, Misuse, Refused, SiteProblem
from .clients import AsyncClient, Client, ServerEvent

__all__ = [
    "Account",
    "AsyncClient",
    "Client",
    "ClientError",
    "Misuse",
    "Refused",
    "ServerEvent",
    "SiteProblem",
    "calls",
    "shapes",
]
