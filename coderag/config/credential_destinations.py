"""Where keys may go: the files of a repository cannot send them to a server of their choice (docs/models.md).

A repository may come from a stranger, with its settings. What it says decides on a server, but a key, or anything else that it
takes from the environment, goes only to the provider's own address, to this machine, or to an address that the user gave.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from coderag.config.file_names import COMMITTED_FILE, LOCAL_FILE
from coderag.config.server_addresses import DEFAULT_ADDRESSES, is_same_server, is_this_machine
from coderag.config.settings_file import SettingsFile
from coderag.errors import ConfigurationError
from coderag.system.git import is_tracked


class _Server(NamedTuple):
    """A section of the settings with a server.

    Attributes:
        choice: The setting that says which.
        address: The setting with its address.
        own: Address by choice where the settings name none; what is not in it speaks to no server.
        always: Whether its client finds passwords by itself.
    """

    section: str
    choice: str
    address: str
    own_addresses: dict[str, str] = DEFAULT_ADDRESSES
    has_implicit_credentials: bool = False


_SERVERS: Final = (
    _Server("embedding", "provider", "base_url"),
    _Server("llm", "provider", "base_url"),
    _Server("reranker", "provider", "base_url"),
    _Server("graph", "store", "url", {"neo4j": "", "memgraph": ""}),
    _Server(
        "chat", "memory", "url", {"postgres": ""}, has_implicit_credentials=True
    ),  # PGPASSWORD; and conversations are the user's
)


def reject_redirected_credentials(
    settings: BaseModel, files: Sequence[SettingsFile], is_given: Callable[[tuple[str, ...]], bool]
) -> None:
    """Make sure that no key goes where only a file of the repository says.

    Args:
        settings: Made of all sources.
        files: Those of the repository, in merging order.
        is_given: Whether a setting stands in the arguments or in the environment.

    Raises:
        ConfigurationError: Naming the file, its line and the setting, and how to agree.
    """
    for server in _SERVERS:
        keys = (server.section, server.address)
        file = next((file for file in reversed(files) if keys in file.lines), None)
        if file is None or is_given(keys) or file.is_from_environment(keys):
            continue
        values: BaseModel = getattr(settings, server.section)
        address, own = getattr(values, server.address), server.own_addresses.get(getattr(values, server.choice))
        if own is None or not address.strip() or address != file.values[server.section][server.address]:
            continue
        if _is_safe_address(address, own) or not (
            server.has_implicit_credentials or _holds_credential(values) or _interpolates_environment(files, server)
        ):
            continue
        if file.path.name == COMMITTED_FILE or is_tracked(file.path.parent, [file.path.name]):
            raise _format_redirect_error(file, server)


def _is_safe_address(address: str, own: str) -> bool:
    """Whether an address is the provider's own or of this machine; a query can name another host to some clients."""
    try:
        return not urlsplit(address).query and (is_same_server(address, own) or is_this_machine(address))
    except ValueError:  # no address at all
        return False


def _holds_credential(values: BaseModel) -> bool:
    return any(
        value.get_secret_value().strip() if isinstance(value, SecretStr) else name == "api_key_file" and value.strip()
        for name, value in values
    )


def _interpolates_environment(files: Sequence[SettingsFile], server: _Server) -> bool:
    """Whether something of the section is from the environment: a model's name is sent, and so is an address."""
    return any(keys[0] == server.section for file in files for keys in file.filled_in)


def _format_redirect_error(file: SettingsFile, server: _Server) -> ConfigurationError:
    keys = (server.section, server.address)
    name, line = ".".join(keys), file.find_line(keys)
    message = f"{file.path.name}, line {line}: {name}: nothing secret is sent to a server that only this file names"
    variable = f"CODERAG_{'__'.join(keys).upper()}"
    if file.path.name == LOCAL_FILE:
        hint = (
            f"git tracks {LOCAL_FILE}. If you trust the server, set {variable}, or run `git rm --cached {LOCAL_FILE}`."
        )
    else:
        hint = f"It came with the repository. If you trust the server, put {name} into {LOCAL_FILE} too, or set {variable}."
    return ConfigurationError(message, hint=hint)
