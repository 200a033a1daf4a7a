"""Typed readers of the environment: the only module of the site that reads `os.environ`.

The error of every reader names the variable, its value and the valid values. Secrets come only from here; their
values never appear in an error.
"""

import os
import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

Number = TypeVar("Number", int, float)

SERVES_REQUESTS = False  # whether this process is a web process, which has shorter time limits

SECRET_CHARS: Final = 32  # at least
SECRET_VARIETY: Final = 12  # different characters at least: random text of 32 has more
PREFIX_BITS: Final = 8  # of a network of proxies, at least
NO_PROXY: Final = "none"
_TRUE: Final = ("1", "true", "yes", "on")
_FALSE: Final = ("0", "false", "no", "off", "")


class ConfigError(RuntimeError):
    """The environment lacks a setting or has an invalid value. The operator can fix it."""


class Reading(NamedTuple):
    """Default and valid values of a setting, as text."""

    default: str | None  # None: the setting is needed
    valid: str


READ: Final[dict[str, Reading]] = {}  # every setting that this process has read, for docs/settings.md


def is_set(name: str) -> bool:
    return bool(os.environ.get(name, "").strip())


def text(name: str, default: str | None = None, valid: str = "") -> str:
    READ[name] = Reading(default, valid)
    value = os.environ.get(name, "").strip()
    if value:
        return value
    if default is None:
        raise ConfigError(f"{name} is not set; the site needs it (`make up` writes it, .env.example lists all)")
    return default


def secret(name: str, default: str | None = None) -> str:
    value = text(name, default, f"at least {SECRET_CHARS} random characters")
    if value == default:
        return value
    if len(value) < SECRET_CHARS:
        raise ConfigError(f"{name} has {len(value)} characters; a secret needs at least {SECRET_CHARS} random ones")
    if len(set(value)) < SECRET_VARIETY:
        remedy = "take one from: openssl rand -base64 48"
        raise ConfigError(f"{name} has only {len(set(value))} different characters and can be guessed; {remedy}")
    return value


def boolean(name: str, default: bool) -> bool:
    READ[name] = Reading(str(int(default)), "0, 1")
    value = os.environ.get(name)
    if value is None:
        return default
    lowered = value.strip().lower()
    if lowered not in _TRUE + _FALSE:
        raise ConfigError(f"{name}={value!r} is neither yes ({', '.join(_TRUE)}) nor no ({', '.join(_FALSE[:-1])})")
    return lowered in _TRUE


def whole(name: str, default: int, *, least: int, most: int) -> int:
    return _number(name, default, int, "a whole number", least, most)


def seconds(name: str, default: float, *, least: float, most: float) -> float:
    return _number(name, default, float, "a number of seconds", least, most, unit=" seconds")


def _number(
    name: str, default: Number, read: Callable[[str], Number], kind: str, least: Number, most: Number, unit: str = ""
) -> Number:
    value = text(name, str(default), f"{least} … {most}{unit}")
    try:
        number = read(value)
    except ValueError:
        raise ConfigError(f"{name}={value!r} is not {kind}") from None
    if not least <= number <= most:
        raise ConfigError(f"{name}={number} is outside {least} … {most}{unit}")
    return number


def one_of(name: str, default: str, choices: tuple[str, ...]) -> str:
    value = text(name, default, ", ".join(choices))
    if value not in choices:
        raise ConfigError(f"{name}={value!r} is not one of {', '.join(choices)}")
    return value


def address(name: str, default: str, schemes: tuple[str, ...]) -> str:
    """Read a URL. An error does not repeat it, because it may hold a password."""
    value = text(name, default, ", ".join(f"{scheme}://" for scheme in schemes))
    parts = urlsplit(value)
    if value and (parts.scheme not in schemes or not (parts.hostname or (parts.scheme == "file" and parts.path))):
        raise ConfigError(f"{name} is not an address that begins with {' or '.join(f'{one}://' for one in schemes)}")
    return value


def words(name: str, default: tuple[str, ...], valid: str = "") -> list[str]:
    """Read a list, separated by commas or blanks."""
    return text(name, " ".join(default), valid).replace(",", " ").split()


def networks(name: str) -> list[str] | None:
    """Read the addresses and networks of proxies. None: not set; an empty list: there is no proxy."""
    given = words(name, (), f"addresses, networks, {NO_PROXY}")
    if given == [NO_PROXY]:
        return []
    found = []
    for word in given:
        try:
            network = ip_network(word)
        except ValueError as error:
            remedy = f"expected addresses or networks such as 127.0.0.1 or 10.1.2.0/24, or {NO_PROXY}"
            raise ConfigError(f"{name}={word!r} is no address of a proxy ({error}); {remedy}") from None
        if network.prefixlen < PREFIX_BITS:
            danger = "visitors there could choose the address that they seem to come from"
            raise ConfigError(f"{name}={word!r} trusts too many addresses: {danger}; name the proxies alone")
        found.append(str(network))
    return found or None


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches the host of this name or address."""
    return ip_address(host).is_loopback if is_address(host) else host == "localhost"


def matching(name: str, default: str, *, pattern: str, shape: str) -> str:
    """Read a text that is empty or matches the pattern, which an error describes as `shape`."""
    value = text(name, default, shape)
    if value and not re.fullmatch(pattern, value):
        raise ConfigError(f"{name}={value!r} is not of the form {shape}")
    return value


def pairs(name: str, *, value: str, shape: str) -> dict[str, str]:
    """Read a list of NAME=VALUE. Each value matches the pattern `value`, which an error describes as `shape`."""
    found = {}
    for word in words(name, (), shape):
        key, sign, given = word.partition("=")
        if not key or not sign or not re.fullmatch(value, given):
            raise ConfigError(f"{name}: {word!r} is not of the form {shape}")
        found[key] = given
    return found


def hand_down(name: str, value: str) -> None:
    """Set a variable for the processes that this process starts."""
    os.environ[name] = value


def choose_settings(module: str, *, serves_requests: bool = False) -> None:
    """Name Django's settings module, unless the operator has named a different module."""
    global SERVES_REQUESTS  # before the settings are read, once a process
    SERVES_REQUESTS = serves_requests
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", module)
