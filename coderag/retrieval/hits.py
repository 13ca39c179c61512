"""Conversion of results to search hits."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from coderag.schema.query import Candidate
from coderag.schema.search import SearchHit
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet, build_result_snippets


def build_hits(corpus: Corpus, results: Sequence[Candidate]) -> list[SearchHit]:
    """Build the hits of results, in their order."""
    return [
        SearchHit(
            chunk_id=snippet.chunk_id,
            path=PurePosixPath(snippet.path),
            start_line=snippet.start_line,
            end_line=snippet.end_line,
            kind=snippet.kind,
            name=snippet.name.rsplit(".", 1)[-1],
            qualified_name=snippet.name,
            signature=snippet.signature,
            summary=_get_summary(corpus, snippet),
            language=snippet.language,
            role=corpus.get_value("role", corpus.rows_by_id[snippet.chunk_id]),
            score=result["score"],
            text=snippet.text,
            signals=result["signals"],
            channels=result["channels"],
            duplicates=result.get("duplicates", ()),
        )
        for snippet, result in zip(build_result_snippets(corpus, results), results, strict=True)
    ]


def _get_summary(corpus: Corpus, snippet: Snippet) -> str:
    """Return the summary by a docstring or a language model; a derived one only repeats names, which the hit has."""
    is_derived = snippet.summary and corpus.summary_sources[corpus.rows_by_id[snippet.chunk_id]] == "derived"
    return "" if is_derived else snippet.summary
