"""The repository under examination, with its settings and index folder."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.config.settings import Settings
from coderag.prompting import Prompts
from coderag.stores.index_locations import find_index_folder, find_prompts_folder

if TYPE_CHECKING:
    from coderag.stores.index_store import IndexStore


class Setup:
    """A repository with lazily loaded settings and stores.

    Args:
        root: Folder of the repository.
        timeout_s: Upper limit in seconds for each request to a server; None keeps the settings' timeout.
        trusted: Apply all settings of the repository.

    Attributes:
        root: As given.
    """

    def __init__(self, root: Path, timeout_s: float | None = None, *, trusted: bool = True) -> None:
        self.root = root.expanduser().absolute()
        self._timeout_s = timeout_s
        self._trusted = trusted

    @cached_property
    def settings(self) -> Settings:
        """The settings. Raises `ConfigurationError` if they cannot be used."""
        return Settings.load(self.root, trusted=self._trusted)

    @property
    def directory(self) -> Path:
        """The index folder, which may not exist yet."""
        return find_index_folder(self.root, self.settings.storage)

    @property
    def prompts(self) -> Prompts:
        """The prompts, with the project's usable custom texts."""
        return Prompts(find_prompts_folder(self.root, self.settings))

    @property
    def store(self) -> "IndexStore":
        """The index."""
        from coderag.stores.index_store import IndexStore  # noqa: PLC0415  # takes a while

        return IndexStore(self.directory)

    def limit_s(self, configured_s: float) -> float:
        """Return the configured timeout, capped by the limit of this examination."""
        return configured_s if self._timeout_s is None else min(configured_s, self._timeout_s)
