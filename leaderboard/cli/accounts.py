"""`photofinish login`, `logout`, `whoami` and `profile`: who you are, on which site."""

import platform
import sys
import time
import webbrowser
from typing import Annotated, Final

import typer

from ..client import Account, Client, Misuse, Refused, SiteProblem
from ..client.account import check_private, check_token, site_url
from ..client.values import JSON, mapping, sequence
from . import config
from .render import AsJson, Columns, Screen, line

MAX_TOKEN_BYTES: Final = 4_096
MAX_NAME_CHARS: Final = 64
PATIENCE_S: Final = 900  # for a person who confirms a code
SLOWER_S: Final = 5

Url = Annotated[str, typer.Option("--url", envvar="PHOTOFINISH_URL", help="The site.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Send a token over plain http to another machine.")]
Profile = Annotated[str, typer.Option("--profile", envvar="PHOTOFINISH_PROFILE", help="A kept site and its token.")]

profiles = typer.Typer(no_args_is_help=True, help="Sites and tokens that `login` has kept.")


def login(
    context: typer.Context,
    token: Annotated[
        str, typer.Option("--token", help="A token of the site's token page; - asks for it, or reads stdin.")
    ] = "",
    url: Url = "",
    insecure: Insecure = False,
    profile: Profile = "",
    scope: Annotated[list[str] | None, typer.Option(help="Scope of the new token: read, submit, review.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    as_json: AsJson = False,
) -> None:
    """Sign in: confirm a short code on the site. With --token, or a token on stdin, check and keep that token."""
    screen = Screen()
    name = profile or context.obj.profile
    usual = _kept_url(name)  # also beside --url: a file that cannot be read must not cost a new token
    site = site_url(url or context.obj.url or usual)
    may_be_clear = insecure or context.obj.insecure
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if token == "-":  # noqa: S105
        token = _typed_token(site) if is_terminal else _piped_token()
        if not token.strip():
            raise Misuse(f"token: stdin is empty; pipe a token from {site}/tokens, or leave out --token for a code")
    elif not token and not is_terminal:
        token = _piped_token()
    if not token.strip():
        token = _confirmed_token(screen, site, may_be_clear, scope or ["read", "submit"], no_browser)
    account = check_private(Account(site, check_token(token), may_be_clear))
    with config.client_of(account) as api:
        me = api.me()
    path = config.save(account, name)
    kept = config.read().current
    sentence = f"{site}: you are {line(me.get('username', ''), 150)}; the token is kept in {path}"
    screen.answer({**me, "url": site, "profile": kept}, sentence, as_json)


def logout(
    context: typer.Context,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Delete the kept token of a profile. It stays valid until you revoke it on the site's token page."""
    name = config.forget(profile or context.obj.profile)
    sentence = "The token is forgotten here." if name else "No token was kept."
    Screen().answer({"profile": name or None}, sentence, as_json)


def whoami(context: typer.Context, as_json: AsJson = False) -> None:
    """Show your account and the scopes of the token."""
    with config.connected(context) as api:
        me = api.me()
    scopes = ", ".join(map(str, sequence(mapping(me.get("token")).get("scopes"))))
    sentence = f"{line(me.get('username', ''), 150)} at {api.url}" + (f" (may {line(scopes)})" if scopes else "")
    Screen().answer({**me, "url": api.url}, sentence, as_json)


@profiles.command("list")
def list_profiles(as_json: AsJson = False) -> None:
    """List the kept profiles; the current one has an arrow."""
    kept = config.read()
    rows: list[JSON] = [
        {"profile": name, "url": account.url, "current": name == kept.current}
        for name, account in sorted(kept.profiles.items())
    ]
    columns: Columns = {"": lambda row: "→" if row["current"] else "", "profile": "profile", "site": "url"}
    Screen().table(rows, columns, as_json=as_json)


@profiles.command("use")
def use_profile(name: str, as_json: AsJson = False) -> None:
    """Make a profile the current one."""
    account = config.use(name)
    Screen().answer({"profile": name, "url": account.url}, f"{name}: {account.url}", as_json)


@profiles.command("rm")
def remove_profile(name: str, as_json: AsJson = False) -> None:
    """Forget a profile and its token."""
    if not config.forget(name):
        raise Misuse(f"profile: {name!r} is not known; see `photofinish profile list`")
    Screen().answer({"profile": name}, f"{name} is forgotten here.", as_json)


def _kept_url(profile: str) -> str:
    """Return the site of a profile, also of one that is to be made, or of a damaged file: the usual site."""
    try:
        kept = config.read()
    except config.Damaged:
        return config.DEFAULT_URL
    return kept.profiles.get(profile or kept.current, Account()).url


def _typed_token(site: str) -> str:
    return str(typer.prompt(f"Token for {site}", hide_input=True, err=True))


def _piped_token() -> str:
    """Return the text on stdin; "" in a script or an agent's shell, whose stdin is empty."""
    data = sys.stdin.buffer.read(MAX_TOKEN_BYTES) if sys.stdin is not None else b""
    return data.decode("utf-8", "replace")


def _confirmed_token(screen: Screen, site: str, insecure: bool, scopes: list[str], no_browser: bool) -> str:
    """Return the token of a sign-in that a person confirms on the site. Raises Misuse, Refused, SiteProblem."""
    check_private(Account(site, "pf_none", insecure))
    name = f"photofinish on {platform.node() or 'a machine'}"[:MAX_NAME_CHARS]
    with Client(site, insecure=insecure) as api:
        asked = api.start_login("".join(letter for letter in name if letter.isprintable()), scopes)
        page = line(asked["verification_uri"], 500)
        screen.note(f"Open {page} and type this code:\n\n    {line(asked['user_code'], 32)}\n")
        complete = line(asked["verification_uri_complete"], 500)
        if not no_browser and complete.startswith(site + "/"):
            webbrowser.open(complete)
        interval = max(1, min(60, int(asked["interval"])))
        give_up_at = time.monotonic() + min(PATIENCE_S, int(asked["expires_in"]))
        while time.monotonic() < give_up_at:
            time.sleep(interval)
            try:
                return str(api.poll_login(asked["device_code"])["token"])
            except SiteProblem:
                continue  # the next question may get through
            except Refused as error:
                if error.code == "slow_down":
                    interval += SLOWER_S
                elif error.code != "authorization_pending":
                    raise
    raise Misuse("login: nobody confirmed the code in time; run `photofinish login` again")
