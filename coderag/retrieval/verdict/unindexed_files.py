"""Unindexed files that a question may be about, by their paths or their text; they make the verdict unknown."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from coderag.retrieval.verdict.unread_text import find_files_with_names
from coderag.schema.chunks import FileRecord
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.text.tokenizer import tokenize_text

MAX_LISTED_FILES = 5

_MIN_PATH_IDF_SHARE = 0.2
"""Minimum IDF share of question terms in the path, besides all words of the file's own name."""

_IRRELEVANT_REASONS = frozenset({"binary file", "lock file", "minified file"})
"""Skip reasons of files that no question is about unless it names them."""

_PATH_ENTITY_KINDS = frozenset({"path", "location", "quoted", "qualified_name"})  # a qualified name may be a file name


def find_unindexed_files(
    root: Path, corpus: Corpus, analysis: Analysis, missing_names: Sequence[str] = ()
) -> list[str]:
    """Find files, or parts of them, that the index lacks and a question may be about, as ``path: reason``.

    Args:
        root: Folder of the repository.
        corpus: The open index.
        analysis: Analysis of the question, which names files or has the words of their paths.
        missing_names: Names of the question that no result has; the text of unindexed files may have them.
    """
    records = corpus.snapshot.read_files()
    unindexed = [record for record in records if record.outcome != "indexed"]
    matching: list[FileRecord] = []
    if unindexed:
        named_paths = _find_named_paths(analysis)
        term_idf = {term: corpus.idf(term) for term in analysis["terms"]}
        total_idf = sum(term_idf.values())
        matching = [
            record
            for record in unindexed
            if _is_named(record, named_paths)
            or (record.reason not in _IRRELEVANT_REASONS and _shares_words(record, term_idf, total_idf))
        ]
    matching += [record for record in find_files_with_names(root, records, missing_names) if record not in matching]
    return [f"{record.path}: {record.reason or record.note}" for record in matching[:MAX_LISTED_FILES]]


def _find_named_paths(analysis: Analysis) -> list[str]:
    """Find possible paths, or ends of paths, in the question."""
    texts = [entity["text"] for entity in analysis["entities"] if entity["kind"] in _PATH_ENTITY_KINDS]
    reported = analysis["report"]["paths"] if analysis["report"] else []
    return [text.rpartition(":")[0] if text.rpartition(":")[2].isdigit() else text for text in [*texts, *reported]]


def _is_named(record: FileRecord, named_paths: Sequence[str]) -> bool:
    return any(f"/{record.path}".endswith("/" + path.lstrip("./")) for path in named_paths if path)


def _shares_words(record: FileRecord, term_idf: dict[str, float], total_idf: float) -> bool:
    name_words, folder_words = _split_path_words(record.path)
    shared_idf = sum(term_idf[word] for word in {*name_words, *folder_words} if word in term_idf)
    return (
        bool(name_words)
        and all(word in term_idf for word in name_words)
        and shared_idf >= _MIN_PATH_IDF_SHARE * total_idf
    )


@lru_cache(10_000)
def _split_path_words(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """Split a path into the words of the file's stem and those of its folders."""
    *folders, name = path.split("/")
    stem = name.lstrip(".").partition(".")[0]
    return _split_words(stem), _split_words(" ".join(folders))


def _split_words(text: str) -> frozenset[str]:
    return frozenset(
        term for term in tokenize_text(text) if not term.startswith("=")
    )  # whole identifiers have this prefix
