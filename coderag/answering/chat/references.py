"""What was cited stays addressable by its number: "open 3", "show me the second one", "who calls [2]", "the first file"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.answering.chat.state import CitedPlace
from coderag.schema.vocabulary import FILE_NAMED_KINDS

_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_LAST: Final = -1

_KINDS: Final = {
    "file": frozenset[str](),
    "module": frozenset[str](),
    "function": frozenset({"function", "method", "macro"}),
    "method": frozenset({"method", "function"}),
    "class": frozenset({"class", "struct", "interface", "trait", "enum", "union", "type_alias", "impl"}),
    "type": frozenset({"class", "struct", "interface", "trait", "enum", "union", "type_alias"}),
}
"""What a noun counts: declarations of some kinds, or (file, module) the files of all places."""

_ANY: Final = (
    "one|result|citation|source|place|match|hit|entry|item|reference|caller|usage|use|test|declaration|definition|"
    "snippet"
)
_NOUN: Final = rf"(?P<noun>{'|'.join(_KINDS)}|{_ANY})"
_ORDINAL: Final = rf"(?P<ordinal>{'|'.join(_ORDINALS)}|last|(?P<nth>\d{{1,3}})(?:st|nd|rd|th))"
_LIST: Final = r"(?:\s+(?:of|in|from)\s+(?:them|those|these|(?:the|that|this)\s+list))?"
_NARROWED: Final = r"(?!\s+(?:in|of|that|which|from|with|to|where|when)\b)"
_ENDS: Final = r"(?=\s*(?:[.,;?!]|$|(?:and|or|again|please|with)\b))"
_THE: Final = rf"(?:the\s+|your\s+)?{_ORDINAL}\s+{_NOUN}{_LIST}\b{_NARROWED}|the\s+{_ORDINAL}{_LIST}{_ENDS}"
_NUMBERED: Final = (
    r"(?:the\s+)?(?:number|no\.|nr\.?|result|citation|source|place|entry|item|match|hit)\s+#?(?P<number>\d{1,3})\b"
    r"|(?<![\w#])#(?P<hash>\d{1,3})\b|(?<![\w\])])\[(?P<bracket>\d{1,3})\]"
)


def _unnamed(pattern: str) -> str:
    return re.sub(r"\?P<\w+>", "?:", pattern)


_ADDRESS: Final = re.compile(rf"{_unnamed(_NUMBERED)}|{_unnamed(_THE)}", re.IGNORECASE)
_NUMBER_PARTS: Final = re.compile(_NUMBERED, re.IGNORECASE)
_ORDINAL_PARTS: Final = re.compile(rf"{_ORDINAL}(?:\s+{_NOUN})?", re.IGNORECASE)
_SHOW: Final = re.compile(
    r"(?:(?:ok(?:ay)?|and|now|then|please|so)[,\s]+)*"
    r"(?:(?:can|could|would)\s+you\s+|let\s+me\s+|i\s+(?:want|would\s+like)\s+to\s+)?"
    r"(?:please\s+)?(?:show|open|print|view|see|read|display|cat|expand|go\s+to|goto|jump\s+to|look\s+at)(?:\s+me)?"
    r"(?:\s+(?:the\s+)?(?:code|source|lines|body)(?:\s+(?:of|for|at|in))?)?\s+(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_AND: Final = re.compile(r"\s*(?:,|&|\band\b)\s*(?:and\s+)?", re.IGNORECASE)
_POLITE: Final = re.compile(r"(?:\s*[.,?!]|\s+(?:again|please|too|as well|in full))+$", re.IGNORECASE)
_BARE: Final = re.compile(r"\d{1,3}")
_FIRST_FEW: Final = re.compile(
    rf"(?:the\s+)?(?:first|top)\s+(?P<few>two|three|four|five|[2-9])(?:\s+(?:{_ANY})s?|\s+(?:matche|classe)s)?",
    re.IGNORECASE,
)
_FEW: Final = {"two": 2, "three": 3, "four": 4, "five": 5}
_THE_FILE: Final = re.compile(r"(?:the|that|this)\s+(?:whole\s+|entire\s+)?file", re.IGNORECASE)
_RANGE: Final = re.compile(r"(\d{1,3})\s*(?:-|–|to)\s*(\d{1,3})")
_BARE_ORDINAL: Final = re.compile(rf"(?:{'|'.join(_ORDINALS)}|last|\d{{1,3}}(?:st|nd|rd|th))", re.IGNORECASE)
_LISTED = 10


@dataclass(frozen=True, slots=True)
class Referred:
    """What the addresses of a text mean.

    Attributes:
        text: With names in place of addresses.
        places: What is to be shown as it is; empty if the text asks something.
        remark: Why there is no such place, in a kind sentence; empty if there is.
    """

    text: str
    places: Sequence[str] = ()
    remark: str = ""


def resolve_references(text: str, cited: Sequence[CitedPlace]) -> Referred:
    """Return a typed text with its addresses resolved.

    Args:
        text: As typed.
        cited: What the last answer cited, in the order of its numbers.
    """
    try:
        if (wanted := _to_show(text)) is not None:
            places = [_place(*address, cited) for address in wanted]
            return Referred(text, places=[_shown(place, noun) for place, (_, noun) in zip(places, wanted, strict=True)])
        return Referred(_ADDRESS.sub(lambda match: _name(match[0], cited), text))
    except _NoSuchPlaceError as error:
        return Referred(text, remark=str(error))


class _NoSuchPlaceError(Exception):
    """An address without a place; the message is for the person."""


Address = tuple[int, str]
"""A number, 1 is first and -1 last, and the noun that says what is counted."""


def _to_show(text: str) -> list[Address] | None:
    """Return the addresses of a text that does nothing but ask to see them; None if it asks something else."""
    match = _SHOW.fullmatch(text.strip())
    what = _POLITE.sub("", (match["what"] if match else text).strip())
    if (few := _FIRST_FEW.fullmatch(what)) is not None:
        return [(number, "") for number in range(1, int(_FEW.get(few["few"].lower(), few["few"])) + 1)]
    addresses: list[Address] = []
    for part in _AND.split(what):
        if (numbers := _RANGE.fullmatch(part)) and int(numbers[1]) <= int(numbers[2]) < int(numbers[1]) + _LISTED:
            addresses += [(number, "") for number in range(int(numbers[1]), int(numbers[2]) + 1)]
        elif _BARE.fullmatch(part):
            addresses.append((int(part), ""))
        elif _THE_FILE.fullmatch(part):
            addresses.append((1, "file"))
        elif _BARE_ORDINAL.fullmatch(part) or _ADDRESS.fullmatch(part):
            addresses.append(_address(part))
        else:
            return None
    return addresses


def _address(text: str) -> Address:
    if (match := _NUMBER_PARTS.search(text)) is not None:
        return int(match["number"] or match["hash"] or match["bracket"]), ""
    match = _ORDINAL_PARTS.search(text)
    assert match is not None, "an address has a number or an ordinal"
    noun = (match["noun"] or "").lower()
    if match["nth"]:
        return int(match["nth"]), noun
    ordinal = match["ordinal"].lower()
    return (_LAST if ordinal == "last" else _ORDINALS.index(ordinal) + 1), noun


def _place(number: int, noun: str, cited: Sequence[CitedPlace]) -> CitedPlace:
    """Return the place that an address means.

    Raises:
        _NoSuchPlaceError: There is none.
    """
    if not cited:
        raise _NoSuchPlaceError(
            "Nothing is cited in this conversation yet, so no place has a number. Ask something first."
        )
    counted = _counted(noun, cited)
    if number == _LAST and counted:
        return counted[-1]
    if not 1 <= number <= len(counted):
        what = noun if noun in _KINDS else "place"
        kinds = "" if len(counted) == 1 else "es" if what.endswith("s") else "s"
        found = f"{len(counted) or 'no'} {what}{kinds}"
        listed = "\n".join(f"{at}. `{place['place']}` {place['name']}" for at, place in enumerate(cited[:_LISTED], 1))
        asked = f"no last {what}" if number == _LAST else f"no number {number}"
        raise _NoSuchPlaceError(f"The last answer cites {found}, so there is {asked}. It cites:\n\n{listed}")
    return counted[number - 1]


def _counted(noun: str, cited: Sequence[CitedPlace]) -> list[CitedPlace]:
    if noun in ("file", "module"):
        files: dict[str, CitedPlace] = {}
        for place in cited:
            files.setdefault(path_of(place["place"]), place)
        return list(files.values())
    kinds = _KINDS.get(noun)
    return [place for place in cited if kinds is None or place["kind"] in kinds]


def _shown(place: CitedPlace, noun: str) -> str:
    return path_of(place["place"]) if noun in ("file", "module") else place["place"]


def _name(address: str, cited: Sequence[CitedPlace]) -> str:
    number, noun = _address(address)
    place = _place(number, noun, cited)
    return path_of(place["place"]) if noun in ("file", "module") else spoken(place)


def spoken(place: CitedPlace) -> str:
    """Return how a question names a cited place: its declaration, or its file."""
    if not place["name"] or place["kind"] in FILE_NAMED_KINDS:
        return path_of(place["place"])
    return f"`{place['name']}`"


def path_of(place: str) -> str:
    """Return the path of a place."""
    return place.rpartition(":")[0]
