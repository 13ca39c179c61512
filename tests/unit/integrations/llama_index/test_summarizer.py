"""`ChunkSummarizer` in a LlamaIndex pipeline: what is kept, then what the model writes, then what can be derived."""

import asyncio

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import Document

from coderag.config.sections import LLMSettings
from coderag.ingestion.summaries.sentence_writer import PromptGuard, SentenceWriter
from coderag.ingestion.summaries.targets import compute_node_subjects
from coderag.integrations.llama_index.node_parser import CodeNodeParser
from coderag.integrations.llama_index.summarizer import ChunkSummarizer
from coderag.models.llms.scripted import ScriptedModel
from coderag.prompting import PACKAGED
from tests.support.summaries import sentence_on, write_sentences

CODE = "def total(cart):\n    return sum(cart)\n\n\ndef login(user):\n    return check(user)\n"


def nodes():
    document = Document(text=CODE, metadata={"path": "shop.py"})
    return CodeNodeParser(min_tokens=0)([document])


def writer(model):
    guard = PromptGuard(fence=lambda text, language: text, find_injections=lambda text: [])
    return SentenceWriter(model, PACKAGED, guard, LLMSettings(), 8)


def summaries(done):
    return {node.metadata["name"]: (node.metadata["summary"], node.metadata["summary_source"]) for node in done}


def test_without_a_model_summaries_are_derived():
    assert {source for _, source in summaries(ChunkSummarizer()(nodes())).values()} == {"derived"}


def test_cached_sentences_have_precedence():
    (subject, _) = compute_node_subjects(node.metadata for node in nodes())
    done = ChunkSummarizer(sentences=lambda subjects: {subject: "Adds up."})(nodes())
    assert summaries(done)["total"] == ("Adds up.", "llm")
    assert summaries(done)["login"][1] == "derived"


def test_model_writes_missing_sentences_and_failures_are_derived():
    (subject, _) = compute_node_subjects(node.metadata for node in nodes())
    model = ScriptedModel(write_sentences)
    done = ChunkSummarizer(sentences=lambda subjects: {subject: "Adds up."}, writer=writer(model))(nodes())
    assert summaries(done)["login"] == (sentence_on("function login"), "llm")
    assert "total" not in model.prompts[0].user
    failed = ChunkSummarizer(writer=writer(ScriptedModel(lambda prompt: "")))(nodes())
    assert {source for _, source in summaries(failed).values()} == {"derived"}


def test_summarizer_runs_within_an_event_loop_and_awaited():
    async def both():
        step = ChunkSummarizer(writer=writer(ScriptedModel(write_sentences)))
        return step(nodes()), await step.acall(nodes())

    first, second = asyncio.run(both())
    assert summaries(first) == summaries(second)
    assert summaries(first)["total"] == (sentence_on("function total"), "llm")


def test_existing_summary_is_kept():
    summarized = nodes()
    summarized[0].metadata["summary"], summarized[0].metadata["summary_source"] = "Mine.", "docstring"
    model = ScriptedModel(write_sentences)
    assert summaries(ChunkSummarizer(writer=writer(model))(summarized))["total"] == ("Mine.", "docstring")


def test_llama_index_cache_key_depends_on_model_and_prompt():
    first, second = (
        ChunkSummarizer(writer=writer(ScriptedModel(write_sentences, name=name))).to_dict() for name in ("a/1", "b/1")
    )
    assert first != second
    assert first["prompt"].startswith("summarize-1-")
    pipeline = IngestionPipeline(transformations=[ChunkSummarizer(writer=writer(ScriptedModel(write_sentences)))])
    assert summaries(pipeline.run(nodes=nodes()))["total"][1] == "llm"
