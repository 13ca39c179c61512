"""`CodeNodeParser`: files in, one LlamaIndex ``TextNode`` a chunk out.

The only module of parsing that imports LlamaIndex.
"""

from collections.abc import Sequence
from typing import Any, Final

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, NodeRelationship, ObjectType, RelatedNodeInfo, TextNode

from coderag.ingestion.chunking import (
    MAX_TOKENS,
    MIN_TOKENS,
    PARSE_TIMEOUT_S,
    ParsedChunk,
    ParsedFile,
    chunk_id,
    parse_file,
)
from coderag.ingestion.languages import detect_language
from coderag.schema import ChunkMetadata

_EMBEDDED: Final = frozenset({"path", "context", "qualified_name", "docstring", "summary"})
_SHOWN: Final = frozenset({"path", "kind", "qualified_name", "context", "start_line", "end_line", "summary"})
EXCLUDED_FROM_EMBEDDING: Final = [key for key in ChunkMetadata.__annotations__ if key not in _EMBEDDED]
"""What the text for an embedding model leaves out."""
EXCLUDED_FROM_LLM: Final = [key for key in ChunkMetadata.__annotations__ if key not in _SHOWN]
"""What the text for an LLM leaves out."""


class CodeNodeParser(NodeParser):
    """Cuts source files at their declarations, documents at their headings and other text by lines.

    A ``Document`` is a file: its text, and in its metadata ``path`` and, where known, ``language`` and ``role``. The
    nodes of a file cover it in order without overlap and without gap. Their metadata is a `ChunkMetadata`; of
    relationships they have only ``SOURCE``. A node's id depends on ``repository``, path, qualified name, start line and
    content alone.
    """

    max_tokens: int = Field(default=MAX_TOKENS, ge=16, description="Most tokens of a chunk.")
    min_tokens: int = Field(default=MIN_TOKENS, ge=0, description="Neighbours with fewer tokens than this are merged.")
    repository: str = Field(default="", description="Part of every node's id.")
    timeout_s: float = Field(default=PARSE_TIMEOUT_S, gt=0, description="CPU seconds for parsing a million bytes.")
    include_metadata: bool = Field(default=False, description="Nodes carry their own metadata, never the document's.")
    include_prev_next_rel: bool = Field(default=False, description="Order is in the metadata.")

    _notes: dict[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def class_name(cls) -> str:
        """Return the name LlamaIndex stores."""
        return "CodeNodeParser"

    @property
    def notes(self) -> dict[str, str]:
        """What was wrong with files of the last call, such as a syntax error, by path."""
        return self._notes

    def parse_file(self, path: str, text: str, language: str, role: str) -> ParsedFile:  # type: ignore[override]
        """Cut one file into chunks, without LlamaIndex. Not the deprecated method of pydantic with this name."""
        return parse_file(
            path, text, language, role, max_tokens=self.max_tokens, min_tokens=self.min_tokens, timeout_s=self.timeout_s
        )

    def make_node(
        self, chunk: ParsedChunk, source: RelatedNodeInfo, *, first_byte_of_line: int | None = None
    ) -> TextNode:
        """Return the node of a chunk.

        Args:
            source: The document it is of.
            first_byte_of_line: Where its first line begins, if it begins inside that line.
        """
        return TextNode(
            id_=chunk_id(self.repository, chunk.metadata, first_byte_of_line=first_byte_of_line),
            text=chunk.text,
            metadata=chunk.metadata,
            excluded_embed_metadata_keys=EXCLUDED_FROM_EMBEDDING,
            excluded_llm_metadata_keys=EXCLUDED_FROM_LLM,
            relationships={NodeRelationship.SOURCE: source},
        )

    def make_nodes(self, parsed: ParsedFile, document_id: str) -> list[TextNode]:
        """Return the nodes of a file's chunks."""
        source = RelatedNodeInfo(node_id=document_id, node_type=ObjectType.DOCUMENT)
        nodes = []
        line_start, ends_line = 0, True
        for chunk in parsed.chunks:
            start = chunk.metadata["start_byte"]
            if ends_line:
                line_start = start
            nodes.append(self.make_node(chunk, source, first_byte_of_line=None if ends_line else line_start))
            ends_line = chunk.text.endswith("\n")
        return nodes

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:  # noqa: ARG002, ANN401
        self._notes.clear()
        found: list[BaseNode] = []
        for document in nodes:
            text = document.get_content()
            path = str(document.metadata.get("path", ""))
            language = document.metadata.get("language") or detect_language(path, text[:200].partition("\n")[0])
            parsed = self.parse_file(path, text, language, document.metadata.get("role") or "source")
            if parsed.note:
                self._notes[path] = parsed.note
            found += self.make_nodes(parsed, document.node_id)
        return found

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:  # noqa: ARG002
        """Return the nodes as they are: the base class would search the text and overwrite what is known exactly."""
        return nodes
