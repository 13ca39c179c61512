"""Numbers that a statement gives as facts, compared with those in code: ``30 s`` may be ``timeout_ms=30_000`` there."""

import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

_STATED: Final = re.compile(
    r"(?<![\w.,/:#+\-–—])(?P<number>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)"
    r"(?P<joined>[a-zA-Zµ%]*)(?:[ \u00a0]?(?P<unit>[a-zA-Zµ%]+))?(?![\w/:\-]|\.\d| ?[+*/=^])"
)
_STANDARD: Final = re.compile(
    r"(?:\b(?:[A-Z][A-Z0-9]+s?|Python|Java|Go|Node|step|point|lines?|chapter|section|item)\b|[#§v+*/=^])"
    r"[ -]?(?:[\d.]+(?:,? (?:and )?))*$"
)
"""What is before a number that names something: ``RFC 2616 14.2``, ``line 12``."""

_IN_CODE = re.compile(r"0[xX][0-9a-fA-F_]{1,32}|\d[\d_]*(?:\.\d+)?")
_SMALL = 10  # counts of things and steps, which no line of code says
_YEARS: Final = range(1970, 2100)
_STATUS: Final = frozenset(status.value for status in HTTPStatus)  # code names them: NOT_FOUND
_MOST_BITS = 64
_LARGEST_BASE = 1024

_TIME: Final = (1.0, 1e3, 1e6, 1e9, 60.0, 3600.0, 86400.0)
_SIZE: Final = (1.0, 1e3, 1e6, 1e9, 1024.0, 1024.0**2, 1024.0**3)
_UNITS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "ms", "millisecond", "milliseconds", "us", "ns"), _TIME),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "h", "hour", "hours", "day", "days"), _TIME),
    **dict.fromkeys(("byte", "bytes", "kb", "mb", "gb", "kib", "mib", "gib"), _SIZE),
    **dict.fromkeys(("bits", "characters", "chars", "tokens", "px", "hz", "times", "retries", "attempts"), (1.0,)),
    **dict.fromkeys(("%", "percent"), (1.0, 100.0)),
}
"""By what a number with a unit may be multiplied or divided for another unit."""


_WORDS: Final = MappingProxyType(
    {
        "ten": 10,
        "twelve": 12,
        "fifteen": 15,
        "twenty": 20,
        "thirty": 30,
        "forty": 40,
        "fifty": 50,
        "sixty": 60,
        "ninety": 90,
    }
)
_WORDS_WITH_UNIT = re.compile(
    rf"(?<!-)\b(?P<word>{'|'.join(_WORDS)})[ -](?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_HEXADECIMAL = re.compile(r"\b0[xX][0-9a-fA-F]{1,32}\b")
_VERSION_OF = re.compile(r"\b[A-Z]\w+[ -]v?$")
"""What is before the version of a product: ``Unicode 15.1``."""


def unfounded_number(statement: str, cited: str) -> str:
    """Return a number that a statement gives and that the cited code does not have, with its unit; empty if there is none.

    Whole numbers below 10 without a unit, years, status codes of HTTP and numbers of standards are taken for granted.

    Args:
        statement: Without code and citations.
        cited: The lines.
    """
    known: set[float] | None = None
    for number, factors, shown in _stated(statement):
        if known is None:
            known = _numbers(cited)
        if not any(_is_known(number * factor, known) or _is_known(number / factor, known) for factor in factors):
            return shown
    return ""


def _stated(statement: str) -> Iterator[tuple[float, Sequence[float], str]]:
    """Yield each number that is a fact, with the factors of its unit, and as it is put."""
    for match in _HEXADECIMAL.finditer(statement):
        yield float(int(match[0], 16)), (1.0,), match[0]
    for match in _STATED.finditer(_WORDS_WITH_UNIT.sub(_in_digits, statement)):
        unit = (match["joined"] or match["unit"] or "").lower()
        number = float(match["number"].replace(",", ""))
        if (match["joined"] and unit not in _UNITS) or _STANDARD.search(statement[: match.start()]):
            continue  # such as 3D
        if unit in _UNITS:
            yield number, _UNITS[unit], f"{match['number']}{match['joined']}" if match["joined"] else match[0].strip()
        elif _is_fact(number) and not (number % 1 and _VERSION_OF.search(statement[: match.start()])):
            yield number, (1.0,), match["number"]


def _is_fact(number: float) -> bool:
    return bool(number % 1) or (number >= _SMALL and number not in _YEARS and number not in _STATUS)


def _in_digits(match: re.Match[str]) -> str:
    return f"{_WORDS[match['word'].lower()]} {match['unit']}"


def _numbers(code: str) -> set[float]:
    """Return the numbers in code, and what those beside each other make: ``60 * 60``, ``1 << 20``, ``2 ** 16``."""
    values: set[float] = set()
    made, end = 0.0, -1
    for match in _IN_CODE.finditer(code):
        text = match[0].replace("_", "")
        value = float(int(text, 16)) if text[:2] in ("0x", "0X") else float(text)
        between = code[end : match.start()].strip() if end >= 0 else ""
        if between == "*":
            made *= value
        elif between == "<<" and value <= _MOST_BITS:
            made *= 2.0**value
        elif between == "**" and value <= _MOST_BITS and made <= _LARGEST_BASE:
            made **= value
        else:
            made = value
        values.update((value, made))
        end = match.end()
    return values


def _is_known(number: float, known: set[float]) -> bool:
    return number in known or round(number, 6) in known
