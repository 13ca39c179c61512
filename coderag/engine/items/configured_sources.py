"""Sources that the settings configure, as far as searches need them."""

from collections.abc import Mapping
from typing import Final

from coderag.config.settings import Settings
from coderag.config.source_sections import ReaderSection, SourceSection
from coderag.sources.protocol import SourceKind

BACKLOG_SYSTEMS: Final = frozenset({"jira", "azure_devops", "clickup"})
"""Systems whose items are tickets; those of a reader are what its settings say, and all others have documentation."""


def read_source_kinds(settings: Settings) -> Mapping[str, SourceKind]:
    """Return the kind of each configured source, by its name."""
    return {name: get_source_kind(section) for name, section in settings.sources.items()}


def get_source_kind(section: SourceSection) -> SourceKind:
    """Return the kind of a source by its settings."""
    if isinstance(section, ReaderSection):
        return section.kind
    return "backlog" if section.system in BACKLOG_SYSTEMS else "documentation"
