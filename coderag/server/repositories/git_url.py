"""Checks of the URLs of repositories: where a user may send this server, and how."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from coderag.errors import InvalidValueError
from coderag.server.settings import RepositorySettings
from coderag.system.host_addresses import (
    HostResolver,
    IpAddress,
    find_addresses,
    is_public,
    resolve_host,
)

MAX_URL_CHARS: Final = 2_000
DEFAULT_PORTS: Final = {"https": 443, "http": 80, "ssh": 22}

_MAX_HOST_CHARS: Final = 253
_MAX_PORT: Final = 65_535
_USER: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}"
_PATH: Final = r"[A-Za-z0-9._~%+,=:@/-]+"
_HOST: Final = r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+"
_URL: Final = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    rf"(?:(?P<user>[^@/?#]*)@)?(?P<host>{_HOST})(?::(?P<port>[0-9]{{1,5}}))?(?P<path>/{_PATH})"
)
_SCP: Final = re.compile(rf"(?P<user>{_USER})@(?P<host>{_HOST}):(?P<path>{_PATH})")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")
_HINT: Final = "Give https://HOST/PATH, ssh://git@HOST/PATH or git@HOST:PATH."


@dataclass(frozen=True, slots=True)
class GitUrl:
    """A well-formed URL of a repository.

    Attributes:
        text: The URL as git takes it.
        scheme: ``https``, ``http`` or ``ssh``.
        host: Host in lower case; an IPv6 address without brackets.
        port: Port, by default that of the scheme.
        user: Account of ``ssh``; empty for the others.
    """

    text: str
    scheme: str
    host: str
    port: int
    user: str


@dataclass(frozen=True, slots=True)
class GitAddress:
    """A URL that may be fetched, with the addresses that were checked: git connects to these and to no others."""

    url: GitUrl
    addresses: tuple[IpAddress, ...]


def check_url(text: str, settings: RepositorySettings, *, resolve: HostResolver = resolve_host) -> GitAddress:
    """Check that a URL may be fetched, and look up the addresses of its host.

    Args:
        text: URL of a repository.
        settings: Accepted schemes, and hosts that may have private addresses.
        resolve: Looks up addresses.

    Raises:
        InvalidValueError: The URL is malformed, of another scheme, has a credential, or leads into a private network.
        GitUnavailableError: Its host cannot be resolved.
    """
    url = parse_url(text)
    if url.scheme not in settings.schemes:
        accepted = ", ".join(settings.schemes)
        raise InvalidValueError(f"URLs of {url.scheme} are not accepted", hint=f"Accepted schemes: {accepted}.")
    addresses = find_addresses(url.host, url.port, resolve)
    if not is_allowed_host(url.host, settings) and not all(map(is_public, addresses)):
        # The address stays unsaid: it would show names and numbers of this network.
        message = f"the host {url.host} has an address that is not public"
        raise InvalidValueError(message, hint="An operator can list it under repositories.allowed_hosts.")
    return GitAddress(url, addresses)


def is_allowed_host(host: str, settings: RepositorySettings) -> bool:
    """Return whether the settings allow a host whatever address it has."""
    return host.lower() in {allowed.strip("[]").lower() for allowed in settings.allowed_hosts}


def parse_url(text: str) -> GitUrl:
    """Parse a URL of `https`, `http` or `ssh`, or ``USER@HOST:PATH``. No error repeats a password.

    Raises:
        InvalidValueError: It is none of these, or has a credential.
    """
    if not text:
        raise InvalidValueError("the URL is empty", hint=_HINT)
    if len(text) > MAX_URL_CHARS:
        raise InvalidValueError(f"the URL has more than {MAX_URL_CHARS:,} characters", hint=_HINT)
    if text.startswith("-"):
        raise InvalidValueError("the URL begins with '-', as an option does", hint=_HINT)
    if "::" in text.partition("[")[0]:
        raise InvalidValueError("the URL names a helper program of git", hint=_HINT)
    if "://" not in text:
        return _parse_scp(text)
    match = _URL.fullmatch(text)
    if match is None:
        raise InvalidValueError(_describe_malformed(text), hint=_HINT)
    scheme = match["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        raise InvalidValueError(f"URLs of {scheme} are not accepted", hint=_HINT)
    port = int(match["port"]) if match["port"] else DEFAULT_PORTS[scheme]
    if not 0 < port <= _MAX_PORT:
        raise InvalidValueError(f"the URL has the port {port}", hint=f"Ports are 1 to {_MAX_PORT}.")
    user = match["user"]
    if user is not None and (scheme != "ssh" or not re.fullmatch(_USER, user)):
        message = "the URL has a user or a password in it"
        raise InvalidValueError(message, hint="Remove it from the URL, and add a credential of the server instead.")
    _check_path(match["path"])
    return GitUrl(text, scheme, _parse_host(match["host"]), port, user or "")


def parse_host(text: str) -> str:
    """Return a host in lower case, an IPv6 address without brackets.

    Raises:
        InvalidValueError: It is neither a name nor an address.
    """
    quoted = f"[{text}]" if ":" in text and not text.startswith("[") else text
    if not re.fullmatch(_HOST, quoted):
        raise InvalidValueError(
            f"the host {text[:_MAX_HOST_CHARS]!r} is invalid", hint="Give a name such as github.com."
        )
    return _parse_host(quoted)


def _parse_scp(text: str) -> GitUrl:
    match = _SCP.fullmatch(text)
    if match is None:
        scheme = _SCHEME.match(text)
        is_known = scheme is not None and scheme[1].lower() in {"file", "ext", "fd", *DEFAULT_PORTS}
        message = f"the URL is malformed after {scheme[1]}:" if scheme and is_known else "the URL has no scheme"
        raise InvalidValueError(message, hint=_HINT)
    _check_path(match["path"])
    if match["path"].startswith("-"):
        raise InvalidValueError("the path of the URL begins with '-'", hint=_HINT)
    return GitUrl(text, "ssh", _parse_host(match["host"]), DEFAULT_PORTS["ssh"], match["user"])


def _describe_malformed(text: str) -> str:
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        return "the URL has a character that no URL has"
    if "?" in text or "#" in text:
        return "the URL has a query or a fragment"
    return "the URL is malformed"


def _check_path(path: str) -> None:
    if not path.strip("/"):
        raise InvalidValueError("the URL has no path", hint=_HINT)
    if _CONTROL.search(unquote_to_bytes(path)):
        raise InvalidValueError("the path of the URL has an encoded control character", hint=_HINT)


def _parse_host(text: str) -> str:
    """Return a host in lower case; refuse forms that two programs may read as different addresses."""
    host = text.lower()
    is_literal = host.startswith("[")
    try:
        if is_literal:
            return str(ipaddress.IPv6Address(host[1:-1]))
        labels = host.split(".")
        if _NUMBER.fullmatch(labels[-1]):  # 127.1, 0x7f000001 and 2130706433 are 127.0.0.1 for some
            return str(ipaddress.IPv4Address(host))
    except ValueError as error:
        raise InvalidValueError(f"the URL has the invalid host {host}", hint=_HINT) from error
    if len(host) > _MAX_HOST_CHARS or not all(map(_LABEL.fullmatch, labels)):
        raise InvalidValueError(f"the URL has the invalid host {host}", hint=_HINT)
    return host
