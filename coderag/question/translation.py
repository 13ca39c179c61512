"""Translate a question in another language into the English words that an index has."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.models.providers import load_word_vectors
from coderag.question.human_language import detect_language, load_function_words
from coderag.question.lexicon import English, Lexicon, fold_text, load_lexicon
from coderag.question.protected_spans import MARK, ProtectedText, protect_spans
from coderag.schema.vocabulary import HumanLanguage
from coderag.text.tokenizer import STOP_WORDS, expand_token, split_identifier, split_raw_tokens, stem

_SPACELESS: Final = frozenset({"zh", "ja"})
_TOKEN: Final = re.compile(rf"{MARK}|[^\W_]+")
_CLAUSE_END: Final = re.compile(r"[,.;:?!()\n]+")
_HIRAGANA: Final = re.compile(r"[\u3041-\u309f]+")
_GENERIC_WORDS: Final = frozenset({"function", "code", "method", "place", "location", "word"})
_MAX_CHOICES: Final = 2  # English words for a word: often the code has the second where the comment has the first
_MIN_SPECIFIC: Final = 2  # other words beside which a generic one says nothing
_MAX_TOKENS: Final = 400

IsIndexed = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question with its English words; a name or an unknown word has none.

    Attributes:
        source: The word or name as it was written.
        options: English words, the most usual first.
        is_name: Whether it is written as it is in code.
    """

    source: str
    options: English = ()
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Translation:
    """A question in the words of an index.

    Attributes:
        text: Names and English words that are searched for, in the order of the question.
        expanded_terms: Index terms of other English words, and of words that the index has in the question's language.
        unknown: Words that neither the lexicon nor the index has.
    """

    language: HumanLanguage
    text: str
    expanded_terms: Sequence[str]
    unknown: Sequence[str]


def translate_question(query: str, language: HumanLanguage, is_indexed: IsIndexed | None = None) -> Translation:
    """Translate a question.

    Args:
        query: The question.
        language: Its language, not English.
        is_indexed: Whether the index has a term; by default every English word is taken for one.
    """
    protected = protect_spans(query, has_other_script=language in ("ru", *_SPACELESS))
    translator = _Translator(language, protected, is_indexed)
    terms = translator.read_terms(protected.text)
    words = _drop_generic(translator.choose_words(terms))
    text = " ".join(words) or query
    searched = [term for word in words for raw in split_raw_tokens(word) for term in expand_token(raw)]
    others = translator.list_other_terms(terms)
    return Translation(
        language=language,
        text=text,
        expanded_terms=[term for term in dict.fromkeys(others) if term not in searched],
        unknown=list(dict.fromkeys(term.source for term in terms if translator.is_unknown(term))),
    )


def translate_to_english(query: str) -> str:
    """Return the English words of a question without an index; an English question unchanged."""
    language = detect_language(query)
    return query if language == "en" else translate_question(query, language).text


def _drop_generic(words: Sequence[str]) -> list[str]:
    """Drop words that say only that code is asked for, if others say more."""
    specific = [word for word in words if word not in _GENERIC_WORDS]
    return specific if len(specific) >= _MIN_SPECIFIC else list(words)


