"""Addresses of numbered places: "the second one", "number 3", "[2]", "the first file", in eight languages."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.question.conversation import MissingPlace, NumberedPlace, Piece
from coderag.question.cues import QUESTION_CONCEPTS

_ORDINALS: Final[Mapping[str, int]] = MappingProxyType({str(number): number for number in (*range(1, 11), -1)})
_LAST: Final = -1
_COUNTS: Final[Mapping[str, int]] = MappingProxyType({"two": 2, "three": 3, "four": 4, "five": 5})
_KINDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "function": frozenset({"function", "method", "macro"}),
        "class": frozenset({"class", "struct", "interface", "trait", "enum", "union", "type_alias", "impl"}),
    }
)
FILE_NOUNS: Final = frozenset({"file", "module"})
"""Concepts of nouns that count the files of all places."""

_NOUNS: Final = frozenset({*_KINDS, *FILE_NOUNS})
_ITEM: Final = frozenset({"item"})
_ARTICLE: Final = frozenset({"article", "demonstrative"})
_AFTER_BARE: Final = QUESTION_CONCEPTS | {"and", "or", "filler"}
"""Concepts of what may follow "the second" without a noun."""

_NUMBER: Final = re.compile(r"#?(\d{1,3})(st|nd|rd|th)?")
_RANGE: Final = re.compile(r"(\d{1,3})[-–](\d{1,3})|(\d{1,3}(?:,\d{1,3})+)")
_BRACKETED: Final = re.compile(r"(?<![\w\])])\[(\d{1,3})\]")
_MAX_RANGE: Final = 10

SHOWING_CONCEPTS: Final = frozenset(
    {"show", "code", "please", "my", "and", "filler", "article", "to", "rest", "can", "head"}
)
"""Concepts of a text that only asks to see something."""

_COMPARING: Final = frozenset({"compare", "difference", "between", "with"})


class Address(NamedTuple):
    """An address in a text.

    Attributes:
        first, last: Positions of its first and last piece.
        number: From 1; -1 for the last.
        noun: Concept of what is counted; empty for places.
    """

    first: int
    last: int
    number: int
    noun: str


class MissingPlaceError(Exception):
    """An address has no place."""

    def __init__(self, place: MissingPlace) -> None:
        super().__init__(f"no place has the number {place.number}")
        self.place = place


def find_addresses(text: str, pieces: Sequence[Piece]) -> list[Address]:
    """Return the addresses of a text in their order."""
    addresses: list[Address] = []
    position = 0
    while position < len(pieces):
        matches = list(_match(text, pieces, position))
        addresses += matches
        position = matches[-1].last + 1 if matches else position + 1
    return addresses


def only_asks_to_see(pieces: Sequence[Piece], addresses: Sequence[Address]) -> bool:
    """Whether a text says nothing but addresses and that they are to be shown."""
    addressed = {at for address in addresses for at in range(address.first, address.last + 1)}
    rest = [piece for at, piece in enumerate(pieces) if at not in addressed and piece.is_word]
    return bool(addresses) and all(not piece.is_plain and _shows(piece) for piece in rest)


def _shows(piece: Piece) -> bool:
    return piece.has_any(SHOWING_CONCEPTS) if piece.concepts else not piece.is_mask


def resolve_address(address: Address, places: Sequence[NumberedPlace]) -> NumberedPlace:
    """Return the place that an address means.

    Raises:
        MissingPlaceError: There is none.
    """
    counted = count_places(address.noun, places)
    if not counted or address.number > len(counted) or address.number == 0:
        raise MissingPlaceError(MissingPlace(address.number, address.noun))
    return counted[_LAST if address.number == _LAST else address.number - 1]


def count_places(noun: str, places: Sequence[NumberedPlace]) -> list[NumberedPlace]:
    """Return the places that a noun counts: the declarations of a kind, the first place of each file, or all."""
    if noun in FILE_NOUNS:
        files: dict[str, NumberedPlace] = {}
        for place in places:
            files.setdefault(place.path, place)
        return list(files.values())
    kinds = _KINDS.get(noun)
    return [place for place in places if kinds is None or place.kind in kinds]


def _match(text: str, pieces: Sequence[Piece], position: int) -> Iterator[Address]:
    """Yield the addresses that begin at a piece; a range has several."""
    piece = pieces[position]
    if piece.is_mask:
        yield from _match_digits(text, pieces, position)
    elif piece.has_any(frozenset({"number"})) and (number := _read_number(text, pieces, position + 1)):
        last = position + 1
        while last + 1 < len(pieces) and pieces[last + 1].has_any(frozenset({"ordinal"})):
            last += 1
        yield Address(_begin(pieces, position), last, number, "")
    else:
        number = next((_ORDINALS[concept] for concept in piece.concepts if concept in _ORDINALS), 0)
        if number == 1 and (count := _read_count(text, pieces, position + 1)):
            yield from _match_first(pieces, position, count)
        elif number and (ordinal := _match_ordinal(pieces, position, position, number)):
            yield ordinal


def _match_first(pieces: Sequence[Piece], position: int, count: int) -> Iterator[Address]:
    """Yield the addresses of "the first three results", if nothing narrows them."""
    rest = pieces[position + 2 :]
    has_noun = bool(rest) and rest[0].has_any(_ITEM | _NOUNS)
    behind = rest[1:] if has_noun else rest
    last = position + 1 + has_noun
    if not behind or behind[0].has_any(_AFTER_BARE) or not behind[0].is_word:
        yield from (Address(_begin(pieces, position), last, number, "") for number in range(1, count + 1))


def _read_count(text: str, pieces: Sequence[Piece], position: int) -> int:
    """Return the small number that a word or digits at a position are; 0 if they are none."""
    if position >= len(pieces):
        return 0
    word = next((_COUNTS[concept] for concept in pieces[position].concepts if concept in _COUNTS), 0)
    count = word or _read_number(text, pieces, position)
    return count if count <= _MAX_RANGE else 0


def _match_digits(text: str, pieces: Sequence[Piece], position: int) -> Iterator[Address]:
    """Yield what digits address: "[2]", "#2", "2nd", "2番目", and bare ones if the text only shows or compares."""
    piece = pieces[position]
    source = text[piece.start : piece.end]
    match = _NUMBER.fullmatch(source)
    is_bracketed = text[piece.start - 1 : piece.start] == "[" and _BRACKETED.match(text, piece.start - 1)
    if match and (is_bracketed or source.startswith("#")):
        yield Address(_begin(pieces, position), position, int(match[1]), "")
    elif match and match[2]:
        if ordinal := _match_ordinal(pieces, position, position, int(match[1])):
            yield ordinal
    elif match and position + 1 < len(pieces) and pieces[position + 1].has_any(frozenset({"ordinal"})):
        yield Address(position, position + 1, int(match[1]), "")
    elif text[piece.start - 1 : piece.start] != "[" and _allows_bare_numbers(pieces):
        yield from (Address(position, position, number, "") for number in _read_range(source))


def _match_ordinal(pieces: Sequence[Piece], first: int, last: int, number: int) -> Address | None:
    """Return the address of an ordinal with its noun; None if it counts something else."""
    following = pieces[last + 1 :]
    if following and following[0].is_mask:
        return None
    noun = next((piece for piece in following[:1] if piece.has_any(_NOUNS | _ITEM)), None)
    if noun is not None:
        last += 1
    end = _end_list(pieces, last)
    if noun is None and end == last and not _stands_alone(pieces, first, following, number):
        return None
    last = end
    rest = pieces[last + 1 :]
    if rest and noun is not None and _narrows(rest):
        return None
    counted = next((concept for concept in sorted(_NOUNS) if noun and concept in noun.concepts), "")
    is_item = noun is not None and noun.has_any(_ITEM)
    return Address(_begin(pieces, first), last, number, "" if is_item else counted)


def _stands_alone(pieces: Sequence[Piece], first: int, following: Sequence[Piece], number: int) -> bool:
    """Whether an ordinal without a noun is an address: it has an article, and no noun follows."""
    has_article = first == 0 or pieces[first - 1].has_any(_ARTICLE) or not pieces[first].text.isascii()
    if not has_article:
        return False
    if not following or not following[0].is_word:
        return True
    after = following[0]
    is_asked = number != _LAST and any(piece.has_any(frozenset({"do", "can"})) for piece in pieces[:first])
    if after.is_plain:
        return is_asked
    return not after.concepts or after.has_any(_AFTER_BARE) or is_asked or not after.text.isascii()


def _narrows(rest: Sequence[Piece]) -> bool:
    """Whether more words narrow what was counted: "the first function that parses TOML"."""
    links = not rest[0].concepts.isdisjoint(
        {"within", "head", "from", "to", "when", "where", "which", "with", "demonstrative"}
    )
    return (links or rest[0].text == "of") and any(
        piece.is_plain or piece.is_mask or piece.concepts for piece in rest[1:]
    )


def _end_list(pieces: Sequence[Piece], last: int) -> int:
    """Return the position of the end of "of them" behind an ordinal, else the position itself."""
    following = pieces[last + 1 : last + 3]
    is_list = len(following) == 2 and not following[0].is_plain and following[1].has_any(frozenset({"they"}))
    return last + 2 if is_list and following[0].has_any(frozenset({"head", "within", "from"})) else last


def _begin(pieces: Sequence[Piece], position: int) -> int:
    has_article = position > 0 and pieces[position - 1].has_any(_ARTICLE)
    return position - 1 if has_article else position


def _read_number(text: str, pieces: Sequence[Piece], position: int) -> int:
    """Return the number at a position, 0 if there is none."""
    if position >= len(pieces) or not pieces[position].is_mask:
        return 0
    match = _NUMBER.fullmatch(text[pieces[position].start : pieces[position].end])
    return int(match[1]) if match else 0


def _read_range(source: str) -> list[int]:
    if match := _RANGE.fullmatch(source):
        if match[3]:
            return [int(part) for part in match[3].split(",")]
        first, last = int(match[1]), int(match[2])
        return list(range(first, last + 1)) if first <= last < first + _MAX_RANGE else []
    match = _NUMBER.fullmatch(source)
    return [int(match[1])] if match else []


def _allows_bare_numbers(pieces: Sequence[Piece]) -> bool:
    """Whether numbers of a text are those of places: it only shows or compares."""
    words = [piece for piece in pieces if piece.is_word and not piece.is_mask]
    if any(piece.is_plain or piece.has_any(frozenset({"line"})) for piece in words):
        return False
    if any(piece.is_mask and piece.text not in ("<number>", "<ticket>") for piece in pieces):
        return False
    return all(piece.has_any(SHOWING_CONCEPTS | _COMPARING) for piece in words if piece.concepts)
