"""Chunks as LlamaIndex nodes. Imports LlamaIndex (2 s)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from coderag.stores.arrow import to_metadata

if TYPE_CHECKING:
    import pyarrow as pa


def to_text_nodes(table: "pa.Table", texts: Sequence[str]) -> list[TextNode]:
    """Return each row as a node with its metadata.

    A file is a document whose id is its path: that is the node's ``ref_doc_id``.

    Args:
        table: ``id`` and the metadata columns of the chunk table.
        texts: The text of each row.
    """
    ids = table["id"].to_pylist()
    return [
        TextNode(
            id_=chunk_id,
            text=text,
            metadata=dict(metadata),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=metadata["path"])},
        )
        for chunk_id, text, metadata in zip(ids, texts, to_metadata(table), strict=True)
    ]
