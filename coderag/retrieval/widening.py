"""Widen a question that found too little: near spellings of names, near spellings of words, words of the trade."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from coderag.retrieval.entities import names_in
from coderag.retrieval.thesaurus import related_words
from coderag.state import Analysis
from coderag.stores.corpus import Corpus
from coderag.tokens import expand, stem

_MOST_SPELLINGS = 2
_SAME_START = 2
_LENGTH_DIFFERENCE = 2
_SIMILAR = 0.8


def widen(corpus: Corpus, analysis: Analysis) -> list[str]:
    """Return further terms to search for; empty if there is nothing to add."""
    added = [
        term
        for name in names_in(analysis["entities"])
        for near in corpus.symbols.similar(name)
        for term in expand(near)
    ]
    for term in analysis["terms"]:
        if term not in corpus.term_ids:
            added.extend(_near_spellings(term, corpus.term_ids))
        added.extend(stem(word) for word in related_words(term))
    known = set(analysis["terms"])
    return [term for term in dict.fromkeys(added) if term in corpus.term_ids and term not in known]


def _near_spellings(term: str, vocabulary: Sequence[str] | dict[str, int]) -> list[str]:
    """Return the vocabulary's nearest spellings of a term that it has not."""
    near = sorted(_alike(term, vocabulary), reverse=True)
    return [spelling for _, spelling in near[:_MOST_SPELLINGS]]


def _alike(term: str, vocabulary: Sequence[str] | dict[str, int]) -> Iterator[tuple[float, str]]:
    start = term[:_SAME_START]
    matcher = SequenceMatcher(b=term)
    for other in vocabulary:
        if other.startswith(start) and abs(len(other) - len(term)) <= _LENGTH_DIFFERENCE:
            matcher.set_seq1(other)
            if (ratio := matcher.ratio()) >= _SIMILAR:
                yield ratio, other
