"""Network addresses of hosts, and which of them a server may be sent to by its users."""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import Final

from coderag.errors import GitUnavailableError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

HostResolver = Callable[[str, int], Sequence[IpAddress]]
"""Looks up the addresses of a host and a port; raises `OSError` if there are none."""

# Beside those that `is_global` knows in every version of Python 3.11.
_RESERVED: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "100.64.0.0/10",  # shared address space, with the metadata service of one provider
            "168.63.129.16/32",  # public, but the host agent of a provider's virtual machines
            "192.0.0.0/24",
            "192.88.99.0/24",  # relays of 6to4
            "198.18.0.0/15",
            "::/96",  # IPv4-compatible
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",  # Teredo and other protocol assignments
            "fec0::/10",  # site-local
        ),
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


def resolve_host(host: str, port: int) -> list[IpAddress]:
    """Look up the addresses of a host, in the order in which to try them.

    Raises:
        OSError: There are none.
    """
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    texts = dict.fromkeys(str(info[4][0]).partition("%")[0] for info in infos)
    return [ipaddress.ip_address(text) for text in texts]


def is_literal(host: str) -> bool:
    """Return whether a host is an address itself."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def find_addresses(host: str, port: int, resolve: HostResolver) -> tuple[IpAddress, ...]:
    """Return the address of a literal, or look up those of a name.

    Raises:
        GitUnavailableError: The name cannot be resolved.
    """
    if is_literal(host):
        return (ipaddress.ip_address(host),)
    try:
        addresses = tuple(resolve(host, port))
    except (OSError, UnicodeError) as error:
        raise GitUnavailableError(f"the host {host} cannot be resolved", hint="Check its name.") from error
    if not addresses:
        raise GitUnavailableError(f"the host {host} has no address", hint="Check its name.")
    return addresses


def is_public(address: IpAddress) -> bool:
    """Return whether an address is reachable from everywhere, so that a request to it shows nothing of this network."""
    embedded = _extract_ipv4(address)
    if embedded is not None:
        return is_public(embedded)
    is_reserved = any(address in network for network in _RESERVED if network.version == address.version)
    return address.is_global and not address.is_multicast and not is_reserved


def _extract_ipv4(address: IpAddress) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address to which an IPv6 address is translated; None if it is an ordinary one."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
