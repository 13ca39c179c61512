"""Detection of words that address a language model, in any letters or encoding (``injection.toml``)."""

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

from coderag.answering.hidden_text import LETTERS_BY_DIGIT, deobfuscate

ENCODED_FINDING: Final = "holds an encoded text that addresses the model"

_WORD_GAP = r"\W{1,12}"
_SENTENCE_GAP = r"[^\w.!?;]{1,12}"
_UP_TO_FIVE_WORDS = rf"(?:{_SENTENCE_GAP}\w+){{0,5}}?{_SENTENCE_GAP}"

_ENCODED = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{24,4000}={0,2}")
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2})+")
_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")
_MAX_ENCODED_RUNS = 100  # runs of a text

_WORD = re.compile(r"\w+")
_DIGITS_IN_WORD = re.compile(r"\b(?=[a-z]*[013457]+[a-z]|[a-z]+[013457])[a-z013457]{5,}")
_DISGUISED_PREFIXES = ("ignor", "disregard", "forget", "previous", "instruct", "prompt", "system")


@dataclass(frozen=True, slots=True)
class _InjectionPattern:
    """Pattern of an injection.

    Attributes:
        required_words: Groups of words and of word parts; a text without one of each group is not searched.
    """

    finding: str
    required_words: Sequence[tuple[frozenset[str], Sequence[str]]]
    expression: re.Pattern[str]

    def matches(self, text: str, words: AbstractSet[str], joined_words: str) -> bool:
        """Return whether a text matches, given its words as a set and as one string."""
        for whole_words, word_parts in self.required_words:
            if whole_words.isdisjoint(words) and not any(part in joined_words for part in word_parts):
                return False
        return bool(self.expression.search(text))


def find_injections(text: str) -> Iterator[str]:
    """Yield phrases for the effects on a model that follows a text; with duplicates."""
    yield from _scan_words(text)
    if any(any(_scan_words(decoded)) for decoded in _decode_runs(text)):
        yield ENCODED_FINDING


def _scan_words(text: str) -> Iterator[str]:
    normalized = deobfuscate(text)
    words = set(_WORD.findall(normalized))
    joined_words = " ".join(words)
    yield from _match_patterns(normalized, words, joined_words)
    if any(
        word.translate(LETTERS_BY_DIGIT).startswith(_DISGUISED_PREFIXES)
        for word in _DIGITS_IN_WORD.findall(joined_words)
    ):
        normalized, joined_words = normalized.translate(LETTERS_BY_DIGIT), joined_words.translate(LETTERS_BY_DIGIT)
        yield from _match_patterns(normalized, set(joined_words.split()), joined_words)


def _match_patterns(normalized: str, words: AbstractSet[str], joined_words: str) -> Iterator[str]:
    return (pattern.finding for pattern in _load_patterns() if pattern.matches(normalized, words, joined_words))


def _decode_runs(text: str) -> Iterator[str]:
    """Yield readable texts decoded from base64 or hexadecimal digits."""
    for match in islice(_ENCODED.finditer(text), _MAX_ENCODED_RUNS):
        run = match[0].rstrip("=").translate(_STANDARD_ALPHABET)
        try:
            data = bytes.fromhex(run) if _HEXADECIMAL.fullmatch(run) else b64decode(run + "=" * (-len(run) % 4))
            decoded = data.decode("utf-8")
        except (Base64Error, ValueError):
            continue
        if decoded.replace("\n", " ").isprintable():
            yield decoded


@cache
def _load_patterns() -> Sequence[_InjectionPattern]:
    """Load the patterns of ``injection.toml``."""
    source = resources.files("coderag.answering").joinpath("injection.toml").read_text(encoding="utf-8")
    table = tomllib.loads(source)
    parts = table.pop("parts")
    return [
        _InjectionPattern(
            finding,
            [_parse_word_group(group) for group in entry["needs"].split(" & ")],
            _compile_expression(expression, parts),
        )
        for finding, entries in table.items()
        for entry in entries
        for expression in entry["expressions"]
    ]


def _parse_word_group(group: str) -> tuple[frozenset[str], Sequence[str]]:
    """Parse a group such as ``ai|llm*`` to whole words and word prefixes."""
    words = group.split("|")
    return frozenset(word for word in words if word[-1] != "*"), [word[:-1] for word in words if word[-1] == "*"]


def _compile_expression(expression: str, parts: dict[str, str]) -> re.Pattern[str]:
    for name, part in parts.items():
        expression = expression.replace(f"<{name}>", part)
    return re.compile(expression.replace(" ", _WORD_GAP).replace("~", _UP_TO_FIVE_WORDS), re.MULTILINE)
