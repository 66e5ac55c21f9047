"""Keeping a team's server from being sent into its own network: models have public addresses, or are allowed by name.

Whoever may add a model could otherwise have the server ask cloud metadata, databases and dashboards that only it can
reach, and read what they say from error messages.
"""

import ipaddress
import socket
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address
from typing import Self

from app.config import Settings
from app.domain.errors import InputError

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class PublicAddresses:
    """Resolves host names, and refuses those that stand for anything but public addresses.

    `allowed`: host names in lower case that are taken as they are.
    """

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self._allowed = frozenset(allowed)

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Those that the settings allow; None where models may have any address: on a machine of one's own."""
        return cls(settings.endpoint_hosts) if settings.team else None

    def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a host, in the order in which to try them. May ask a name server.

        Raises InputError where one of them is not public, and OSError where the name is unknown.
        """
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        if host.lower().rstrip(".") not in self._allowed:
            for address in found:
                if not is_public(address):
                    raise InputError(
                        f"{host} stands for {address}, which is no public address; whoever runs this installation can"
                        f" allow it: HALFLIFE_ALLOWED_ENDPOINT_HOSTS={host}"
                    )
        return found


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet, and holds none that is not."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(one.is_global and not one.is_multicast for one in (parsed, *_held_by(parsed)))


def _held_by(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return []
    held = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        held.append(IPv4Address(int(address) & 0xFFFF_FFFF))
    return [one for one in held if one is not None]
