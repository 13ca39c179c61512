"""Adapter of LlamaIndex readers to sources."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from coderag.sources.protocol import SourceKind
from coderag.sources.reader import ReaderSource

if TYPE_CHECKING:
    from llama_index.core.readers.base import BaseReader


def as_source(
    reader: "BaseReader",
    name: str = "reader",
    *,
    kind: SourceKind = "documentation",
    load_arguments: Mapping[str, Any] | None = None,
) -> ReaderSource:
    """Adapt a reader to a source, for `coderag.sources.synchronization.synchronize`.

    `CodeRAG.sources.add_reader` does it for the sources of a repository.

    Args:
        reader: The reader.
        name: Its name in messages.
        kind: Kind of its documents.
        load_arguments: Arguments of ``load_data``, or of ``lazy_load_data`` where the reader has its own.
    """
    return ReaderSource(name, reader, kind, load_arguments)
