"""Put names in place of pronouns: "who calls that" after an answer about `login` is "who calls `login`"."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from coderag.question.addresses import FILE_NOUNS
from coderag.question.conversation import Focus, Piece
from coderag.question.cues import QUESTION_CONCEPTS

_PRONOUN: Final = frozenset({"it", "they"})
_THEY: Final = frozenset({"they"})
_POSSESSIVE: Final = frozenset({"possessive"})
_DEMONSTRATIVE: Final = frozenset({"demonstrative"})
_IMPERSONAL: Final = frozenset({"impersonal", "understand"})
_COMPARING: Final = frozenset({"difference", "compare", "similar", "same", "connect", "with"})
_CODE_NOUNS: Final = frozenset({"function", "class", "file", "module", "code", "item", "interface"})
_NOUNS: Final = _CODE_NOUNS | {
    "test",
    "option",
    "value",
    "message",
    "error",
    "place",
    "signature",
    "document",
    "ticket",
}
_WHOLE: Final = frozenset({"project", "folder"})
_AUXILIARIES: Final = frozenset({"is", "do", "can", "should"})
_ASKING_OF: Final = frozenset({"what", "which", "how", "howmany"})
_COUNTS: Final = frozenset({"two", "three", "four", "five"})
_FILLER: Final = frozenset({"filler"})
_SUBJECTS: Final = frozenset({"article", "my", "it", "they"})
"""Concepts of words that begin a relative clause with a subject of its own."""

_IMPERSONAL_WINDOW: Final = 4


class Replacement(NamedTuple):
    """A text with names in place of pronouns, and those names."""

    text: str
    terms: list[str]


class _Span(NamedTuple):
    start: int
    end: int
    terms: Sequence[str]
    text: str


def replace_pronouns(text: str, pieces: Sequence[Piece], focus: Focus) -> Replacement:
    """Return a text with names in place of the pronouns whose meaning is not in the text itself."""
    if not focus.single:
        return Replacement(text, [])
    spans: list[_Span] = []
    for at, piece in enumerate(pieces):
        if piece.has_any(_PRONOUN) and (not spans or piece.start >= spans[-1].end):
            span = _replace(pieces, at, focus)
            spans += [span] if span else []
    if not spans and (span := _replace_noun(pieces, focus)):
        spans = [span]
    for span in reversed(spans):
        text = f"{text[: span.start]}{span.text}{text[span.end :]}"
    return Replacement(text, list(dict.fromkeys(term for span in spans for term in span.terms)))


def _replace(pieces: Sequence[Piece], at: int, focus: Focus) -> _Span | None:
    """Return what replaces a pronoun, with the noun behind it; None if it stays."""
    piece, before, after = pieces[at], pieces[:at], pieces[at + 1 :]
    if piece.has_any(_DEMONSTRATIVE):
        if after and after[0].has_any(_WHOLE):
            return None
        if after and after[0].has_any(_CODE_NOUNS):
            terms = _choose_terms(piece, after[0], focus)
            return _Span(piece.start, after[0].end, terms, _join(terms))
        if _is_determiner(before, after) or _is_relative(before, after):
            return None
    if _is_bound(before) or _is_impersonal(piece, after):
        return None
    terms = list(focus.several) if piece.has_any(_THEY) else [focus.single]
    is_owner = piece.has_any(_POSSESSIVE) and bool(after) and after[0].is_word
    end = after[0].end if _is_number_of(piece, after) else piece.end
    return _Span(piece.start, end, terms, _join(terms) + ("'s" if is_owner else ""))


def _replace_noun(pieces: Sequence[Piece], focus: Focus) -> _Span | None:
    """Return what replaces "the file" or "the method" at the end of a text or before a verb; None if there is none."""
    for at in range(len(pieces) - 1):
        article, noun, after = pieces[at], pieces[at + 1], pieces[at + 2 :]
        if article.has_any(frozenset({"article"})) and noun.has_any(_CODE_NOUNS - {"item", "code"}):
            is_end = not after or not after[0].is_word or after[0].has_any(_AUXILIARIES | {"call", "use", "test"})
            if is_end and not _is_bound(pieces[:at]):
                terms = _choose_terms(article, noun, focus)
                return _Span(article.start, noun.end, terms, _join(terms))
    return None


def _choose_terms(pronoun: Piece, noun: Piece, focus: Focus) -> list[str]:
    if pronoun.has_any(_THEY):
        return list(focus.several)
    return [focus.find_file()] if noun.has_any(FILE_NOUNS) else [focus.single]


def _is_number_of(pronoun: Piece, after: Sequence[Piece]) -> bool:
    """Whether a number belongs to the pronoun: "those two"."""
    return pronoun.has_any(_THEY) and bool(after) and after[0].has_any(_COUNTS)


def _is_determiner(before: Sequence[Piece], after: Sequence[Piece]) -> bool:
    """Whether a demonstrative belongs to a noun that means something else: "that parser"."""
    is_after_auxiliary = bool(before) and all(piece.has_any(_AUXILIARIES) for piece in before)
    return bool(after) and after[0].is_plain and not is_after_auxiliary


def _is_relative(before: Sequence[Piece], after: Sequence[Piece]) -> bool:
    """Whether a pronoun begins a relative clause: "the function that parses"."""
    if not before or not after or not after[0].is_word or after[0].has_any(_FILLER):
        return False
    is_clause = after[0].has_any(_SUBJECTS) and not all(piece.has_any(_AUXILIARIES) for piece in before)
    return is_clause or before[-1].is_plain or before[-1].has_any(_NOUNS) or before[-1].is_mask


def _is_bound(before: Sequence[Piece]) -> bool:
    """Whether something before a pronoun, in the same text, is what it may mean."""
    if any(piece.has_any(_COMPARING) for piece in before):
        return False
    named = [at for at, piece in enumerate(before) if piece.is_plain or piece.is_mask]
    return any(not _is_asked_of(before, at) for at in named)


def _is_asked_of(before: Sequence[Piece], at: int) -> bool:
    """Whether a noun is what is asked for, as in "which files does it read": the files are not what reads."""
    asks = at > 0 and any(piece.has_any(_ASKING_OF) for piece in before[max(0, at - 2) : at])
    return asks and at + 1 < len(before) and before[at + 1].has_any(_AUXILIARIES)


def _is_impersonal(pronoun: Piece, after: Sequence[Piece]) -> bool:
    """Whether a pronoun stands for nothing: "is it possible to"."""
    if pronoun.has_any(_DEMONSTRATIVE | _POSSESSIVE):
        return False
    window = after[:_IMPERSONAL_WINDOW]
    hits = [at for at, piece in enumerate(window) if piece.has_any(_IMPERSONAL)]
    between = window[: hits[0]] if hits else []
    return bool(hits) and not any(
        piece.is_plain or piece.has_any(QUESTION_CONCEPTS - _AUXILIARIES) for piece in between
    )


def _join(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"{', '.join(terms[:-1])} and {terms[-1]}"
