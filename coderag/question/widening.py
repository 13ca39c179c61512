"""Widening of a question with a weak verdict: near spellings, short and long forms, synonyms, repository vocabulary."""

from coderag.question.abbreviations import other_forms
from coderag.question.entities import names_in
from coderag.question.thesaurus import related_words
from coderag.question.vocabulary import cooccurring_terms
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.text.tokenizer import expand_token, stem

_MAX_SPELLINGS = 2


def find_widening_terms(corpus: Corpus, analysis: Analysis) -> list[str]:
    """Find further terms to search for; none for a report, which has enough words."""
    if analysis["report"]:
        return []
    added = [
        term
        for name in names_in(analysis["entities"])
        for similar_name in corpus.symbols.suggest_names(name)
        for term in expand_token(similar_name)
    ]
    for term in analysis["terms"]:
        if term not in corpus.term_ids:
            added.extend(corpus.suggest_terms(term)[:_MAX_SPELLINGS])
        added.extend(other_forms(term))
        added.extend(stem(word) for word in related_words(term))
        added.extend(cooccurring_terms(corpus, term))
    query_terms = set(analysis["terms"])
    return [term for term in dict.fromkeys(added) if term in corpus.term_ids and term not in query_terms]
