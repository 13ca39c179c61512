"""Evidence that a word of a question is in the index under another form: a compound, a short form or a synonym."""

from typing import Final

from coderag.models.providers import load_word_vectors
from coderag.question.abbreviations import other_forms
from coderag.question.thesaurus import related_words
from coderag.stores.corpus import Corpus
from coderag.text.tokenizer import COMPOUND_PREFIX, stem

_MIN_SYNONYM_COSINE: Final = 0.45  # of word vectors: "simultaneous" and "concurrent"; unrelated words stay below 0.4
_MIN_DECIDING_WEIGHT: Final = 0.09  # of a word in questions; verbs such as "decide" or "believe" weigh less
_MIN_SUBWORD_CHARS: Final = 5
_MIN_INNER_CHARS: Final = 6  # of a word inside of a whole identifier, whose words may meet by chance


def is_ordinary_word(term: str) -> bool:
    """Return whether a stemmed word is so common in questions about code that its absence decides nothing."""
    return 0 < load_word_vectors().get_question_weight(term) < _MIN_DECIDING_WEIGHT


def has_other_form(corpus: Corpus, word: str, term: str) -> bool:
    """Return whether the index has a word as part of a longer one, as a short or long form, or as a synonym.

    Args:
        corpus: The open index.
        word: The word in lower case.
        term: Its stem.
    """
    forms = [*other_forms(term), *(stem(related) for related in related_words(term))]
    return any(map(corpus.has_term, forms)) or _has_subword(corpus, word) or _has_synonym(corpus, term)


def _has_subword(corpus: Corpus, word: str) -> bool:
    """Return whether an indexed word or a whole identifier contains a word: ``keepalive``."""
    if len(word) < _MIN_SUBWORD_CHARS:
        return False
    return any(
        _is_in_compound(known.removeprefix(COMPOUND_PREFIX), word)
        if known.startswith(COMPOUND_PREFIX)
        else word in known
        for known in corpus.term_ids
        if word in known and corpus.has_term(known)
    )


def _is_in_compound(compound: str, word: str) -> bool:
    return len(word) >= _MIN_INNER_CHARS or compound.startswith(word) or compound.endswith(word)


def _has_synonym(corpus: Corpus, term: str) -> bool:
    plain = [known for known in corpus.term_ids if not known.startswith(COMPOUND_PREFIX)]
    return any(map(corpus.has_term, load_word_vectors().find_similar_terms(term, plain, _MIN_SYNONYM_COSINE)))
