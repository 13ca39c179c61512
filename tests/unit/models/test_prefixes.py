import re

import pytest

from coderag.config.sections import EmbeddingSettings
from coderag.models.prefixes import KNOWN_PREFIXES, Prefixes, find_prefixes, resolve_prefixes


@pytest.mark.parametrize(
    ("model", "query", "text"),
    [
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("nomic-ai/nomic-embed-code", "Represent this query for searching relevant code: ", ""),
        ("mxbai-embed-large:335m", "Represent this sentence for searching relevant passages: ", ""),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0", "search_query: ", "search_document: "),
        ("nomic-ai/CodeRankEmbed", "Represent this query for searching relevant code: ", ""),
        (r"C:\models\multilingual-e5-small", "query: ", "passage: "),
        ("/models/bge-base-en-v1.5/", "Represent this sentence for searching relevant passages: ", ""),
        ("embeddinggemma", "task: code retrieval | query: ", "title: none | text: "),
        ("text-embedding-3-small", "", ""),
        ("bge-m3", "", ""),
        ("-v1", "", ""),
    ],
)
def test_known_models_get_the_prefixes_they_were_trained_with(model, query, text):
    prefixes = find_prefixes(model)
    assert (prefixes.query, prefixes.text) == (query, text)


def test_configured_prefixes_override_defaults():
    defaults = Prefixes("q: ", "t: ")
    assert resolve_prefixes(EmbeddingSettings(), defaults) == defaults
    assert resolve_prefixes(EmbeddingSettings(query_prefix="ask: "), defaults) == Prefixes("ask: ", "t: ")
    assert resolve_prefixes(EmbeddingSettings(query_prefix="", text_prefix=""), defaults) == Prefixes()


def test_prefix_table_has_normalized_names():
    assert all(re.fullmatch(r"[a-z0-9.-]+", name) for name in KNOWN_PREFIXES)
