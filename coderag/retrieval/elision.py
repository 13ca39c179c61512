"""Show less of a piece of code: its most telling lines, its signature with the docstring, or one line."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

_TAIL_LINES = 1
_MOST_HEAD_LINES = 8
_SHORTEST_GAP = 2  # a shorter gap is not worth its own marker
_BESIDE = 0.5  # of a line's words are worth to the lines next to it
_OPENS: Final = re.compile(
    r"\s*(?:return|raise|throw|yield|if|elif|else|for|while|case|match|switch|try|except|catch)\b"
)
_WORD: Final = re.compile(r"\w")
_OPENING = 0.3  # what a branch or an exit is worth more than a plain line
_UNSAID = 0.2  # what a line without a word is worth


class Line(NamedTuple):
    """A line of a file: its number, from 1, its text, and what it is worth to the reader."""

    number: int
    text: str
    value: float = 1.0


def weigh(text: str, rarity: Mapping[str, float], word_weight: float) -> list[float]:
    """Return what each line of a piece is worth: a plain line 1, one with words of the question more.

    Args:
        text: The piece.
        rarity: How telling each term of the question is, above 0.
        word_weight: What a line with the rarest term is worth beyond a plain line.
    """
    low, plain = _plain_worths(text)
    told = _told(low, rarity)
    if not any(told):
        return [*plain]
    around = [0.0, *told, 0.0]
    near = (_BESIDE * max(around[number], around[number + 2]) for number in range(len(told)))
    return [base + word_weight * max(own, beside) for base, own, beside in zip(plain, told, near, strict=True)]


@lru_cache(maxsize=4_096)
def _plain_worths(text: str) -> tuple[str, Sequence[float]]:
    """Return a piece in lower case, and what its lines are worth whatever the question is."""
    low = text.lower()
    worths = [
        (1.0 if _WORD.search(line) else _UNSAID) + (_OPENING if _OPENS.match(line) else 0.0)
        for line in text.split("\n")
    ]
    return low, worths


def _told(text: str, rarity: Mapping[str, float]) -> list[float]:
    """Return how much of the question each line has, 0 to 1: a term is looked for as a part of words, which is fast."""
    lines = text.split("\n")
    told = [0.0] * len(lines)
    rarest = max(rarity.values(), default=1.0)
    for term, weight in rarity.items():
        if term in text:
            for number, line in enumerate(lines):
                if term in line:
                    told[number] += weight / rarest
    return [min(value, 1.0) for value in told]


def elide(lines: Sequence[Line], head: int, share: float) -> list[Line]:
    """Return the head, the last line and the most telling lines between, in their order.

    Args:
        lines: The lines, in their order.
        head: How many of the first are always shown.
        share: Of the lines that are shown, 0 to 1; a few more where a gap would be too short.
    """
    keep = set(range(min(head, len(lines)))) | set(range(max(len(lines) - _TAIL_LINES, 0), len(lines)))
    order = sorted(range(len(lines)), key=lambda place: (-lines[place].value, place))
    for place in order:
        if len(keep) >= share * len(lines):
            break
        keep.add(place)
    places = sorted(keep)
    for before, behind in pairwise(places):
        if behind - before - 1 < _SHORTEST_GAP:
            keep.update(range(before, behind))
    return [lines[place] for place in sorted(keep)]


def head_length(texts: Sequence[str], signature: str) -> int:
    """Return how many of a declaration's first lines have its decorators and its signature."""
    wanted = "".join(signature.split())
    for first, text in enumerate(texts[:_MOST_HEAD_LINES]):
        found = "".join(text.split())
        if found and wanted and (wanted.startswith(found) or found.startswith(wanted)):
            length = first + 1
            while len(found) < len(wanted) and length < min(len(texts), first + _MOST_HEAD_LINES):
                found += "".join(texts[length].split())
                length += 1
            return length
    return 1


def written(lines: Sequence[Line], first: int, last: int, before: Collection[int] = ()) -> str:
    """Return the lines with a marker for every gap between `first` and `last`.

    Args:
        lines: Those that are shown, in their order; at least one.
        first: First line of the piece.
        last: Last line of the piece.
        before: Numbers of lines that the reader has seen before.
    """
    if len(lines) == last - first + 1:
        return "\n".join([line.text for line in lines])
    parts = []
    above = first - 1
    for line in lines:
        parts.extend(_marker(above, line.number, line.text, before))
        parts.append(line.text)
        above = line.number
    parts.extend(_marker(above, last + 1, lines[-1].text, before))
    return "\n".join(parts)


def _marker(above: int, below: int, beside: str, before: Collection[int]) -> list[str]:
    """Return the line that stands for the lines between two others, if there are any."""
    missing = below - above - 1
    if missing <= 0:
        return []
    indent = beside[: len(beside) - len(beside.lstrip())]
    seen = ", shown before" if before and all(number in before for number in range(above + 1, below)) else ""
    return [f"{indent}… {missing} line{'' if missing == 1 else 's'}{seen}"]


def signature_only(signature: str, docstring: str) -> str:
    """Return a declaration's signature and docstring."""
    return f"{signature}\n{_indented(docstring)}".rstrip() if docstring else signature


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip().split("\n"))
