"""`CodeNodeParser`: one LlamaIndex ``TextNode`` per chunk of a file.

The only module of parsing that imports LlamaIndex.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, NodeRelationship, ObjectType, RelatedNodeInfo, TextNode

from coderag.ingestion.embedding_text import EMBEDDED_KEYS
from coderag.ingestion.parsing.chunking import MAX_TOKENS, MIN_TOKENS, PARSE_TIMEOUT_S, parse_file
from coderag.ingestion.parsing.languages import detect_language
from coderag.ingestion.parsing.parsed_file import ParsedFile, compute_chunk_ids
from coderag.ingestion.parsing.strategies import WINDOW_OVERLAP_TOKENS, WINDOW_TOKENS
from coderag.schema.chunks import ChunkMetadata
from coderag.schema.vocabulary import ChunkStrategy

_LLM_KEYS: Final = frozenset({"path", "kind", "qualified_name", "context", "start_line", "end_line", "summary"})
EXCLUDED_FROM_EMBEDDING: Final = [key for key in ChunkMetadata.__annotations__ if key not in EMBEDDED_KEYS]
"""Metadata that the text for an embedding model omits."""
EXCLUDED_FROM_LLM: Final = [key for key in ChunkMetadata.__annotations__ if key not in _LLM_KEYS]
"""Metadata that the text for an LLM omits."""


class CodeNodeParser(NodeParser):
    """Splits source files at declarations, documents at headings and other text by lines.

    A ``Document`` is a file: its text, and in its metadata ``path`` and, where known, ``language`` and ``role``. The
    nodes of a file cover it in order without gap; only windows overlap. Their metadata is a `ChunkMetadata`; of
    relationships they have only ``SOURCE``. A node's id depends on ``repository``, path, qualified name, start line and
    content alone.
    """

    max_tokens: int = Field(default=MAX_TOKENS, ge=16, description="Most tokens of a chunk.")
    min_tokens: int = Field(default=MIN_TOKENS, ge=0, description="Neighbours with fewer tokens than this are merged.")
    strategy: ChunkStrategy = Field(default="declaration", description="Where files are cut.")
    window_tokens: int = Field(default=WINDOW_TOKENS, ge=16, description="Most tokens of a window.")
    window_overlap_tokens: int = Field(
        default=WINDOW_OVERLAP_TOKENS, ge=0, description="Most tokens that a window shares with the next."
    )
    repository: str = Field(default="", description="Part of every node's id.")
    timeout_s: float = Field(default=PARSE_TIMEOUT_S, gt=0, description="CPU seconds for parsing a million bytes.")
    include_metadata: bool = Field(default=False, description="Nodes carry their own metadata, never the document's.")
    include_prev_next_rel: bool = Field(default=False, description="Order is in the metadata.")

    _notes: dict[str, str] = PrivateAttr(default_factory=dict)
    _preloaded: Mapping[str, ParsedFile] = PrivateAttr(default_factory=dict)

    @classmethod
    def class_name(cls) -> str:
        """Return the name LlamaIndex stores."""
        return "CodeNodeParser"

    @property
    def notes(self) -> dict[str, str]:
        """Problems of files in the last call, such as a syntax error, by path."""
        return self._notes

    @contextmanager
    def preload(self, parsed: Mapping[str, ParsedFile]) -> Iterator[None]:
        """Within the block, use these parsed files, by path, in place of parsing."""
        self._preloaded = parsed
        try:
            yield
        finally:
            self._preloaded = {}

    def parse_file(self, path: str, text: str, language: str, role: str) -> ParsedFile:  # type: ignore[override]
        """Split a file into chunks, without LlamaIndex. Shadows pydantic's deprecated method of this name."""
        return parse_file(
            path,
            text,
            language,
            role,
            max_tokens=self.max_tokens,
            min_tokens=self.min_tokens,
            timeout_s=self.timeout_s,
            strategy=self.strategy,
            window_tokens=self.window_tokens,
            window_overlap_tokens=self.window_overlap_tokens,
        )

    def make_nodes(self, parsed: ParsedFile, document_id: str) -> list[TextNode]:
        """Build the nodes of a file's chunks."""
        source = RelatedNodeInfo(node_id=document_id, node_type=ObjectType.DOCUMENT)
        return [
            TextNode(
                id_=chunk_id,
                text=chunk.text,
                metadata=chunk.metadata,
                excluded_embed_metadata_keys=EXCLUDED_FROM_EMBEDDING,
                excluded_llm_metadata_keys=EXCLUDED_FROM_LLM,
                relationships={NodeRelationship.SOURCE: source},
            )
            for chunk_id, chunk in zip(compute_chunk_ids(self.repository, parsed), parsed.chunks, strict=True)
        ]

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:  # noqa: ARG002, ANN401
        self._notes.clear()
        parsed_nodes: list[BaseNode] = []
        for document in nodes:
            text = document.get_content()
            path = str(document.metadata.get("path", ""))
            language = document.metadata.get("language") or detect_language(path, text)
            role = document.metadata.get("role") or "source"
            parsed = self._preloaded.get(path) or self.parse_file(path, text, language, role)
            if parsed.note:
                self._notes[path] = parsed.note
            parsed_nodes += self.make_nodes(parsed, document.node_id)
        return parsed_nodes

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:  # noqa: ARG002
        """Return the nodes unchanged: the base class would overwrite exact positions with a text search."""
        return nodes
