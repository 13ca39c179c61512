"""Words of a text that address a language model, in whatever letters or encoding they are written (``injection.toml``)."""

import re
import tomllib
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import islice
from typing import Final

from coderag.answering.hidden_text import DIGITS, seen_through

ENCODED: Final = "holds an encoded text that addresses the model"

_GAP = r"\W{1,12}"
_IN_SENTENCE = r"[^\w.!?;]{1,12}"
_SOME_WORDS = rf"(?:{_IN_SENTENCE}\w+){{0,5}}?{_IN_SENTENCE}"

_ENCODED = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{24,4000}={0,2}")
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2})+")
_STANDARD: Final = str.maketrans("-_", "+/")
_MOST_ENCODED = 100  # runs of a text

_WORD = re.compile(r"\w+")
_DIGITS_WITHIN = re.compile(r"\b(?=[a-z]*[013457]+[a-z]|[a-z]+[013457])[a-z013457]{5,}")
_DISGUISED = ("ignor", "disregard", "forget", "previous", "instruct", "prompt", "system")


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One way of addressing a model.

    Attributes:
        needs: Groups of words and of parts of words; a text without one of each is not searched.
    """

    finding: str
    needs: Sequence[tuple[frozenset[str], Sequence[str]]]
    expression: re.Pattern[str]

    def finds(self, text: str, words: AbstractSet[str], joined: str) -> bool:
        """Return whether a text does it; given its words, also as one string."""
        for whole, parts in self.needs:
            if whole.isdisjoint(words) and not any(part in joined for part in parts):
                return False
        return bool(self.expression.search(text))


def addressed(text: str) -> Iterator[str]:
    """Yield what the words of a text do to a model that takes them for instructions, as phrases; some may come twice."""
    yield from _in_words(text)
    if any(any(_in_words(decoded)) for decoded in _decoded(text)):
        yield ENCODED


def _in_words(text: str) -> Iterator[str]:
    seen = seen_through(text)
    words = set(_WORD.findall(seen))
    joined = " ".join(words)
    yield from _found(seen, words, joined)
    if any(word.translate(DIGITS).startswith(_DISGUISED) for word in _DIGITS_WITHIN.findall(joined)):
        seen, joined = seen.translate(DIGITS), joined.translate(DIGITS)
        yield from _found(seen, set(joined.split()), joined)


def _found(seen: str, words: AbstractSet[str], joined: str) -> Iterator[str]:
    return (pattern.finding for pattern in _patterns() if pattern.finds(seen, words, joined))


def _decoded(text: str) -> Iterator[str]:
    """Yield what texts in base64 or hexadecimal digits are, if they are readable."""
    for match in islice(_ENCODED.finditer(text), _MOST_ENCODED):
        run = match[0].rstrip("=").translate(_STANDARD)
        try:
            data = bytes.fromhex(run) if _HEXADECIMAL.fullmatch(run) else b64decode(run + "=" * (-len(run) % 4))
            decoded = data.decode("utf-8")
        except (Base64Error, ValueError):
            continue
        if decoded.replace("\n", " ").isprintable():
            yield decoded


@cache
def _patterns() -> Sequence[_Pattern]:
    """Return the patterns of ``injection.toml``."""
    source = resources.files("coderag.answering").joinpath("injection.toml").read_text(encoding="utf-8")
    table = tomllib.loads(source)
    parts = table.pop("parts")
    return [
        _Pattern(finding, [_words_of(group) for group in entry["needs"].split(" & ")], _compiled(expression, parts))
        for finding, entries in table.items()
        for entry in entries
        for expression in entry["expressions"]
    ]


def _words_of(group: str) -> tuple[frozenset[str], Sequence[str]]:
    """Return the whole words of a group such as ``ai|llm*``, and the parts of words."""
    words = group.split("|")
    return frozenset(word for word in words if word[-1] != "*"), [word[:-1] for word in words if word[-1] == "*"]


def _compiled(expression: str, parts: dict[str, str]) -> re.Pattern[str]:
    for name, part in parts.items():
        expression = expression.replace(f"<{name}>", part)
    return re.compile(expression.replace(" ", _GAP).replace("~", _SOME_WORDS), re.MULTILINE)
