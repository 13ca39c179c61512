"""The words of a question, and how well a file or a piece of code has them: for a look at files that are not indexed.

Source of the formula: Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.text.tokenizer import content_words, expand, text_terms

_K1: Final = 1.2
_B: Final = 0.5  # of the length: long files are usual, and their best piece is what is shown
_MIN_LITERAL_CHARS: Final = 3
_NAME_WEIGHT, _FOLDER_WEIGHT = 2.0, 1.0  # a word in a file's name or in a folder's counts like so many occurrences
_DECLARED_NAME_WEIGHT: Final = 4.0


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A word of a question.

    Attributes:
        term: As the tokenizer has it.
        needle: What a file that has it must contain, in small letters; found without cutting the file into words.
    """

    term: str
    literal: bytes


def parse_query_terms(query: str) -> list[QueryTerm]:
    """Return the distinct words of a question; the short ones only if there are no others."""
    terms: dict[str, QueryTerm] = {}
    for raw in content_words(query):
        for term in expand(raw):
            text = raw.lower() if term.startswith("=") else _truncate_stem(term)
            terms.setdefault(term, QueryTerm(term, text.encode("utf-8", "replace")))
    long_terms = [query_term for query_term in terms.values() if len(query_term.literal) >= _MIN_LITERAL_CHARS]
    return long_terms or list(terms.values())


def _truncate_stem(stem: str) -> str:
    """Return what all forms of a word begin with: ``retri`` is the stem of ``retry``."""
    return stem[:-1] if len(stem) > _MIN_LITERAL_CHARS and stem.endswith("i") else stem


def count_in_path(path: str, terms: Sequence[QueryTerm]) -> list[float]:
    """Return for each word how much a file's place says about it."""
    folders, _, name = path.lower().encode("utf-8", "replace").rpartition(b"/")
    return [_NAME_WEIGHT * (term.literal in name) + _FOLDER_WEIGHT * (term.literal in folders) for term in terms]


def count_in_content(content: bytes, terms: Sequence[QueryTerm]) -> list[int]:
    """Return for each word how often it occurs in a file."""
    lowered = content.lower()
    return [lowered.count(term.literal) for term in terms]


def count_in_code(text: str, names: str, terms: Sequence[QueryTerm]) -> list[float]:
    """Return for each word how often it occurs in a piece of code, and more if it is part of what that declares."""
    in_text, in_names = Counter(text_terms(text)), set(text_terms(names))
    return [in_text[term.term] + _DECLARED_NAME_WEIGHT * (term.term in in_names) for term in terms]


def compute_idf(counts: Sequence[Sequence[float]], terms: Sequence[QueryTerm]) -> list[float]:
    """Return for each word how much it tells, from how many of the files have it."""
    total = len(counts)
    document_counts = [sum(row[position] > 0 for row in counts) for position in range(len(terms))]
    return [math.log(1 + (total - number + 0.5) / (number + 0.5)) for number in document_counts]


def score_bm25(counts: Sequence[float], idf: Sequence[float], relative_length: float) -> float:
    """Return how well something answers, by how often it has each word.

    Args:
        counts: Of each word.
        rarity: Of each word.
        length: Against the average.
    """
    norm = _K1 * (1 - _B + _B * relative_length)
    parts = [weight * count * (_K1 + 1) / (count + norm) for count, weight in zip(counts, idf, strict=True)]
    matched_weight = sum(weight for count, weight in zip(counts, idf, strict=True) if count)
    coverage = matched_weight / (sum(idf) or 1.0)
    return sum(parts) * (0.3 + 0.7 * coverage)


ROLE_FACTORS: Final[Mapping[str, float]] = {"source": 1.0, "vendored": 0.4, "generated": 0.4, "test": 0.7}
"""What a file is for weighs like that, and 0.8 for any other role: who asks mostly means the code itself."""

OTHER_ROLE: Final = 0.8
