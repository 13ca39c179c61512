"""Access of the commands to the sources of a repository, without the engine, whose import takes seconds."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.engine.source_access import RepositorySources


def open_sources(repo: Path | None) -> "tuple[Path, RepositorySources]":
    """Open the sources of the command's repository; return its folder, too.

    Raises:
        ConfigurationError: The settings are invalid.
        IngestionError: The folder cannot be used.
    """
    from coderag.config.repository_root import find_root, resolve_folder
    from coderag.config.settings import Settings
    from coderag.config.trust import is_trusted
    from coderag.engine.source_access import RepositorySources
    from coderag.interfaces.cli.restriction_warning import warn_of_restrictions
    from coderag.stores.index_locations import find_index_folder

    root = resolve_folder(find_root(repo))
    settings = Settings.load(root, trusted=is_trusted(root))
    warn_of_restrictions(root, [(restriction.key, restriction.place) for restriction in settings.restrictions])
    return root, RepositorySources(root, settings, find_index_folder(root, settings.storage))
