"""Follow-ups: texts of a conversation as questions that stand alone, in eight languages and without a language model.

"It" is what the last exchange was about, else what it cited first; "they" is all that it cited; an ordinal is a place that it
cited. What is left out ("and for logout?", "callers?", "in Go?") comes from the question before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from coderag.question.addresses import (
    FILE_NOUNS,
    SHOWING_CONCEPTS,
    Address,
    MissingPlaceError,
    find_addresses,
    only_asks_to_see,
    resolve_address,
)
from coderag.question.aspects import find_aspect
from coderag.question.classifier import load_classifier
from coderag.question.conversation import Focus, FollowUp, Piece, find_topic, read_pieces
from coderag.question.cues import QUESTION_CONCEPTS, load_cues, read_asking
from coderag.question.follow_up_wordings import TESTS, choose_bare_wording, choose_wording
from coderag.question.human_language import detect_language
from coderag.question.pronouns import replace_pronouns
from coderag.question.wording import read_tokens

_MAX_CHARS: Final = 400  # of a follow-up; what is longer says what it is about
_MAX_FRAGMENT_WORDS: Final = 6
_MAX_FILTER_WORDS: Final = 5

_POLITE: Final = frozenset({"filler", "please"})
_POINTING: Final = frozenset({"it", "they"})
_WHOLE: Final = frozenset({"project", "folder"})
_MORE: Final = frozenset({"more", "else"})
_MORE_FRAME: Final = (
    _MORE | _POLITE | frozenset({"show", "find", "list", "item", "example", "exist", "what", "is", "anyone"})
)
_MORE_OBJECTS: Final = frozenset({"they", "head", "my", "detail", "place", "rest"})
_SAME_FRAME: Final = (
    _POLITE | _POINTING | frozenset({"about", "same", "really", "is", "head", "can", "do", "article", "what"})
)
_RELATIONS: Final = frozenset({"call", "caller", "use", "import", "reference", "inherit", "implement", "create"})


def read_follow_up(text: str, focus: Focus | None) -> FollowUp:
    """Read a typed text with what the conversation is about.

    Args:
        text: As typed, in any language that the lexicon has.
        focus: The state of the conversation; None for its first text.
    """
    asked = text.strip()
    if focus is None or len(asked) > _MAX_CHARS or asked.count("\n") > 1:
        return _read_addresses(asked, Focus())[0] if len(asked) <= _MAX_CHARS else FollowUp(asked, "no")
    addressed, terms = _read_addresses(asked, focus)
    if addressed.places or addressed.missing:
        return addressed
    rest = _Reader(addressed.question, focus).read()
    if not terms:
        return rest
    is_same = rest.question == addressed.question
    return replace(
        rest, is_follow_up="yes", subjects=terms if is_same else list(dict.fromkeys([*terms, *rest.subjects]))
    )


def _read_addresses(text: str, focus: Focus) -> tuple[FollowUp, list[str]]:
    """Return a text with names in place of the addresses of places, or the places if it only asks to see them."""
    pieces = read_pieces(text)
    addresses = find_addresses(text, pieces)
    try:
        places = [resolve_address(address, focus.places) for address in addresses]
    except MissingPlaceError as error:
        return FollowUp("", missing=error.place), []
    terms = [
        place.path if address.noun in FILE_NOUNS else place.term
        for address, place in zip(addresses, places, strict=True)
    ]
    if only_asks_to_see(pieces, addresses):
        locations = [
            place.path if address.noun in FILE_NOUNS else place.location
            for address, place in zip(addresses, places, strict=True)
        ]
        return FollowUp("", subjects=terms, places=locations), terms
    for address, term in reversed(list(zip(addresses, terms, strict=True))):
        text = _put(text, pieces, address, term)
    return FollowUp(text, "yes" if terms else "no", terms), terms


def _put(text: str, pieces: Sequence[Piece], address: Address, term: str) -> str:
    """Return a text with a term in place of an address and its brackets."""
    start, end = pieces[address.first].start, pieces[address.last].end
    if text[start - 1 : start] == "[" and text[end : end + 1] == "]":
        start, end = start - 1, end + 1
    return f"{text[:start]}{term}{text[end:]}"


@dataclass
class _Reader:
    """Reads one text, whose addresses are names already."""

    text: str
    focus: Focus

    @cached_property
    def _pieces(self) -> list[Piece]:
        return read_pieces(self.text)

    @cached_property
    def _body(self) -> list[Piece]:
        """The pieces behind the words that only lead on, such as "ok, and"."""
        pieces = [piece for piece in self._pieces if piece.is_word]
        lead = 0
        while lead < len(pieces) and pieces[lead].has_any(_POLITE):
            lead += 1
        return pieces[lead:] or pieces

    @property
    def _leads_on(self) -> bool:
        return bool(self._body) and self._body[0].start > self._pieces[0].start

    @cached_property
    def _concepts(self) -> frozenset[str]:
        return frozenset[str]().union(*(piece.concepts for piece in self._body))

    @property
    def _only_asks(self) -> bool:
        return not any(piece.is_plain or piece.is_mask for piece in self._body)

    def read(self) -> FollowUp:
        """Return the text as a question that stands alone."""
        readers: tuple[Callable[[], FollowUp | None], ...] = (
            self._read_bare,
            self._read_rest,
            self._read_more,
            self._read_filter,
            self._read_complete,
            self._read_other_subject,
            self._read_pronouns,
        )
        for read in readers:
            if (follow_up := read()) is not None:
                return follow_up
        points_back = "back" in self._concepts or (
            not self._concepts.isdisjoint(_POINTING) and detect_language(self.text) != "en"
        )
        is_of_line = "line" in self._concepts and any(piece.text == "<number>" for piece in self._body)
        return FollowUp(self.text, "unknown" if points_back or is_of_line else "no")

    def _ask(self, wording: str) -> FollowUp:
        return FollowUp(wording.format(it=self.focus.single), subjects=[self.focus.single])

    def _read_bare(self) -> FollowUp | None:
        """Read a question of a word or two: "why?", "and then?"."""
        if not self.focus.single or not self._only_asks or "not" in self._concepts:
            return None
        words = [piece.concepts for piece in self._pieces if piece.concepts]
        wording = choose_bare_wording(words)
        return self._ask(wording) if wording else None

    def _read_rest(self) -> FollowUp | None:
        """Read "show me the code" or "the rest": of a declaration, else more results; "the whole file" is the file."""
        if {"file", "rest"} <= self._concepts and self._only_asks and self._is_all(SHOWING_CONCEPTS | FILE_NOUNS):
            file = self.focus.find_file()
            return FollowUp("", subjects=[file], places=[file])
        is_code = {"show", "code"} <= self._concepts or "rest" in self._concepts
        if not self._only_asks or not is_code or not self._is_all(SHOWING_CONCEPTS | _POINTING):
            return None
        if "code" not in self._concepts and (self._lists_relations or not self.focus.single):
            return (
                FollowUp(self.focus.question, subjects=self.focus.subjects, is_wider=True)
                if self.focus.question
                else None
            )
        return self._show_code()

    def _show_code(self) -> FollowUp:
        place = next((place for place in self.focus.places if place.term == self.focus.single), None)
        if place is not None:
            return FollowUp("", subjects=[self.focus.single], places=[place.location])
        return self._ask("show me the code of {it}")

    def _read_more(self) -> FollowUp | None:
        """Read "more": the same question, for more results."""
        if not self.focus.question or self._concepts.isdisjoint(_MORE) or not self._only_asks:
            return None
        if not self._is_all(_MORE_FRAME | _MORE_OBJECTS):
            return None
        return FollowUp(self.focus.question.rstrip("?.! "), subjects=self.focus.subjects, is_wider=True)

    def _read_filter(self) -> FollowUp | None:
        """Read "in Go?": the question before, within something."""
        start = next((at for at, piece in enumerate(self._body) if piece.has_any(frozenset({"within"}))), None)
        if start is None or not self.focus.question or len(self._body) - start > _MAX_FILTER_WORDS:
            return None
        head, inner = self._body[:start], self._body[start + 1 :]
        inner_concepts = frozenset[str]().union(*(piece.concepts for piece in inner))
        if any(piece.is_plain or not piece.has_any(_POLITE | {"about", "not", "what"}) for piece in head) or not inner:
            return None
        if not inner_concepts.isdisjoint(_POINTING | (QUESTION_CONCEPTS - {"is"})):
            return None
        negations = [piece for piece in head if "not" in piece.concepts]
        is_negative = bool(negations) or "without" in self._body[start].concepts
        only_tests = "test" in inner_concepts and not any(piece.is_plain or piece.is_mask for piece in inner)
        question = self.focus.question.rstrip("?.! ")
        if only_tests and not is_negative and self._is_of_name and self.focus.single.strip("`") in question:
            return self._ask(TESTS)  # where it is declared, or all its users, was said
        first = next(iter(negations), self._body[start])
        condition = self.text[first.start :].rstrip("?.!, ")
        return FollowUp(f"{_drop_filter(question)} {condition}", subjects=self.focus.subjects)

    @cached_property
    def _previous_concepts(self) -> frozenset[str]:
        return frozenset[str]().union(*(piece.concepts for piece in read_pieces(self.focus.question)))

    @property
    def _lists_relations(self) -> bool:
        """Whether the question before was for what uses a name."""
        return not self._previous_concepts.isdisjoint(_RELATIONS)

    @property
    def _is_of_name(self) -> bool:
        """Whether the question before was for where a name is, or what uses it."""
        return self._lists_relations or "define" in self._previous_concepts

    def _read_complete(self) -> FollowUp | None:
        """Read a text that only asks, and leaves out of what: "callers?", "wer ruft das auf?"."""
        if not self.focus.single or not self._only_asks or not self._concepts.isdisjoint(_WHOLE | {"back"}):
            return None
        named = self._read_pronouns()
        if named is None and not self._concepts.isdisjoint(_POINTING):
            return None
        language = detect_language(self.text)
        if named and "possessive" not in self._concepts and language == "en":
            return None  # the text with the name in place of the pronoun says more than its kind
        tokens = read_tokens(self.text[self._body[0].start :], language)
        concepts = self._concepts - _POLITE
        reading = load_classifier().classify(tokens)
        aspect = find_aspect(read_asking(load_cues("aspects").read(tokens)), concepts, reading.kind)
        asks = bool(aspect) or not concepts.isdisjoint(load_cues().concepts)
        wording = choose_wording(reading, aspect, concepts) if asks else ""
        return self._ask(wording) if wording else None

    def _read_other_subject(self) -> FollowUp | None:
        """Read "what about X": the question before with another subject."""
        question, body = self.focus.question.rstrip("?.! "), self._body
        is_same = not self._concepts.isdisjoint({"about", "same"}) or {"really", "head"} <= self._concepts
        is_same = is_same or (bool(body) and body[0].has_any(frozenset({"head"})))
        asks_of_name = any(piece.is_mask for piece in body) and any(piece.concepts - _SAME_FRAME for piece in body)
        is_fragment = self._leads_on and not asks_of_name and not (body[0].concepts & (QUESTION_CONCEPTS | _POINTING))
        if not question or not (is_same or is_fragment) or len(body) > _MAX_FRAGMENT_WORDS + 2:
            return None
        if is_fragment and not is_same and len(body) > _MAX_FRAGMENT_WORDS:
            return None
        start = 0
        while start < len(body) and not (body[start].is_plain or body[start].is_mask) and self._is_frame(body[start]):
            start += 1
        end = len(body)
        while end > start and body[end - 1].has_any(_POLITE | {"about"}):
            end -= 1
        subject = body[start:end]
        if not subject or not any(piece.is_plain or piece.is_mask for piece in subject):
            return None
        if any(piece.has_any(QUESTION_CONCEPTS | _POINTING) for piece in subject):
            return None
        term = self.text[subject[0].start : subject[-1].end]
        single = self.focus.single
        for named in (single, single.strip("`"), find_topic(question)):
            if named and named in question:
                return FollowUp(question.replace(named, term, 1), subjects=[term])
        return FollowUp(f"{term}: {question}", subjects=[term])

    def _is_frame(self, piece: Piece) -> bool:
        return piece.has_any(_SAME_FRAME) if piece.concepts else True

    def _read_pronouns(self) -> FollowUp | None:
        """Read a question with pronouns."""
        replacement = replace_pronouns(self.text, self._pieces, self.focus)
        if not replacement.terms:
            return None
        cut = self._body[0].start
        head = replace_pronouns(self.text[cut:], read_pieces(self.text[cut:]), self.focus) if cut else replacement
        return FollowUp((head if head.terms else replacement).text, subjects=replacement.terms)

    def _is_all(self, concepts: frozenset[str]) -> bool:
        return all(piece.has_any(concepts) for piece in self._body if piece.concepts)


def _drop_filter(question: str) -> str:
    """Return a question without the filter at its end: "in Python"."""
    pieces = read_pieces(question)
    for at in range(len(pieces) - 2, max(0, len(pieces) - _MAX_FILTER_WORDS), -1):
        if pieces[at].has_any(frozenset({"within"})):
            return question[: pieces[at].start].rstrip()
    return question
