"""Table of the connectors: each is imported when its system is first used, since some take a second."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from coderag.config.source_sections import RemoteSourceSection, SourceSection
from coderag.errors import ConfigurationError
from coderag.sources.credentials import read_credential
from coderag.sources.protocol import Source


@dataclass(frozen=True, slots=True)
class ConnectorContext:
    """Surroundings of a connector.

    Attributes:
        name: Name of the source in the settings.
        root: Folder of the repository, to which paths in its settings are relative.
        folder: Folder for files of its own, such as a clone; it may not exist yet.
        credential: Token or key; empty for sources without a server.
    """

    name: str
    root: Path
    folder: Path
    credential: str = ""


OpenConnector = Callable[[Any, ConnectorContext], Source]

CONNECTORS: Final = {
    "confluence": "coderag.sources.confluence.opening:open_confluence",
    "jira": "coderag.sources.jira.opening:open_jira",
    "sharepoint": "coderag.sources.sharepoint.opening:open_sharepoint",
    "azure_devops": "coderag.sources.azure_devops.opening:open_azure_devops",
    "clickup": "coderag.sources.clickup.opening:open_clickup",
    "files": "coderag.sources.files.connector:open_files",
    "reader": "coderag.sources.reader:open_reader",
}
"""Function ``(section, context) -> Source`` of each system."""


def open_source(name: str, section: SourceSection, root: Path, folder: Path) -> Source:
    """Open the connector of a source; no request is sent.

    Args:
        name: Name of the source.
        section: Its settings.
        root: Folder of the repository.
        folder: Folder for files of its own.

    Raises:
        ConfigurationError: A setting cannot be used, or an extra is not installed.
        SourceAuthenticationError: There is no credential.
    """
    credential = ""
    if isinstance(section, RemoteSourceSection) and not section.has_own_credential:
        credential = read_credential(name, section)
    module, _, function = CONNECTORS[section.system].partition(":")
    try:
        opener = cast("OpenConnector", getattr(import_module(module), function))
        return opener(section, ConnectorContext(name, root, folder, credential))
    except ModuleNotFoundError as error:
        message = f"the source {name} needs the package {error.name}, which is not installed"
        raise ConfigurationError(message, hint="Install it with `pip install 'coderag-engine[sources]'`.") from error
