"""Files that a question may be about and that are not in the index: without them nobody knows whether it has an answer."""

from collections.abc import Sequence
from functools import lru_cache

from coderag.schema.chunks import FileRecord
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.text.tokenizer import text_terms

MOST_NAMED = 5

_NAMED_SHARE = 0.2
"""Share of the question's words, by rarity, that the path must have; and all words of the file's own name."""

_NO_TEXT = frozenset({"binary file", "lock file", "minified file"})
"""Reasons for which a file is left out that no question is about, unless it names the file."""

_PLACES = frozenset({"path", "location", "quoted", "qualified_name"})  # the last may be the name of a file


def unindexed_about(corpus: Corpus, analysis: Analysis) -> list[str]:
    """Return the files that a question names, or whose path has its words, and that are not indexed, as ``path: reason``."""
    records = [record for record in corpus.snapshot.files() if record.outcome != "indexed"]
    if not records:
        return []
    named = _named_paths(analysis)
    rarities = {term: corpus.rarity(term) for term in analysis["terms"]}
    total = sum(rarities.values())
    found = [
        record
        for record in records
        if _is_named(record, named) or (record.reason not in _NO_TEXT and _has_words(record, rarities, total))
    ]
    return [f"{record.path}: {record.reason}" for record in found[:MOST_NAMED]]


def _named_paths(analysis: Analysis) -> list[str]:
    """Return what may be paths, or ends of paths, in the question."""
    texts = [entity["text"] for entity in analysis["entities"] if entity["kind"] in _PLACES]
    reported = analysis["report"]["paths"] if analysis["report"] else []
    return [text.rpartition(":")[0] if text.rpartition(":")[2].isdigit() else text for text in [*texts, *reported]]


def _is_named(record: FileRecord, named: Sequence[str]) -> bool:
    return any(f"/{record.path}".endswith("/" + path.lstrip("./")) for path in named if path)


def _has_words(record: FileRecord, rarities: dict[str, float], total: float) -> bool:
    own, around = _path_words(record.path)
    shared = sum(rarities[word] for word in {*own, *around} if word in rarities)
    return bool(own) and all(word in rarities for word in own) and shared >= _NAMED_SHARE * total


@lru_cache(10_000)
def _path_words(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a file's own name without its extension, and those of its folders."""
    *folders, name = path.split("/")
    stem = name.lstrip(".").partition(".")[0]
    return _words(stem), _words(" ".join(folders))


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in text_terms(text) if not term.startswith("="))  # whole identifiers begin so
