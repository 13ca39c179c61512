"""Subjects of a question: the names that it is about, found because the index has them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from coderag.question.cues import Asking, Cue, read_asking
from coderag.question.wording import Token
from coderag.schema.query import Entity
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import split_qualified
from coderag.text.tokenizer import expand_token

_MAX_SPAN_WORDS: Final = 3
_MAX_SUBJECTS: Final = 3
_MIN_WORD_CHARS: Final = 2
_MIN_PHRASE_WORDS: Final = 2
_EXACT: Final = 1.0
_OTHER_CONVENTION: Final = 0.7
_MIN_EXACT_QUALITY: Final = 0.9  # of a match of the symbol table in the scope that is named

_CAPITAL, _SEVERAL, _LOWER, _FOLDED, _CUE = 0.9, 0.8, 0.7, 0.5, 0.3
"""Scores of a word in capitals, of several words, of a name in lower case, of another spelling, and of a word that asks."""

_NAMELIKE_STOP_WORDS: Final = frozenset({"after", "before", "each", "show", "then", "use"})
"""Stop words that are usual names of functions."""

COMPOUND_CONCEPTS: Final = frozenset(
    {
        "limit",
        "error",
        "config",
        "option",
        "message",
        "value",
        "timeout",
        "version",
        "history",
        "ticket",
        "bug",
        "retry",
    }
    | {"default", "flow", "example", "pattern", "comment", "document", "readme", "logic"}
)
"""Concepts of nouns that make another thing of the word before them: a "login error" is not ``login``."""


_GOVERNING_CONCEPTS: Final = frozenset(
    {
        "call",
        "caller",
        "callee",
        "use",
        "reference",
        "import",
        "depend",
        "inherit",
        "implement",
        "override",
        "remove",
        "rename",
    }
)
"""Concepts of verbs and nouns whose object is a name."""

_RELATION_CONCEPTS: Final = _GOVERNING_CONCEPTS | {"test", "cover", "affect", "break", "change", "unused"}
_PREPOSITIONS: Final = frozenset({"of", "to", "on", "for", "by", "von", "auf", "de", "du", "des", "del", "do"})
_KIND_CONCEPTS: Final = frozenset({"function", "class"})
_JOINING_CONCEPTS: Final = frozenset({"or", "and", "with", "difference", "between"})
_COMPARING_CONCEPTS: Final = frozenset({"or", "difference", "compare", "same"})


class Resolved(NamedTuple):
    """A name of the index that words of a question spell.

    Attributes:
        name: As it is declared.
        quality: 1 for the exact spelling, less for another convention, number or case.
    """

    name: str
    quality: float


class SubjectIndex(Protocol):
    """What the analyser asks an index for names."""

    def resolve(self, words: Sequence[str]) -> Resolved | None:
        """Return the declared name that some words spell together; None if nothing is called so."""

    def has_word(self, word: str) -> bool:
        """Return whether the repository has a word."""

    def has_folder(self, name: str) -> bool:
        """Return whether a folder of the repository is called so."""


class CorpusSubjects:
    """Names of an open index: its symbol table.

    Args:
        corpus: The open index.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._symbols = corpus.symbols
        self._corpus = corpus
        self._term_ids = corpus.term_ids

    def resolve(self, words: Sequence[str]) -> Resolved | None:
        """Return the declared name that some words spell: exactly, in another convention, or as its plural."""
        name = "_".join(words)
        matches = self._symbols.find(name)
        if not matches and len(words) == 1 and name.endswith("s"):
            matches = self._symbols.find(name.removesuffix("s"))
        if not matches:
            return None
        best = matches[0]
        is_exact = len(words) == 1 and best.name == name.rpartition(".")[2] and best.quality >= _MIN_EXACT_QUALITY
        return Resolved(name if is_exact else best.name, _EXACT if is_exact else _OTHER_CONVENTION)

    def has_word(self, word: str) -> bool:
        """Return whether the repository has a word."""
        return any(term in self._term_ids for term in expand_token(word))

    def has_folder(self, name: str) -> bool:
        """Return whether a folder of the repository is called so."""
        return bool(name) and name.strip("/") in self._corpus.path_index.folder_names


class SubjectCandidate(NamedTuple):
    """Words of a question that may be a name; ``score`` is 0 to 1."""

    position: int
    name: str
    score: float