class _Translator:
    """Reads the words of one question, and chooses among their English words those of the index."""

    def __init__(self, language: HumanLanguage, protected: ProtectedText, is_indexed: IsIndexed | None) -> None:
        self._language = language
        self._lexicon: Lexicon = load_lexicon(language)
        self._function_words = load_function_words(language)
        self._protected = protected
        self._is_indexed = is_indexed

    def read_terms(self, text: str) -> list[Term]:
        """Return the words and names of a text in their order, without function words."""
        read = self._read_segmented if self._language in _SPACELESS else self._read_spaced
        return list(read(text))

    def choose_words(self, terms: Sequence[Term]) -> list[str]:
        """Return the names, and up to `_MAX_CHOICES` English words for each other term, one without an index.

        What is unknown is left out unless the index has it, or there is nothing else.
        """
        words: list[str] = []
        for term in terms:
            if term.is_name:
                words.append(self._protected.restore(term.source))
            elif term.options:
                indexed = [word for word in term.options if self._has_word(word)] if self._is_indexed else []
                words += (word.replace("-", " ") for word in indexed[:_MAX_CHOICES] or term.options[:1])
            elif self._is_indexed is None or self._has_word(term.source) or _is_technical(term.source):
                words.append(term.source)
        return list(dict.fromkeys(words or [self._protected.restore(term.source) for term in terms]))

    def list_other_terms(self, terms: Iterable[Term]) -> list[str]:
        """List the index terms of the English words that were not chosen, and of the question's own words."""
        if self._is_indexed is None:
            return []
        words = [word for term in terms for word in term.options]
        sources = [term.source for term in terms if term.options]
        return [term for word in (*words, *sources) if self._has_word(word) for term in _expand(word)]

    def is_unknown(self, term: Term) -> bool:
        """Return whether a word was not understood and is not in the index."""
        if term.is_name or term.options or _is_technical(term.source):
            return False
        return self._is_indexed is None or not self._has_word(term.source)

    def _has_word(self, word: str) -> bool:
        """Return whether the index has all parts of a word; without an index, whether there are any."""
        parts = [stem(part) for raw in split_raw_tokens(word.replace("-", " ")) for part in split_identifier(raw)]
        return bool(parts) and (self._is_indexed is None or all(map(self._is_indexed, parts)))

    def _read_spaced(self, text: str) -> Iterator[Term]:
        remaining = _MAX_TOKENS
        for clause in _CLAUSE_END.split(text):
            words = _TOKEN.findall(clause)[:remaining]
            remaining -= len(words)
            yield from self._read_clause(words)

    def _read_clause(self, words: list[str]) -> Iterator[Term]:
        folded = [fold_text(word, self._language) for word in words]
        if separated := self._lexicon.find_separated_verb(folded):
            position, verb = separated
            folded = [*folded[:position], verb, *folded[position + 1 : -1]]
        position = 0
        while position < len(folded):
            length, english = self._lexicon.match_phrase(folded, position)
            if length:
                yield Term(" ".join(words[position : position + length]), english)
            elif re.match(MARK, words[position]):
                yield Term(words[position], is_name=True)
            elif folded[position] not in self._function_words:
                yield from self._read_word(words[position], folded[position])
            position += length or 1

    def _read_word(self, word: str, folded: str) -> Iterator[Term]:
        translated = [] if word.isupper() else self._lexicon.translate_word(folded)
        if translated:
            yield from (Term(word, options) for options in translated)
        elif len(word) > 1 and word.lower() not in STOP_WORDS:
            yield Term(word)

    def _read_segmented(self, text: str) -> Iterator[Term]:
        rest = ""
        for token in _TOKEN.findall(text)[:_MAX_TOKENS]:
            if re.match(MARK, token):
                yield Term(token, is_name=True)
                continue
            for word, english in self._lexicon.segment(fold_text(token, self._language), self._function_words):
                if english is None:
                    rest += word
                    continue
                yield from _read_rest(rest)
                rest = ""
                if english:
                    yield Term(word, english)
            yield from _read_rest(rest)
            rest = ""


def _read_rest(rest: str) -> Iterator[Term]:
    """Yield runs of characters that are in no word of the lexicon; hiragana are endings."""
    yield from (Term(run) for run in _HIRAGANA.split(rest) if len(run) > 1)


def _expand(word: str) -> list[str]:
    return [term for raw in split_raw_tokens(word.replace("-", " ")) for term in expand_token(raw)]


def _is_technical(word: str) -> bool:
    """Return whether a word is a name or an abbreviation of English text about code, such as ``Redis``."""
    return word[:1].isupper() and word.isascii() and stem(word.lower()) in load_word_vectors()
