"""Prefixes of queries and texts with which embedding models were trained."""

import re
from dataclasses import dataclass

from coderag.config.sections import EmbeddingSettings


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Prefixes of a query and of a text."""

    query: str = ""
    text: str = ""


_PASSAGES = Prefixes("Represent this sentence for searching relevant passages: ")
_NOMIC = Prefixes("search_query: ", "search_document: ")
_NOMIC_CODE = Prefixes("Represent this query for searching relevant code: ")
_E5 = Prefixes("query: ", "passage: ")
_GEMMA = Prefixes("task: code retrieval | query: ", "title: none | text: ")
_QWEN = Prefixes("Instruct: Given a question about a code base, retrieve the code that answers it\nQuery:")

KNOWN_PREFIXES: dict[str, Prefixes] = {
    "nomic-embed-text": _NOMIC,  # Source: huggingface.co/nomic-ai/nomic-embed-text-v1.5
    "nomic-embed-code": _NOMIC_CODE,  # Source: huggingface.co/nomic-ai/nomic-embed-code
    "coderankembed": _NOMIC_CODE,  # Source: huggingface.co/nomic-ai/CodeRankEmbed
    "mxbai-embed-large": _PASSAGES,  # Source: mixedbread.ai/docs/embeddings/mxbai-embed-large-v1
    "snowflake-arctic-embed": _PASSAGES,  # Source: huggingface.co/Snowflake/snowflake-arctic-embed-l
    "snowflake-arctic-embed-l": _PASSAGES,
    "snowflake-arctic-embed-m": _PASSAGES,
    "snowflake-arctic-embed2": Prefixes("query: "),  # Source: huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0
    "snowflake-arctic-embed-l-v2.0": Prefixes("query: "),
    "snowflake-arctic-embed-m-v2.0": Prefixes("query: "),
    "bge-large": _PASSAGES,  # Ollama's name of bge-large-en-v1.5. Source: huggingface.co/BAAI/bge-large-en-v1.5
    "bge-large-en": _PASSAGES,
    "bge-base-en": _PASSAGES,
    "bge-small-en": _PASSAGES,
    "embeddinggemma": _GEMMA,  # Source: ai.google.dev/gemma/docs/embeddinggemma/model_card
    "embeddinggemma-300m": _GEMMA,
    "qwen3-embedding": _QWEN,  # Own wording of the task. Source: huggingface.co/Qwen/Qwen3-Embedding-0.6B
    "qwen3-embedding-0.6b": _QWEN,
    "qwen3-embedding-4b": _QWEN,
    "qwen3-embedding-8b": _QWEN,
    "multilingual-e5-large": _E5,  # Source: huggingface.co/intfloat/multilingual-e5-large
    "multilingual-e5-base": _E5,
    "multilingual-e5-small": _E5,
    "e5-large": _E5,  # Source: huggingface.co/intfloat/e5-large-v2
    "e5-base": _E5,
    "e5-small": _E5,
}
"""Prefixes by model name without owner, tag, version and file format. Other models get no prefix."""


def find_prefixes(model: str) -> Prefixes:
    """Find the prefixes of a model name such as ``nomic-ai/nomic-embed-text-v1.5-GGUF`` or ``bge-large:335m``."""
    name = re.split(r"[/\\]", model.rstrip("/\\"))[-1].partition(":")[0].lower().removesuffix("-gguf")
    return KNOWN_PREFIXES.get(name) or KNOWN_PREFIXES.get(name.rpartition("-v")[0]) or Prefixes()


def resolve_prefixes(settings: EmbeddingSettings, defaults: Prefixes) -> Prefixes:
    """Return the prefixes of the settings, or the defaults where they have none."""
    query = defaults.query if settings.query_prefix is None else settings.query_prefix
    text = defaults.text if settings.text_prefix is None else settings.text_prefix
    return Prefixes(query, text)
