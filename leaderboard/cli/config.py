"""Profiles: sites and their tokens, in a file of mode 600 that `login` writes.

The options in main.py read the environment (PHOTOFINISH_URL, PHOTOFINISH_TOKEN, PHOTOFINISH_PROFILE), which wins over
the file; this module owns the file, and reads the key of a search's proposer. A token is never printed, and goes to the
site of its profile alone.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import typer

from ..client import Account, Client, Misuse
from ..client.account import DEFAULT_URL, check_private, check_token, site_url

MAX_FILE_BYTES: Final = 64_000
USUAL: Final = "default"  # name of the first profile
MAX_NAME_CHARS: Final = 32


class Damaged(Misuse):
    """The file can be read, and is no list of profiles."""


@dataclass(frozen=True)
class Options:
    """The options before the command; they win over the file."""

    url: str = ""
    token: str = ""
    insecure: bool = False
    profile: str = ""


@dataclass(frozen=True)
class Kept:
    """The file: profiles by name, and the name of the current profile."""

    current: str = USUAL
    profiles: Mapping[str, Account] = field(default_factory=dict)

    def named(self, name: str) -> Account:
        """Return a profile; an unknown name is an error unless nothing was chosen. Raises Misuse."""
        wanted = name or self.current
        if wanted in self.profiles:
            return self.profiles[wanted]
        if name:
            listed = ", ".join(self.profiles) or "none yet"
            raise Misuse(f"profile: {name!r} is not known; there is {listed}; `photofinish login --profile {name}`")
        return Account()


def config_path() -> Path:
    """Return the path in the user's configuration folder (XDG_CONFIG_HOME if set)."""
    return Path(typer.get_app_dir("photofinish")) / "config.json"


def resolve(options: Options) -> Account:
    """Combine options or environment with the file; a profile's token and flag are only for the profile's site."""
    kept = load(options.profile) if not (options.url and options.token and not options.profile) else Account()
    site = site_url(options.url) if options.url else kept.url
    known = kept.token if site == kept.url else ""
    token = check_token(options.token) if options.token else known
    is_insecure = options.insecure or (kept.insecure and site == kept.url)
    return check_private(Account(site, token, is_insecure))


def client_of(account: Account) -> Client:
    return Client(account.url, account.token, insecure=account.insecure)


def connected(context: typer.Context) -> Client:
    """Return the connection that the options before the command ask for."""
    return client_of(resolve(context.obj))


def proposer_key() -> str:
    """Return the key of a search's endpoint. It comes from the environment alone: a process list shows arguments."""
    return os.environ.get("PROPOSER_API_KEY", "").strip()


def load(profile: str = "") -> Account:
    return read().named(profile)


def read() -> Kept:
    path = config_path()
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_BYTES)
        data = json.loads(text)
        if "profiles" not in data:  # a file from before there were profiles
            return Kept(USUAL, {USUAL: _account(data)})
        profiles = {str(name): _account(one) for name, one in data["profiles"].items()}
        return Kept(str(data["current"]), profiles)
    except FileNotFoundError:
        return Kept()
    except OSError as error:
        raise Misuse(f"{path}: cannot be read ({error.strerror}); fix its rights, or set PHOTOFINISH_TOKEN") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Misuse):
        raise Damaged(f"{path}: is damaged; delete it and run `photofinish login`") from None


def _account(data: Mapping[str, Any]) -> Account:
    return Account(site_url(str(data["url"])), check_token(str(data["token"])), data.get("insecure") is True)


def save(account: Account, profile: str = "") -> Path:
    """Keep the account under a profile, which becomes the current one. A damaged file is written anew."""
    try:
        kept = read()
    except Damaged:
        kept = Kept()
    name = check_name(profile or kept.current)
    return write(replace(kept, current=name, profiles={**kept.profiles, name: account}))


def check_name(name: str) -> str:
    if not name or len(name) > MAX_NAME_CHARS or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise Misuse(f"profile: {name!r} cannot be a name; use at most {MAX_NAME_CHARS} letters, digits, . - and _")
    return name


def use(name: str) -> Account:
    """Make a profile the current one."""
    kept = read()
    account = kept.named(name)
    write(replace(kept, current=name))
    return account


def write(kept: Kept) -> Path:
    """Write the file for its owner alone, atomically; without profiles, remove it."""
    path = config_path()
    scrap = path.with_suffix(".tmp")
    data = {"current": kept.current, "profiles": {name: asdict(one) for name, one in kept.profiles.items()}}
    try:
        if not kept.profiles:
            path.unlink(missing_ok=True)
            return path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        scrap.unlink(missing_ok=True)
        descriptor = os.open(scrap, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=2)
        scrap.replace(path)
    except OSError as error:
        way_out = "fix its rights, or set PHOTOFINISH_TOKEN"
        raise Misuse(f"{path}: cannot be written ({error.strerror}); {way_out}") from None
    return path


def forget(profile: str = "") -> str:
    """Remove a profile, by default the current one; return its name, or "" if there was none."""
    kept = read()
    name = profile or kept.current
    if name not in kept.profiles:
        return ""
    left = {known: account for known, account in kept.profiles.items() if known != name}
    write(Kept(kept.current if kept.current in left else next(iter(left), USUAL), left))
    return name


__all__ = ["DEFAULT_URL", "Account", "Options", "client_of", "connected", "load", "resolve", "save"]
