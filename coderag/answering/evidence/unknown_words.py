"""Words of a question that no indexed file has, and how much of the question they are."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.word_evidence import has_other_form, is_ordinary_word
from coderag.retrieval.literal_text import find_respelt
from coderag.schema.query import Analysis
from coderag.text.tokenizer import COMPOUND_PREFIX, expand_token, extract_content_words, split_identifier, tokenize_text

_MAX_READ_CHUNKS: Final = 200
_MIN_CORRECTABLE_CHARS: Final = 5  # a shorter word resembles many
_PLACE_KINDS: Final = frozenset({"path", "location"})
_NAME: Final = re.compile(r"\d|[A-Z].*[A-Z]|[a-z].*[A-Z]")
"""A word that is written like a name: ``SOCKS5``, ``OAuth2``, ``LDAP``, ``zorbItems``."""


@dataclass(frozen=True, slots=True)
class UnknownWords:
    """Words of a question that no indexed file has.

    Attributes:
        words: In order, as the question spells them.
        names: Those that are written like names.
        share: Their share of the question's words, 0 to 1, weighted by IDF.
    """

    words: Sequence[str]
    names: Sequence[str]
    share: float


def find_unknown_words(reader: IndexReader, analysis: Analysis) -> UnknownWords:
    """Find the words of a question that no indexed file has in any form.

    None are known of a report and of a question in another language: one tells of other programs, the other is translated
    word by word. A misspelt word that resembles an indexed one counts as known, as does one that the index has under
    another form: in a compound, as a short form or as a synonym.
    """
    if analysis["report"] or analysis["human_language"] != "en":
        return UnknownWords((), (), 0.0)
    quoted = [
        *analysis["messages"],
        *(entity["text"] for entity in analysis["entities"] if entity["kind"] in _PLACE_KINDS),
    ]
    terms = frozenset(analysis["terms"])
    idf_by_word: dict[str, float] = {}
    unknown: list[str] = []
    for word in dict.fromkeys(extract_content_words(analysis["question"])):
        word_terms = expand_token(word)
        is_value = word[0].isdigit()  # of a message or an example
        if not terms.issuperset(word_terms) or not word_terms or is_value or any(word in text for text in quoted):
            continue
        idf_by_word[word] = max(map(reader.corpus.idf, word_terms))
        is_plain = not _NAME.search(word)
        if not _is_known(reader, word, word_terms) and not (is_plain and _is_replaceable(reader, word, word_terms[0])):
            unknown.append(word)
    return UnknownWords(unknown, [word for word in unknown if _NAME.search(word)], _compute_share(idf_by_word, unknown))


def _compute_share(idf_by_word: Mapping[str, float], words: Sequence[str]) -> float:
    total = sum(idf_by_word.values())
    return sum(idf_by_word[word] for word in words) / total if total else 0.0


def _is_replaceable(reader: IndexReader, word: str, term: str) -> bool:
    """Return whether the code may say the same without a plain word, which then is no evidence of absence."""
    return is_ordinary_word(term) or has_other_form(reader.corpus, word.lower(), term)


def _is_known(reader: IndexReader, word: str, word_terms: Sequence[str]) -> bool:
    """Return whether any file has a word: a compound in any convention, a plain word in any form or nearly spelt so."""
    corpus = reader.corpus
    plain = tokenize_text(word.lower())
    if any(len(corpus.find_chunks_with_term(term)) for term in {word_terms[0], *plain[:1]}):
        return True
    if not word_terms[0].startswith(COMPOUND_PREFIX):
        return len(word) >= _MIN_CORRECTABLE_CHARS and bool(corpus.suggest_terms(word_terms[0]))
    parts = split_identifier(word)
    rows = corpus.find_chunks_with_terms([term for term in word_terms if not term.startswith(COMPOUND_PREFIX)])
    texts = corpus.read_texts(rows[:_MAX_READ_CHUNKS].tolist())
    return len(rows) > _MAX_READ_CHUNKS or any(find_respelt(text, parts) for text in texts)
