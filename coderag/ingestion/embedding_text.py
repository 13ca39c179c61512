"""The text of a chunk that a model on a server embeds."""

from typing import cast

from llama_index.core.schema import BaseNode, MetadataMode

from coderag.ingestion.parsing.summaries import summarize
from coderag.schema.chunks import ChunkMetadata, module_of
from coderag.schema.vocabulary import NAMED_BY_FILE
from coderag.text.path_masking import PathMask

_NO_NAME = "this file"  # a token is no word, and a summary takes names apart into words


def embedding_text(node: BaseNode, mask: PathMask | None) -> str:
    """Return what is sent of a chunk: where it is, what is known of it, and its code.

    Args:
        node: The chunk, with a `ChunkMetadata`.
        mask: What its path, and what is made of the path, is masked with; None leaves it. The code stays as it is.
    """
    if mask is not None:
        node = node.model_copy(update={"metadata": _masked(cast("ChunkMetadata", node.metadata), mask)})
    return node.get_content(MetadataMode.EMBED)


def _masked(metadata: ChunkMetadata, mask: PathMask) -> ChunkMetadata:
    path = metadata["path"]
    masked: ChunkMetadata = {**metadata, "path": mask.mask(path)}
    if metadata["kind"] in NAMED_BY_FILE:
        if metadata["qualified_name"] == module_of(path):
            masked["name"], masked["qualified_name"] = _NO_NAME, mask.mask_module(path)
        if metadata["summary_source"] == "derived":
            masked["summary"], _ = summarize(masked)
    return masked