class SubjectFinder:
    """Finds the names that one question is about.

    Args:
        tokens: Tokens of the question.
        cues: Their cues.
        entities: What is written as a name, a path or a quote.
        index: Names of the index; without one, a word that asks nothing may be a name.
    """

    def __init__(
        self, tokens: Sequence[Token], cues: Sequence[Cue], entities: Sequence[Entity], index: SubjectIndex | None
    ) -> None:
        self._tokens = tokens
        self._asking: Asking = read_asking(cues)
        self._index = index
        self.marked_names = self._list_marked_names(entities)

    def find(self, n_wanted: int = 1) -> list[str]:
        """Return the names that a question about declarations is about, in their order.

        Args:
            n_wanted: Number of names that the question has to be about.
        """
        marked = self.marked_names
        candidates = list(self._find_candidates(self._index))
        if self._index and not marked and all(item.score <= _CUE for item in candidates):
            unknown = self._find_candidates(None)  # what the index lacks, or what is misspelt
            candidates += [item for item in unknown if item.name[0].isupper() or not self._index.has_word(item.name)]
        if marked or n_wanted > 1:
            parts = {part for name in marked for part in (name, *split_qualified(name))}
            min_score = _CAPITAL if len(marked) >= n_wanted else _LOWER
            more = [item.name for item in candidates if item.score >= min_score and item.name not in parts]
            names = self._order([*marked, *more])
        else:
            best = max((item.score for item in candidates), default=0.0)
            names = [item.name for item in sorted(candidates) if item.score == best]
            names = names if best >= _CAPITAL else names[-1:]
        names = list(dict.fromkeys(names))[:_MAX_SUBJECTS]
        return _qualify(names, self._index) if self._index else names

    def has_marked(self, names: Sequence[str]) -> bool:
        """Return whether one of some names is written as one: marked, in a convention of code, or with a capital."""
        capital = {token.source for at, token in enumerate(self._tokens) if self._is_capital(at)}
        return any(name in self.marked_names or name in capital or "." in name for name in names)

    def has_object(self, names: Sequence[str]) -> bool:
        """Return whether one of some names is the object of a word for a relation: "callers of run", "is run used"."""
        return any(token.source in names and self._is_object(at) for at, token in enumerate(self._tokens))

    def _is_object(self, position: int) -> bool:
        before = position - 1
        while before > 0 and (self._tokens[before].is_stop_word or self._tokens[before].text in _PREPOSITIONS):
            before -= 1
        follows = before >= 0 and not self._asking.get(before, frozenset()).isdisjoint(_RELATION_CONCEPTS)
        is_passive = not self._asking.get(position + 1, frozenset()).isdisjoint(_RELATION_CONCEPTS)
        return is_passive or (follows and (position + 1 == len(self._tokens) or self._separates(position + 1)))

    def mask_names(self) -> list[Token]:
        """Return the tokens with masks for the words that are surely names of the index."""
        if self._index is None:
            return list(self._tokens)
        return [
            replace(token, text="<name>") if self._is_surely_name(at, self._index) else token
            for at, token in enumerate(self._tokens)
        ]

    def _is_surely_name(self, position: int, index: SubjectIndex) -> bool:
        token = self._tokens[position]
        if not token.is_word or not _may_be_part(token):
            return False
        is_plain = position not in self._asking and not token.is_stop_word and self._stands_alone(position)
        resolved = index.resolve([token.source]) if is_plain or self._is_governed(position) else None
        return resolved is not None and resolved.quality == _EXACT

    def _list_marked_names(self, entities: Sequence[Entity]) -> list[str]:
        """Return what is written as a name, in its order: in backticks, qualified, or in a convention of code."""
        names = [entity["text"] for entity in entities if entity["kind"] in ("identifier", "qualified_name")]
        scoped = [
            token.source.strip("`").removesuffix("()")
            for token in self._tokens
            if token.is_mask and ("::" in token.source or ".#" in token.source)
        ]
        return self._order([*scoped, *(name for name in names if not any(name in text for text in scoped))])

    def _order(self, names: Sequence[str]) -> list[str]:
        """Return names in the order of the question."""
        text = " ".join(token.source for token in self._tokens)
        return sorted(dict.fromkeys(names), key=lambda name: text.find(name) + 1 or len(text) + 1)

    def _find_candidates(self, index: SubjectIndex | None) -> Iterator[SubjectCandidate]:
        """Yield the spans of words that may be names."""
        for start, token in enumerate(self._tokens):
            for length in range(1, _MAX_SPAN_WORDS + 1):
                span = self._tokens[start : start + length]
                if len(span) < length or not all(map(_may_be_part, span)):
                    break
                if length == 1:
                    found = self._resolve_word(start, index) if index else self._guess_word(start)
                else:
                    found = self._resolve_words(range(start, start + length), index) if index else None
                if found is not None:
                    yield SubjectCandidate(token.start, *found)

    def _guess_word(self, position: int) -> tuple[str, float] | None:
        """Return a word with its score if it may be a name that no index has to confirm."""
        token = self._tokens[position]
        word = token.source.strip("`()'")
        if self._is_capital(position):
            is_name = not token.begins_sentence and token.text != "<acronym>"
            return (word, _CUE if position in self._asking else _CAPITAL) if is_name else None
        if token.text in _NAMELIKE_STOP_WORDS and position > 0:
            return word, _CUE
        is_plain = position not in self._asking and not token.is_stop_word and self._stands_alone(position)
        return (word, _LOWER) if is_plain else None

    def _resolve_words(self, positions: range, index: SubjectIndex) -> tuple[str, float] | None:
        """Return the name that several words spell together, with its score."""
        if any(self._tokens[at].is_stop_word for at in (positions[0], positions[-1])):
            return None
        resolved = index.resolve([self._tokens[at].source.strip("`()'") for at in positions])
        only_asks = all(at in self._asking for at in positions)
        return resolved and (resolved.name, _FOLDED if only_asks else _SEVERAL)

    def _resolve_word(self, position: int, index: SubjectIndex) -> tuple[str, float] | None:
        """Return the name that a word spells, with its score."""
        token = self._tokens[position]
        resolved = self._resolve_type(position, index) or index.resolve([token.source.strip("`()'")])
        if resolved is None or (token.is_stop_word and not self._may_be_stop_word_name(position)):
            return None
        is_exact, asks = resolved.quality == _EXACT, position in self._asking
        if is_exact and self._is_capital(position):
            return resolved.name, _CAPITAL
        if not self._stands_alone(position):
            return (resolved.name, _CUE) if is_exact and not asks and self._ends_phrase(position) else None
        if asks:
            return (resolved.name, _LOWER if self._is_governed(position) else _CUE) if is_exact else None
        return resolved.name, _LOWER if is_exact else _FOLDED

    def _resolve_type(self, position: int, index: SubjectIndex) -> Resolved | None:
        """Return the type that a word behind an indefinite article names: "a session" for ``Session``."""
        word = self._tokens[position].source
        if position == 0 or not word.islower() or self._tokens[position - 1].text not in ("a", "an"):
            return None
        resolved = index.resolve([word.capitalize()])
        return resolved if resolved is not None and resolved.quality == _EXACT else None

    def _may_be_stop_word_name(self, position: int) -> bool:
        return self._is_capital(position) or self._tokens[position].text in _NAMELIKE_STOP_WORDS

    def _is_capital(self, position: int) -> bool:
        """Whether a word has a capital that does not only begin the sentence."""
        return not self._tokens[position].source.strip("`()'").islower() and (
            not self._tokens[position].begins_sentence or position not in self._asking
        )

    def _stands_alone(self, position: int) -> bool:
        """Whether a word is no part of a longer noun phrase: "size" in "file size limits" is no name."""
        if self._is_compound(position + 1) and not self._tokens[position + 1].is_mask:
            return False
        neighbours = [at for at in (position - 1, position + 1) if 0 <= at < len(self._tokens)]
        return all(self._separates(at) or self._is_compound(at) for at in neighbours)

    def _is_governed(self, position: int) -> bool:
        """Whether the words around a word that may ask make it a name: "who calls run", "the run method", "run or stop"."""
        before, after = (self._asking.get(at, frozenset()) for at in (position - 1, position + 1))
        text = self._tokens[position - 1].text if position else ""
        if self._is_object(position):
            return True
        if not before.isdisjoint(_GOVERNING_CONCEPTS) or text in ("of", "by"):
            return position + 1 == len(self._tokens) or self._separates(position + 1)
        if text in ("the", "a") and not after.isdisjoint(_KIND_CONCEPTS):
            return True
        is_joined = not before.isdisjoint(_JOINING_CONCEPTS) or not after.isdisjoint(_JOINING_CONCEPTS)
        return is_joined and any(not concepts.isdisjoint(_COMPARING_CONCEPTS) for concepts in self._asking.values())

    def _ends_phrase(self, position: int) -> bool:
        """Whether a word ends a noun phrase of two words, such as "table invoices", whose first is no name."""
        if position + 1 < len(self._tokens) and not self._separates(position + 1):
            return False
        return position < _MIN_PHRASE_WORDS or self._separates(position - _MIN_PHRASE_WORDS)

    def _separates(self, position: int) -> bool:
        token = self._tokens[position]
        asks = position in self._asking and not self._is_compound(position)
        return asks or token.is_stop_word or not token.is_word

    def _is_compound(self, position: int) -> bool:
        return not self._asking.get(position, frozenset()).isdisjoint(COMPOUND_CONCEPTS)


def _may_be_part(token: Token) -> bool:
    return (token.is_word or token.text in ("<name>", "<acronym>")) and len(
        token.source.strip("`()")
    ) >= _MIN_WORD_CHARS


def _qualify(names: Sequence[str], index: SubjectIndex) -> list[str]:
    """Return one qualified name for two of which one is a member of the other: "Exec of the Stage interface"."""
    for first, second in pairwise(names):
        for owner, member in ((second, first), (first, second)):
            qualified = f"{owner}.{member}"
            if "." not in member and (resolved := index.resolve([qualified])) and resolved.quality == _EXACT:
                return [qualified, *(name for name in names if name not in (first, second))]
    return list(names)
