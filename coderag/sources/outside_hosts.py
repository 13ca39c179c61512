"""Other hosts to which the server of a source may lead: none in this network, unless the server itself is in it."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from coderag.system import host_addresses
from coderag.system.host_addresses import IpAddress, is_literal, is_public

_DEFAULT_PORT: Final = 443


def may_lead_to(url: str, base_url: str) -> bool:
    """Return whether the server of a source may lead to a URL.

    Otherwise a server on the internet could have files of this network mirrored, such as those of a metadata service. A
    name that cannot be resolved passes: it cannot be connected to either, unless a proxy does so.

    Args:
        url: URL of a redirect or a download.
        base_url: Address of the server.
    """
    return all(map(is_public, _find_addresses(url))) or not all(map(is_public, _find_addresses(base_url)))


def _find_addresses(url: str) -> Sequence[IpAddress]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_literal(host):
        return (ip_address(host),)
    try:
        return host_addresses.resolve_host(host, parts.port or _DEFAULT_PORT)
    except (OSError, UnicodeError):
        return ()
