"""Query terms and BM25 scores of the preview search.

Source of the formula: Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.text.tokenizer import expand_token, extract_content_words, tokenize_text

_K1: Final = 1.2
_B: Final = 0.5  # length normalisation: long files are common, and only their best chunk is shown
_MIN_LITERAL_CHARS: Final = 3
_NAME_WEIGHT, _FOLDER_WEIGHT = 2.0, 1.0  # occurrences that a match in the file or folder name counts for
_DECLARED_NAME_WEIGHT: Final = 4.0


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A query term.

    Attributes:
        term: Term of the tokenizer.
        literal: Lower-case bytes that a file with the term contains; found without tokenizing the file.
    """

    term: str
    literal: bytes


def parse_query_terms(query: str) -> list[QueryTerm]:
    """Parse the distinct terms of a query; short ones only if there are no others."""
    terms: dict[str, QueryTerm] = {}
    for raw in extract_content_words(query):
        for term in expand_token(raw):
            text = raw.lower() if term.startswith("=") else _truncate_stem(term)
            terms.setdefault(term, QueryTerm(term, text.encode("utf-8", "replace")))
    long_terms = [query_term for query_term in terms.values() if len(query_term.literal) >= _MIN_LITERAL_CHARS]
    return long_terms or list(terms.values())


def _truncate_stem(stem: str) -> str:
    """Return the common prefix of a word's forms: the stem of ``retry`` is ``retri``."""
    return stem[:-1] if len(stem) > _MIN_LITERAL_CHARS and stem.endswith("i") else stem


def count_in_path(path: str, terms: Sequence[QueryTerm]) -> list[float]:
    """Return the weighted occurrences of each term in a path."""
    folders, _, name = path.lower().encode("utf-8", "replace").rpartition(b"/")
    return [_NAME_WEIGHT * (term.literal in name) + _FOLDER_WEIGHT * (term.literal in folders) for term in terms]


def count_in_content(content: bytes, terms: Sequence[QueryTerm]) -> list[int]:
    """Return the occurrences of each term in a file."""
    lowered = content.lower()
    return [lowered.count(term.literal) for term in terms]


def count_in_code(text: str, names: str, terms: Sequence[QueryTerm]) -> list[float]:
    """Return the occurrences of each term in code, weighted higher in declared names."""
    in_text, in_names = Counter(tokenize_text(text)), set(tokenize_text(names))
    return [in_text[term.term] + _DECLARED_NAME_WEIGHT * (term.term in in_names) for term in terms]


def compute_idf(counts: Sequence[Sequence[float]], terms: Sequence[QueryTerm]) -> list[float]:
    """Return the inverse document frequency of each term over the files that were read."""
    total = len(counts)
    document_counts = [sum(row[position] > 0 for row in counts) for position in range(len(terms))]
    return [math.log(1 + (total - number + 0.5) / (number + 0.5)) for number in document_counts]


def score_bm25(counts: Sequence[float], idf: Sequence[float], relative_length: float) -> float:
    """Return the BM25 score of a text, weighted by the coverage of the query.

    Args:
        counts: Inverse document frequency of each term.
        idf: Inverse document frequency of each term.
        relative_length: Length relative to the average.
    """
    norm = _K1 * (1 - _B + _B * relative_length)
    parts = [weight * count * (_K1 + 1) / (count + norm) for count, weight in zip(counts, idf, strict=True)]
    matched_weight = sum(weight for count, weight in zip(counts, idf, strict=True) if count)
    coverage = matched_weight / (sum(idf) or 1.0)
    return sum(parts) * (0.3 + 0.7 * coverage)


ROLE_FACTORS: Final[Mapping[str, float]] = {"source": 1.0, "vendored": 0.4, "generated": 0.4, "test": 0.7}
"""Weights of file roles, 0.8 for others: queries mostly mean source code."""

OTHER_ROLE: Final = 0.8
