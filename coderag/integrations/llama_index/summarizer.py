"""`ChunkSummarizer`: the step of the LlamaIndex pipeline that adds summaries."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent

from coderag.ingestion.parsing.summaries import summarize
from coderag.ingestion.summaries.cached_sentences import LLM_SOURCE
from coderag.ingestion.summaries.overviews import SentenceLookup
from coderag.ingestion.summaries.sentence_writer import SentenceWriter
from coderag.ingestion.summaries.targets import SummaryTarget, compute_node_subjects


class ChunkSummarizer(TransformComponent):
    """Fills ``summary`` and ``summary_source`` of chunks without a summary.

    A language model's sentence has precedence (``llm``): a cached one, or one that `writer` writes now. Otherwise the
    summary is the docstring's first sentence (``docstring``), or it is derived from the kind, the words of the name, the
    signature, the parent and the calls (``derived``). Chunks on which the model failed get a derived summary, too.

    Args:
        sentences: Returns the cached sentences of those subjects that have one; None disables the cache.
        writer: Requests missing sentences from a language model; None sends no requests.
    """

    # Declared as fields, so that the key of a LlamaIndex cache depends on prompt and model.
    prompt: str = Field(default="", description="Key of the prompt that missing sentences are asked for with.")
    model: str = Field(default="", description="Name of the model that is asked.")

    _sentences: SentenceLookup | None = PrivateAttr()
    _writer: SentenceWriter | None = PrivateAttr()

    def __init__(self, *, sentences: SentenceLookup | None = None, writer: SentenceWriter | None = None) -> None:
        if writer is None:
            super().__init__()
        else:
            super().__init__(prompt=writer.get_prompt_key("chunk"), model=writer.model_name)
        self._sentences = sentences
        self._writer = writer

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:  # noqa: ANN401  # LlamaIndex's
        """Return the same nodes with their summaries."""
        if self._writer is None:
            return self._fill_summaries(nodes, self._find_sentences(nodes))
        with ThreadPoolExecutor(1) as thread:  # this thread may run an event loop, as in a notebook
            return thread.submit(asyncio.run, self.acall(nodes, **kwargs)).result()

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:  # noqa: ANN401  # as above
        """Return the same nodes with their summaries."""
        del kwargs
        written = dict(self._find_sentences(nodes))
        if self._writer is not None:
            for batch in self._writer.build_batches(self._list_missing(nodes, written)):
                outcome = await self._writer.write(batch)
                written |= {sentence.subject: sentence.sentence for sentence in outcome.sentences}
        return self._fill_summaries(nodes, written)

    def _find_sentences(self, nodes: Sequence[BaseNode]) -> Mapping[str, str]:
        return self._sentences(compute_node_subjects(node.metadata for node in nodes)) if self._sentences else {}

    @staticmethod
    def _list_missing(nodes: Sequence[BaseNode], written: Mapping[str, str]) -> list[SummaryTarget]:
        targets = {}
        for node, subject in zip(nodes, compute_node_subjects(node.metadata for node in nodes), strict=True):
            if subject not in written and not node.metadata.get("summary"):
                place = f"{node.metadata['path']}:{node.metadata['start_line']}-{node.metadata['end_line']}"
                title = f"{node.metadata['kind']} {node.metadata['qualified_name']}"
                text = node.get_content(MetadataMode.NONE)
                targets[subject] = SummaryTarget(
                    "chunk", subject, place, title, text, node.metadata["language"], node.node_id
                )
        return list(targets.values())

    @staticmethod
    def _fill_summaries(nodes: Sequence[BaseNode], written: Mapping[str, str]) -> Sequence[BaseNode]:
        subjects = compute_node_subjects(node.metadata for node in nodes) if written else [""] * len(nodes)
        for node, subject in zip(nodes, subjects, strict=True):
            metadata = node.metadata
            if metadata.get("summary"):
                continue
            if subject in written:
                metadata["summary"], metadata["summary_source"] = written[subject], LLM_SOURCE
            else:
                metadata["summary"], metadata["summary_source"] = summarize(metadata)  # type: ignore[arg-type]
        return nodes
