"""Bans of networks, each for a time. `of` asks no database: the heartbeat of each web process calls `load`."""

from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

import structlog
from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.operations.models import Ban

MOST: Final = 1_000  # in force
WIDEST: Final = {4: 16, 6: 32}  # bits of a prefix
MAX_DAYS: Final = 366

_loaded: dict[tuple[int, int], dict[int, Ban]] = {}  # version, bits → first address → ban


def in_force(now: datetime) -> list[Ban]:
    return list(Ban.objects.filter(lifted_at=None, ends_at__gt=now))


def load(now: datetime) -> None:
    """Read the bans in force into this process."""
    global _loaded  # replaced as a whole, so that readers in other threads need no lock
    found: dict[tuple[int, int], dict[int, Ban]] = {}
    for ban in in_force(now)[:MOST]:
        network = ip_network(ban.network)
        found.setdefault((network.version, network.prefixlen), {})[int(network.network_address)] = ban
    _loaded = found


def of(address: str, now: datetime) -> Ban | None:
    """Return the ban of this address. A look-up per length of prefix, however many bans there are."""
    peer = _parsed(address) if _loaded else None
    if peer is None:
        return None
    number, size = int(peer), peer.max_prefixlen
    for (version, bits), bans in _loaded.items():
        ban = bans.get(number >> (size - bits) << (size - bits)) if version == peer.version else None
        if ban is not None and ban.ends_at > now:
            return ban
    return None


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        peer = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return peer.ipv4_mapped or peer if isinstance(peer, IPv6Address) else peer


@transaction.atomic
def ban(
    *,
    network: str,
    days: int,
    reason: str,
    actor: User | None,
    now: datetime,
    own_address: str = "",
    confirm: bool = False,
) -> Ban:
    """Ban a network. `actor` None: an operator by command.

    `own_address` is the caller's: a network that contains it must be confirmed.
    """
    if actor is not None:
        check_staff(actor, "ban a network")
    check_reason(reason)
    try:
        parsed = ip_network(network.strip(), strict=False)
    except ValueError:
        raise UserError("network", network, "expected a network such as 192.0.2.0/24 or 2001:db8::/48") from None
    if isinstance(parsed, IPv6Network) and parsed.network_address.ipv4_mapped:
        raise UserError("network", network, f"write it as IPv4: {parsed.network_address.ipv4_mapped}")
    if parsed.prefixlen < WIDEST[parsed.version]:
        text = f"at least /{WIDEST[parsed.version]} of IPv{parsed.version}; wider networks are for a firewall"
        raise UserError("network", network, text)
    if not 1 <= days <= MAX_DAYS:
        raise UserError("days", days, f"expected 1 to {MAX_DAYS}")
    own = _parsed(own_address)
    if own is not None and own in parsed and not confirm:
        text = f"your own address {own} is in {parsed}: you could not undo this here. Confirm it, or choose another"
        raise UserError("confirm", own_address, text, status=409)
    Ban.objects.filter(network=str(parsed), lifted_at=None, ends_at__lte=now).update(lifted_at=now)  # over by itself
    values = {"reason": reason.strip(), "created_at": now, "ends_at": now + timedelta(days=days)}
    found, is_new = Ban.objects.get_or_create(network=str(parsed), lifted_at=None, defaults=values)
    if not is_new:
        raise UserError("network", network, f"is banned already, until {found.ends_at:%Y-%m-%d %H:%M} UTC", status=409)
    if len(in_force(now)) > MOST:
        raise UserError("network", network, f"{MOST:,} networks are banned, which is the most; lift some", status=409)
    after = {"network": found.network, "ends_at": found.ends_at}
    record("desk_ban", found, actor=actor, reason=reason, now=now, after=after)
    transaction.on_commit(lambda: load(now))
    return found


@transaction.atomic
def set_lifted(*, ban: Ban, on: bool, reason: str, actor: User | None, now: datetime, undoes: int | None = None) -> Ban:
    """Lift a ban, or with `on` False put a lifted ban in force again."""
    if actor is not None:
        check_staff(actor, "lift a ban")
    check_reason(reason)
    ban = Ban.objects.select_for_update().get(pk=ban.pk)
    if ban.ends_at <= now:
        raise UserError("network", ban.network, "the ban is over; ban the network anew", status=409)
    if (ban.lifted_at is not None) == on:
        raise UserError("network", ban.network, "is not banned" if on else "is banned already", status=409)
    if not on and Ban.objects.filter(network=ban.network, lifted_at=None).exists():
        raise UserError("network", ban.network, "is banned anew", status=409)
    own = _parsed(str(structlog.contextvars.get_contextvars().get("address", "")).partition("/")[0])
    if not on and own is not None and own in ip_network(ban.network):
        raise UserError("network", ban.network, "is your own network; ban it anew, and confirm that", status=409)
    ban.lifted_at = now if on else None
    ban.save(update_fields=["lifted_at"])
    after = {"network": ban.network, "ends_at": ban.ends_at} | ({"undoes": undoes} if undoes else {})
    record("desk_lift_ban" if on else "desk_ban", ban, actor=actor, reason=reason, now=now, after=after)
    transaction.on_commit(lambda: load(now))
    return ban
