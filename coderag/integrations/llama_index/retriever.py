"""LlamaIndex retriever."""

import asyncio
from collections.abc import Sequence
from typing import Final

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from coderag.integrations.agent_tools import to_hit_record
from coderag.integrations.repository import AgentRepository, RepositoryLike, append_hints
from coderag.schema.search import Filters, SearchHit

_MODEL_KEYS: Final = frozenset({"path", "start_line", "end_line", "name"})


class CodeRetriever(BaseRetriever):
    """Retriever of the declarations for a question, best first.

    A node's text are the lines as indexed, without secrets. Its metadata are ``path, start_line, end_line, name, kind,
    language, role, signature, summary, score, evidence``, of which a model sees the first four.
    """

    def __init__(self, repository: AgentRepository, top_k: int | None = None, filters: Filters | None = None) -> None:
        super().__init__()
        self._repository = repository
        self._top_k = top_k
        self._filters = filters

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with append_hints():
            hits = self._repository.prepare().search(query_bundle.query_str, top_k=self._top_k, filters=self._filters)
        return [_to_node(hit, self._repository.redact(hit.text), hits.evidence) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def as_retriever(
    repository: RepositoryLike, *, top_k: int | None = None, filters: Filters | None = None, index: bool = False
) -> CodeRetriever:
    """Make a retriever for LlamaIndex's query engines, chat engines and fusion retrievers.

    Args:
        repository: The repository, or the path of its folder.
        top_k: Maximum number of results; by default ``search.top_k``.
        filters: Filters of the search.
        index: Whether the first call updates the index; otherwise a missing index is an error.

    Raises:
        IngestionError: The folder cannot be indexed.
        ConfigurationError: Its settings cannot be used.

    Example:
        >>> RetrieverQueryEngine.from_args(coderag.as_retriever("path/to/repo"), llm=llm).query("how does login work")
    """
    return CodeRetriever(AgentRepository(repository, index=index), top_k, filters)


def _to_node(hit: SearchHit, text: str, evidence: str) -> NodeWithScore:
    metadata = {**to_hit_record(hit), "evidence": evidence}
    excluded_keys: Sequence[str] = [key for key in metadata if key not in _MODEL_KEYS]
    node = TextNode(
        id_=f"{hit.chunk_id}:{hit.start_line}-{hit.end_line}",
        text=text,
        metadata=metadata,
        excluded_llm_metadata_keys=list(excluded_keys),
        excluded_embed_metadata_keys=list(excluded_keys),
    )
    return NodeWithScore(node=node, score=float(hit.score))
