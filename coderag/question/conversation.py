"""The state of a conversation that a follow-up depends on, and the reading of its words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from coderag.question.cues import QUESTION_CONCEPTS, load_cues, read_asking
from coderag.question.human_language import detect_language, load_function_words
from coderag.question.lexicon import Lexicon, load_lexicon
from coderag.question.subjects import COMPOUND_CONCEPTS
from coderag.question.wording import Token, read_tokens
from coderag.schema.vocabulary import FILE_NAMED_KINDS, HumanLanguage

_TABLES: Final = ("cues", "aspects", "conversation")
_MAX_WORD_SIGNS: Final = 12
_MAX_NAMED: Final = 4  # of what "they" are


@dataclass(frozen=True, slots=True)
class NumberedPlace:
    """A place that the last answer cites; its number is its position in the focus, from 1.

    Attributes:
        location: As ``path:10-42``.
        path: Its file.
        name: Qualified name of the declaration there; empty if there is none.
        kind: A `coderag.schema.vocabulary.Kind`; empty if unknown.
    """

    location: str
    path: str
    name: str
    kind: str

    @property
    def is_declaration(self) -> bool:
        """Whether the place is called by the name of a declaration."""
        return bool(self.name) and self.kind not in FILE_NAMED_KINDS

    @property
    def term(self) -> str:
        """The place as a question names it: its declaration, or its file."""
        return f"`{self.name}`" if self.is_declaration else self.path


@dataclass(frozen=True, slots=True)
class Focus:
    """What a conversation is about.

    Attributes:
        question: The last question that was searched for; empty if there is none.
        subjects: What the last exchange was about, as a question names it.
        places: What the last answer with citations cites, in the order of their numbers.
        recent: What the last exchange cites; fewer than `places` if it only showed lines.
    """

    question: str = ""
    subjects: Sequence[str] = ()
    places: Sequence[NumberedPlace] = ()
    recent: Sequence[NumberedPlace] = ()

    @property
    def single(self) -> str:
        """What "it" is; empty if nothing was talked about."""
        declared = (place.term for place in self.recent if place.is_declaration)
        return self.subjects[0] if self.subjects else next(declared, find_topic(self.question))

    @property
    def several(self) -> Sequence[str]:
        """What "they" are: the subjects, else what was cited besides them."""
        declared = list(dict.fromkeys(place.term for place in self.recent if place.is_declaration))
        others = [term for term in declared if term != self.single]
        terms = next((terms for terms in (self.subjects, others, declared) if len(terms) > 1), [self.single])
        return terms[:_MAX_NAMED]

    def find_file(self) -> str:
        """Return the path of what "that file" is."""
        by_term = {place.term: place.path for place in reversed(self.recent)}
        if self.single not in by_term and self.recent and "/" not in self.single:
            return self.recent[0].path
        return by_term.get(self.single, self.single)


@dataclass(frozen=True, slots=True)
class MissingPlace:
    """An address that no place has.

    Attributes:
        number: From 1; -1 for the last.
        noun: Concept of what was counted, such as ``file`` or ``class``; empty for places.
    """

    number: int
    noun: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A text of a conversation, read with its focus.

    Attributes:
        question: The question that stands alone; empty if `places` are all that is asked for.
        is_follow_up: Whether the text depends on the focus; ``unknown`` if it points back in another way.
        subjects: What of the focus it is about, as a question names it.
        places: Locations or paths to show as they are.
        is_wider: Whether it asks for more results of the same question.
        missing: An address in it that no place has.
    """

    question: str
    is_follow_up: Literal["yes", "no", "unknown"] = "yes"
    subjects: Sequence[str] = field(default=())
    places: Sequence[str] = field(default=())
    is_wider: bool = False
    missing: MissingPlace | None = None


class Piece(NamedTuple):
    """A word, sign or mask of a text; in Chinese and Japanese, a segment.

    Attributes:
        text: As `Token.text`.
        start, end: Its characters.
        concepts: Of the cues of questions, of aspects and of conversations.
        is_plain: Whether it neither asks nor points nor is a stop word.
        is_word: Whether it is more than a sign.
    """

    text: str
    start: int
    end: int
    concepts: frozenset[str]
    is_plain: bool
    is_word: bool

    @property
    def is_mask(self) -> bool:
        """Whether it stands for a name, a path, a quote or a number."""
        return self.text[0] == "<" and len(self.text) > 1

    def has_any(self, concepts: frozenset[str]) -> bool:
        """Return whether it has one of some concepts."""
        return not self.concepts.isdisjoint(concepts)


def read_pieces(text: str) -> list[Piece]:
    """Return the pieces of a text in their order."""
    language = detect_language(text)
    tokens = read_tokens(text, language)
    tables = [read_asking(load_cues(name).read(tokens)) for name in _TABLES]
    pieces: list[Piece] = []
    for at, token in enumerate(tokens):
        if token.is_cjk:
            pieces += _segment(token, language if language in ("zh", "ja") else "zh")
            continue
        concepts = frozenset[str]().union(*(table.get(at, ()) for table in tables if token.is_word))
        is_plain = token.is_word and not concepts and not token.is_stop_word
        pieces.append(Piece(token.text, token.start, token.end, concepts, is_plain, token.is_word or token.is_mask))
    return pieces


def _segment(token: Token, language: HumanLanguage) -> Iterator[Piece]:
    """Yield the segments of a run of signs: the longest of a cue, a function word and a word of the lexicon."""
    lexicon, grammar = load_lexicon(language), load_function_words(language)
    position, text = 0, token.text
    while position < len(text):
        matches = [load_cues(name).match_signs(text, position) for name in _TABLES]
        length = max(size for size, _ in matches)
        concepts = frozenset[str]().union(*(concepts for size, concepts in matches if size == length > 0))
        known = _match_words(text, position, lexicon, grammar)
        is_plain = False
        if known > length:
            length, concepts = known, frozenset()
            is_plain = text[position : position + known] not in grammar
        elif not length:
            length, is_plain = 1, not _is_hiragana(text[position])
        start = token.start + position
        yield Piece(text[position : position + length], start, start + length, concepts, is_plain, True)
        position += length


def _match_words(text: str, position: int, lexicon: Lexicon, grammar: frozenset[str]) -> int:
    """Return the length of the longest word of a language at a position."""
    rest = text[position : position + _MAX_WORD_SIGNS]
    function_word = next((size for size in range(len(rest), 0, -1) if rest[:size] in grammar), 0)
    segment, english = next(iter(lexicon.segment(rest, frozenset())))
    return max(function_word, len(segment) if english else 0)


def _is_hiragana(sign: str) -> bool:
    return "\u3040" <= sign <= "\u309f"


def find_topic(question: str) -> str:
    """Return what a question is about: its words from the first to the last one that does not only ask."""
    pieces = read_pieces(question.strip().rstrip("?.! "))
    named = [at for at, piece in enumerate(pieces) if piece.is_plain or piece.is_mask]
    if not named:
        named = [at for at, piece in enumerate(pieces) if piece.concepts and not piece.has_any(QUESTION_CONCEPTS)]
    if not named:
        return question.strip()
    first, last = named[0], named[-1]
    while first > 0 and pieces[first - 1].has_any(COMPOUND_CONCEPTS):
        first -= 1
    return question.strip()[pieces[first].start : pieces[last].end]
