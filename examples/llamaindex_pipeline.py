"""CodeRAG's parts in LlamaIndex: chunks in its pipeline and vector store, retrievers in its fusion.

Run it with ``python examples/llamaindex_pipeline.py [repository] [question] [--model provider:name]``.
"""

from collections.abc import Iterable
from pathlib import Path

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms.mock import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, Document
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery
from models import arguments, real_llm

from coderag import CodeRAG, as_retriever
from coderag.integrations.llama_index.bm25_retriever import LexicalRetriever
from coderag.integrations.llama_index.embedding import EmbeddedModel
from coderag.integrations.llama_index.node_parser import CodeNodeParser
from coderag.integrations.llama_index.summarizer import ChunkSummarizer
from coderag.stores.index_locations import find_index_folder
from coderag.stores.index_store import IndexStore

TOP_K = 3
_MAX_FILES = 200


def load_documents(folder: Path) -> list[Document]:
    """Load the Python files of a folder: their text, and their path in the metadata."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*.py"))]
    visible = [path for path in paths if not any(part.startswith(".") for part in path.parts)]
    return [
        Document(text=(folder / path).read_text(encoding="utf-8"), metadata={"path": path.as_posix()})
        for path in visible[:_MAX_FILES]
    ]


def query_pipeline(folder: Path, question: str) -> list[tuple[float, BaseNode]]:
    """Put the chunks of a folder into LlamaIndex's own vector store, and return those nearest to a question."""
    embedding, store = EmbeddedModel(), SimpleVectorStore()
    pipeline = IngestionPipeline(
        transformations=[CodeNodeParser(), ChunkSummarizer(), embedding], vector_store=store, disable_cache=True
    )
    nodes = {node.node_id: node for node in pipeline.run(documents=load_documents(folder))}
    vector = embedding.get_query_embedding(question)
    result = store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=TOP_K))
    return [(score, nodes[node_id]) for score, node_id in zip(result.similarities or (), result.ids or (), strict=True)]


def fuse_retrievers(rag: CodeRAG, question: str, model: str) -> list[tuple[float, BaseNode]]:
    """Fuse CodeRAG's search with its BM25 alone; a model adds three wordings of the question."""
    index = IndexStore(find_index_folder(rag.root, rag.settings.storage))
    fusion = QueryFusionRetriever(
        [as_retriever(rag, top_k=TOP_K), LexicalRetriever(index.open(), similarity_top_k=TOP_K)],
        llm=real_llm(model) if model else MockLLM(),
        mode=FUSION_MODES.RECIPROCAL_RANK,
        num_queries=4 if model else 1,
        similarity_top_k=2 * TOP_K,
        use_async=False,
    )
    places: dict[tuple[str, int], tuple[float, BaseNode]] = {}
    for result in fusion.retrieve(question):  # LlamaIndex merges equal nodes only; these differ in their metadata
        place = result.node.metadata["path"], result.node.metadata["start_line"]
        places.setdefault(place, (result.score or 0.0, result.node))
    return list(places.values())


def show(title: str, results: Iterable[tuple[float, BaseNode]]) -> None:
    """Print the places of results."""
    print(title)
    for score, node in results:
        place = node.metadata
        print(f"  {score:.3f}  {place['path']}:{place['start_line']}-{place['end_line']}  {place['summary']}")


def main() -> None:
    """Ask both one question."""
    given = arguments("CodeRAG's parts in LlamaIndex.", "how are vectors stored")
    rag = CodeRAG(given.repository)
    rag.index()
    show("nearest chunks in SimpleVectorStore:", query_pipeline(rag.root, given.question))
    show("fused retrievers:", fuse_retrievers(rag, given.question, given.model))


if __name__ == "__main__":
    main()
