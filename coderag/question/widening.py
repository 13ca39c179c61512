"""Widen a question that found too little: near spellings, short and long forms, words of the trade and of the repository."""

from coderag.question.abbreviations import other_forms
from coderag.question.entities import names_in
from coderag.question.thesaurus import related_words
from coderag.question.vocabulary import companions
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.text.tokenizer import expand, stem

_MOST_SPELLINGS = 2


def widen(corpus: Corpus, analysis: Analysis) -> list[str]:
    """Return further terms to search for; empty if there is nothing to add, as to a report, which has words enough."""
    if analysis["report"]:
        return []
    added = [
        term
        for name in names_in(analysis["entities"])
        for near in corpus.symbols.similar(name)
        for term in expand(near)
    ]
    for term in analysis["terms"]:
        if term not in corpus.term_ids:
            added.extend(corpus.near_terms(term)[:_MOST_SPELLINGS])
        added.extend(other_forms(term))
        added.extend(stem(word) for word in related_words(term))
        added.extend(companions(corpus, term))
    known = set(analysis["terms"])
    return [term for term in dict.fromkeys(added) if term in corpus.term_ids and term not in known]
