"""The library of the client, for programs that submit kernels or read boards.

    from photofinish.client import Account, connected, follow

    with connected(Account("https://photofinish.example", token)) as site:
        sent = site.submit(board="softmax", hardware="cpu", mode="test", filename="kernel.py", code=source)
        submission = follow(site, str(sent["id"]))

The methods of `Api` return the site's JSON as it is (docs/http.md). Errors are CliError: Misuse before a request was
sent, Refused for an answer that refuses, SiteProblem for no answer.
"""

from .cli.api import Api, ServerEvent, connected, follow
from .cli.config import Account, CliError, Misuse, Refused, SiteProblem

__all__ = ["Account", "Api", "CliError", "Misuse", "Refused", "ServerEvent", "SiteProblem", "connected", "follow"]
