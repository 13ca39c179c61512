"""Sources that the settings configure, as far as searches need them."""

from collections.abc import Mapping

from coderag.config.settings import Settings
from coderag.sources.protocol import SourceKind


def read_source_kinds(settings: Settings) -> Mapping[str, SourceKind]:
    """Return the kind of each configured source, by its name."""
    del settings
    return {}
