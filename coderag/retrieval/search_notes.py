"""Notes on results: how the question was read, which files the filters match, and which files have more results."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from coderag.retrieval.filters import NO_FILTERS, build_chunk_mask
from coderag.schema.query import Analysis, FilterValues, QueryOutput
from coderag.stores.corpus import Corpus

_MAX_FILES: Final = 3
_MAX_LANGUAGES: Final = 6
_MAX_READING_CHARS: Final = 300
_MAX_UNKNOWN_WORDS: Final = 8
_NOT_LINKED: Final = "the code graph is not linked yet, so callers, callees and other relations are missing"
_LANGUAGE_NAMES: Final[Mapping[str, str]] = {
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Chinese",
    "ja": "Japanese",
}


def describe_notes(output: QueryOutput) -> list[str]:
    """Describe how a question was read, and what of the index or of the sources that it asks for was missing."""
    items = output.get("items")
    missing = [note for note in output.get("notes", ()) if note == _NOT_LINKED]
    return [*describe_reading(output["analysis"]), *missing, *(items["notes"] if items else ())]


def describe_index(corpus: Corpus) -> list[str]:
    """Describe what the index does not have yet; empty for a complete one."""
    return [] if corpus.snapshot.pointer.is_linked else [_NOT_LINKED]


def describe_reading(analysis: Analysis) -> list[str]:
    """Describe what a question in another language than English was read as; empty for English."""
    if analysis["human_language"] == "en":
        return []
    reading = " ".join(analysis["question"].split())
    if len(reading) > _MAX_READING_CHARS:
        reading = reading[:_MAX_READING_CHARS] + " …"
    note = f"the question is in {_LANGUAGE_NAMES[analysis['human_language']]}, searched for: {reading}"
    unknown = analysis["unknown_words"][:_MAX_UNKNOWN_WORDS]
    return [f"{note}; not understood: {', '.join(unknown)}" if unknown else note]


def describe_scope(corpus: Corpus, filters: FilterValues) -> list[str]:
    """Describe how many files the filters match, with their languages if a language is filtered; empty without filters."""
    allowed = build_chunk_mask(corpus, filters) if filters != NO_FILTERS and corpus.n_chunks else None
    if allowed is None:
        return []
    files = np.unique(corpus.chunk_files[allowed])
    note = f"the filters match {len(files):,} of {corpus.n_files:,} files"
    if filters["languages"]:
        column = corpus.get_column("language")
        languages = sorted({column[start] for start in corpus.file_starts[files].tolist()})
        note += f", in {', '.join(languages[:_MAX_LANGUAGES])}" if languages else ""
    return [note]


def describe_withheld(counts: Mapping[str, int]) -> list[str]:
    """Describe which files have more results than a page shows of one file."""
    return [f"{count:,} more in {path}" for path, count in list(counts.items())[:_MAX_FILES]]
