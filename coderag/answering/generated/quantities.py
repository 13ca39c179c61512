"""Comparison of stated numbers with those in code: ``30 s`` may be ``timeout_ms=30_000`` there."""

import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

_STATED_NUMBER: Final = re.compile(
    r"(?<![\w.,/:#+\-–—])(?P<number>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)"
    r"(?P<joined>[a-zA-Zµ%]*)(?:[ \u00a0]?(?P<unit>[a-zA-Zµ%]+))?(?![\w/:\-]|\.\d| ?[+*/=^])"
)
_NAMED_NUMBER_PREFIX: Final = re.compile(
    r"(?:\b(?:[A-Z][A-Z0-9]+s?|Python|Java|Go|Node|step|point|lines?|chapter|section|item)\b|[#§v+*/=^])"
    r"[ -]?(?:[\d.]+(?:,? (?:and )?))*$"
)
"""Text before a number that is a name: ``RFC 2616 14.2``, ``line 12``."""

_CODE_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]{1,32}|\d[\d_]*(?:\.\d+)?")
_MIN_UNNAMED_NUMBER = 10  # smaller counts are rarely literal in code
_YEARS: Final = range(1970, 2100)
_HTTP_STATUS_CODES: Final = frozenset(status.value for status in HTTPStatus)  # code uses their names: NOT_FOUND
_MAX_BITS = 64
_MAX_BASE = 1024

_TIME_FACTORS: Final = (1.0, 1e3, 1e6, 1e9, 60.0, 3600.0, 86400.0)
_SIZE_FACTORS: Final = (1.0, 1e3, 1e6, 1e9, 1024.0, 1024.0**2, 1024.0**3)
_UNIT_FACTORS: Final = {
    **dict.fromkeys(
        ("s", "sec", "secs", "second", "seconds", "ms", "millisecond", "milliseconds", "us", "ns"), _TIME_FACTORS
    ),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "h", "hour", "hours", "day", "days"), _TIME_FACTORS),
    **dict.fromkeys(("byte", "bytes", "kb", "mb", "gb", "kib", "mib", "gib"), _SIZE_FACTORS),
    **dict.fromkeys(("bits", "characters", "chars", "tokens", "px", "hz", "times", "retries", "attempts"), (1.0,)),
    **dict.fromkeys(("%", "percent"), (1.0, 100.0)),
}
"""Conversion factors of a unit to related units."""


_NUMBER_WORDS: Final = MappingProxyType(
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
_NUMBER_WORD_WITH_UNIT = re.compile(
    rf"(?<!-)\b(?P<word>{'|'.join(_NUMBER_WORDS)})[ -](?P<unit>{'|'.join(sorted(_UNIT_FACTORS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_HEXADECIMAL = re.compile(r"\b0[xX][0-9a-fA-F]{1,32}\b")
_PRODUCT_NAME_PREFIX = re.compile(r"\b[A-Z]\w+[ -]v?$")
"""Text before a product's version: ``Unicode 15.1``."""


def find_unsupported_number(statement: str, code: str) -> str:
    """Find a stated number, with its unit, that the cited code lacks; empty if there is none.

    Integers below 10 without a unit, years, HTTP status codes and numbers of standards are accepted.

    Args:
        statement: Statement without code and citations.
        code: Cited lines.
    """
    code_numbers: set[float] | None = None
    for number, factors, stated_text in _find_stated_numbers(statement):
        if code_numbers is None:
            code_numbers = _find_code_numbers(code)
        if not any(
            _contains_number(number * factor, code_numbers) or _contains_number(number / factor, code_numbers)
            for factor in factors
        ):
            return stated_text
    return ""


def _find_stated_numbers(statement: str) -> Iterator[tuple[float, Sequence[float], str]]:
    """Yield each stated fact: the number, its unit's factors, and its text."""
    for match in _HEXADECIMAL.finditer(statement):
        yield float(int(match[0], 16)), (1.0,), match[0]
    for match in _STATED_NUMBER.finditer(_NUMBER_WORD_WITH_UNIT.sub(_to_digits, statement)):
        unit = (match["joined"] or match["unit"] or "").lower()
        number = float(match["number"].replace(",", ""))
        if (match["joined"] and unit not in _UNIT_FACTORS) or _NAMED_NUMBER_PREFIX.search(statement[: match.start()]):
            continue  # such as 3D
        if unit in _UNIT_FACTORS:
            yield (
                number,
                _UNIT_FACTORS[unit],
                f"{match['number']}{match['joined']}" if match["joined"] else match[0].strip(),
            )
        elif _is_fact(number) and not (number % 1 and _PRODUCT_NAME_PREFIX.search(statement[: match.start()])):
            yield number, (1.0,), match["number"]


def _is_fact(number: float) -> bool:
    return bool(number % 1) or (
        number >= _MIN_UNNAMED_NUMBER and number not in _YEARS and number not in _HTTP_STATUS_CODES
    )


def _to_digits(match: re.Match[str]) -> str:
    return f"{_NUMBER_WORDS[match['word'].lower()]} {match['unit']}"


def _find_code_numbers(code: str) -> set[float]:
    """Find the numbers in code, and products of adjacent ones: ``60 * 60``, ``1 << 20``, ``2 ** 16``."""
    values: set[float] = set()
    product, end = 0.0, -1
    for match in _CODE_NUMBER.finditer(code):
        text = match[0].replace("_", "")
        value = float(int(text, 16)) if text[:2] in ("0x", "0X") else float(text)
        between = code[end : match.start()].strip() if end >= 0 else ""
        if between == "*":
            product *= value
        elif between == "<<" and value <= _MAX_BITS:
            product *= 2.0**value
        elif between == "**" and value <= _MAX_BITS and product <= _MAX_BASE:
            product **= value
        else:
            product = value
        values.update((value, product))
        end = match.end()
    return values


def _contains_number(number: float, numbers: set[float]) -> bool:
    return number in numbers or round(number, 6) in numbers
