"""Text of a chunk as a remote embedding model receives it."""

from typing import Final

from coderag.ingestion.parsing.summaries import summarize
from coderag.schema.chunks import ChunkMetadata, get_module_name
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.text.path_masking import PathMask

EMBEDDED_KEYS: Final = frozenset({"path", "context", "qualified_name", "docstring", "summary"})
"""Keys of the metadata that are embedded with a chunk's code."""

_ANONYMOUS_NAME: Final = "this file"  # summaries split names into words, and a mask token is not a word


def build_embedding_text(metadata: ChunkMetadata, text: str, mask: PathMask | None) -> str:
    """Build the text that represents a chunk: location, metadata and code.

    That is the text of a LlamaIndex node in ``MetadataMode.EMBED``, without LlamaIndex, which takes two seconds to import.

    Args:
        metadata: Of the chunk, with the keys in the order in which they are embedded.
        text: Its code.
        mask: Masks the path and everything derived from it. None keeps them. The code is never masked.
    """
    if mask is not None:
        metadata = _mask_paths(metadata, mask)
    lines = "\n".join(f"{key}: {value}" for key, value in metadata.items() if key in EMBEDDED_KEYS)
    return f"{lines.strip()}\n\n{text}".strip()


def _mask_paths(metadata: ChunkMetadata, mask: PathMask) -> ChunkMetadata:
    path = metadata["path"]
    masked: ChunkMetadata = {**metadata, "path": mask.mask_path(path)}
    if metadata["kind"] in FILE_NAMED_KINDS:
        if metadata["qualified_name"] == get_module_name(path):
            masked["name"], masked["qualified_name"] = _ANONYMOUS_NAME, mask.mask_module(path)
        if metadata["summary_source"] == "derived":
            masked["summary"], _ = summarize(masked)
    return masked
