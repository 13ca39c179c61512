"""Configuration of git for one fetch: fixed addresses, no redirects, and a credential that is on no command line."""

import base64
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coderag.server.repositories.git_url import DEFAULT_PORTS, GitAddress
from coderag.system.host_addresses import is_literal

_STALL_S: Final = 120
_SSH_CONNECT_S: Final = 20

_SAFE_CONFIG: Final = (
    ("core.askPass", ""),
    ("core.fsync", "committed,reference"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.symlinks", "false"),  # a link could lead out of the checkout, into another repository
    ("credential.helper", ""),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.unpackLimit", "1"),  # one pack, which is moved as a whole
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("gc.worktreePruneExpire", "never"),
    ("http.cookieFile", ""),
    ("http.followRedirects", "false"),  # also turns off alternates that the server names
    ("http.lowSpeedLimit", "1"),  # a server that prepares a large pack sends a few bytes now and then
    ("http.lowSpeedTime", str(_STALL_S)),
    ("http.proxy", ""),
    ("http.sslVerify", "true"),
    ("maintenance.auto", "false"),
    ("protocol.version", "2"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
)

_SAFE_VARIABLES: Final[Mapping[str, str]] = {
    "GCM_INTERACTIVE": "never",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_SSH_VARIANT": "ssh",
    "HOME": os.devnull,  # holds configuration, known hosts and keys of the operator
    "LC_ALL": "C",
}

_KEPT_VARIABLES: Final = frozenset(
    {"PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH"}
    | {"GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)
"""Variables that git inherits: programs, and certificates that an operator trusts."""


def is_excluded_variable(name: str) -> bool:
    """Return whether git does not inherit a variable of this process."""
    return name not in _KEPT_VARIABLES


@dataclass(frozen=True, slots=True)
class GitAccess:
    """Configuration and environment of a git command. Nothing in it is shown by `repr`.

    Attributes:
        config: Names and values of settings, given through the environment.
        environment: Further variables.
        protocols: Protocols that git may use.
    """

    config: Sequence[tuple[str, str]] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    protocols: tuple[str, ...] = ()

    def build_environment(self) -> dict[str, str]:
        """Build the variables of a git command."""
        config = [*_SAFE_CONFIG, *self.config]
        variables = {**_SAFE_VARIABLES, **self.environment, "GIT_CONFIG_COUNT": str(len(config))}
        if "GIT_SSL_CAINFO" not in os.environ and (certificates := os.environ.get("SSL_CERT_FILE")):
            variables["GIT_SSL_CAINFO"] = certificates  # not every build of git's HTTP client reads the other one
        for index, (name, value) in enumerate(config):
            variables |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
        return variables


def build_http_access(address: GitAddress, user: str = "", secret: str = "") -> GitAccess:
    """Build the access to a URL of `https` or `http`, at the addresses that were checked."""
    url = address.url
    host = f"[{url.host}]" if ":" in url.host else url.host
    addresses = ",".join(f"[{ip}]" if ip.version == 6 else str(ip) for ip in address.addresses)
    config = []
    if not is_literal(url.host):
        config.append(("http.curloptResolve", f"{host}:{url.port}:{addresses}"))
    if secret:
        token = base64.b64encode(f"{user}:{secret}".encode()).decode()
        config.append((f"http.{url.scheme}://{host}:{url.port}/.extraHeader", f"Authorization: Basic {token}"))
    return GitAccess(config, protocols=(url.scheme,))


def build_ssh_access(address: GitAddress, key_file: Path, known_hosts: Path) -> GitAccess:
    """Build the access to a URL of `ssh` with a key. The host key is learnt once, and may not change after that."""
    url = address.url
    alias = url.host if url.port == DEFAULT_PORTS["ssh"] else f"[{url.host}]:{url.port}"
    options = {
        "BatchMode": "yes",
        "CheckHostIP": "no",
        "ClearAllForwardings": "yes",
        "ConnectTimeout": str(_SSH_CONNECT_S),
        "GlobalKnownHostsFile": os.devnull,
        "HostKeyAlias": alias,
        "HostName": str(address.addresses[0]),
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "IdentityFile": _quote_ssh_path(key_file),
        "PermitLocalCommand": "no",
        "PreferredAuthentications": "publickey",
        "ProxyCommand": "none",
        "ServerAliveCountMax": "4",
        "ServerAliveInterval": "15",
        "StrictHostKeyChecking": "accept-new",
        "UpdateHostKeys": "no",
        "UserKnownHostsFile": _quote_ssh_path(known_hosts),
    }
    words = ["ssh", "-F", "none", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    return GitAccess(environment={"GIT_SSH_COMMAND": shlex.join(words)}, protocols=("ssh",))


def _quote_ssh_path(path: Path) -> str:
    return '"' + str(path).replace("%", "%%").replace('"', '\\"') + '"'
